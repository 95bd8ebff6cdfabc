import { loadBinding } from './load';
import type {
  NativeCheckReport,
  NativeDirectoryLock,
  NativeRepairReport,
  NativeUnsoundFile,
} from './binding';

/** A data directory that this process holds, as a server would: no server starts on it meanwhile. */
export type DirectoryLock = NativeDirectoryLock;

/**
 * Holds a data directory, which must exist, until it is released.
 * @throws Error when another process holds it, or a restore into it is unfinished.
 */
export function lockDataDir(dataDir: string): DirectoryLock {
  return new (loadBinding().NativeDirectoryLock)(dataDir);
}

/**
 * The generation of the store of authentication that the catalog of a data directory has noted; 0 where it has none. No lock
 * is taken, and nothing changes.
 * @throws Error when the catalog's files cannot be read, or another release wrote them.
 */
export function readCatalogGeneration(dataDir: string): Promise<number> {
  return loadBinding().readNotedGeneration(dataDir);
}

/** The engine's part of a check. @throws Error when the directory cannot be checked at all. */
export function checkEngineFiles(dataDir: string, collection?: string): Promise<NativeCheckReport> {
  return loadBinding().checkDataDir(dataDir, collection);
}

/**
 * Compares the engine's files in a folder with their checksums, in little memory and without a lock. Where the log was
 * synced before the copy, a torn end of the log is damage too.
 * @throws Error when the folder cannot be read.
 */
export function verifyEngineFiles(
  dataDir: string,
  isLogSynced: boolean,
): Promise<readonly NativeUnsoundFile[]> {
  return loadBinding().verifyDataFiles(dataDir, isLogSynced);
}

/** What a repair did, or would do. */
export type EngineRepairReport = NativeRepairReport;

/**
 * Repairs the engine's files, or says what a repair would do; `stamp` names the folder for what is replaced.
 * @throws Error when the directory cannot be repaired.
 */
export function repairEngineFiles(
  dataDir: string,
  stamp: string,
  dryRun: boolean,
): Promise<EngineRepairReport> {
  return loadBinding().repairDataDir(dataDir, stamp, dryRun);
}
