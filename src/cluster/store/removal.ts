import { CheckpointStoreError, type Removed, type Retention } from './checkpoint-store';
import { newUpload, uploadOfFile } from './keys';
import { isComplete, type FoundManifest, type ShardObjects } from './shard-objects';

const KEEP = 2;
const MIN_AGE_MS = 24 * 60 * 60 * 1000;

/** Removes old checkpoints of a shard, and then the files that nothing holds: see `upload.ts`. */
export async function removeOld(
  shard: ShardObjects,
  { keep = KEEP, minAgeMs = MIN_AGE_MS }: Retention = {},
): Promise<Removed> {
  const { objects, keys } = shard;
  // Before anything that holds files is looked at: what is uploaded later is none of these.
  const files = await shard.files();
  const before = (await storeTime(shard)) - minAgeMs;
  for (const { key, modifiedMs } of (await shard.uploads()).values()) {
    if (modifiedMs < before) await objects.remove(key);
  }
  const manifests = await shard.manifests();
  const removed = await expired(shard, { manifests, files, keep, before });
  for (const id of removed) await objects.remove(shard.manifestKey(id));
  const count = await removeUnheld(shard, files);
  await removeConfirmations(shard);
  for (const { key, modifiedMs } of await objects.list(keys.clock)) {
    if (modifiedMs < before) await objects.remove(key);
  }
  return { checkpoints: removed, files: count };
}

interface Looked {
  /** Newest first. */
  readonly manifests: readonly FoundManifest[];
  readonly files: ReadonlyMap<string, number>;
  readonly keep: number;
  /** What was written earlier may be removed. */
  readonly before: number;
}

/** The checkpoints that need not be kept: all but the newest whole ones, the newest that was confirmed, and young ones. */
async function expired(shard: ShardObjects, { manifests, files, keep, before }: Looked): Promise<string[]> {
  const confirmed = await shard.confirmations();
  const kept = new Set<string>();
  let whole = 0;
  let isConfirmedKept = false;
  for (const { id, object, read } of manifests) {
    if (object.modifiedMs >= before) kept.add(id);
    if (read instanceof CheckpointStoreError) {
      // Nobody here knows what it is for.
      if (read.problem === 'later_format') kept.add(id);
      continue;
    }
    if (!isComplete(read, confirmed) || shard.missingOf(read, files).length > 0) continue;
    whole += 1;
    if (whole <= keep) kept.add(id);
    if (!isConfirmedKept && confirmed.get(id)?.some((node) => node !== read.node) === true) {
      isConfirmedKept = true;
      kept.add(id);
    }
  }
  return manifests.map(({ id }) => id).filter((id) => !kept.has(id));
}

/** Removes the files that neither an upload nor a manifest holds. */
async function removeUnheld(shard: ShardObjects, files: ReadonlyMap<string, number>): Promise<number> {
  // Uploads first: one that ends meanwhile has its manifest by then.
  const uploads = await shard.uploads();
  const held = await namedFiles(shard);
  if (held === undefined) return 0;
  let count = 0;
  for (const key of files.keys()) {
    const upload = uploadOfFile(shard.keys, key);
    if (upload === undefined || uploads.has(upload) || held.has(key)) continue;
    await shard.objects.remove(key);
    count += 1;
  }
  return count;
}

/**
 * The keys of the files that any manifest names; undefined where that is not known.
 *
 * A listing is not of one moment. It may miss a manifest that is removed while it is made, and another that took over its
 * files and was written shortly before that. The second listing has the latter.
 */
async function namedFiles(shard: ShardObjects): Promise<ReadonlySet<string> | undefined> {
  const named = new Set<string>();
  for (let listing = 1; listing <= 2; listing += 1) {
    const { found, isAnyRemoved } = await shard.readManifests();
    if (isAnyRemoved) return undefined;
    for (const { read } of found) {
      if (read instanceof CheckpointStoreError) return undefined;
      for (const file of read.files) named.add(shard.keyOf(file));
    }
  }
  return named;
}

/** Removes what was noted of checkpoints that are gone. */
async function removeConfirmations(shard: ShardObjects): Promise<void> {
  const { objects, keys } = shard;
  // In this order, so that nothing is removed of a checkpoint that was confirmed meanwhile.
  const confirmed = await shard.confirmations();
  const there = new Set((await objects.list(keys.manifests)).map(({ key }) => key));
  for (const [id, nodes] of confirmed) {
    if (there.has(shard.manifestKey(id))) continue;
    for (const node of nodes) await objects.remove(`${keys.confirmations}${id}.${node}`);
  }
}

/** What time it is by the clock of the store. */
async function storeTime({ objects, keys }: ShardObjects): Promise<number> {
  const key = `${keys.clock}${newUpload()}`;
  await objects.createText(key, '{}');
  const written = (await objects.list(keys.clock)).find((one) => one.key === key);
  await objects.remove(key);
  if (written === undefined) {
    throw new CheckpointStoreError('unavailable', objects.nameOf(key), 'it was written, and is not listed');
  }
  return written.modifiedMs;
}
