/** A value that becomes available while the server is already listening. */
export class Deferred<T> {
  /** The value, once it is available. */
  current: T | undefined;
  /** Resolves with the value; rejects when the start failed. */
  readonly ready: Promise<T>;

  constructor(pending: Promise<T>) {
    this.ready = pending.then((value) => {
      this.current = value;
      return value;
    });
    // The start reports the failure. Without this handler it would count as unhandled here too.
    this.ready.catch(() => undefined);
  }

  /** The value, or undefined where it is not available within so many milliseconds; rejects when the start failed. */
  async within(ms: number): Promise<T | undefined> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<undefined>((resolve) => {
      timer = setTimeout(resolve, ms, undefined);
    });
    try {
      return await Promise.race([this.ready, late]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** A value that is available already. */
  static of<T>(value: T): Deferred<T> {
    const deferred = new Deferred<T>(Promise.resolve(value));
    deferred.current = value;
    return deferred;
  }
}
