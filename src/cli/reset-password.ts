import { resetPasswordOffline } from '../auth/offline-reset';
import { refusePassword } from '../auth/password-policy';
import { StoreInUse } from '../auth/store/port';
import type { Config } from '../config';
import { whyUnusable } from '../operations/data-dir';
import { CommandError, EXIT, type Console } from './console';
import { readNewPassword } from './password-input';

/**
 * `kithdb admin reset-password`: for an operator at the data directory (C11.4). A server that runs on it changes the
 * password itself.
 */
export async function resetPassword(config: Config, console: Console): Promise<undefined> {
  if (config.tokenStore === 'memory') {
    throw new CommandError('KITHDB_TOKEN_STORE=memory keeps no password between starts');
  }
  const unusable = await whyUnusable(config.dataDir);
  if (unusable !== undefined) {
    throw new CommandError(unusable);
  }
  if (config.adminPasswordProblem !== undefined) {
    throw new CommandError(config.adminPasswordProblem, EXIT.usage);
  }
  const password = config.adminPassword ?? (await readNewPassword(console));
  const refused = refusePassword(password);
  if (refused !== undefined) {
    throw new CommandError(refused);
  }
  await replacePassword(config, password);
  console.stdout.write('The admin password is reset; every login from before is invalid.\n');
}

/** @throws Error that says why the password is as it was. */
async function replacePassword({ dataDir, tokenStore }: Config, password: string): Promise<void> {
  const { resetPasswordLive } = await import('../operations/control-client.js');
  const live = await resetPasswordLive(dataDir, password);
  if (live === 'done') {
    return;
  }
  if (live !== undefined) {
    throw new CommandError(`The server cannot reset the password: ${live}`);
  }
  switch (await resetPasswordOffline(dataDir, password, tokenStore).catch(explainedInUse)) {
    case 'done':
      break;
    case 'no store':
      throw new CommandError(`No server has run on ${dataDir} yet: is --data-dir right?`);
    case 'no admin':
      throw new CommandError(
        'There is no admin yet: start the server with KITHDB_ADMIN_PASSWORD, or call POST /auth/admin from this machine',
      );
  }
}

function explainedInUse(error: unknown): never {
  throw error instanceof StoreInUse
    ? new CommandError(
        `${error.message}, and none that is ready answers on it. Is one starting? Then try again`,
      )
    : error;
}
