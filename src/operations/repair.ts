import { repairEngineFiles, type EngineRepairReport } from '../engine/offline';
import { refuseNode } from './cluster-node';
import { requireDataDir } from './data-dir';

/** What a repair did, or would do; the JSON of `kithdb repair --json`. */
export interface RepairReport extends EngineRepairReport {
  /** Whether anything was changed. */
  readonly done: boolean;
}

/**
 * Repairs a data directory at rest, or says what a repair would do.
 * @throws Error when it cannot be repaired: no data directory, a server that holds it, a catalog that cannot be read.
 */
export async function repairDataDir(dataDir: string, dryRun: boolean): Promise<RepairReport> {
  requireDataDir(dataDir);
  refuseNode(
    dataDir,
    'a repair would make it differ from the other nodes. Stop the node, empty the folder and start it again: its replicas are made anew',
  );
  const stamp = new Date().toISOString().replaceAll(/[-:.]/g, '');
  const report = await repairEngineFiles(dataDir, stamp, dryRun);
  return { ...report, done: !dryRun && !report.sound };
}
