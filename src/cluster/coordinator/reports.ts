import { createHash } from 'node:crypto';
import type { CollectionEntry, ReplicaState, ShardMapState } from '../map/state';
import { nodesOf } from '../map/state';
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

/** What `GET /cluster` says. */
export function clusterReport(state: ShardMapState, self: string, members: Members): object {
  const peers = nodesOf(state).map(({ id, address }) => [
    String(peerId(id)),
    { uri: address, node: id, state: members.stateOf(id) },
  ]);
  return {
    status: 'enabled',
    peer_id: peerId(self),
    peers: Object.fromEntries(peers) as object,
    map_version: state.version,
  };
}

/** What `GET /collections/{c}/cluster` says; `pointsOf` knows the points of a shard of this node. */
export function shardsReport(
  { shards, id }: CollectionEntry,
  self: string,
  members: Members,
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
