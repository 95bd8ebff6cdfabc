import { CheckpointStoreError, type CheckpointFile, type CheckpointManifest } from './checkpoint-store';
import {
  checkpointOfKey,
  confirmationOfKey,
  fileKey,
  keysOf,
  manifestKey,
  positionOfId,
  uploadOfKey,
  type ShardKeys,
} from './keys';
import { readManifest } from './manifest';
import type { Objects, StoredObject } from './objects';

/** No manifest is longer; one has about 200 bytes for each file. */
const MAX_MANIFEST_BYTES = 64 * 1024 * 1024;
/** Manifests that are remembered: they do not change. */
const MAX_REMEMBERED = 10_000;

/** A manifest of a listing, or why it cannot be read. */
export interface FoundManifest {
  readonly id: string;
  readonly object: StoredObject;
  readonly read: CheckpointManifest | CheckpointStoreError;
}

/** Whether a manifest can be read, and its writer has found that nothing of it was removed meanwhile. */
export function isComplete(
  read: FoundManifest['read'],
  confirmed: ReadonlyMap<string, readonly string[]>,
): read is CheckpointManifest {
  return !(read instanceof CheckpointStoreError) && confirmed.get(read.id)?.includes(read.node) === true;
}

/** Whether one is of a later position, or of the same one and written later. */
function isNewer(a: FoundManifest, b: FoundManifest): boolean {
  const positions = [a, b].map(({ id }) => positionOfId(id)) as [string, string];
  if (positions[0] !== positions[1]) return positions[0] > positions[1];
  const isLater = a.object.modifiedMs - b.object.modifiedMs;
  return isLater === 0 ? a.id > b.id : isLater > 0;
}

/** The objects of one shard. */
export class ShardObjects {
  readonly keys: ShardKeys;

  constructor(
    readonly objects: Objects,
    readonly shard: string,
    private readonly remembered: Map<string, CheckpointManifest>,
  ) {
    this.keys = keysOf(shard);
  }

  /** All manifests, newest first. Of one that is removed meanwhile nothing is known. */
  async manifests(): Promise<readonly FoundManifest[]> {
    return (await this.readManifests()).found;
  }

  /** The same, and whether any was removed between the listing and its reading. */
  async readManifests(): Promise<{
    readonly found: readonly FoundManifest[];
    readonly isAnyRemoved: boolean;
  }> {
    const found: FoundManifest[] = [];
    let isAnyRemoved = false;
    for (const object of await this.objects.list(this.keys.manifests)) {
      const id = checkpointOfKey(this.keys, object.key);
      if (id === undefined) continue;
      const read = await this.#read(id, object);
      if (read === undefined) isAnyRemoved = true;
      else found.push({ id, object, read });
    }
    return { found: found.sort((a, b) => (isNewer(a, b) ? -1 : 1)), isAnyRemoved };
  }

  /** The lengths of all files, by key. */
  async files(): Promise<ReadonlyMap<string, number>> {
    return new Map((await this.objects.list(this.keys.files)).map(({ key, bytes }) => [key, bytes]));
  }

  /** The uploads that are under way. */
  async uploads(): Promise<ReadonlyMap<string, StoredObject>> {
    const uploads = new Map<string, StoredObject>();
    for (const object of await this.objects.list(this.keys.uploads)) {
      const upload = uploadOfKey(this.keys, object.key);
      if (upload !== undefined) uploads.set(upload, object);
    }
    return uploads;
  }

  /** The nodes that have written or read back checkpoints, by checkpoint. */
  async confirmations(): Promise<ReadonlyMap<string, readonly string[]>> {
    const nodes = new Map<string, string[]>();
    for (const { key } of await this.objects.list(this.keys.confirmations)) {
      const { id, node } = confirmationOfKey(this.keys, key) ?? {};
      if (id === undefined || node === undefined) continue;
      nodes.set(id, [...(nodes.get(id) ?? []), node]);
    }
    return nodes;
  }

  /** Notes that a node has written all of a checkpoint, or read it back. */
  async confirm({ id }: CheckpointManifest, node: string): Promise<void> {
    await this.objects.createText(`${this.keys.confirmations}${id}.${node}`, '{}');
  }

  /** The objects of a checkpoint that are missing or have another length. */
  missingOf({ files }: CheckpointManifest, lengths: ReadonlyMap<string, number>): readonly string[] {
    return files
      .filter((file) => lengths.get(this.keyOf(file)) !== file.bytes)
      .map((file) => this.objects.nameOf(this.keyOf(file)));
  }

  keyOf(file: Pick<CheckpointFile, 'sha256' | 'upload'>): string {
    return fileKey(this.keys, file);
  }

  manifestKey(id: string): string {
    return manifestKey(this.keys, id);
  }

  /** Undefined where it was removed meanwhile. */
  async #read(id: string, object: StoredObject): Promise<FoundManifest['read'] | undefined> {
    const name = this.objects.nameOf(object.key);
    const version = `${this.shard}/${id} ${object.bytes} ${object.modifiedMs}`;
    const known = this.remembered.get(version);
    if (known !== undefined) return known;
    try {
      if (object.bytes > MAX_MANIFEST_BYTES) {
        throw new CheckpointStoreError('damaged', name, 'it is too long for a manifest');
      }
      const manifest = readManifest(await this.objects.text(object.key), name);
      if (manifest.id !== id || manifest.shard !== this.shard) {
        throw new CheckpointStoreError('damaged', name, 'it is the manifest of another checkpoint');
      }
      if (this.remembered.size >= MAX_REMEMBERED) this.remembered.clear();
      this.remembered.set(version, manifest);
      return manifest;
    } catch (error) {
      if (!(error instanceof CheckpointStoreError) || error.problem === 'unavailable') throw error;
      return error.problem === 'missing' ? undefined : error;
    }
  }
}
