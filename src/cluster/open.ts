import type { Logger } from 'pino';
import type { Engine, EngineOptions } from '../engine/types';
import { ClusterEngine } from './cluster-engine';
import { ClusterNode, type ClusterSettings } from './node';
import { removeUnfinishedCheckpoints, restoreReplica, type Usable } from './replica/checkpoint';
import { reachOf } from './replica/checkpoint-reach';
import type { ReplicaSource } from './replica/opening';
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
  const source = (engine: Engine, node: string): ReplicaSource =>
    sourceOf({ engine, node, dataDir: settings.dataDir, store, log });
  const engine = make({ ...options, isReplica: true });
  return new ClusterEngine(engine, new ClusterNode({ settings, log, store, source }));
}

interface SourceParts {
  readonly engine: Engine;
  readonly node: string;
  readonly dataDir: string;
  readonly store: CheckpointStore | undefined;
  readonly log: Logger;
}

function sourceOf({ engine, node, dataDir, store, log }: SourceParts): ReplicaSource {
  return {
    restore: async (shard, collection, wanted, signal) => {
      if (store === undefined) return undefined;
      const name = nameOf(shard);
      const isUsable: Usable = (manifest) => {
        const { epoch, readTo } = reachOf(manifest);
        if (epoch !== wanted.epoch || readTo < wanted.readTo) return false;
        // What a wrong replica has saved is as wrong as it was.
        return wanted.lacked === undefined || (manifest.position >= wanted.lacked && manifest.node !== node);
      };
      const { checkpoints } = await store.list(name);
      if (!checkpoints.some(({ manifest }) => isUsable(manifest))) return undefined;
      const { manifest, passedOver } = await restoreReplica(
        { engine, dataDir, store, shard: name, collection },
        signal,
        isUsable,
      );
      for (const { manifest: bad, reason } of passedOver) {
        log.warn({ checkpoint: bad.id, err: reason }, 'a checkpoint cannot be used');
      }
      log.info({ replica: name, position: manifest.position }, 'a replica was made of a checkpoint');
      // It was read back in that.
      if (manifest.node !== node)
        await store.confirm(manifest, node).catch((error: unknown) => {
          log.warn(
            { checkpoint: manifest.id, err: error },
            'a checkpoint was read back, and that is not noted',
          );
        });
      return reachOf(manifest).readTo;
    },
  };
}
