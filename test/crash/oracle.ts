import { randomUUID } from 'node:crypto';

/** What one client wrote, and what of it the server acknowledged. */

/** Length of the vectors: some forty of them outgrow the exact scan. */
export const SIZE = 64;
/** Points that a request deletes or changes, on average: so few that a collection stays large. */
const CHANGED = 4;

/** A point as the oracle knows it. Vector and payload carry the same number. */
export interface Point {
  readonly number: number;
  readonly tag: string;
}

type Points = ReadonlyMap<number, Point>;

/** A request that the oracle chose, and what it does. */
export interface Write {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
  /** Its `Idempotency-Key`. */
  readonly key: string;
  readonly after: Points;
}

/** The vector that goes with a point's id and number. */
export function vectorOf(id: number, number: number): number[] {
  const vector = new Array<number>(SIZE).fill(0);
  vector[0] = number % 4096;
  vector[1] = id % 4096;
  vector[2 + (number % (SIZE - 2))] = 1;
  return vector;
}

/** What the vectors of a collection are. */
export type Shape = 'plain' | 'named';

/** The multi-vector that goes with a point's id and number. */
function rowsOf(id: number, number: number): number[][] {
  return [
    [number % 97, id % 89, 1, 0],
    [0, 1, number % 13, 2],
  ];
}

/** The vectors that go with a point's id and number, as they are sent and read back. */
export function vectorsOf(shape: Shape, id: number, number: number): unknown {
  const dense = vectorOf(id, number);
  if (shape === 'plain') return dense;
  return {
    dense,
    rows: rowsOf(id, number),
    sparse: { indices: [id, 1_000_000], values: [1 + (number % 7), 0.5] },
  };
}

/** One client's ids: it sends one write at a time, so at most one is of unknown fate when the server dies. */
export class Oracle {
  #known: Points = new Map();
  #maybe: Points | undefined;
  #unanswered: Write | undefined;
  #number = 0;

  constructor(
    readonly first: number,
    readonly collection: string,
    readonly shape: Shape,
    /** How many ids are its own. */
    readonly ids: number,
  ) {}

  get points(): Points {
    return this.#known;
  }

  /** The next write. */
  choose(): Write {
    return { ...this.#choose(), key: randomUUID() };
  }

  #choose(): Omit<Write, 'key'> {
    const after = new Map(this.#known);
    const number = ++this.#number;
    const base = `/collections/${this.collection}`;
    const existing = [...after.keys()];
    const choice = Math.random();
    if (existing.length === 0 || choice < 0.5) {
      const points = this.#put(after, number, existing.length === 0 ? this.ids : undefined);
      return {
        method: 'PUT',
        path: `${base}/points?wait=${String(Math.random() < 0.7)}`,
        body: { points },
        after,
      };
    }
    const some = existing.filter(() => Math.random() < CHANGED / existing.length);
    const ids = some.length > 0 ? some : existing.slice(0, 1);
    if (choice < 0.7) {
      ids.forEach((id) => after.delete(id));
      return { method: 'POST', path: `${base}/points/delete`, body: { points: ids }, after };
    }
    const tag = `t${number}`;
    const tagged = (): void => {
      ids.forEach((id) => {
        const point = after.get(id);
        if (point !== undefined) after.set(id, { ...point, tag });
      });
    };
    if (choice < 0.85) {
      tagged();
      return {
        method: 'POST',
        path: `${base}/points/payload`,
        body: { payload: { tag }, points: ids },
        after,
      };
    }
    if (choice < 0.93) {
      return { method: 'PUT', path: `${base}/points/sync`, body: this.#sync(after, number), after };
    }
    // Several operations in one request: whole or not at all (C1.7).
    tagged();
    const upsert = { points: this.#put(after, number) };
    const operations = [{ set_payload: { payload: { tag }, points: ids } }, { upsert }];
    return { method: 'POST', path: `${base}/points/batch`, body: { operations }, after };
  }

  /** A sync of its ids (C20): most points stay, some go, some are put. */
  #sync(after: Map<number, Point>, number: number): unknown {
    const known = [...after];
    const stay = known.filter(() => Math.random() > CHANGED / known.length);
    after.clear();
    for (const [id, point] of stay) after.set(id, point);
    const own = Array.from({ length: this.ids }, (_, at) => this.first + at);
    const hashes = stay.map(([id, point]) => ({ id, hash: point.number }));
    const points = [...hashes, ...this.#put(after, number)];
    return { scope: { must: { has_id: own } }, hash_key: 'number', points };
  }

  #put(after: Map<number, Point>, number: number, count = 1 + Math.floor(Math.random() * 12)): unknown[] {
    const points = new Map<number, unknown>();
    for (let at = 0; at < count; at += 1) {
      const id = this.first + Math.floor(Math.random() * this.ids);
      const tag = `u${number}`;
      after.set(id, { number, tag });
      points.set(id, { id, vector: vectorsOf(this.shape, id, number), payload: { number, tag } });
    }
    return [...points.values()];
  }

  /** The write was sent; until {@link settle} its fate is unknown. */
  sent(write: Write): void {
    this.#maybe = write.after;
    this.#unanswered = write;
  }

  /** The server answered. */
  answered(acknowledged: boolean): void {
    if (acknowledged && this.#maybe !== undefined) this.#known = this.#maybe;
    this.#maybe = undefined;
    this.#unanswered = undefined;
  }

  /** Compares with what the server holds of these ids after a restart, and takes that as known. Says what is wrong. */
  settle(found: Points): string | undefined {
    const states = this.#maybe === undefined ? [this.#known] : [this.#known, this.#maybe];
    const state = states.find((one) => same(one, found));
    if (state === undefined) {
      return states.map((one) => difference(one, found)).join('; or ');
    }
    this.#known = state;
    this.#maybe = undefined;
    return undefined;
  }

  /** The write that was not answered before the server died, once {@link settle} has found whether it was applied. */
  unanswered(): Write | undefined {
    const write = this.#unanswered;
    this.#unanswered = undefined;
    return write;
  }

  /** Whether an id belongs to this client. */
  owns(id: number): boolean {
    return id >= this.first && id < this.first + this.ids;
  }
}

function same(a: Points, b: Points): boolean {
  return difference(a, b) === '';
}

function difference(expected: Points, found: Points): string {
  const wrong: string[] = [];
  for (const id of new Set([...expected.keys(), ...found.keys()])) {
    const [a, b] = [expected.get(id), found.get(id)];
    if (a?.number !== b?.number || a?.tag !== b?.tag) {
      wrong.push(`${id}: expected ${JSON.stringify(a)}, found ${JSON.stringify(b)}`);
    }
  }
  return wrong.join(', ');
}
