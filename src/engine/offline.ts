import { loadBinding } from './load';
import type { NativeCheckReport, NativeClaim } from './binding';

/** A data directory that this process holds, as a server would: no server starts on it meanwhile. */
export type Claim = NativeClaim;

/**
 * Holds a data directory, which must exist, until it is released.
 * @throws Error when another process holds it, or a restore into it did not come to its end.
 */
export function claimDataDir(dataDir: string): Claim {
  return new (loadBinding().NativeClaim)(dataDir);
}

/** The engine's part of a check. @throws Error when the directory cannot be checked at all. */
export function checkEngineFiles(dataDir: string, collection?: string): Promise<NativeCheckReport> {
  return loadBinding().checkDataDir(dataDir, collection);
}
