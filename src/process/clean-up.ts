import type { Logger } from 'pino';

/** One step of a clean-up. */
type Step = () => Promise<void> | void;

/**
 * What has to be closed when the server stops: each step of a start adds its own, and they run in reverse order. A step
 * that fails is logged, and the others still run.
 */
export class CleanUp {
  readonly #steps: { readonly part: string; readonly step: Step }[] = [];

  constructor(private readonly log: Logger) {}

  /** Adds a step; `part` names in the log what it closes. */
  add(part: string, step: Step): void {
    this.#steps.push({ part, step });
  }

  /** Runs every step that was added and has not run, the last one first. Never rejects. */
  async run(): Promise<void> {
    for (let next = this.#steps.pop(); next !== undefined; next = this.#steps.pop()) {
      try {
        await next.step();
      } catch (error) {
        this.log.error({ err: error, part: next.part }, 'could not close cleanly');
      }
    }
  }
}
