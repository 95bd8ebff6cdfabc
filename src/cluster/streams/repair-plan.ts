/** With which state the shards of a log group go on whose stream was lost. It depends on nothing but its arguments. */
import type { CarriedShard } from '../map/event';
import { type CollectionEntry, type ShardEntry, type ShardMapState } from '../map/state';
import type { MemberState } from '../membership/members';
import { nameOf } from '../shards';
import type { FrozenReplica } from './frozen-replica';

/** What is known of the replicas of a group. */
export interface FrozenView {
  stateOf(node: string): MemberState;
  /** What a live node says of its replica, once that stands still. */
  frozenOn(node: string, replica: string): FrozenReplica | undefined;
  /** Whether a replica that is in another state can be made anew. */
  readonly hasStore: boolean;
}

/** The shards with their states, or what the repair waits for. */
export type RepairPlan = { readonly shards: readonly CarriedShard[] } | { readonly waitsFor: string };

export function planRepair({ collections }: ShardMapState, group: number, view: FrozenView): RepairPlan {
  const shards: CarriedShard[] = [];
  for (const collection of collections.values()) {
    if (collection.group !== group) continue;
    for (const [number, entry] of collection.shards.entries()) {
      const plan = planShard(collection, number, entry, view);
      if ('waitsFor' in plan) return plan;
      shards.push(plan);
    }
  }
  return { shards };
}

function planShard(
  collection: CollectionEntry,
  shard: number,
  { replicas }: ShardEntry,
  view: FrozenView,
): CarriedShard | { readonly waitsFor: string } {
  const name = nameOf({ collection: collection.id, shard });
  const reports: FrozenReplica[] = [];
  for (const { node, state } of replicas) {
    const report = view.frozenOn(node, name);
    if (report !== undefined) reports.push(report);
    else if (state === 'active' && view.stateOf(node) !== 'lost')
      return { waitsFor: `${name} on node ${node}` };
  }
  // A write that was acknowledged is on at least so many replicas of those that there were.
  const copies = Math.max(collection.writeConsistencyFactor, Math.floor(replicas.length / 2) + 1);
  const missing = replicas.length - reports.length;
  if (missing >= copies || reports.length === 0) return { waitsFor: `more replicas of ${name}` };
  const pool = poolOf(reports, copies - missing);
  if (pool === undefined)
    return { waitsFor: `more replicas of ${name}, of which some have records that others lack` };
  const best = bestOf(pool);
  const nodes = reports.filter((report) => isSame(report, best)).map(({ node }) => node);
  if (!view.hasStore && nodes.length < reports.length) {
    return { waitsFor: `a store of checkpoints, because the replicas of ${name} differ` };
  }
  return { collection: collection.id, shard, position: best.position, digest: best.digest, nodes };
}

/**
 * The replicas among which the most advanced one is right. A stream that went back may have taken other records before that was
 * noticed: then some replicas have records that it lost, and others those that took their places. Only one of these histories
 * was acknowledged, that of at least `needed` replicas. Undefined where both may be.
 */
function poolOf(reports: readonly FrozenReplica[], needed: number): readonly FrozenReplica[] | undefined {
  const inStream = reports.filter(({ isInStream }) => isInStream);
  const others = reports.filter(({ isInStream }) => !isInStream);
  if (inStream.length === 0 || others.length === 0) return reports;
  if (inStream.length < needed) return others;
  return others.length < needed ? inStream : undefined;
}

/** A replica at the highest position, in the state that most of those have. */
function bestOf(pool: readonly FrozenReplica[]): FrozenReplica {
  const sharers = (one: FrozenReplica): number => pool.filter((other) => isSame(one, other)).length;
  const sorted = [...pool].sort(
    (one, other) =>
      other.position - one.position || sharers(other) - sharers(one) || (one.node < other.node ? -1 : 1),
  );
  const [best] = sorted;
  if (best === undefined) throw new Error('a shard has at least one replica');
  return best;
}

function isSame(one: FrozenReplica, other: FrozenReplica): boolean {
  return one.position === other.position && one.digest === other.digest;
}
