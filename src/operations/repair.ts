import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { repairEngineFiles, type EngineRepairReport } from '../engine/offline';

/** What a repair did, or would do; the JSON of `kithdb repair --json`. */
export interface RepairReport extends EngineRepairReport {
  /** Whether nothing had to be repaired. */
  readonly sound: boolean;
  /** Whether anything was changed. */
  readonly done: boolean;
}

/**
 * Repairs a data directory at rest, or says what a repair would do.
 * @throws Error when it cannot be repaired: no data directory, a server that holds it, a catalog that cannot be read.
 */
export async function repairDataDir(dataDir: string, dryRun: boolean): Promise<RepairReport> {
  if (!existsSync(join(dataDir, 'log')) && !existsSync(join(dataDir, 'catalog'))) {
    throw new Error('no server has run on it yet: is --data-dir right?');
  }
  const stamp = new Date().toISOString().replaceAll(/[-:.]/g, '');
  const report = await repairEngineFiles(dataDir, stamp, dryRun);
  const sound = report.mended.length === 0 && !report.replacesLog;
  return { ...report, sound, done: !dryRun && !sound };
}
