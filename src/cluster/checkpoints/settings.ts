/** When checkpoints are saved, and how long they and the records of streams are kept. */
export interface CheckpointSettings {
  /** A replica that has applied so many records since its last checkpoint is saved. */
  readonly everyRecords: number;
  /** One that has applied fewer is saved so long after its last checkpoint. */
  readonly everyMs: number;
  /** Records of streams, and checkpoints, are kept for so long at least. Below ten minutes it is for tests alone. */
  readonly minAgeMs: number;
  /** Between two looks at what is due; 10 seconds where absent. */
  readonly lookMs?: number;
}

export const LOOK_MS = 10_000;

/** A shard that nothing has changed is saved after so many times that long: its checkpoint keeps a part of its stream. */
export const UNCHANGED_TIMES = 24;
