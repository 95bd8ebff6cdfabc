import type { Logger } from 'pino';

/** One step of a clean-up. */
type Step = () => Promise<void> | void;

/**
 * What has to be closed when the server stops: each step of a start adds its own, and they run in reverse order. When a
 * step fails, the others still run.
 */
export class CleanUp {
  readonly #steps: { readonly part: string; readonly step: Step }[] = [];

  constructor(private readonly log: Logger) {}

  /** Adds a step; `part` names in the log what it closes. */
  add(part: string, step: Step): void {
    this.#steps.push({ part, step });
  }

  /**
   * Runs every step that was added and has not run, the last one first. Every failure is logged; with the first one this
   * rejects when all steps have run.
   */
  async run(): Promise<void> {
    const failures: unknown[] = [];
    for (let next = this.#steps.pop(); next !== undefined; next = this.#steps.pop()) {
      try {
        await next.step();
      } catch (error) {
        this.log.error({ err: error, part: next.part }, 'could not close cleanly');
        failures.push(error);
      }
    }
    if (failures.length > 0) {
      throw failures[0];
    }
  }
}
