import { createHash } from 'node:crypto';

/** What an entry takes beside its vector, roughly. */
const ENTRY_BYTES = 200;

/**
 * Vectors of texts by model and text, up to a number of bytes: those that were asked for longest ago make room. A key is a
 * digest, so a long text takes no more than a short one.
 */
export class VectorCache {
  readonly #vectors = new Map<string, Buffer>();
  #bytes = 0;

  constructor(private readonly mostBytes: number) {}

  /** Bytes that it holds. */
  get bytes(): number {
    return this.#bytes;
  }

  get(model: string, text: string): Buffer | undefined {
    const key = keyOf(model, text);
    const found = this.#vectors.get(key);
    if (found !== undefined) {
      // The order of a map is that of insertion: now it is the youngest.
      this.#vectors.delete(key);
      this.#vectors.set(key, found);
    }
    return found;
  }

  /** Keeps a vector; `vector` must not be a part of larger memory. */
  put(model: string, text: string, vector: Buffer): void {
    if (vector.length + ENTRY_BYTES > this.mostBytes) return;
    const key = keyOf(model, text);
    this.#drop(key);
    this.#vectors.set(key, vector);
    this.#bytes += vector.length + ENTRY_BYTES;
    for (const oldest of this.#vectors.keys()) {
      if (this.#bytes <= this.mostBytes) break;
      this.#drop(oldest);
    }
  }

  #drop(key: string): void {
    const dropped = this.#vectors.get(key);
    if (dropped !== undefined) {
      this.#vectors.delete(key);
      this.#bytes -= dropped.length + ENTRY_BYTES;
    }
  }
}

function keyOf(model: string, text: string): string {
  // The length keeps apart what would be the same text together.
  return createHash('sha256').update(`${model.length}:${model}${text}`).digest('base64');
}
