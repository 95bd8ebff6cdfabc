import { isCount, objectIn } from '../json';
import type { PositionedDigest } from '../replica/replica-reader';

/** A digest of a replica, and whose it is. */
export interface NodeDigest extends PositionedDigest {
  readonly node: string;
}

/** Positions of a replica whose digests are kept: nodes are that far apart at most when they compare. */
const KEPT_POSITIONS = 8;

export function encodeDigest(digest: NodeDigest): Buffer {
  return Buffer.from(JSON.stringify(digest));
}

/** The digest of some bytes; undefined where they are none. */
export function decodeDigest(bytes: Uint8Array): NodeDigest | undefined {
  const value = objectIn(bytes);
  if (value === undefined) return undefined;
  const { node, replica, digest, position, points } = value;
  const isDigest =
    typeof node === 'string' &&
    typeof replica === 'string' &&
    typeof digest === 'string' &&
    isCount(position) &&
    isCount(points);
  return isDigest ? { node, replica, digest, position, points } : undefined;
}

/** The digests that nodes have told of the replicas of one shard, by position. */
type OfShard = Map<number, Map<string, NodeDigest>>;

/**
 * What the digests of a shard at one position say. `majority` is `found` where more than half of the replicas are in one state,
 * and `none` where all have told theirs and that is not so; `outvoted` are the nodes of those that are in another state.
 */
export interface Comparison {
  readonly majority: 'found' | 'none' | 'unknown';
  readonly outvoted: readonly string[];
}

/** Compares the digests of replicas at the same positions. */
export class Digests {
  readonly #shards = new Map<string, OfShard>();

  constructor(private readonly self: string) {}

  /** Takes a digest, and compares those that are known at its position; `nodes` have the replicas of the shard. */
  take(digest: NodeDigest, nodes: readonly string[]): Comparison {
    const { replica, position, node } = digest;
    if (!nodes.includes(node)) return { majority: 'unknown', outvoted: [] };
    const ofShard = this.#shards.get(replica) ?? (new Map() as OfShard);
    this.#shards.set(replica, ofShard);
    const told = ofShard.get(position) ?? new Map<string, NodeDigest>();
    ofShard.set(position, told.set(node, digest));
    for (const old of [...ofShard.keys()].sort((one, other) => other - one).slice(KEPT_POSITIONS))
      ofShard.delete(old);
    return comparisonOf(
      [...told.values()].filter((one) => nodes.includes(one.node)),
      nodes.length,
    );
  }

  /** That of this node's replica at a position, where it is kept. */
  own(replica: string, position: number): NodeDigest | undefined {
    return this.#shards.get(replica)?.get(position)?.get(this.self);
  }

  forget(replica: string): void {
    this.#shards.delete(replica);
  }
}

function comparisonOf(told: readonly NodeDigest[], replicas: number): Comparison {
  const counts = new Map<string, number>();
  for (const { digest } of told) counts.set(digest, (counts.get(digest) ?? 0) + 1);
  const [majority] = [...counts].filter(([, count]) => 2 * count > replicas).map(([digest]) => digest);
  if (majority === undefined)
    return { majority: told.length === replicas ? 'none' : 'unknown', outvoted: [] };
  const outvoted = told.filter(({ digest }) => digest !== majority).map(({ node }) => node);
  return { majority: 'found', outvoted };
}
