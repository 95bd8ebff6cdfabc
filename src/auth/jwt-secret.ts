import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import type { TokenStore } from './store/port';

const SECRET_BYTES = 32;

/**
 * The secret that signs JWTs (C3.2): the configured one, which is stored; else the stored one; else a new one, which
 * is stored.
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
  const secret = configured ?? stored ?? randomBytes(SECRET_BYTES).toString('base64url');
  if (secret !== stored) {
    await store.storeSetting('jwt_secret', secret);
  }
  return secret;
}
