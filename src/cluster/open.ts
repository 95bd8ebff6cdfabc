import type { Logger } from 'pino';
import type { Engine, EngineOptions } from '../engine/types';
import { ClusterEngine } from './cluster-engine';
import { ClusterNode, type ClusterSettings } from './node';
import { removeUnfinishedCheckpoints, restoreReplica } from './replica/checkpoint';
import type { ReplicaSource } from './replica/local-replicas';
import type { CheckpointStore } from './store/checkpoint-store';
import { openCheckpointStore } from './store/open';
import { nameOf } from './shards';

/** A node, and where the checkpoints of its cluster are: a path or `s3://BUCKET/PREFIX`; nowhere when absent. */
export interface OpenSettings extends ClusterSettings {
  readonly store?: string | undefined;
}

/** The engine of a node of a cluster, which is not open yet. `make` makes the engine of this node's replicas. */
export async function openClusterEngine(
  { models, ...options }: EngineOptions,
  { store: place, ...settings }: OpenSettings,
  log: Logger,
  make: (options: EngineOptions) => Engine,
): Promise<ClusterEngine> {
  const store = place === undefined ? undefined : await openCheckpointStore(place);
  await removeUnfinishedCheckpoints(settings.dataDir);
  const source = (engine: Engine): ReplicaSource => sourceOf(engine, settings.dataDir, store, log);
  const engine = make({ ...options, isReplica: true });
  // Vectors of texts are made once, by the coordinator.
  const { limits } = options;
  const parts = { settings, log, source, models, ...(limits !== undefined && { limits }) };
  return new ClusterEngine(engine, new ClusterNode(parts));
}

function sourceOf(
  engine: Engine,
  dataDir: string,
  store: CheckpointStore | undefined,
  log: Logger,
): ReplicaSource {
  return {
    restore: async (shard, collection, signal) => {
      if (store === undefined) return false;
      const name = nameOf(shard);
      if ((await store.latest(name)) === undefined) return false;
      const { manifest, passedOver } = await restoreReplica(
        { engine, dataDir, store, shard: name, collection },
        signal,
      );
      for (const { manifest: bad, reason } of passedOver) {
        log.warn({ checkpoint: bad.id, err: reason }, 'a checkpoint cannot be used');
      }
      log.info({ replica: name, position: manifest.position }, 'a replica was made of a checkpoint');
      return true;
    },
  };
}
