/**
 * Says which reads the engine may answer on the calling thread (`EngineRequest.mayRunHere`): the two changes of threads of a
 * read that is by itself take longer than a short search. Only the first reads of a turn of the event loop run there; the
 * others are for the threads of the engine, which answer several at a time.
 */
export class CallingThread {
  /** When the first read of this turn of the event loop began. */
  #since: number | undefined;

  /** @param mostMs milliseconds of a turn of the event loop after which no further read begins on it */
  constructor(private readonly mostMs: number) {}

  /** Whether a short read may begin now. */
  hasTime(): boolean {
    const now = performance.now();
    if (this.#since === undefined) {
      this.#since = now;
      setImmediate(() => {
        this.#since = undefined;
      });
    }
    return now - this.#since < this.mostMs;
  }
}
