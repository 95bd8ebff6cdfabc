/**
 * What to propose so that the map comes to what its settings and the nodes want. It depends on nothing but its arguments and
 * is called again after each change: what is under way is read from the map.
 */
import type { ShardMapEvent } from '../map/event';
import { nodesOf, type ShardMapState } from '../map/state';
import { balance } from './balance';
import { Draft, type ClusterView } from './draft';
import { addReplicas, dropReplicas, turnReplicas } from './repair';

export type { ClusterView } from './draft';

/** How many replicas of the cluster are filled at a time. */
const MOST_JOINING = 4;

/** The events to propose next, in this order; none where the map is as it is to be. */
export function reconcile(
  state: ShardMapState,
  view: ClusterView,
  mostJoining = MOST_JOINING,
): ShardMapEvent[] {
  const draft = new Draft(state, view);
  for (const shard of draft.shards()) turnReplicas(draft, shard);
  for (const shard of draft.shards()) dropReplicas(draft, shard);
  for (const shard of draft.shards()) addReplicas(draft, shard, mostJoining);
  for (const { id, leaving } of nodesOf(draft.state)) {
    if (leaving !== undefined && draft.countOf(id) === 0) draft.add({ kind: 'node_left', node: id });
  }
  if (draft.events.length === 0 && draft.joining() === 0) balance(draft, mostJoining);
  return draft.events;
}
