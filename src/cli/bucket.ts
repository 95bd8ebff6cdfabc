import type { VerbFlag } from '../config';
import type { S3Address, S3Bucket } from '../operations/s3-bucket';
import { CommandError, EXIT, type Console } from './console';
import { optionalFlag } from './flags';
import type { GivenFlags } from './verbs';

/** The flag of every command that works with a bucket. */
export const ENDPOINT_FLAG: VerbFlag = {
  name: 's3-endpoint',
  placeholder: 'URL',
  about: 'The server of s3://, where it is not of Amazon; AWS_ENDPOINT_URL_S3 is the same.',
};

/** The bucket of an address; it has to be closed. @throws CommandError, BackupError */
export async function openBucket(
  { bucket }: S3Address,
  env: Console['env'],
  flags: GivenFlags,
): Promise<S3Bucket> {
  // The SDK reads these too, but does not tell that a server of one's own has its buckets in the path.
  const endpoint =
    optionalFlag(flags, 's3-endpoint') ?? env['AWS_ENDPOINT_URL_S3'] ?? env['AWS_ENDPOINT_URL'];
  if (endpoint !== undefined && !/^https?:\/\//.test(endpoint)) {
    throw new CommandError(`--s3-endpoint must be a URL, not ${JSON.stringify(endpoint)}`, EXIT.usage);
  }
  const region =
    env['AWS_REGION'] ?? env['AWS_DEFAULT_REGION'] ?? (endpoint === undefined ? undefined : 'us-east-1');
  const { S3Bucket } = await import('../operations/s3-bucket.js');
  return S3Bucket.open(bucket, {
    ...(endpoint !== undefined && { endpoint }),
    ...(region !== undefined && { region }),
  });
}

/** @throws CommandError for a flag that is only for s3://, where `place` is a folder. */
export function refuseBucketFlags(flags: GivenFlags, place: 'to' | 'from'): void {
  for (const name of ['s3-endpoint', 'work']) {
    if (flags.has(name)) {
      throw new CommandError(`--${name} is for --${place} s3://… only`, EXIT.usage);
    }
  }
}
