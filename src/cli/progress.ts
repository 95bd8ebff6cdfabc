import type { Console } from './console';

/** Milliseconds between two lines. */
const INTERVAL_MS = 500;

/** A line on the terminal that says how far a command is; nothing where standard error is no terminal. */
export class Progress {
  readonly #startedAt = performance.now();
  #shownAt = -Infinity;
  /** What was read before the first report: of a command that goes on with earlier work, not its own. */
  #readBefore: number | undefined;

  /** `whole` is the size of the whole input, in bytes or in points; 0 when it is not known. `what` stands before the line. */
  constructor(
    private readonly console: Console,
    private readonly whole: number,
    private readonly what = '',
  ) {}

  /** `read` is how much of the input was read, counted as `whole`. */
  show(points: number, read = 0): void {
    this.#readBefore ??= read;
    const now = performance.now();
    if (this.console.stderr.isTTY !== true || now - this.#shownAt < INTERVAL_MS) return;
    this.#shownAt = now;
    const seconds = (now - this.#startedAt) / 1000;
    const rate = Math.round(points / Math.max(seconds, 0.001));
    const own = read - this.#readBefore;
    const part = this.whole === 0 ? 0 : Math.min(1, read / this.whole);
    const secondsLeft = Math.ceil((seconds * Math.max(0, this.whole - read)) / own);
    const left = own <= 0 || part === 0 ? '' : `, ${Math.floor(100 * part)} %, ${secondsLeft} s left`;
    this.console.stderr.write(`\r\x1b[K${this.what}${points} points, ${rate}/s${left}`);
  }

  /** Clears the line. */
  end(): void {
    if (this.#shownAt > 0) this.console.stderr.write('\r\x1b[K');
  }
}
