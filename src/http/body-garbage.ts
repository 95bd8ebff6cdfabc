import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

type Collect = (options: { type: 'minor' }) => void;

/** Bytes of chunks after which they are swept; well below the 64 MiB of outside memory at which V8 marks the heap. */
const SWEEP_EVERY_BYTES = 2 << 20;

/**
 * Frees the chunks that large bodies arrived in.
 *
 * Their memory lies outside of V8's heap, and the small objects that hold it fill the young generation only slowly.
 * Left alone, an upsert at full speed makes V8 mark the whole heap several times a second, in steps that hold up every
 * request by 10 to 20 ms. A collection of the young generation frees the same memory in well under a millisecond.
 */
export class BodyGarbage {
  readonly #collect: Collect | undefined = minorCollection();
  #bytes = 0;

  /** Counts a chunk that will be garbage soon. */
  add(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes >= SWEEP_EVERY_BYTES) {
      this.#bytes = 0;
      this.#collect?.({ type: 'minor' });
    }
  }
}

/** V8's collection on demand, which Node offers only behind a flag; undefined where it does not. */
function minorCollection(): Collect | undefined {
  setFlagsFromString('--expose-gc');
  try {
    const collect: unknown = runInNewContext('typeof gc === "function" ? gc : undefined');
    return collect as Collect | undefined;
  } finally {
    setFlagsFromString('--no-expose-gc');
  }
}
