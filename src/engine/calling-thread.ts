/** Milliseconds of a turn of the event loop that short reads may take together. */
const MOST_MS = 2;

/**
 * Says which reads the engine may answer on the calling thread (`EngineRequest.mayRunHere`): a program that waits for each call
 * then waits for no other thread. Calls beside each other are for the threads of the engine, which answer several at a time.
 */
export class CallingThread {
  #underWay = 0;
  /** When the first read of this turn of the event loop began. */
  #since: number | undefined;

  /** Begins a call; whether it may run here. */
  begin(): boolean {
    const may = this.#underWay === 0 && this.#hasTime();
    this.#underWay += 1;
    return may;
  }

  /** A call has ended. */
  end(): void {
    this.#underWay -= 1;
  }

  #hasTime(): boolean {
    const now = performance.now();
    if (this.#since === undefined) {
      this.#since = now;
      setImmediate(() => {
        this.#since = undefined;
      });
    }
    return now - this.#since < MOST_MS;
  }
}
