import type { Config } from '../config';
import type { Console } from './console';
import { optionalFlag, requiredFlag } from './flags';
import type { GivenFlags } from './verbs';

/** `kithdb backup`: a consistent copy of a data directory, whether a server has it open or not. */
export async function backup(config: Config, console: Console, flags: GivenFlags): Promise<undefined> {
  const to = requiredFlag(flags, 'to', 'FOLDER');
  const { makeBackup } = await import('../operations/backup.js');
  const base = optionalFlag(flags, 'base');
  const outcome = await makeBackup({
    dataDir: config.dataDir,
    to,
    tokenStore: config.tokenStore,
    ...(base !== undefined && { base }),
  });
  if (flags.has('json')) {
    console.stdout.write(`${JSON.stringify(outcome, undefined, 2)}\n`);
    return;
  }
  for (const name of outcome.quarantined) {
    console.stderr.write(
      `kithdb: collection ${name} is quarantined: the backup holds its files as they are\n`,
    );
  }
  const linked = outcome.linked === 0 ? '' : `, ${outcome.linked} of them linked to the base`;
  const source = outcome.live ? 'of the running server' : 'of the data directory at rest';
  console.stdout.write(
    `Backup ${source} in ${outcome.to}: ${outcome.files} files, ${outcome.bytes} bytes${linked}\n`,
  );
}
