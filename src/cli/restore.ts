import { tmpdir } from 'node:os';
import type { Config } from '../config';
import type { RestoreOutcome } from '../operations/restore';
import { openBucket, refuseBucketFlags } from './bucket';
import { CommandError, counted, type Console } from './console';
import { optionalFlag, requiredFlag } from './flags';
import type { GivenFlags } from './verbs';

/** `kithdb restore`: a new data directory from a backup, which is in a folder or in a bucket. */
export async function restore(config: Config, console: Console, flags: GivenFlags): Promise<undefined> {
  const from = requiredFlag(flags, 'from', 'FOLDER');
  const outcome = await restoreFrom(from, config, console, flags);
  const without = outcome.withoutAuth
    ? '\nWithout the store of authentication: it begins as at a first start, disabled until an admin enables it'
    : '';
  console.stdout.write(
    flags.has('json')
      ? `${JSON.stringify(outcome, undefined, 2)}\n`
      : `Restored the backup of ${outcome.createdAt} into ${outcome.dataDir}: ${counted(outcome.files, 'file')}, ${counted(outcome.bytes, 'byte')}, all verified${without}\n`,
  );
}

async function restoreFrom(
  from: string,
  config: Config,
  { env }: Console,
  flags: GivenFlags,
): Promise<RestoreOutcome> {
  const { restoreBackup } = await import('../operations/restore.js');
  const restoreFolder = (folder: string): Promise<RestoreOutcome> =>
    restoreBackup({
      from: folder,
      to: config.dataDir,
      withoutAuth: flags.has('without-auth'),
      tokenStore: config.tokenStore,
    });
  const { parseS3 } = await import('../operations/s3-bucket.js');
  const address = parseS3(from);
  if (address === undefined) {
    refuseBucketFlags(flags, 'from');
    return restoreFolder(from);
  }
  const { fetchBackup, s3Url } = await import('../operations/fetched-backup.js');
  const { refuseTarget } = await import('../operations/restore.js');
  // Otherwise all of the backup would come here for nothing.
  await refuseTarget(config.dataDir);
  const bucket = await openBucket(address, env, flags);
  try {
    const fetched = await fetchBackup(bucket, address, optionalFlag(flags, 'work') ?? tmpdir());
    try {
      return await restoreFolder(fetched.folder);
    } catch (error) {
      // The folder is gone when the message is read.
      throw error instanceof Error && error.name === 'BackupError'
        ? new CommandError(error.message.replaceAll(fetched.folder, s3Url(address)))
        : error;
    } finally {
      await fetched.remove();
    }
  } finally {
    bucket.close();
  }
}
