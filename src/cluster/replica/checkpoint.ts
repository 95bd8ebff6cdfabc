import { statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { EngineError, type Engine } from '../../engine/types';
import { adoptFolders, linkFiles } from '../../snapshots/files-of-collections';
import { WorkFolders } from '../../snapshots/work-folders';
import {
  CheckpointStoreError,
  type CheckpointManifest,
  type CheckpointStore,
} from '../store/checkpoint-store';
import { positionOfCheckpoint } from './checkpoint-position';

/** Folder of replicas in a data directory; a start removes what is unfinished below it. */
const REPLICAS = 'replicas';
/** Bytes that a restored replica leaves free on the disk. */
const KEPT_FREE_BYTES = 256 * 1024 * 1024;

/** A replica, and where its checkpoints are. */
export interface ReplicaPlace {
  readonly engine: Pick<Engine, 'execute' | 'receive'>;
  readonly dataDir: string;
  readonly store: CheckpointStore;
  readonly shard: string;
  /** The name of the shard's collection in the engine. */
  readonly collection: string;
}

/** How a checkpoint is saved. */
export interface SavingOptions {
  /** The id of this node. */
  readonly node: string;
  /** The digest of the replica at a position, where it is known. */
  readonly digestAt?: (position: number) => string | undefined;
  readonly facts?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** Which checkpoints may be used: all where absent. */
export type Usable = (manifest: CheckpointManifest) => boolean;

/** What a replica was made of. */
export interface Restored {
  readonly manifest: CheckpointManifest;
  /** Newer checkpoints that could not be used, and why. */
  readonly passedOver: readonly { readonly manifest: CheckpointManifest; readonly reason: Error }[];
}

/**
 * Makes a checkpoint of a replica, which goes on writing meanwhile, and copies it into the store. Rejects with an
 * `EngineError` or a `CheckpointStoreError`.
 */
export function saveCheckpoint(
  { engine, dataDir, store, shard, collection }: ReplicaPlace,
  { node, digestAt, facts, signal }: SavingOptions,
): Promise<CheckpointManifest> {
  return replicaFolders(dataDir).use(async (work) => {
    const folder = await work.below('files');
    await linkFiles(engine, collection, folder);
    const path = join(work.path, 'files');
    const position = await positionOfCheckpoint(path);
    const checkpoint = {
      ...{ shard, position, node, folder: path, digest: digestAt?.(position) },
      ...(facts !== undefined && { facts }),
    };
    return store.put(checkpoint, signal);
  });
}

/**
 * Makes a replica of the newest checkpoint that is whole, in the place of a collection that has its name. Checkpoints that
 * are damaged are passed over. Rejects with an `EngineError`, or with a `CheckpointStoreError` where there is none to use.
 */
export async function restoreReplica(
  place: ReplicaPlace,
  signal?: AbortSignal,
  isUsable: Usable = () => true,
): Promise<Restored> {
  const { store, shard } = place;
  const passedOver: { manifest: CheckpointManifest; reason: Error }[] = [];
  const { checkpoints, unreadable } = await store.list(shard);
  for (const { manifest, missing } of checkpoints) {
    if (!isUsable(manifest)) continue;
    const [object] = missing;
    try {
      if (object !== undefined) throw new CheckpointStoreError('missing', object, 'it is missing');
      await restoreFrom(place, manifest, signal);
      return { manifest, passedOver };
    } catch (error) {
      if (!isOfCheckpoint(error)) throw error;
      passedOver.push({ manifest, reason: error });
    }
  }
  const reasons = [...passedOver.map(({ reason }) => reason), ...unreadable];
  throw new CheckpointStoreError('missing', shard, 'no checkpoint of this shard can be used', {
    cause: new AggregateError(reasons, reasons.map(({ message }) => message).join('; ')),
  });
}

/** Removes what processes that ended have left of checkpoints in a data directory: for a start. */
export function removeUnfinishedCheckpoints(dataDir: string): Promise<void> {
  return replicaFolders(dataDir).removeUnfinished();
}

/** The folders for work on files of replicas below a data directory. */
export function replicaFolders(dataDir: string): WorkFolders {
  return new WorkFolders(dataDir, join(dataDir, REPLICAS));
}

function restoreFrom(
  { engine, dataDir, store, collection }: ReplicaPlace,
  manifest: CheckpointManifest,
  signal: AbortSignal | undefined,
): Promise<void> {
  return replicaFolders(dataDir).use(async (work) => {
    await refuseBeyondRoom(dataDir, manifest);
    const folder = await work.below('fetched');
    await store.fetch(manifest, join(work.path, 'fetched', 'files'), signal);
    signal?.throwIfAborted();
    await adoptFolders(engine, [{ name: collection, folder: `${folder}/files` }]);
  });
}

async function refuseBeyondRoom(dataDir: string, { files }: CheckpointManifest): Promise<void> {
  const bytes = files.reduce((sum, file) => sum + file.bytes, 0);
  const { bavail, bsize } = await statfs(dataDir);
  if (bytes > bavail * bsize - KEPT_FREE_BYTES) throw new EngineError('storage_full');
}

/** Whether an error is about the checkpoint, so that another one may do. */
function isOfCheckpoint(error: unknown): error is Error {
  return error instanceof CheckpointStoreError
    ? error.problem === 'damaged' || error.problem === 'missing'
    : // What the engine says of a folder that holds something else.
      error instanceof EngineError && error.code === 'bad_request';
}
