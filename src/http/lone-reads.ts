/** So many calls in a row must have met no other one before a read runs on the event loop. */
const ALONE_BEFORE = 16;

/**
 * Says which reads the engine may answer on the event loop's thread (`EngineRequest.mayRunHere`): those of a client that sends
 * one request after the other, while nobody else calls. The two changes of threads of such a read take longer than a short
 * search. Calls that overlap are for the threads of the engine, which answer several at a time. While reads run on the event
 * loop none is seen under way when the next one begins, so a second call in one turn of the event loop counts as overlapping.
 * A call that might run there and did not, since it takes longer or is no read, ends this as well: what it did on the event
 * loop until it was given up is lost.
 */
export class LoneReads {
  #underWay = 0;
  #aloneInRow = 0;
  #hasBegunInTurn = false;

  /** Notes a call that begins. True where a read may run on this thread. */
  begin(): boolean {
    this.#underWay += 1;
    if (this.#underWay > 1 || this.#hasBegunInTurn) {
      this.#aloneInRow = 0;
      return false;
    }
    this.#hasBegunInTurn = true;
    this.#aloneInRow += 1;
    const mayRunHere = this.#aloneInRow > ALONE_BEFORE;
    setImmediate(() => {
      this.#hasBegunInTurn = false;
      if (mayRunHere && this.#underWay > 0) this.#aloneInRow = 0;
    });
    return mayRunHere;
  }

  /** Notes that a call is answered. */
  end(): void {
    this.#underWay -= 1;
  }
}
