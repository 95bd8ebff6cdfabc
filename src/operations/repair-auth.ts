import { repairStore, type StoreRepair } from '../auth/store/repair';
import type { SqlKind } from '../auth/store/connection';
import { lockDataDir } from '../engine/offline';
import { whyOfCluster } from './cluster-node';
import { requireDataDir } from './data-dir';

/**
 * Repairs the store of authentication of a data directory at rest; with `takesOlder` also one that is older than the catalog
 * of the engine is in force, and a node of a cluster gives that what it has.
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
    const isOfCluster = whyOfCluster(dataDir) !== undefined;
    return await repairStore(dataDir, stamp, { kind, takesOlder, isOfCluster });
  } finally {
    lock.release();
  }
}
