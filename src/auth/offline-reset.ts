import { randomUUID } from 'node:crypto';
import { diskFull, explained, isDiskFull } from '../files/explained';
import { LocalPasswordHasher } from './password-hashing';
import { openStore, storeExists, StoreUnavailable, type StoreKind } from './store/open';

/** The outcome of a password reset while no server runs. */
export type OfflineReset = 'done' | 'no admin' | 'no store';

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
  const exists = await storeExists(dataDir).catch((error: unknown) => {
    throw new StoreUnavailable(`The data directory cannot be used: ${explained(error)}`, { cause: error });
  });
  if (!exists) {
    return 'no store';
  }
  const store = await openStore(dataDir, kind);
  try {
    const passwordHash = await new LocalPasswordHasher().hash(password);
    return (await store.replaceAdmin({ passwordHash, generation: randomUUID() })) ? 'done' : 'no admin';
  } catch (error) {
    throw isDiskFull(error) ? new StoreUnavailable(diskFull(dataDir), { cause: error }) : error;
  } finally {
    await store.close();
  }
}
