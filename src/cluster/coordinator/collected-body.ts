import type { IncomingBody } from '../../engine/types';

/** A body whose bytes the coordinator keeps: it may send them to other nodes. */
export class CollectedBody implements IncomingBody {
  #pieces: Buffer[] = [];

  append(piece: Buffer): void {
    // The memory of the chunk may be used again.
    this.#pieces.push(Buffer.from(piece));
  }

  discard(): void {
    this.#pieces = [];
  }

  /** All of it, once. */
  take(): Buffer {
    const [only, ...others] = this.#pieces;
    const bytes = only !== undefined && others.length === 0 ? only : Buffer.concat(this.#pieces);
    this.#pieces = [];
    return bytes;
  }
}
