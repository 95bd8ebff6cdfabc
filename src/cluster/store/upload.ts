import { join } from 'node:path';
import { digestOf, type Digest } from '../../operations/copying';
import { filesIn } from '../../snapshots/archive';
import {
  CheckpointStoreError,
  type CheckpointFile,
  type CheckpointManifest,
  type NewCheckpoint,
} from './checkpoint-store';
import { checkpointId, newUpload } from './keys';
import { checkManifest, manifestText } from './manifest';
import { isComplete, type ShardObjects } from './shard-objects';

/**
 * How checkpoints are written while others are removed, by any node, without a lock and without clocks of nodes:
 *
 * - Every file has a holder: the note that its upload is under way, or a manifest that names it. A removal removes holders
 *   first, then looks which are left, and removes the files that none of them holds.
 * - An upload notes itself first. It writes files under names of its own, and takes over files of complete checkpoints.
 *   Behind its manifest it looks whether its note and the manifests of those checkpoints are still there. If so, every
 *   removal that removes one of its files looks for manifests later than that, and finds its own. If not, the upload begins
 *   again.
 * - Only then it confirms the checkpoint, which makes it complete. A manifest without that is none: its writer may find
 *   that a file was removed, and nobody may take over its files.
 *
 * No name is used twice, so a removal that was held up for long removes nothing that was written since.
 */
const ATTEMPTS = 3;

/** A file that is stored. */
interface Stored extends Pick<CheckpointFile, 'sha256' | 'upload'> {
  /** The id of a checkpoint that names it. */
  readonly of: string;
}

/** Writes a checkpoint. */
export async function upload(
  shard: ShardObjects,
  checkpoint: NewCheckpoint,
  signal: AbortSignal | undefined,
): Promise<CheckpointManifest> {
  const files = await localFiles(checkpoint.folder, signal);
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    const manifest = await attemptUpload(shard, { checkpoint, files, signal });
    if (manifest !== undefined) return manifest;
  }
  throw new CheckpointStoreError(
    'unavailable',
    shard.objects.nameOf(shard.keys.manifests),
    'files were removed while a checkpoint was written, again and again',
  );
}

interface LocalFile extends Digest {
  readonly name: string;
  readonly path: string;
}

async function localFiles(folder: string, signal: AbortSignal | undefined): Promise<readonly LocalFile[]> {
  const files: LocalFile[] = [];
  for (const { name } of await filesIn(folder)) {
    signal?.throwIfAborted();
    const path = join(folder, name);
    files.push({ name, path, ...(await digestOf(path)) });
  }
  if (files.length === 0)
    throw new CheckpointStoreError('invalid', folder, 'it has no files of a checkpoint');
  return files;
}

interface Attempt {
  readonly checkpoint: NewCheckpoint;
  readonly files: readonly LocalFile[];
  readonly signal: AbortSignal | undefined;
}

/** Undefined where something that it relied on was removed meanwhile. */
async function attemptUpload(
  shard: ShardObjects,
  { checkpoint, files, signal }: Attempt,
): Promise<CheckpointManifest | undefined> {
  const id = newUpload();
  const { objects, keys } = shard;
  const note = `${keys.uploads}${id}.json`;
  await objects.createText(note, JSON.stringify({ node: checkpoint.node }));
  try {
    const stored = await storedFiles(shard);
    const relied = new Set<string>();
    const named: CheckpointFile[] = [];
    for (const { name, path, bytes, sha256 } of files) {
      signal?.throwIfAborted();
      const known = stored.get(sha256);
      const file = { name, bytes, sha256, upload: known?.upload ?? id };
      if (known === undefined) await objects.create(shard.keyOf(file), path, { bytes, sha256 });
      else relied.add(known.of);
      named.push(file);
    }
    const manifest = manifestOf(checkpoint, id, named);
    signal?.throwIfAborted();
    await objects.createText(shard.manifestKey(manifest.id), manifestText(manifest));
    if (!(await isHeld(shard, id, relied))) {
      await objects.remove(shard.manifestKey(manifest.id));
      return undefined;
    }
    await shard.confirm(manifest, manifest.node);
    return manifest;
  } finally {
    await objects.remove(note).catch(() => undefined);
  }
}

/** The files of complete checkpoints, by SHA-256, as far as they have their lengths. */
async function storedFiles(shard: ShardObjects): Promise<ReadonlyMap<string, Stored>> {
  const lengths = await shard.files();
  const confirmed = await shard.confirmations();
  const stored = new Map<string, Stored>();
  for (const { id, read } of await shard.manifests()) {
    if (!isComplete(read, confirmed)) continue;
    for (const file of read.files) {
      const isThere = lengths.get(shard.keyOf(file)) === file.bytes;
      // The newest checkpoint that names it: it is removed last.
      if (isThere && !stored.has(file.sha256)) stored.set(file.sha256, { ...file, of: id });
    }
  }
  return stored;
}

/** Whether an upload and the checkpoints that it took files of are still there. */
async function isHeld(shard: ShardObjects, id: string, relied: ReadonlySet<string>): Promise<boolean> {
  if (!(await shard.uploads()).has(id)) return false;
  const there = new Set((await shard.objects.list(shard.keys.manifests)).map(({ key }) => key));
  return [...relied].every((checkpoint) => there.has(shard.manifestKey(checkpoint)));
}

function manifestOf(
  { shard, position, node, digest, facts = {} }: NewCheckpoint,
  id: string,
  files: readonly CheckpointFile[],
): CheckpointManifest {
  const manifest = {
    ...{ id: checkpointId(position, id), shard, position, digest: digest ?? null, node },
    created_at: new Date().toISOString(),
    ...{ facts, files },
  };
  checkManifest(manifest);
  return manifest;
}
