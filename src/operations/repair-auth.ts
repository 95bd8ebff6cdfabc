import { repairStore, type StoreRepair } from '../auth/store/repair';
import type { SqlKind } from '../auth/store/connection';
import { lockDataDir } from '../engine/offline';
import { requireDataDir } from './data-dir';

/**
 * Repairs the store of authentication of a data directory at rest; with `takesOlder` also one that is older than the catalog
 * of the engine is in force.
 * @throws Error when it cannot be repaired: no data directory, a server that holds it, no room for what is kept.
 */
export async function repairAuth(
  dataDir: string,
  kind: SqlKind | undefined,
  takesOlder: boolean,
): Promise<StoreRepair> {
  requireDataDir(dataDir);
  const lock = lockDataDir(dataDir);
  try {
    const stamp = new Date().toISOString().replaceAll(/[-:.]/g, '');
    return await repairStore(dataDir, stamp, kind, takesOlder);
  } finally {
    lock.release();
  }
}
