/**
 * The replica of a shard is a collection of its node's engine. Its name has the number of the collection, which is that of
 * the event that created it, and the shard: names of users' collections never reach the engine of a node in a cluster.
 */

/** A shard of a collection. */
export interface Shard {
  /** The number of the collection. */
  readonly collection: number;
  /** From 0 on. */
  readonly shard: number;
}

const NAME = /^c([1-9]\d*)-s(\d+)$/;

/** The name of a shard's replica in the engine, and of the shard in messages between nodes. */
export function nameOf({ collection, shard }: Shard): string {
  return `c${collection}-s${shard}`;
}

/** The shard that a name stands for; undefined for another name. */
export function shardOfName(name: string): Shard | undefined {
  const [, collection, shard] = NAME.exec(name) ?? [];
  return collection === undefined ? undefined : { collection: Number(collection), shard: Number(shard) };
}
