/** What ends a part of a node. */
export type Ends = (() => void | Promise<void>)[];

/** Work that is done again and again, and what keeps it from being done. */
export class RepeatedWork {
  readonly #problems = new Map<string, string>();

  /** Why work failed the last time, by its name. */
  get problems(): ReadonlyMap<string, string> {
    return this.#problems;
  }

  /** Does work each `ms` milliseconds, never twice at a time, until it is ended. */
  every(ms: number, what: string, work: () => Promise<void>, ends: Ends): void {
    let running: Promise<void> = Promise.resolve();
    let isIdle = true;
    const timer = setInterval(() => {
      if (!isIdle) return;
      isIdle = false;
      running = work().then(
        () => {
          isIdle = true;
          this.#problems.delete(what);
        },
        (error: unknown) => {
          isIdle = true;
          this.#problems.set(what, error instanceof Error ? error.message : String(error));
        },
      );
    }, ms);
    ends.push(async () => {
      clearInterval(timer);
      await running;
    });
  }
}
