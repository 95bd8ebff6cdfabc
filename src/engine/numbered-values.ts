/** Consecutive numbers share a bucket only where the table has more than this. */
const BUCKETS = 1024;

/** A value by its number. */
interface Numbered<T> {
  readonly number: number;
  readonly value: T;
  next: Numbered<T> | undefined;
}

/**
 * Values by the numbers of requests, which are whole numbers from 0 and mostly consecutive: a hash table with a fixed number
 * of buckets, and chaining. The table of a `Map` is replaced now and then, and refers to its successor: once one of them is in
 * V8's old generation, the later ones stay until the next full garbage collection, with the requests that were in them.
 */
export class NumberedValues<T> {
  readonly #buckets: (Numbered<T> | undefined)[] = new Array<undefined>(BUCKETS).fill(undefined);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** The number must not be in the table. */
  add(number: number, value: T): void {
    const at = number % BUCKETS;
    this.#buckets[at] = { number, value, next: this.#buckets[at] };
    this.#size += 1;
  }

  get(number: number): T | undefined {
    let found = this.#buckets[number % BUCKETS];
    while (found !== undefined && found.number !== number) found = found.next;
    return found?.value;
  }

  has(number: number): boolean {
    return this.get(number) !== undefined;
  }

  /** Removes a value and returns it; undefined where there is none. */
  take(number: number): T | undefined {
    const at = number % BUCKETS;
    let before: Numbered<T> | undefined;
    let found = this.#buckets[at];
    while (found !== undefined && found.number !== number) {
      before = found;
      found = found.next;
    }
    if (found === undefined) return undefined;
    if (before === undefined) this.#buckets[at] = found.next;
    else before.next = found.next;
    found.next = undefined;
    this.#size -= 1;
    return found.value;
  }

  /** Removes all values and returns them, in no order. */
  takeAll(): T[] {
    const all: T[] = [];
    for (const bucket of this.#buckets) {
      for (let entry = bucket; entry !== undefined; entry = entry.next) all.push(entry.value);
    }
    this.#buckets.fill(undefined);
    this.#size = 0;
    return all;
  }
}
