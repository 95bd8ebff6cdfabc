import { X509Certificate } from 'node:crypto';
import type { Logger } from 'pino';
import type { Engine, EngineOptions } from '../engine/types';
import { ClusterEngine } from './cluster-engine';
import { ClusterNode, type ClusterSettings } from './node';
import { removeUnfinishedCheckpoints, restoreReplica, type Usable } from './replica/checkpoint';
import { reachOf } from './replica/checkpoint-reach';
import type { ReplicaSource } from './replica/opening';
import type { CheckpointStore } from './store/checkpoint-store';
import { openCheckpointStore } from './store/open';
import type { S3Access } from '../operations/s3-bucket';
import { isOfCluster, serverSecurity } from './peers/security';
import { nameOf } from './shards';
import { reasonOf } from '../files/explained';

/** A node, and where the checkpoints of its cluster are: a path or `s3://BUCKET/PREFIX`; nowhere when absent. */
export interface OpenSettings extends ClusterSettings {
  readonly store?: string | undefined;
  /** How that bucket is reached. */
  readonly storeAccess?: Pick<S3Access, 'endpoint' | 'region'> | undefined;
}

/**
 * The engine of a node of a cluster, which is not open yet. `make` makes the engine of this node's replicas.
 * @throws Error for a certificate that cannot be used, or a store that is none
 */
export async function openClusterEngine(
  { models, ...options }: EngineOptions,
  { store: place, storeAccess = {}, ...settings }: OpenSettings,
  log: Logger,
  make: (options: EngineOptions) => Engine,
): Promise<ClusterEngine> {
  requireOwnCertificate(settings);
  const access = { ...storeAccess, load: loadS3 };
  const store = place === undefined ? undefined : await openCheckpointStore(place, access);
  await removeUnfinishedCheckpoints(settings.dataDir);
  const source = (engine: Engine, node: string): ReplicaSource =>
    sourceOf({ engine, node, dataDir: settings.dataDir, store, log });
  const engine = make({ ...options, isReplica: true });
  // Vectors of texts are made once, by the coordinator.
  const { limits } = options;
  const parts = { settings, log, store, source, models, ...(limits !== undefined && { limits }) };
  return new ClusterEngine(engine, new ClusterNode(parts));
}

/** The client of S3, which is one of the packages of this one. */
function loadS3(): Promise<unknown> {
  // Its types take the compiler longer than all of these sources.
  const name = '@aws-sdk/client-s3' as string;
  return import(name);
}

/** @throws Error where other nodes would refuse this node's certificate, which would look like a node that is silent. */
function requireOwnCertificate({ security }: ClusterSettings): void {
  if (security === 'insecure') return;
  try {
    serverSecurity(security);
  } catch (error) {
    const reason = reasonOf(error);
    throw new Error(`the certificate and key for other nodes cannot be used: ${reason}`, { cause: error });
  }
  const certificate = new X509Certificate(security.cert);
  if (!isOfCluster(certificate, security.name)) {
    const subject = certificate.subject.replaceAll('\n', ', ');
    const names = certificate.subjectAltName ?? 'no other names';
    throw new Error(
      `the certificate for other nodes (${subject}; ${names}) is not of the cluster ${security.name}: that has to be its common name or a DNS name`,
    );
  }
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
