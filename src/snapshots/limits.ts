/** The limits of the snapshots in a data directory. */
export interface SnapshotLimits {
  readonly maxSnapshots: number;
  readonly maxSnapshotBytes: number;
}

export const DEFAULT_SNAPSHOT_LIMITS: SnapshotLimits = { maxSnapshots: 64, maxSnapshotBytes: 2 ** 40 };
