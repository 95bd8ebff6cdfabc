import { createAdminOffline, resetPasswordOffline } from '../auth/offline-admin';
import { refusePassword } from '../auth/password-policy';
import type { Config } from '../config';
import { whyUnusable } from '../operations/data-dir';
import { CommandError, EXIT, type Console } from './console';
import { say } from './flags';
import { readNewPassword } from './password-input';
import { explainedInUse } from './store-in-use';
import type { GivenFlags } from './verbs';

/**
 * `kithdb admin reset-password`: for an operator at the data directory (C11.4). A server that runs on it changes the
 * password itself.
 */
export async function resetPassword(config: Config, console: Console, flags: GivenFlags): Promise<undefined> {
  const password = await newPassword(config, console);
  await replacePassword(config, password);
  say(console, flags, 'The admin password is reset; every login from before is invalid.', { reset: true });
}

/**
 * `kithdb admin create`: the admin of a server, also of one that answers `POST /auth/admin` to nobody (C11.2). A server
 * that runs on the data directory creates it itself.
 */
export async function createAdmin(config: Config, console: Console, flags: GivenFlags): Promise<undefined> {
  const { dataDir, tokenStore } = config;
  const password = await newPassword(config, console);
  const { createAdminLive } = await import('../operations/control-client.js');
  const live = await createAdminLive(dataDir, password);
  if (live !== undefined && live !== 'done') {
    throw new CommandError(`The server cannot create the admin: ${live}`);
  }
  if (live === undefined) {
    switch (await createAdminOffline(dataDir, password, tokenStore).catch(explainedInUse)) {
      case 'done':
        break;
      case 'no store':
        throw new CommandError(`No server has run on ${dataDir} yet: is --data-dir right?`);
      case 'an admin':
        throw new CommandError(
          'There is an admin already: kithdb admin reset-password gives it another password',
        );
    }
  }
  say(console, flags, 'The admin is created.', { created: true });
}

/** The password that a command is given, which has passed the policy. @throws CommandError */
async function newPassword(config: Config, console: Console): Promise<string> {
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
  return password;
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
      throw new CommandError('There is no admin yet: kithdb admin create makes it');
  }
}
