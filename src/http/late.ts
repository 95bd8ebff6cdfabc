/** A value that arrives while the server is already listening. */
export class Late<T> {
  /** The value, once it is there. */
  current: T | undefined;
  /** Resolves with the value; rejects when the start failed. */
  readonly ready: Promise<T>;

  constructor(arriving: Promise<T>) {
    this.ready = arriving.then((value) => {
      this.current = value;
      return value;
    });
    // The start itself reports the failure; here it must only not count as unhandled.
    this.ready.catch(() => undefined);
  }

  /** A value that is already there. */
  static of<T>(value: T): Late<T> {
    const late = new Late<T>(
      new Promise((resolve) => {
        resolve(value);
      }),
    );
    late.current = value;
    return late;
  }
}
