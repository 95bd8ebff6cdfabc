import { createHash, randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import type { TokenStore } from './store/port';

const SECRET_BYTES = 32;
/** Secrets before the present one that are remembered. */
const MAX_REPLACED = 16;

/**
 * The secret that signs JWTs (C3.2): the configured one, which is stored; else the stored one; else a new one, which
 * is stored, unless another node of a cluster stores one at the same time.
 */
export async function settleJwtSecret(
  configured: string | undefined,
  store: TokenStore,
  log: Logger,
): Promise<string> {
  if (configured !== undefined && Buffer.byteLength(configured) < SECRET_BYTES) {
    log.warn(`The JWT secret is shorter than ${SECRET_BYTES} bytes: a longer one is harder to guess`);
  }
  const stored = await store.setting('jwt_secret');
  const secret = configured ?? stored ?? newSecret();
  if (secret !== stored) {
    if ((await replacedSecrets(store)).includes(digestOf(secret))) {
      log.warn(
        'The JWT secret of the settings is one that was replaced since: whoever knows it can sign as the admin. Give another one, or none',
      );
    }
    const isStored = await replaceSecret(store, stored, secret);
    if (!isStored && configured === undefined) return settleJwtSecret(configured, store, log);
  }
  return secret;
}

/** Gives a store that was restored a secret of its own. */
export async function renewJwtSecret(store: TokenStore): Promise<void> {
  await store.storeSetting('jwt_secret', newSecret());
}

/** Replaces the stored secret by a new one, which is returned: every JWT signed with the one before is invalid. */
export async function rotateJwtSecret(store: TokenStore): Promise<string> {
  const secret = newSecret();
  // Where another node of a cluster replaces it at the same time, its secret is the one before.
  while (!(await replaceSecret(store, await store.setting('jwt_secret'), secret)));
  return secret;
}

function newSecret(): string {
  return randomBytes(SECRET_BYTES).toString('base64url');
}

/**
 * Stores a secret, and remembers the one before, first: a kill in between only remembers one that is still in force. False
 * where that is not the secret before any more.
 */
async function replaceSecret(
  store: TokenStore,
  before: string | undefined,
  secret: string,
): Promise<boolean> {
  const known = await replacedSecrets(store);
  const replaced = before === undefined ? known : [digestOf(before), ...known];
  const kept = [...new Set(replaced)].filter((digest) => digest !== digestOf(secret));
  await store.storeSetting('replaced_jwt_secrets', kept.slice(0, MAX_REPLACED).join(' '));
  return store.storeSetting('jwt_secret', secret, { value: before });
}

async function replacedSecrets(store: TokenStore): Promise<readonly string[]> {
  return (await store.setting('replaced_jwt_secrets'))?.split(' ').filter((digest) => digest !== '') ?? [];
}

function digestOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}
