import { tmpdir } from 'node:os';
import type { Config } from '../config';
import type { BackupOutcome } from '../operations/backup';
import type { BackupPlace, BackupSource } from '../operations/backup-rotation';
import { openBucket, refuseBucketFlags } from './bucket';
import { CommandError, counted, EXIT, type Console, type ExitCode } from './console';
import { optionalFlag, requiredFlag } from './flags';
import type { GivenFlags } from './verbs';

/** `kithdb backup`: a consistent copy of a data directory, whether a server has it open or not. */
export async function backup(config: Config, console: Console, flags: GivenFlags): Promise<ExitCode> {
  const to = requiredFlag(flags, 'to', 'FOLDER');
  const { dataDir, tokenStore } = config;
  const base = optionalFlag(flags, 'base');
  const keep = keptNumber(optionalFlag(flags, 'keep'));
  if (keep !== undefined) {
    return rotate({ dataDir, tokenStore }, await placeOf(to, base, console, flags), keep, console, flags);
  }
  if (to.startsWith('s3://')) {
    throw new CommandError('--to s3://… needs --keep N', EXIT.usage);
  }
  refuseBucketFlags(flags, 'to');
  const { makeBackup } = await import('../operations/backup.js');
  const outcome = await makeBackup({ dataDir, to, tokenStore, ...(base !== undefined && { base }) });
  await noteMade(dataDir, outcome, console);
  return report(outcome, outcome, console, flags);
}

const MAX_KEPT = 10_000;

function keptNumber(text: string | undefined): number | undefined {
  const number = text !== undefined && /^\d{1,5}$/.test(text) ? Number(text) : NaN;
  if (text !== undefined && !(number >= 1 && number <= MAX_KEPT)) {
    throw new CommandError(
      `--keep must be a whole number from 1 to ${MAX_KEPT}, not ${JSON.stringify(text)}`,
      EXIT.usage,
    );
  }
  return text === undefined ? undefined : number;
}

/** Where `--to` is, with what has to be closed afterwards. */
interface OpenedPlace {
  readonly place: BackupPlace;
  readonly close: () => void;
}

async function placeOf(
  to: string,
  base: string | undefined,
  { env }: Console,
  flags: GivenFlags,
): Promise<OpenedPlace> {
  const { parseS3 } = await import('../operations/s3-bucket.js');
  const address = parseS3(to);
  if (address === undefined) {
    refuseBucketFlags(flags, 'to');
    const { BackupFolder } = await import('../operations/backup-folder.js');
    return { place: new BackupFolder(to, base), close: () => undefined };
  }
  if (base !== undefined) {
    throw new CommandError('--base is for folders: nothing can be linked in a bucket', EXIT.usage);
  }
  const bucket = await openBucket(address, env, flags);
  const { BackupBucket } = await import('../operations/backup-s3.js');
  const place = new BackupBucket(bucket, address, optionalFlag(flags, 'work') ?? tmpdir());
  return {
    place,
    close: () => {
      bucket.close();
    },
  };
}

async function rotate(
  source: BackupSource,
  { place, close }: OpenedPlace,
  keep: number,
  console: Console,
  flags: GivenFlags,
): Promise<ExitCode> {
  try {
    const { rotateBackups } = await import('../operations/backup-rotation.js');
    const made = (outcome: BackupOutcome): Promise<void> => noteMade(source.dataDir, outcome, console);
    const { outcome, removed, whole } = await rotateBackups(place, source, keep, made);
    const code = report(outcome, { ...outcome, removed, whole }, console, flags);
    if (!flags.has('json')) {
      const gone = removed.length === 0 ? 'nothing was removed' : `removed: ${removed.join(', ')}`;
      console.stdout.write(`Whole backups there: ${whole}; ${gone}\n`);
    }
    return code;
  } finally {
    close();
  }
}

/** Notes a whole backup in the data directory. One that cannot be noted is made all the same. */
async function noteMade(dataDir: string, outcome: BackupOutcome, { stderr }: Console): Promise<void> {
  const { isWhole } = await import('../operations/backup.js');
  if (!isWhole(outcome)) return;
  const { noteBackup } = await import('../operations/note-backup.js');
  const why = await noteBackup(dataDir);
  if (why !== undefined) {
    stderr.write(`kithdb: the backup is made; its time could not be noted in ${dataDir}: ${why}\n`);
  }
}

/** Says what became of a backup, and gives the exit code. */
function report(outcome: BackupOutcome, json: object, console: Console, flags: GivenFlags): ExitCode {
  const { damaged, quarantined, unverified } = outcome;
  const code = damaged.length + quarantined.length + unverified.length > 0 ? EXIT.reservations : EXIT.success;
  if (flags.has('json')) {
    console.stdout.write(`${JSON.stringify(json, undefined, 2)}\n`);
    return code;
  }
  for (const name of quarantined) {
    console.stderr.write(
      `kithdb: collection ${name} is quarantined: the backup holds its files as they are\n`,
    );
  }
  for (const { file, what } of unverified) {
    console.stderr.write(`kithdb: ${file} is in the backup as it is, and not verified: ${what}\n`);
  }
  for (const { file, what, missing } of damaged) {
    const there = missing ? 'and not in the backup' : 'and so in the backup';
    console.stderr.write(`kithdb: ${file} is damaged in the data directory, ${there}: ${what}\n`);
  }
  if (damaged.length + quarantined.length > 0) {
    console.stderr.write(
      'kithdb: keep earlier backups: what is damaged here may be whole in them; kithdb check says what it means\n',
    );
  }
  const linked = outcome.linked === 0 ? '' : `, ${outcome.linked} of them linked to the base`;
  const source = outcome.live ? 'of the running server' : 'of the data directory at rest';
  console.stdout.write(
    `Backup ${source} in ${outcome.to}: ${counted(outcome.files, 'file')}, ${counted(outcome.bytes, 'byte')}${linked}\n`,
  );
  return code;
}
