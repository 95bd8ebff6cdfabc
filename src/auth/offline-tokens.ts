import { diskFull, explained, isDiskFull } from '../files/explained';
import { parseAuthState, type TokenStore } from './store/port';
import { openStore, storeExists, StoreUnavailable, type StoreKind } from './store/open';
import { issueToken, reissueToken, type IssuedToken, type TokenRequest } from './tokens';
import type { StoredToken } from './store/port';

/** The access tokens of a data directory. */
export interface AccessTokens {
  /** Whether authentication is enabled: otherwise nobody is asked for a token. */
  readonly enabled: boolean;
  /** Oldest first. */
  tokens(): Promise<readonly StoredToken[]>;
  createToken(request: TokenRequest): Promise<IssuedToken>;
  rotateToken(id: number): Promise<IssuedToken | 'unknown' | 'expired'>;
  /** False when there was none. */
  deleteToken(id: number): Promise<boolean>;
}

/**
 * Works on the access tokens of a data directory while no server runs on it; undefined where no server has run on it yet.
 * @throws StoreInUse when a server runs.
 * @throws StoreDamaged
 * @throws StoreUnavailable that says why the directory cannot be used, or that its disk is full.
 */
export async function withTokensOffline<T>(
  dataDir: string,
  kind: StoreKind | undefined,
  work: (tokens: AccessTokens) => Promise<T>,
): Promise<T | undefined> {
  const exists = await storeExists(dataDir).catch((error: unknown) => {
    throw new StoreUnavailable(`The data directory cannot be used: ${explained(error)}`, { cause: error });
  });
  if (!exists) {
    return undefined;
  }
  const store = await openStore(dataDir, kind);
  try {
    return await work(await tokensOf(store));
  } catch (error) {
    throw isDiskFull(error) ? new StoreUnavailable(diskFull(dataDir), { cause: error }) : error;
  } finally {
    await store.close();
  }
}

async function tokensOf(store: TokenStore): Promise<AccessTokens> {
  return {
    enabled: parseAuthState(await store.setting('auth_enabled')) === 'true',
    tokens: () => store.tokens(),
    createToken: (request) => issueToken(store, request, Date.now()),
    rotateToken: (id) => reissueToken(store, id, Date.now()),
    deleteToken: (id) => store.deleteToken(id),
  };
}
