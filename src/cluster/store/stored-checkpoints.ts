import { mkdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { syncFolder } from '../../files/folder';
import { isSame, type Digest } from '../../operations/copying';
import {
  CheckpointStoreError,
  type CheckpointFile,
  type CheckpointListing,
  type CheckpointManifest,
  type CheckpointStore,
  type NewCheckpoint,
  type Removed,
  type Retention,
  type StoredCheckpoint,
} from './checkpoint-store';
import { isName, newUpload } from './keys';
import { checkManifest } from './manifest';
import type { Objects } from './objects';
import { removeOld } from './removal';
import { isComplete, ShardObjects } from './shard-objects';
import { upload } from './upload';

/** Checkpoints as objects: see `keys.ts` for where they are, and `upload.ts` for how nodes share them. */
export class StoredCheckpoints implements CheckpointStore {
  readonly #remembered = new Map<string, CheckpointManifest>();

  constructor(private readonly objects: Objects) {}

  async put(checkpoint: NewCheckpoint, signal?: AbortSignal): Promise<CheckpointManifest> {
    return upload(this.#of(checkpoint.shard), checkpoint, signal);
  }

  async latest(shard: string): Promise<CheckpointManifest | undefined> {
    const { checkpoints } = await this.list(shard);
    return checkpoints.find(({ missing }) => missing.length === 0)?.manifest;
  }

  async list(shard: string): Promise<CheckpointListing> {
    const objects = this.#of(shard);
    const confirmed = await objects.confirmations();
    // Before the files: those of each manifest were there before it.
    const found = await objects.manifests();
    const lengths = await objects.files();
    const checkpoints: StoredCheckpoint[] = [];
    const unreadable: CheckpointStoreError[] = [];
    for (const { id, read } of found) {
      if (read instanceof CheckpointStoreError) {
        unreadable.push(read);
      } else if (isComplete(read, confirmed)) {
        const missing = objects.missingOf(read, lengths);
        const confirmedBy = (confirmed.get(id) ?? []).filter((node) => node !== read.node);
        checkpoints.push({ manifest: read, missing, confirmedBy });
      }
    }
    return { checkpoints, unreadable };
  }

  async fetch(manifest: CheckpointManifest, into: string, signal?: AbortSignal): Promise<void> {
    const shard = this.#checked(manifest);
    const exists = await stat(into).then(
      () => true,
      () => false,
    );
    if (exists) throw new CheckpointStoreError('invalid', into, 'it is there already');
    const part = `${into}.${newUpload()}`;
    await mkdir(part, { mode: 0o700 });
    try {
      for (const file of manifest.files) {
        signal?.throwIfAborted();
        const key = shard.keyOf(file);
        this.#compare(key, file, await this.objects.fetch(key, join(part, file.name), file.bytes));
      }
      signal?.throwIfAborted();
      await syncFolder(part);
      await rename(part, into);
    } catch (error) {
      await rm(part, { recursive: true, force: true });
      throw error;
    }
    await syncFolder(dirname(into));
  }

  async verify(manifest: CheckpointManifest, signal?: AbortSignal): Promise<void> {
    const shard = this.#checked(manifest);
    for (const file of manifest.files) {
      signal?.throwIfAborted();
      const key = shard.keyOf(file);
      this.#compare(key, file, await this.objects.digestOf(key));
    }
  }

  async confirm(manifest: CheckpointManifest, node: string): Promise<void> {
    const shard = this.#checked(manifest);
    if (!isName(node) || node === manifest.node) {
      const what = 'another node than the one that has written it has to confirm a checkpoint';
      throw new CheckpointStoreError('invalid', JSON.stringify(node), what);
    }
    await shard.confirm(manifest, node);
  }

  async discard(manifest: CheckpointManifest): Promise<void> {
    const shard = this.#checked(manifest);
    await this.objects.remove(shard.manifestKey(manifest.id));
  }

  async removeOld(shard: string, retention?: Retention): Promise<Removed> {
    return removeOld(this.#of(shard), retention);
  }

  close(): void {
    this.objects.close();
  }

  #of(shard: string): ShardObjects {
    return new ShardObjects(this.objects, shard, this.#remembered);
  }

  /** The objects of the shard of a manifest. @throws CheckpointStoreError for one that no store has given. */
  #checked(manifest: CheckpointManifest): ShardObjects {
    checkManifest(manifest);
    return this.#of(manifest.shard);
  }

  #compare(key: string, expected: CheckpointFile, found: Digest): void {
    if (isSame(found, expected)) return;
    const what = `the file ${expected.name} of a checkpoint does not have its length and its SHA-256`;
    throw new CheckpointStoreError('damaged', this.objects.nameOf(key), what);
  }
}
