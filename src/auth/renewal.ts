import { renewJwtSecret, rotateJwtSecret } from './jwt-secret';
import type { SqlKind } from './store/connection';
import { openStore } from './store/open';
import { StoreDamaged } from './store/port';

/**
 * Completes a store that an earlier release wrote and that was just restored, and gives it a JWT secret of its own: its
 * backup has the one of the server that was backed up. One that does not verify stays as it is, and closes the server.
 * @throws StoreUnavailable
 */
export async function renewFormerStore(dataDir: string, kind: SqlKind | undefined): Promise<void> {
  try {
    const store = await openStore(dataDir, kind);
    await renewJwtSecret(store).finally(() => store.close());
  } catch (error) {
    if (!(error instanceof StoreDamaged)) throw error;
  }
}

/**
 * Replaces the JWT secret of a data directory while no server runs on it.
 * @throws StoreInUse when a server runs.
 * @throws StoreDamaged
 * @throws StoreUnavailable that says why the directory cannot be used.
 */
export async function rotateSecretOffline(dataDir: string, kind: SqlKind | undefined): Promise<void> {
  const store = await openStore(dataDir, kind);
  await rotateJwtSecret(store).finally(() => store.close());
}
