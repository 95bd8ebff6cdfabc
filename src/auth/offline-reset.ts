import { randomUUID } from 'node:crypto';
import { PasswordHasher } from './password-hashing';
import { openStore, storeExists, type StoreKind } from './store/open';

/** How a reset without a server ended. */
export type OfflineReset = 'done' | 'no admin' | 'no store';

/**
 * Gives the admin of a data directory a new password while no server runs on it; every JWT issued before is invalid.
 * The password has passed the policy.
 * @throws StoreInUse when a server runs
 */
export async function resetPasswordOffline(
  dataDir: string,
  password: string,
  kind?: StoreKind,
): Promise<OfflineReset> {
  if (!(await storeExists(dataDir))) {
    return 'no store';
  }
  const store = await openStore(dataDir, kind);
  try {
    const passwordHash = await new PasswordHasher().hash(password);
    return (await store.replaceAdmin({ passwordHash, generation: randomUUID() })) ? 'done' : 'no admin';
  } finally {
    await store.close();
  }
}
