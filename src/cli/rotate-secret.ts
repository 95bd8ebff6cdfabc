import { rotateSecretOffline } from '../auth/renewal';
import { storeExists } from '../auth/store/open';
import type { Config } from '../config';
import { whyUnusable } from '../operations/data-dir';
import { CommandError, type Console } from './console';
import { say } from './flags';
import { explainedInUse } from './store-in-use';
import type { GivenFlags } from './verbs';

/** `kithdb admin rotate-secret`: a new JWT secret (C3.5). A server that runs on the data directory replaces it itself. */
export async function rotateSecret(config: Config, console: Console, flags: GivenFlags): Promise<undefined> {
  const { dataDir, tokenStore, jwtSecret } = config;
  if (tokenStore === 'memory') {
    throw new CommandError('KITHDB_TOKEN_STORE=memory keeps no secret between starts');
  }
  if (jwtSecret !== undefined) {
    throw new CommandError(
      'The JWT secret comes from the setting KITHDB_JWT_SECRET[_FILE] (SERVICE_JWT_SECRET[_FILE], or jwt_secret in the file of --config): replace it there, and start the server again',
    );
  }
  const unusable = await whyUnusable(dataDir);
  if (unusable !== undefined) {
    throw new CommandError(unusable);
  }
  if (!(await storeExists(dataDir))) {
    throw new CommandError(`No server has run on ${dataDir} yet: is --data-dir right?`);
  }
  const { rotateSecretLive } = await import('../operations/control-client.js');
  const live = await rotateSecretLive(dataDir);
  if (live !== undefined && live !== 'done') {
    throw new CommandError(`The server cannot replace the JWT secret: ${live}`);
  }
  if (live === undefined) {
    await rotateSecretOffline(dataDir, tokenStore).catch(explainedInUse);
  }
  say(console, flags, 'The JWT secret is replaced; every login from before is invalid.', { rotated: true });
}
