/** What one shard needs: replicas in the right state, as many as it wants, on nodes that stay. */
import { bestNodes, collectionCounts } from '../map/placement';
import type { ReplicaPlace } from '../map/event';
import type { ReplicaEntry } from '../map/state';
import type { Draft, ShardOfDraft } from './draft';

/** A replica that lacks fewer messages than this may answer reads. */
export const READY_BEHIND = 1000;

const placeOf = ({ collection, number }: ShardOfDraft, { node }: ReplicaEntry): ReplicaPlace => ({
  collection: collection.id,
  shard: number,
  node,
});

/** Replicas that are filled become active; those of lost nodes do not stay so where another one is active. */
export function turnReplicas(draft: Draft, shard: ShardOfDraft): void {
  for (const replica of shard.replicas) {
    if (replica.state !== 'active' && isReady(draft, shard, replica)) {
      draft.add({ kind: 'replica_activated', ...placeOf(shard, replica) });
    }
  }
  const now = draft.shard(shard.collection.id, shard.number)?.replicas ?? [];
  const active = now.filter(({ state }) => state === 'active');
  if (active.every(({ node }) => draft.isLost(node))) return;
  for (const replica of active) {
    if (draft.isLost(replica.node)) draft.add({ kind: 'replica_deactivated', ...placeOf(shard, replica) });
  }
}

function isReady(
  { view }: Draft,
  { collection, number, replicas }: ShardOfDraft,
  replica: ReplicaEntry,
): boolean {
  const reportOf = ({ node }: ReplicaEntry) => view.reportOf(node, collection.id, number);
  const report = reportOf(replica);
  if (report === undefined || report.behind >= READY_BEHIND) return false;
  // A stream that lost its end has nothing for it to read, while others have applied what is lost.
  const others = replicas
    .filter(({ state }) => state === 'active')
    .map((other) => reportOf(other)?.position ?? 0);
  return report.position > Math.max(0, ...others) - READY_BEHIND;
}

/** Replicas that the shard does not need any more are dropped, never its last active one. */
export function dropReplicas(draft: Draft, shard: ShardOfDraft): void {
  const { replicas, collection } = shard;
  const good = replicas.filter((replica) => isGood(draft, replica));
  for (const replica of replicas) {
    if (isInTheWay(draft, shard, good.length, replica))
      draft.add({ kind: 'replica_dropped', ...placeOf(shard, replica) });
  }
  // Those on the nodes with the most replicas; of equal ones the oldest, so that none is dropped for having been moved.
  const byCount = good.toSorted((one, other) => draft.countOf(other.node) - draft.countOf(one.node));
  for (const replica of byCount.slice(0, Math.max(0, good.length - collection.replicationFactor))) {
    draft.add({ kind: 'replica_dropped', ...placeOf(shard, replica) });
  }
}

/** Whether a replica is active on a node that stays. */
function isGood(draft: Draft, { node, state }: ReplicaEntry): boolean {
  return state === 'active' && draft.isUsable(node);
}

/** Whether the shard is to be without a replica that is not good, with so many good ones. */
function isInTheWay(
  draft: Draft,
  { collection }: ShardOfDraft,
  good: number,
  replica: ReplicaEntry,
): boolean {
  const { node, state } = replica;
  if (isGood(draft, replica)) return false;
  // It has nothing that others lack.
  if (state === 'joining') return !draft.isUsable(node);
  if (good >= collection.replicationFactor) return true;
  // Fewer nodes than replicas: a node that was lost may come back, one that is leaving does not.
  return draft.isLeaving(node) && good > 0 && good >= draft.usable().length;
}

/** Replicas that the shard lacks are added, as long as no more than `most` of the cluster are being filled. */
export function addReplicas(draft: Draft, shard: ShardOfDraft, most: number): void {
  const { collection, number, replicas } = shard;
  // It could not be filled, and the repair of the stream would wait for it.
  if (draft.isStreamLost(collection)) return;
  const usable = draft.usable().map(({ id }) => id);
  const there = replicas.filter(({ node }) => draft.isUsable(node)).length;
  const lacking = Math.min(collection.replicationFactor, usable.length) - there;
  if (lacking <= 0) return;
  const free = usable.filter(
    (node) => draft.view.stateOf(node) === 'live' && replicas.every((replica) => replica.node !== node),
  );
  const counts = { all: draft.counts, collection: collectionCounts(collection) };
  for (const node of bestNodes(collection.id, number, free, counts).slice(0, lacking)) {
    if (draft.joining() >= most) return;
    draft.add({ kind: 'replica_added', collection: collection.id, shard: number, node });
  }
}
