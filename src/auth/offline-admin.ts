import { randomUUID } from 'node:crypto';
import { diskFull, explained, isDiskFull } from '../files/explained';
import { LocalPasswordHasher } from './password-hashing';
import type { StoredAdmin, TokenStore } from './store/port';
import { openStore, storeExists, StoreUnavailable, type StoreKind } from './store/open';

/** The outcome of a password reset while no server runs. */
export type OfflineReset = 'done' | 'no admin' | 'no store';
/** The outcome of creating the admin while no server runs. */
export type OfflineCreation = 'done' | 'an admin' | 'no store';

/**
 * Gives the admin of a data directory a new password while no server runs on it; every JWT issued before is invalid.
 * The password has passed the policy.
 * @throws StoreInUse when a server runs
 * @throws StoreUnavailable that says why the directory cannot be used, or that its disk is full
 */
export async function resetPasswordOffline(
  dataDir: string,
  password: string,
  kind?: StoreKind,
): Promise<OfflineReset> {
  return withNewAdmin(dataDir, password, kind, async (store, admin) =>
    (await store.replaceAdmin(admin)) ? 'done' : 'no admin',
  );
}

/**
 * Creates the admin of a data directory while no server runs on it. The password has passed the policy.
 * @throws as {@link resetPasswordOffline}
 */
export async function createAdminOffline(
  dataDir: string,
  password: string,
  kind?: StoreKind,
): Promise<OfflineCreation> {
  return withNewAdmin(dataDir, password, kind, async (store, admin) =>
    (await store.createAdmin(admin)) ? 'done' : 'an admin',
  );
}

async function withNewAdmin<T>(
  dataDir: string,
  password: string,
  kind: StoreKind | undefined,
  change: (store: TokenStore, admin: StoredAdmin) => Promise<T>,
): Promise<T | 'no store'> {
  const exists = await storeExists(dataDir).catch((error: unknown) => {
    throw new StoreUnavailable(`The data directory cannot be used: ${explained(error)}`, { cause: error });
  });
  if (!exists) {
    return 'no store';
  }
  const store = await openStore(dataDir, kind);
  try {
    const passwordHash = await new LocalPasswordHasher().hash(password);
    return await change(store, { passwordHash, generation: randomUUID() });
  } catch (error) {
    throw isDiskFull(error) ? new StoreUnavailable(diskFull(dataDir), { cause: error }) : error;
  } finally {
    await store.close();
  }
}
