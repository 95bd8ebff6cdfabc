/** A sample of keys of a stream, each with the same probability (algorithm R of Vitter, 1985). */
export class Sample {
  readonly #keys: string[];
  #seen: number;

  /** A sample of at most `size` keys. `keys` and `seen` continue an earlier sample of `seen` keys. */
  constructor(
    private readonly size: number,
    keys: readonly string[] = [],
    seen = 0,
    private readonly random: () => number = Math.random,
  ) {
    this.#keys = [...keys];
    this.#seen = seen;
  }

  get keys(): readonly string[] {
    return this.#keys;
  }

  /** `key` is made only where it is taken. */
  offer(key: () => string): void {
    this.#seen += 1;
    if (this.#keys.length < this.size) {
      this.#keys.push(key());
      return;
    }
    const place = Math.floor(this.random() * this.#seen);
    if (place < this.size) this.#keys[place] = key();
  }
}
