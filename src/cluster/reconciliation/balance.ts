/** Moving replicas from the nodes that have most of them to those that have least. */
import { collectionCounts, preferredNodes } from '../map/placement';
import type { Draft, ShardOfDraft } from './draft';

/**
 * Adds replicas on the nodes with the fewest, each to a shard of the node with the most: once it is active the shard has one
 * too many, and drops that of the node with the most.
 */
export function balance(draft: Draft, most: number): void {
  const nodes = draft.usable().map(({ id }) => id);
  // What a node that is silent is going to have is not known.
  if (nodes.some((node) => draft.view.stateOf(node) !== 'live')) return;
  const planned = new Map(nodes.map((node) => [node, draft.countOf(node)]));
  for (let moves = 0; moves < most; moves += 1) {
    const [from, to] = extremes(planned);
    if (from === undefined || to === undefined || from.count - to.count < 2) return;
    const shard = shardToMove(draft, from.node, to.node);
    if (shard === undefined) return;
    draft.add({ kind: 'replica_added', collection: shard.collection.id, shard: shard.number, node: to.node });
    planned.set(from.node, from.count - 1).set(to.node, to.count + 1);
  }
}

interface Counted {
  readonly node: string;
  readonly count: number;
}

/** The node with the most and the one with the fewest; of equal ones that with the lower id. */
function extremes(counts: ReadonlyMap<string, number>): readonly [Counted | undefined, Counted | undefined] {
  const nodes = [...counts].map(([node, count]) => ({ node, count }));
  nodes.sort((one, other) => other.count - one.count || (one.node < other.node ? -1 : 1));
  const fewest = nodes.at(-1)?.count;
  return [nodes[0], nodes.find(({ count }) => count === fewest)];
}

/**
 * A shard of one node that the other has not and that is complete: of the collection whose counts differ most, the one that
 * prefers the other node most.
 */
function shardToMove(draft: Draft, from: string, to: string): ShardOfDraft | undefined {
  let best: { readonly shard: ShardOfDraft; readonly rank: readonly number[] } | undefined;
  for (const shard of draft.shards()) {
    const { collection, number, replicas } = shard;
    const isComplete =
      replicas.length >= collection.replicationFactor && replicas.every(({ state }) => state === 'active');
    const isOn = (node: string): boolean => replicas.some((replica) => replica.node === node);
    if (!isComplete || !isOn(from) || isOn(to) || draft.isStreamLost(collection)) continue;
    const counts = collectionCounts(collection);
    const difference = (counts.get(from) ?? 0) - (counts.get(to) ?? 0);
    const nodes = [to, ...replicas.map(({ node }) => node)];
    const rank = [-difference, preferredNodes(collection.id, number, nodes).indexOf(to)];
    if (best === undefined || isLower(rank, best.rank)) best = { shard, rank };
  }
  return best?.shard;
}

function isLower(one: readonly number[], other: readonly number[]): boolean {
  const at = one.findIndex((value, index) => value !== other[index]);
  return at >= 0 && (one[at] ?? 0) < (other[at] ?? 0);
}
