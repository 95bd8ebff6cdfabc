import { createHash } from 'node:crypto';
import { isCheckpointFileName } from '../../snapshots/archive';
import { isCount, isDigest, isObject } from '../json';
import { CheckpointStoreError, type CheckpointFile, type CheckpointManifest } from './checkpoint-store';
import { checkpointId, isCheckpointId, isName, isUpload } from './keys';

const FORMAT = 1;
const MAX_FACTS = 32;
const MAX_FACT_CHARACTERS = 4096;

/** A manifest as text: with the version of its format and a SHA-256 of its content. */
export function manifestText(manifest: CheckpointManifest): string {
  const checksum = checksumOf(manifest);
  return `${JSON.stringify({ kithdb_checkpoint: FORMAT, ...partsOf(manifest), checksum }, undefined, 1)}\n`;
}

/**
 * The manifest of a text, checked.
 * @param name names its object in errors.
 * @throws CheckpointStoreError where it is damaged, or a later release has written it.
 */
export function readManifest(text: string, name: string): CheckpointManifest {
  const damaged = (what: string): CheckpointStoreError => new CheckpointStoreError('damaged', name, what);
  let sent: unknown;
  try {
    sent = JSON.parse(text);
  } catch {
    throw damaged('it is no JSON');
  }
  const format = isObject(sent) ? sent['kithdb_checkpoint'] : undefined;
  if (isCount(format) && format > FORMAT) {
    const what = `it has format ${format}, and this release reads format ${FORMAT}`;
    throw new CheckpointStoreError('later_format', name, what);
  }
  if (format !== FORMAT || !isManifest(sent)) throw damaged('it is no manifest');
  if (sent.checksum !== checksumOf(sent)) throw damaged('it does not have its checksum');
  return partsOf(sent);
}

/** @throws CheckpointStoreError where a manifest could not be read again. */
export function checkManifest(manifest: CheckpointManifest): void {
  if (!isManifest(manifest)) {
    throw new CheckpointStoreError('invalid', manifest.shard, 'this cannot be the manifest of a checkpoint');
  }
}

/** The parts of a manifest in one order, and nothing else. */
function partsOf(manifest: CheckpointManifest): CheckpointManifest {
  const { id, shard, position, digest, node, created_at, facts } = manifest;
  const files = manifest.files.map(({ name, bytes, sha256, upload }) => ({ name, bytes, sha256, upload }));
  return { id, shard, position, digest, node, created_at, facts, files };
}

function checksumOf(manifest: CheckpointManifest): string {
  const content = JSON.stringify({ kithdb_checkpoint: FORMAT, ...partsOf(manifest) });
  return createHash('sha256').update(content).digest('hex');
}

function isManifest(value: unknown): value is CheckpointManifest & { readonly checksum?: unknown } {
  if (!isObject(value)) return false;
  const { id, shard, position, digest, node, created_at: createdAt, facts, files } = value;
  return (
    typeof id === 'string' &&
    isCheckpointId(id) &&
    isCount(position) &&
    id.startsWith(checkpointId(position, '')) &&
    [shard, node].every((name) => typeof name === 'string' && isName(name)) &&
    (digest === null || isDigest(digest)) &&
    typeof createdAt === 'string' &&
    areFacts(facts) &&
    Array.isArray(files) &&
    areFiles(files)
  );
}

function areFacts(facts: unknown): boolean {
  const entries = isObject(facts) ? Object.entries(facts) : undefined;
  return (
    entries !== undefined &&
    entries.length <= MAX_FACTS &&
    entries.every(
      ([name, fact]) => typeof fact === 'string' && name.length + fact.length <= MAX_FACT_CHARACTERS,
    )
  );
}

function areFiles(files: readonly unknown[]): files is readonly CheckpointFile[] {
  const names = new Set(files.map((file) => (isObject(file) ? file['name'] : undefined)));
  return (
    files.length > 0 &&
    names.size === files.length &&
    files.every((file) => {
      if (!isObject(file)) return false;
      const { name, bytes, sha256, upload } = file;
      const isNamed = typeof name === 'string' && isCheckpointFileName(name);
      const isHashed = typeof sha256 === 'string' && /^[0-9a-f]{64}$/.test(sha256);
      return isNamed && isHashed && isCount(bytes) && typeof upload === 'string' && isUpload(upload);
    })
  );
}
