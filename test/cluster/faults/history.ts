/** What clients of a cluster did and saw, for the checker. Times are of one monotonic clock, in milliseconds. */

/**
 * `refused`: the answer says that nothing was done; `unknown`: no answer, or one that leaves it open, also after all repeats
 * with the same operation id.
 */
export type Outcome = 'acknowledged' | 'refused' | 'unknown';

/** One write of a client, with all its repeats. It changes one point or several. */
export interface Write {
  readonly operation: string;
  readonly points: readonly number[];
  /** What it writes, which no other write does; undefined where it deletes. */
  readonly value: string | undefined;
  /** When its first call began. */
  readonly startMs: number;
  /** When its first acknowledgement came; absent where none did. */
  readonly endMs?: number;
  readonly outcome: Outcome;
  /** The positions that its acknowledgements named, one for each answer. */
  readonly positions: readonly number[];
}

/** A point as a read found it. */
export interface Seen {
  readonly point: number;
  /** What was there; both are undefined where the point was absent. */
  readonly value: string | undefined;
  /** The position of the record that wrote it. */
  readonly position: number | undefined;
}

/** One read of a client. */
export interface Read {
  readonly startMs: number;
  readonly endMs: number;
  /** The position of the write that it had to see, where it named one. */
  readonly after?: number;
  readonly seen: readonly Seen[];
}

/** A replica when nothing was written any more. */
export interface ReplicaAtRest {
  readonly shard: number;
  readonly node: string;
  readonly position: number;
  readonly points: number;
  readonly digest: string;
}

/** All of a collection's life. */
export interface History {
  readonly writes: readonly Write[];
  readonly reads: readonly Read[];
  /** Every point that was ever written, as it was at the end. */
  readonly final: readonly Seen[];
  readonly replicas: readonly ReplicaAtRest[];
}
