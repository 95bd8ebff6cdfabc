import { resetPasswordOffline } from '../auth/offline-reset';
import { refusePassword } from '../auth/password-policy';
import type { Config } from '../config';
import { whyUnusable } from '../operations/data-dir';
import { CommandError, EXIT, type Console } from './console';
import { readNewPassword } from './password-input';

/** `kithdb admin reset-password`: for an operator at the data directory, while no server runs on it (C11.4). */
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
  switch (await resetPasswordOffline(config.dataDir, password, config.tokenStore)) {
    case 'done':
      console.stdout.write('The admin password is reset; every login from before is invalid.\n');
      break;
    case 'no store':
      throw new CommandError(`No server has run on ${config.dataDir} yet: is --data-dir right?`);
    case 'no admin':
      throw new CommandError(
        'There is no admin yet: start the server with KITHDB_ADMIN_PASSWORD, or call POST /auth/admin from this machine',
      );
  }
}
