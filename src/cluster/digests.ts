import type { PositionedDigest } from './replica/replica-reader';

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
  try {
    const digest = JSON.parse(Buffer.from(bytes).toString()) as Partial<NodeDigest>;
    const isDigest =
      typeof digest.node === 'string' &&
      typeof digest.replica === 'string' &&
      typeof digest.digest === 'string' &&
      Number.isSafeInteger(digest.position) &&
      Number.isSafeInteger(digest.points);
    return isDigest ? (digest as NodeDigest) : undefined;
  } catch {
    return undefined;
  }
}

/** The digests that nodes have told of the replicas of one shard, by position. */
type OfShard = Map<number, Map<string, NodeDigest>>;

/** Compares the digests of replicas at the same positions. */
export class Digests {
  readonly #shards = new Map<string, OfShard>();

  constructor(private readonly self: string) {}

  /**
   * Takes a digest; says whether the replica of this node is in another state than most replicas of the shard at that position,
   * of which there are `replicas`.
   */
  isOutvoted(digest: NodeDigest, replicas: number): boolean {
    const { replica, position, node } = digest;
    const ofShard = this.#shards.get(replica) ?? (new Map() as OfShard);
    this.#shards.set(replica, ofShard);
    const told = ofShard.get(position) ?? new Map<string, NodeDigest>();
    ofShard.set(position, told.set(node, digest));
    for (const old of [...ofShard.keys()].sort((one, other) => other - one).slice(KEPT_POSITIONS))
      ofShard.delete(old);
    const own = told.get(this.self)?.digest;
    if (own === undefined) return false;
    const counts = new Map<string, number>();
    for (const one of told.values()) counts.set(one.digest, (counts.get(one.digest) ?? 0) + 1);
    return [...counts].some(([other, count]) => other !== own && 2 * count > replicas);
  }

  /** That of this node's replica at a position, where it is kept. */
  own(replica: string, position: number): NodeDigest | undefined {
    return this.#shards.get(replica)?.get(position)?.get(this.self);
  }

  forget(replica: string): void {
    this.#shards.delete(replica);
  }
}
