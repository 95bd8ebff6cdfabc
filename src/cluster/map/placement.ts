/** Where replicas are placed. */
import { createHash } from 'node:crypto';
import { nodesOf, type CollectionEntry, type NodeEntry, type ShardMapState } from './state';

/** What a placement of a new collection depends on. */
export interface PlacedCollection {
  readonly id: number;
  readonly shardNumber: number;
  readonly replicationFactor: number;
}

/** Replicas of each node, whatever their state. */
export type ReplicaCounts = Map<string, number>;

/**
 * Nodes in the order in which a shard prefers them: by a hash of the shard and the node, so that a change of the nodes
 * changes no preference between the others (rendezvous hashing, D. Thaler and C. Ravishankar, 1998).
 */
export function preferredNodes(collection: number, shard: number, nodes: readonly string[]): string[] {
  const ranked = nodes.map((node) => ({ node, rank: rankOf(collection, shard, node) }));
  ranked.sort((one, other) => (one.rank < other.rank ? -1 : 1));
  return ranked.map(({ node }) => node);
}

function rankOf(collection: number, shard: number, node: string): string {
  return createHash('sha256').update(`${collection}/${shard}/${node}`).digest('hex');
}

/** The counts of the nodes that have joined and not left. */
export function replicaCounts(state: ShardMapState): ReplicaCounts {
  const counts: ReplicaCounts = new Map(nodesOf(state).map(({ id }) => [id, 0]));
  for (const collection of state.collections.values()) addCounts(counts, collection);
  return counts;
}

/** The counts of one collection alone. */
export function collectionCounts(collection: CollectionEntry | undefined): ReplicaCounts {
  const counts: ReplicaCounts = new Map();
  if (collection !== undefined) addCounts(counts, collection);
  return counts;
}

function addCounts(counts: ReplicaCounts, { shards }: CollectionEntry): void {
  for (const { replicas } of shards) {
    for (const { node } of replicas) counts.set(node, (counts.get(node) ?? 0) + 1);
  }
}

/**
 * The nodes on which a new replica of a shard is best: those with the fewest replicas, then those with the fewest of the
 * collection, then the preferred ones.
 */
export function bestNodes(
  collection: number,
  shard: number,
  nodes: readonly string[],
  counts: { readonly all: ReplicaCounts; readonly collection: ReplicaCounts },
): string[] {
  const countOf = (among: ReplicaCounts, node: string): number => among.get(node) ?? 0;
  return preferredNodes(collection, shard, nodes).sort(
    (one, other) =>
      countOf(counts.all, one) - countOf(counts.all, other) ||
      countOf(counts.collection, one) - countOf(counts.collection, other),
  );
}

/**
 * For each shard of a new collection the nodes of its replicas: as many as it wants, or as there are.
 * @param isLive whether a node may get replicas; those that are leaving get none
 */
export function placementOf(
  state: ShardMapState,
  { id, shardNumber, replicationFactor }: PlacedCollection,
  isLive: (node: string) => boolean,
): string[][] {
  const isUsable = (node: NodeEntry): boolean => node.leaving === undefined && isLive(node.id);
  const nodes = nodesOf(state)
    .filter(isUsable)
    .map((node) => node.id);
  const counts = { all: replicaCounts(state), collection: collectionCounts(undefined) };
  return Array.from({ length: shardNumber }, (_, shard) => {
    const placed = bestNodes(id, shard, nodes, counts).slice(0, replicationFactor);
    for (const among of [counts.all, counts.collection]) {
      for (const node of placed) among.set(node, (among.get(node) ?? 0) + 1);
    }
    return placed;
  });
}
