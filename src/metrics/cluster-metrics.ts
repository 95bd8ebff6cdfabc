import type { ClusterReport } from '../engine/types';
import { labelled, type Family } from './family';

/** Metrics of a node of a cluster: what it knows of the others, and how far its own replicas are. */
export function clusterFamilies({ peers, mapVersion, replicas }: ClusterReport): readonly Family[] {
  return [
    {
      type: 'gauge',
      name: 'kithdb_cluster_nodes',
      help: 'Nodes of the cluster by what this one hears of them: live, silent for three seconds, or lost for thirty',
      samples: () =>
        labelled(
          'state',
          Object.fromEntries(
            (['live', 'silent', 'lost'] as const).map((state) => [
              state,
              peers.filter((peer) => peer.state === state).length,
            ]),
          ),
        ),
    },
    {
      type: 'gauge',
      name: 'kithdb_cluster_map_version',
      help: 'Sequence of the last event of the shard map that this node has',
      samples: () => [{ value: mapVersion }],
    },
    {
      type: 'gauge',
      name: 'kithdb_cluster_replicas',
      help: 'Replicas of shards on this node that follow their streams',
      samples: () => [{ value: replicas.length }],
    },
    {
      type: 'gauge',
      name: 'kithdb_cluster_replica_lag_messages',
      help: 'Messages of its stream that the replica of this node has not applied that is furthest behind',
      samples: () => [{ value: Math.max(0, ...replicas.map(({ behind }) => behind)) }],
    },
  ];
}
