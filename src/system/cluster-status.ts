import type { ClusterReport } from '../engine/types';

/** What a node says that has not joined yet. */
export const NOT_JOINED: ClusterReport = {
  peerId: 0,
  peers: [],
  mapVersion: 0,
  proposer: undefined,
  replicas: [],
};

/**
 * What `GET /cluster` says, in Qdrant's shape. There is no Raft here: in its place stands what corresponds to it, the shard map.
 * `commit` is the sequence of its last event, `leader` the node that proposes what failures demand. A peer has more members
 * than Qdrant gives it: its own id and state.
 */
export function clusterStatus(report: ClusterReport | undefined): object {
  if (report === undefined) return { status: 'disabled' };
  const { peerId, mapVersion, proposer, isAlone = false } = report;
  return {
    status: 'enabled',
    peer_id: peerId,
    peers: peersOf(report),
    raft_info: {
      term: 0,
      commit: mapVersion,
      pending_operations: 0,
      leader: proposer ?? null,
      role: proposer === peerId ? 'Leader' : 'Follower',
      is_voter: !isAlone,
    },
    consensus_thread_status: isAlone
      ? { consensus_thread_status: 'stopped' }
      : { consensus_thread_status: 'working', last_update: new Date().toISOString() },
    message_send_failures: {},
  };
}

/** What `GET /cluster/telemetry` says. */
export function clusterTelemetry(report: ClusterReport | undefined): object {
  const peers = report === undefined ? {} : peersOf(report);
  return {
    collections: {},
    cluster: { enabled: report !== undefined, number_of_peers: Object.keys(peers).length, peers },
  };
}

function peersOf({ peers }: ClusterReport): Readonly<Record<string, object>> {
  return Object.fromEntries(
    peers.map(({ peerId, address, node, state }) => [String(peerId), { uri: address, node, state }]),
  );
}
