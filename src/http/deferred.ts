/** A value that becomes available while the server is already listening. */
export class Deferred<T> {
  /** The value, once it is available. */
  current: T | undefined;
  /** Resolves with the value; rejects when the start failed. */
  readonly ready: Promise<T>;
  /** Who waits for a while. A promise would keep everybody who ever waited for it until it is settled. */
  readonly #waiting = new Set<() => void>();
  #isSettled = false;

  constructor(pending: Promise<T>) {
    this.ready = pending.then((value) => {
      this.current = value;
      return value;
    });
    const notify = (): void => {
      this.#isSettled = true;
      for (const waiting of this.#waiting) waiting();
    };
    // The start reports the failure. Without this handler it would count as unhandled here too.
    this.ready.then(notify, notify);
  }

  /** The value, or undefined where it is not available within so many milliseconds; rejects when the start failed. */
  async within(ms: number): Promise<T | undefined> {
    if (this.#isSettled) return this.ready;
    const isSettled = await new Promise<boolean>((resolve) => {
      const end = (isSettled: boolean): void => {
        clearTimeout(timer);
        this.#waiting.delete(settled);
        resolve(isSettled);
      };
      const settled = (): void => {
        end(true);
      };
      const timer = setTimeout(end, ms, false);
      this.#waiting.add(settled);
    });
    return isSettled ? this.ready : undefined;
  }

  /** A value that is available already. */
  static of<T>(value: T): Deferred<T> {
    const deferred = new Deferred<T>(Promise.resolve(value));
    deferred.current = value;
    return deferred;
  }
}
