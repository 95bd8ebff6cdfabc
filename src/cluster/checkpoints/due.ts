import type { CheckpointReach } from '../replica/checkpoint-reach';
import { UNCHANGED_TIMES, type CheckpointSettings } from './settings';

/** What is known of the newest checkpoint of a shard. */
export interface LastCheckpoint {
  /** When it was saved or found, by this process's monotonic clock. */
  readonly atMs: number;
  /** Records that the replica had applied then, of `ShardReplica.applied`. */
  readonly applied: number;
  /** Absent where there is none of the present stream. */
  readonly found?: CheckpointReach & { readonly id: string; readonly position: number };
}

/** A replica, when it is looked at. */
export interface ReplicaNow {
  readonly atMs: number;
  readonly applied: number;
  /** The position of the last record that changed it. */
  readonly changed: number;
  /** Whether its shard began with the state of a lost stream: then nothing but a checkpoint has that state. */
  readonly isCarried: boolean;
}

/** Whether a replica is to be saved; `if_stream_grew` where that depends on whether its stream has grown since. */
export function dueOf(
  last: LastCheckpoint,
  now: ReplicaNow,
  { everyRecords, everyMs }: CheckpointSettings,
): boolean | 'if_stream_grew' {
  const ageMs = now.atMs - last.atMs;
  if (last.found === undefined && now.isCarried) return true;
  const isUnchanged = last.found !== undefined && last.found.position >= now.changed;
  if (isUnchanged) return ageMs >= UNCHANGED_TIMES * everyMs && 'if_stream_grew';
  return now.applied - last.applied >= everyRecords || ageMs >= everyMs;
}
