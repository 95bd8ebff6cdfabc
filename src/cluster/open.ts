import type { Logger } from 'pino';
import type { Engine, EngineOptions } from '../engine/types';
import { ClusterEngine } from './cluster-engine';
import { ClusterNode, type ClusterSettings } from './node';
import { identityIn } from './membership/identity';
import { removeUnfinishedCheckpoints, restoreReplica, type Usable } from './replica/checkpoint';
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
  options: EngineOptions,
  { store: place, ...settings }: OpenSettings,
  log: Logger,
  make: (options: EngineOptions) => Engine,
): Promise<ClusterEngine> {
  const store = place === undefined ? undefined : await openCheckpointStore(place);
  await removeUnfinishedCheckpoints(settings.dataDir);
  const source = (engine: Engine): ReplicaSource => sourceOf(engine, settings, store, log);
  const engine = make({ ...options, isReplica: true });
  return new ClusterEngine(engine, new ClusterNode({ settings, log, source }));
}

function sourceOf(
  engine: Engine,
  settings: ClusterSettings,
  store: CheckpointStore | undefined,
  log: Logger,
): ReplicaSource {
  return {
    restore: async (shard, collection, position, signal) => {
      if (store === undefined) return false;
      const name = nameOf(shard);
      const node = (await identityIn(settings.dataDir, settings.cluster))?.node;
      // What a wrong replica has saved is as wrong as it was.
      const isUsable: Usable = (manifest) =>
        position === undefined || (manifest.position >= position && manifest.node !== node);
      const { checkpoints } = await store.list(name);
      if (!checkpoints.some(({ manifest }) => isUsable(manifest))) return false;
      const { manifest, passedOver } = await restoreReplica(
        { engine, dataDir: settings.dataDir, store, shard: name, collection },
        signal,
        isUsable,
      );
      for (const { manifest: bad, reason } of passedOver) {
        log.warn({ checkpoint: bad.id, err: reason }, 'a checkpoint cannot be used');
      }
      log.info({ replica: name, position: manifest.position }, 'a replica was made of a checkpoint');
      return true;
    },
  };
}
