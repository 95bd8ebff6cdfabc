import { createHash } from 'node:crypto';
import type { ClusterReport, LocalReplica } from '../../engine/types';
import { nodeIds, nodesOf, type CollectionEntry, type ReplicaState, type ShardMapState } from '../map/state';
import type { ReplicaReport } from '../membership/heartbeat';
import type { Members } from '../membership/members';

/** States of replicas in Qdrant's words. */
const STATES: Readonly<Record<ReplicaState, string>> = {
  joining: 'Partial',
  active: 'Active',
  inactive: 'Dead',
};

/** The number that stands for a node in Qdrant's reports, which have no UUIDs: 53 bits of a hash of its id. */
export function peerId(node: string): number {
  return Number(createHash('sha256').update(node).digest().readBigUInt64BE() >> 11n);
}

/** Up to where replicas are; how far behind they are is not known of one that does not follow its stream. */
export interface KnownPositions {
  reportOf(
    node: string,
    collection: number,
    shard: number,
  ): (Pick<ReplicaReport, 'position'> & Partial<Pick<ReplicaReport, 'behind'>>) | undefined;
}

/** What a node knows of its cluster. */
export function clusterReport(
  state: ShardMapState,
  self: string,
  members: Pick<Members, 'proposer' | 'stateOf'>,
  replicas: readonly LocalReplica[],
): ClusterReport {
  const nodes = nodesOf(state);
  const proposer = members.proposer(nodeIds(state));
  return {
    peerId: peerId(self),
    peers: nodes.map(({ id, address }) => ({
      peerId: peerId(id),
      node: id,
      address,
      state: members.stateOf(id),
    })),
    mapVersion: state.version,
    proposer: proposer === undefined ? undefined : peerId(proposer),
    replicas,
  };
}

/** What `GET /collections/{c}/cluster` says; `pointsOf` knows the points of a shard of this node. */
export function shardsReport(
  { shards, id }: CollectionEntry,
  self: string,
  members: KnownPositions,
  pointsOf: (shard: number) => number | undefined,
): object {
  const all = shards.flatMap(({ replicas }, shard) =>
    replicas.map(({ node, state }) => ({
      shard,
      node,
      state: STATES[state],
      at: members.reportOf(node, id, shard),
    })),
  );
  const local = all.filter(({ node }) => node === self);
  const remote = all.filter(({ node }) => node !== self);
  return {
    peer_id: peerId(self),
    shard_count: shards.length,
    local_shards: local.map(({ shard, state, at }) => ({
      ...{ shard_id: shard, points_count: pointsOf(shard) ?? 0, state },
      ...(at !== undefined && { position: at.position, behind: at.behind }),
    })),
    remote_shards: remote.map(({ shard, node, state, at }) => ({
      ...{ shard_id: shard, peer_id: peerId(node), state },
      ...(at !== undefined && { position: at.position, behind: at.behind }),
    })),
    shard_transfers: [],
  };
}
