import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { FILES, MANIFEST, parseManifest } from './backup-manifest';
import { BackupBucket } from './backup-s3';
import { isSame } from './copying';
import { BackupError } from './failure';
import { makeWorkFolder } from './held-folder';
import type { S3Address, S3Bucket } from './s3-bucket';

/** Begins the names of the folders with fetched backups, which are among those of other programs. */
const WORK_PREFIX = 'kithdb-restore-';

/** A backup of a bucket in a folder of this machine. */
export interface FetchedBackup {
  readonly folder: string;
  /** Removes the folder. */
  remove(): Promise<void>;
}

/**
 * Copies a backup of a bucket into a new folder below `workFolder`, which needs room for it. Each file is compared with
 * the manifest while it arrives.
 * @throws BackupError where there is no backup, or it is damaged; then nothing is left of it.
 */
export async function fetchBackup(
  bucket: S3Bucket,
  address: S3Address,
  workFolder: string,
): Promise<FetchedBackup> {
  const prefix = address.prefix === '' ? '' : `${address.prefix}/`;
  const text = await bucket.text(`${prefix}${MANIFEST}`).catch(async (error: unknown) => {
    throw (await explainAbsence(bucket, address)) ?? error;
  });
  const { files } = parseManifest(text, `s3://${address.bucket}/${prefix}${MANIFEST}`);
  const work = await makeWorkFolder(workFolder, WORK_PREFIX);
  const folder = join(work.path, 'backup');
  try {
    await mkdir(folder, { mode: 0o700 });
    for (const file of files) {
      const path = join(folder, FILES, file.path);
      await mkdir(dirname(path), { recursive: true, mode: 0o700 });
      const key = `${prefix}${FILES}/${file.path}`;
      if (!isSame(await bucket.fetch(key, path, file.bytes), file)) {
        throw new BackupError(
          `s3://${address.bucket}/${key} does not have its checksum: this backup is damaged and nothing was restored`,
        );
      }
    }
    await writeFile(join(folder, MANIFEST), text, { mode: 0o600 });
    return { folder, remove: () => work.remove() };
  } catch (error) {
    await work.remove();
    throw error;
  }
}

/** Where the address is that of several backups, an error that names the newest whole one. */
async function explainAbsence(bucket: S3Bucket, address: S3Address): Promise<BackupError | undefined> {
  const place = new BackupBucket(bucket, address, '');
  const entries = await place.entries().catch(() => []);
  const newest = entries
    .filter(({ state }) => state === 'whole')
    .map(({ name }) => name)
    .sort()
    .at(-1);
  return newest === undefined
    ? undefined
    : new BackupError(
        `${s3Url(address)} holds ${entries.length} backups and is none itself: give --from ${s3Url(address)}/${newest}, the newest whole one`,
      );
}

/** An address as it is given. */
export function s3Url({ bucket, prefix }: S3Address): string {
  return prefix === '' ? `s3://${bucket}` : `s3://${bucket}/${prefix}`;
}
