import { randomBytes } from 'node:crypto';
import { CheckpointStoreError } from './checkpoint-store';

/** Where the objects of a shard are: below `shards/SHARD/`. */
export interface ShardKeys {
  /** Manifests: `POSITION.UPLOAD.json`. */
  readonly manifests: string;
  /** Files: `SHA256.UPLOAD`. */
  readonly files: string;
  /** Uploads that are under way: `UPLOAD.json`. */
  readonly uploads: string;
  /** What nodes have written or read back: `POSITION.UPLOAD.NODE`. */
  readonly confirmations: string;
  /** Objects that are written to read the clock of the store. */
  readonly clock: string;
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
const POSITION_DIGITS = 16;
const CHECKPOINT_ID = /^[0-9]{16}\.[0-9a-f]{32}$/;
const MANIFEST_NAME = /^([0-9]{16}\.[0-9a-f]{32})\.json$/;
const FILE_NAME = /^[0-9a-f]{64}\.([0-9a-f]{32})$/;
const UPLOAD_NAME = /^([0-9a-f]{32})\.json$/;
const CONFIRMATION_NAME = /^([0-9]{16}\.[0-9a-f]{32})\.([A-Za-z0-9][A-Za-z0-9._-]{0,127})$/;

/** Whether a text can be the id of a shard or of a node. */
export function isName(text: string): boolean {
  return NAME.test(text);
}

/** @throws CheckpointStoreError for what cannot be the id of a shard. */
export function keysOf(shard: string): ShardKeys {
  if (!isName(shard)) {
    throw new CheckpointStoreError('invalid', JSON.stringify(shard), 'it cannot be the id of a shard');
  }
  const at = `shards/${shard}`;
  return {
    manifests: `${at}/manifests/`,
    files: `${at}/files/`,
    uploads: `${at}/uploads/`,
    confirmations: `${at}/confirmations/`,
    clock: `${at}/clock/`,
  };
}

/** The id of a new upload. */
export function newUpload(): string {
  return randomBytes(16).toString('hex');
}

export function isUpload(text: string): boolean {
  return UPLOAD_NAME.test(`${text}.json`);
}

/** The id of the checkpoint that an upload writes. */
export function checkpointId(position: number, upload: string): string {
  return `${String(position).padStart(POSITION_DIGITS, '0')}.${upload}`;
}

/** The position of a checkpoint, in digits that sort as it does. */
export function positionOfId(id: string): string {
  return id.slice(0, POSITION_DIGITS);
}

export function isCheckpointId(text: string): boolean {
  return CHECKPOINT_ID.test(text);
}

/** The checkpoint of a manifest's key; undefined for a key of something else. */
export function checkpointOfKey(keys: ShardKeys, key: string): string | undefined {
  return MANIFEST_NAME.exec(key.slice(keys.manifests.length))?.[1];
}

/** The upload that has written a file. */
export function uploadOfFile(keys: ShardKeys, key: string): string | undefined {
  return FILE_NAME.exec(key.slice(keys.files.length))?.[1];
}

/** The upload of the key that says that it is under way. */
export function uploadOfKey(keys: ShardKeys, key: string): string | undefined {
  return UPLOAD_NAME.exec(key.slice(keys.uploads.length))?.[1];
}

/** The checkpoint that a node has written or read back, and the node. */
export function confirmationOfKey(
  keys: ShardKeys,
  key: string,
): { readonly id: string; readonly node: string } | undefined {
  const [, id, node] = CONFIRMATION_NAME.exec(key.slice(keys.confirmations.length)) ?? [];
  return id === undefined || node === undefined ? undefined : { id, node };
}

export function manifestKey(keys: ShardKeys, id: string): string {
  return `${keys.manifests}${id}.json`;
}

export function fileKey(
  keys: ShardKeys,
  { sha256, upload }: { readonly sha256: string; readonly upload: string },
): string {
  return `${keys.files}${sha256}.${upload}`;
}
