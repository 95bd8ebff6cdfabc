/**
 * Whether a history could have come from one copy of the data that executed one write after the other, in the order of their
 * positions. Writes have values that tell them apart, and every read says the position that wrote what it saw, so no search
 * over orders is needed: each rule is checked by itself (_linearizability_, M. Herlihy and J. Wing, TOPLAS 1990).
 */
import type { History, Read, ReplicaAtRest, Seen, Write } from './history';

/**
 * - `lost`: an acknowledged write, or a part of one that was seen, is not there at the end;
 * - `doubled`: a write has two positions;
 * - `conflict`: two writes have one position;
 * - `order`: a write that began after the end of another one has an earlier position;
 * - `stale`: a read did not see the write that it named;
 * - `phantom`: something was seen that nobody had written by then;
 * - `refused`: a write that was answered with a refusal was seen;
 * - `replicas`: replicas of a shard differ at rest, or have other points than reads say.
 */
export type Rule = 'lost' | 'doubled' | 'conflict' | 'order' | 'stale' | 'phantom' | 'refused' | 'replicas';

export interface Violation {
  readonly rule: Rule;
  readonly what: string;
}

/** A write at its place in the order. */
interface Placed {
  readonly write: Write;
  readonly position: number;
}

/**
 * @param order whether positions are those of one order of all writes, or of each point's: a log that lost its end gives the
 *   positions of records that only some shards had read to other records, of the other shards.
 */
export function check(history: History, order: 'of all' | 'of each point' = 'of all'): Violation[] {
  const places = new Places(history);
  const changes = new Changes(history, places);
  const orders = order === 'of all' ? [places.placed] : changes.ofEachPoint;
  return [
    ...places.violations,
    ...orders.flatMap(conflicts),
    ...orders.flatMap(realTimeOrder),
    ...history.reads.flatMap((read) => staleness(read, changes)),
    ...history.final.flatMap((seen) => loss(seen, changes)),
    ...missingPoints(history),
    ...atRest(history),
  ];
}

/** Positions of a stream that replaces a lost one are at least so far behind those that are known (docs/cluster.md). */
const STREAMS_APART = 2 ** 20;

/** Where each write is in the order, by its acknowledgements and by what was seen. */
class Places {
  readonly violations: Violation[] = [];
  readonly #seen = new Set<Write>();
  readonly #byValue = new Map<string, Write>();
  readonly #positions = new Map<Write, number>();

  constructor({ writes, reads, final }: History) {
    for (const write of writes) {
      if (write.value !== undefined) this.#byValue.set(write.value, write);
      for (const position of write.positions) this.#place(write, position, 'acknowledged');
    }
    for (const { seen, endMs } of reads) for (const one of seen) this.#see(one, endMs);
    for (const one of final) this.#see(one, Infinity);
  }

  get placed(): Placed[] {
    return [...this.#positions].map(([write, position]) => ({ write, position }));
  }

  of(write: Write): number | undefined {
    return this.#positions.get(write);
  }

  #see({ point, value, position }: Seen, byMs: number): void {
    if (value === undefined || position === undefined) return;
    const write = this.#byValue.get(value);
    if (write?.points.includes(point) !== true || write.startMs > byMs) {
      this.#found('phantom', `point ${point} had ${value} at ${position}, which nobody had written`);
      return;
    }
    if (write.outcome === 'refused')
      this.#found('refused', `point ${point} had ${value} at ${position}, whose write was refused`);
    // A repeat that came to the stream which replaces that of the write is acknowledged there, and changes nothing.
    const acknowledged = this.#positions.get(write) ?? position;
    if (!this.#seen.has(write) && acknowledged - position >= STREAMS_APART) {
      this.#positions.set(write, position);
    }
    this.#seen.add(write);
    this.#place(write, position, `seen in point ${point}`);
  }

  #place(write: Write, position: number, how: string): void {
    const known = this.#positions.get(write);
    if (known === undefined) this.#positions.set(write, position);
    else if (known !== position)
      this.#found('doubled', `${nameOf(write)} is at ${known}, and ${how} at ${position}`);
  }

  #found(rule: Rule, what: string): void {
    this.violations.push({ rule, what });
  }
}

/** The changes of each point: those at their places, and those whose place is not known. */
class Changes {
  readonly #placed = new Map<number, Placed[]>();
  readonly #deletions = new Map<number, Write[]>();

