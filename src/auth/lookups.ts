/** Look-ups that run, so that requests that need the same one at the same time share it. */
export class Lookups<T> {
  readonly #running = new Map<string, Promise<T>>();

  /** The look-up of a key that runs, or else the one that `start` begins. */
  share(key: string, start: () => Promise<T>): Promise<T> {
    const running = this.#running.get(key);
    if (running !== undefined) {
      return running;
    }
    const lookup = start().finally(() => {
      if (this.#running.get(key) === lookup) {
        this.#running.delete(key);
      }
    });
    this.#running.set(key, lookup);
    return lookup;
  }

  /** What comes next begins anew. */
  clear(): void {
    this.#running.clear();
  }
}
