import type { Config } from '../config';
import { counted, type Console } from './console';
import { requiredFlag } from './flags';
import type { GivenFlags } from './verbs';

/** `kithdb restore`: a new data directory from a backup. */
export async function restore(config: Config, console: Console, flags: GivenFlags): Promise<undefined> {
  const from = requiredFlag(flags, 'from', 'FOLDER');
  const { restoreBackup } = await import('../operations/restore.js');
  const outcome = await restoreBackup({
    from,
    to: config.dataDir,
    withoutAuth: flags.has('without-auth'),
    tokenStore: config.tokenStore,
  });
  const without = outcome.withoutAuth
    ? '\nWithout the store of authentication: it begins as at a first start, disabled until an admin enables it'
    : '';
  console.stdout.write(
    flags.has('json')
      ? `${JSON.stringify(outcome, undefined, 2)}\n`
      : `Restored the backup of ${outcome.createdAt} into ${outcome.dataDir}: ${counted(outcome.files, 'file')}, ${counted(outcome.bytes, 'byte')}, all verified${without}\n`,
  );
}
