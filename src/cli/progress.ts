import type { Console } from './console';

/** Milliseconds between two lines. */
const INTERVAL_MS = 500;

/** A line on the terminal that says how far a command is; nothing where standard error is no terminal. */
export class Progress {
  readonly #startedAt = performance.now();
  #shownAt = -Infinity;

  /** `bytes` of the whole input, 0 when it is not known. */
  constructor(
    private readonly console: Console,
    private readonly bytes: number,
  ) {}

  show(points: number, bytesRead = 0): void {
    const now = performance.now();
    if (this.console.stderr.isTTY !== true || now - this.#shownAt < INTERVAL_MS) return;
    this.#shownAt = now;
    const seconds = (now - this.#startedAt) / 1000;
    const done = this.bytes === 0 ? 0 : Math.min(1, bytesRead / this.bytes);
    const rate = Math.round(points / Math.max(seconds, 0.001));
    const left =
      done === 0 ? '' : `, ${Math.floor(100 * done)} %, ${Math.ceil((seconds / done) * (1 - done))} s left`;
    this.console.stderr.write(`\r\x1b[K${points} points, ${rate}/s${left}`);
  }

  /** Clears the line. */
  end(): void {
    if (this.#shownAt > 0) this.console.stderr.write('\r\x1b[K');
  }
}
