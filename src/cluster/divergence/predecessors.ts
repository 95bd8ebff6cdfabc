import { isCount, objectIn } from '../json';

/** A replica that has read beyond a record of its shard without applying it. */
export interface Lacking {
  /** Name of the replica. */
  readonly replica: string;
  readonly node: string;
  /** The position of the record. */
  readonly position: number;
}

/** What a replica applied before a record: the position of the last record that had changed it; 0 for none. */
export interface Predecessor extends Lacking {
  readonly previous: number;
}

/** What was said of one record. */
interface Compared {
  /** The highest position that a replica named. */
  latest: number;
  /** The nodes that named it. */
  nodes: string[];
}

/** Records whose answers are compared at a time: a replica that is further behind is compared by digests alone. */
const MAX_RECORDS = 4096;

/**
 * Compares what the replicas of a shard applied before the same record. All of them read one stream, so a replica that names an
 * earlier predecessor than another one was not given the record between: a log server had lost it.
 */
export class Predecessors {
  /** By replica and position; the oldest first. */
  readonly #records = new Map<string, Compared>();

  /** Takes what a replica says; the replicas that lack a record, by all that was said of this one. */
  take({ replica, node, position, previous }: Predecessor): readonly Lacking[] {
    const key = `${replica} ${position}`;
    const known = this.#records.get(key);
    if (known === undefined) {
      this.#records.set(key, { latest: previous, nodes: [node] });
      const [oldest] = this.#records.keys();
      if (this.#records.size > MAX_RECORDS && oldest !== undefined) this.#records.delete(oldest);
      return [];
    }
    if (previous < known.latest) return [{ replica, node, position: known.latest }];
    if (previous === known.latest) {
      known.nodes.push(node);
      return [];
    }
    const lacking = known.nodes.map((one) => ({ replica, node: one, position: previous }));
    this.#records.set(key, { latest: previous, nodes: [node] });
    return lacking;
  }
}

export function encodeLacking(lacking: Lacking): Buffer {
  return Buffer.from(JSON.stringify(lacking));
}

/** What the bytes say; undefined where they are no such message. */
export function decodeLacking(bytes: Uint8Array): Lacking | undefined {
  const value = objectIn(bytes);
  if (value === undefined) return undefined;
  const { replica, node, position } = value;
  const isLacking = typeof replica === 'string' && typeof node === 'string' && isCount(position);
  return isLacking ? { replica, node, position } : undefined;
}