  constructor({ writes }: History, places: Places) {
    for (const write of writes) {
      const position = places.of(write);
      for (const point of write.points) {
        if (position !== undefined) listIn(this.#placed, point).push({ write, position });
        else if (write.outcome === 'unknown' && write.value === undefined)
          listIn(this.#deletions, point).push(write);
      }
    }
    for (const list of this.#placed.values()) list.sort((one, other) => one.position - other.position);
  }

  get ofEachPoint(): Placed[][] {
    return [...this.#placed.values()];
  }

  /** The last change of a point up to a position. */
  last(point: number, upTo = Infinity): Placed | undefined {
    return this.#placed.get(point)?.findLast(({ position }) => position <= upTo);
  }

  /** Whether the point may have been absent in a state that has everything up to a position. */
  mayBeAbsent(point: number, from: number, startedByMs: number): boolean {
    const [placed, unplaced] = [this.#placed.get(point) ?? [], this.#deletions.get(point) ?? []];
    return (
      placed.some(({ write, position }) => write.value === undefined && position >= from) ||
      unplaced.some(({ startMs }) => startMs <= startedByMs)
    );
  }
}

/** No two writes have one position. */
function conflicts(placed: readonly Placed[]): Violation[] {
  const byPosition = new Map<number, Write>();
  const found: Violation[] = [];
  for (const { write, position } of placed) {
    const other = byPosition.get(position);
    if (other === undefined) byPosition.set(position, write);
    else
      found.push({ rule: 'conflict', what: `${nameOf(other)} and ${nameOf(write)} are both at ${position}` });
  }
  return found;
}

/** A write that began after the acknowledgement of another one comes behind it. */
function realTimeOrder(placed: readonly Placed[]): Violation[] {
  const started = placed.toSorted((one, other) => one.write.startMs - other.write.startMs);
  const ended = placed
    .filter(({ write }) => write.endMs !== undefined)
    .sort((one, other) => one.write.endMs! - other.write.endMs!);
  const found: Violation[] = [];
  let at = 0;
  let highest: Placed | undefined;
  for (const one of started) {
    for (; at < ended.length && ended[at]!.write.endMs! < one.write.startMs; at += 1) {
      if (highest === undefined || ended[at]!.position > highest.position) highest = ended[at];
    }
    if (highest !== undefined && highest.position > one.position && highest.write !== one.write) {
      const what = `${nameOf(one.write)} at ${one.position} began after the end of ${nameOf(highest.write)} at ${highest.position}`;
      found.push({ rule: 'order', what });
    }
  }
  return found;
}

/** A read sees the write that it names, or what came behind it. */
function staleness({ after, seen, endMs }: Read, changes: Changes): Violation[] {
  if (after === undefined) return [];
  return seen.flatMap(({ point, value, position }) => {
    const expected = changes.last(point, after);
    if (expected === undefined) return [];
    const isFresh =
      value === undefined
        ? changes.mayBeAbsent(point, expected.position, endMs)
        : (position ?? 0) >= expected.position;
    const saw = value === undefined ? 'nothing' : `${value} at ${position ?? '?'}`;
    const what = `a read after ${after} saw ${saw} in point ${point}, which has ${nameOf(expected.write)} at ${expected.position}`;
    return isFresh ? [] : [{ rule: 'stale' as const, what }];
  });
}

/** The last change of each point is there at the end. */
function loss({ point, value, position }: Seen, changes: Changes): Violation[] {
  const last = changes.last(point);
  if (last === undefined) return [];
  const isThere =
    value === undefined
      ? changes.mayBeAbsent(point, last.position, Infinity)
      : (position ?? 0) >= last.position;
  const has = value === undefined ? 'is absent' : `has ${value} of ${position ?? '?'}`;
  const what = `${nameOf(last.write)} at ${last.position}: point ${point} ${has} at the end`;
  return isThere ? [] : [{ rule: 'lost', what }];
}

/** The end was looked at in every point. */
function missingPoints({ writes, final }: History): Violation[] {
  const looked = new Set(final.map(({ point }) => point));
  const missing = new Set(writes.flatMap(({ points }) => points.filter((point) => !looked.has(point))));
  return [...missing].map((point) => ({ rule: 'lost', what: `point ${point} was not looked at` }));
}

/** Replicas of a shard are equal, and have what reads say. */
function atRest({ replicas, final }: History): Violation[] {
  const shards = new Map<number, ReplicaAtRest[]>();
  for (const replica of replicas) listIn(shards, replica.shard).push(replica);
  const found: Violation[] = [];
  for (const [shard, all] of shards) {
    const states = new Set(all.map(({ points, digest }) => `${points} points ${digest}`));
    const listed = all.map(
      ({ node, position, points, digest }) => `${node}@${position}: ${points} ${digest}`,
    );
    if (states.size > 1)
      found.push({ rule: 'replicas', what: `shard ${shard} differs: ${listed.join(', ')}` });
  }
  const points = [...shards.values()].reduce((sum, [one]) => sum + (one?.points ?? 0), 0);
  const seen = final.filter(({ value }) => value !== undefined).length;
  if (replicas.length > 0 && points !== seen)
    found.push({ rule: 'replicas', what: `replicas have ${points} points, and reads found ${seen}` });
  return found;
}

function listIn<K, V>(map: Map<K, V[]>, key: K): V[] {
  const list = map.get(key) ?? [];
  map.set(key, list);
  return list;
}

function nameOf({ value, operation, points }: Write): string {
  return value ?? `the deletion ${operation} of ${points.join(', ')}`;
}
