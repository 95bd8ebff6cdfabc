import type { Logger } from 'pino';
import type { Config } from '../config';
import { digestOf } from './access-token';
import type { InitialToken, StoredToken, TokenStore } from './store/port';

const NAME = 'initial';

/** A value that is in use as another access token. */
export class ValueInUse extends Error {
  override readonly name = 'ValueInUse';
}

/**
 * Makes the access token that the settings give (C11.2) at a first start, and rotates it where they give another value
 * than the last one. The same value changes nothing, whatever became of the token since.
 * @throws ValueInUse
 */
export async function settleInitialToken(
  { accessToken, accessTokenPermission }: Pick<Config, 'accessToken' | 'accessTokenPermission'>,
  store: TokenStore,
  nowMs: number,
  log: Logger,
): Promise<void> {
  if (accessToken === undefined) {
    return;
  }
  const digest = digestOf(accessToken);
  // First, since in a cluster it asks for what another node has made: what is read after it is not older.
  const other = await store.tokenByDigest(digest);
  const known = await store.initialToken();
  if (known?.digest.equals(digest) === true) {
    await warnOfChanges(known, accessTokenPermission, store, log);
    return;
  }
  if (known === undefined && (await store.setting('auth_enabled')) !== 'undecided') {
    log.warn(
      'KITHDB_ACCESS_TOKEN has no effect: only a first start makes its token. Make one with POST /auth/access_token',
    );
    return;
  }
  if (other !== undefined && other.id !== known?.id) {
    throw new ValueInUse(
      `The value of KITHDB_ACCESS_TOKEN is that of the access token ${other.id} already: give another`,
    );
  }
  const stored = await store.putInitialToken({
    name: NAME,
    description: null,
    digest,
    permission: accessTokenPermission,
    createdAt: Math.floor(nowMs / 1000),
    expiresAt: null,
  });
  report(stored, known, log);
  warnOfPermission(stored, accessTokenPermission, log);
}

function report({ id, permission }: StoredToken, known: InitialToken | undefined, log: Logger): void {
  const token = { tokenId: id, permission };
  if (known === undefined) {
    log.info(token, 'access token initial made of KITHDB_ACCESS_TOKEN');
  } else if (known.id === id) {
    log.warn(token, 'KITHDB_ACCESS_TOKEN has changed: the access token initial was rotated to it');
  } else {
    log.warn(token, 'KITHDB_ACCESS_TOKEN has changed: its access token had been deleted, and was made anew');
  }
}

/** Says where the value that the settings give is not in force (any more). */
async function warnOfChanges(
  known: InitialToken,
  permission: string,
  store: TokenStore,
  log: Logger,
): Promise<void> {
  const stored = await store.token(known.id);
  if (stored === undefined) {
    log.warn('KITHDB_ACCESS_TOKEN has no effect: its access token was deleted. Another value makes it anew');
  } else if ((await store.tokenByDigest(known.digest)) === undefined) {
    log.warn(
      'KITHDB_ACCESS_TOKEN has no effect: its access token was rotated since. Another value rotates it again',
    );
  } else {
    warnOfPermission(stored, permission, log);
  }
}

function warnOfPermission(stored: StoredToken, asked: string, log: Logger): void {
  if (stored.permission !== asked) {
    log.warn(
      `KITHDB_ACCESS_TOKEN_PERMISSION=${asked} has no effect: the access token has the permission ${stored.permission} with which it was made`,
    );
  }
}
