import { reasonOf } from '../files/explained';

/** Work that is done again and again; it is given up when the signal is aborted. */
export type Work = (signal: AbortSignal) => Promise<void> | void;

/** Work of a node that is done again and again, and what keeps it from being done. */
export class RepeatedWork {
  readonly #problems = new Map<string, string>();
  readonly #over = new AbortController();
  readonly #timers: NodeJS.Timeout[] = [];
  readonly #running = new Set<Promise<void>>();

  /** Why work failed the last time, by its name. */
  get problems(): ReadonlyMap<string, string> {
    return this.#problems;
  }

  /** Does work each `ms` milliseconds, never twice at a time, until the end. */
  every(ms: number, what: string, work: Work): void {
    let isIdle = true;
    const begin = (): void => {
      if (!isIdle) return;
      isIdle = false;
      const running = this.#do(what, work).finally(() => {
        isIdle = true;
        this.#running.delete(running);
      });
      this.#running.add(running);
    };
    this.#timers.push(setInterval(begin, ms));
  }

  /** Gives up what is under way, all of it at once, and resolves when nothing runs any more. */
  async end(): Promise<void> {
    for (const timer of this.#timers.splice(0)) clearInterval(timer);
    this.#over.abort();
    await Promise.all(this.#running);
  }

  async #do(what: string, work: Work): Promise<void> {
    const { signal } = this.#over;
    try {
      await work(signal);
      this.#problems.delete(what);
    } catch (error) {
      if (!signal.aborted) this.#problems.set(what, reasonOf(error));
    }
  }
}
