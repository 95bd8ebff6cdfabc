import type { Config } from '../config';
import { counted, EXIT, type Console, type ExitCode } from './console';
import { optionalFlag, requiredFlag } from './flags';
import type { GivenFlags } from './verbs';

/** `kithdb backup`: a consistent copy of a data directory, whether a server has it open or not. */
export async function backup(config: Config, console: Console, flags: GivenFlags): Promise<ExitCode> {
  const to = requiredFlag(flags, 'to', 'FOLDER');
  const { makeBackup } = await import('../operations/backup.js');
  const base = optionalFlag(flags, 'base');
  const outcome = await makeBackup({
    dataDir: config.dataDir,
    to,
    tokenStore: config.tokenStore,
    ...(base !== undefined && { base }),
  });
  const { damaged, quarantined, unverified } = outcome;
  const code = damaged.length + quarantined.length + unverified.length > 0 ? EXIT.damaged : EXIT.success;
  if (flags.has('json')) {
    console.stdout.write(`${JSON.stringify(outcome, undefined, 2)}\n`);
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
