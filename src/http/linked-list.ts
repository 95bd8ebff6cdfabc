/**
 * A doubly linked list, for what is added and removed with each request: an entry is removed in constant time.
 *
 * A `Set` or a `Map` would do, but for the garbage collector. V8 replaces the table of a `Set` every few additions, and the
 * table that was replaced refers to the one that came next. Once a full collection has moved one of them to the old
 * generation, all later ones are kept until the next full collection, with what was in them when they were replaced:
 * requests that are long over, which each collection of the young generation then copies. An entry that is removed from
 * this list refers to no other entry.
 */
export class LinkedList<T> implements Iterable<T> {
  #first: Entry<T> | undefined;
  #last: Entry<T> | undefined;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get first(): Entry<T> | undefined {
    return this.#first;
  }

  /** Adds a value at the end. */
  add(value: T): Entry<T> {
    const entry = new Entry(value, this, this.#last);
    if (this.#last === undefined) this.#first = entry;
    else this.#last.next = entry;
    this.#last = entry;
    this.#size += 1;
    return entry;
  }

  /** Removes an entry. False where it is not in this list, or not any more. */
  remove(entry: Entry<T>): boolean {
    if (entry.list !== this) return false;
    const { previous, next } = entry;
    if (previous === undefined) this.#first = next;
    else previous.next = next;
    if (next === undefined) this.#last = previous;
    else next.previous = previous;
    entry.leave();
    this.#size -= 1;
    return true;
  }

  clear(): void {
    while (this.#first !== undefined) this.remove(this.#first);
  }

  /** The values that are in the list now, in their order, without those that are removed meanwhile. */
  *[Symbol.iterator](): Generator<T, void> {
    const entries: Entry<T>[] = [];
    for (let entry = this.#first; entry !== undefined; entry = entry.next) entries.push(entry);
    for (const entry of entries) {
      if (entry.list === this) yield entry.value;
    }
  }
}

/** The place of a value in a {@link LinkedList}. */
export class Entry<T> {
  next: Entry<T> | undefined;

  constructor(
    readonly value: T,
    public list: LinkedList<T> | undefined,
    public previous: Entry<T> | undefined,
  ) {}

  /** Whether it has not been removed. */
  get isListed(): boolean {
    return this.list !== undefined;
  }

  /** Removes it from its list; does nothing the second time. */
  remove(): void {
    this.list?.remove(this);
  }

  /** Called by the list when it has removed the entry. */
  leave(): void {
    this.list = undefined;
    this.previous = undefined;
    this.next = undefined;
  }
}
