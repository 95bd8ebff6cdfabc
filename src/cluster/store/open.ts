import type { S3Access } from '../../operations/s3-bucket';
import { parseS3 } from '../../operations/s3-bucket';
import type { CheckpointStore } from './checkpoint-store';
import { FolderObjects } from './folder-objects';
import { S3Objects } from './s3-objects';
import { StoredCheckpoints } from './stored-checkpoints';

/**
 * The store of an address: `s3://BUCKET/PREFIX`, or the path of a folder that all nodes have mounted. Rejects with a
 * `BackupError` for an address that is none, and where the client of S3 is not installed.
 */
export async function openCheckpointStore(address: string, access: S3Access = {}): Promise<CheckpointStore> {
  const bucket = parseS3(address);
  return new StoredCheckpoints(
    bucket === undefined ? new FolderObjects(address) : await S3Objects.open(bucket, access),
  );
}
