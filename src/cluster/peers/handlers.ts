import type { StrictScope } from '../../engine/strict-scope';
import type { Engine, Operation, Packing } from '../../engine/types';

/** A read of one replica. */
export interface ReplicaRead {
  readonly operation: Operation;
  /** The name of the shard's collection in the engine. */
  readonly collection: string;
  readonly target?: string | undefined;
  readonly isLenient?: boolean | undefined;
  /**
   * The operation id of a write that was applied at `position`, whose answer is asked for again: the replica is there first, and
   * its engine applies nothing twice. Of a write that is only tried it has no position.
   */
  readonly operationId?: string | undefined;
  /** Whether it is a write that is only tried. */
  readonly dryRun?: boolean | undefined;
  /** Which limits of strict mode it meets; all of them when absent. A write that is only checked needs nothing else. */
  readonly strictScope?: StrictScope | undefined;
  readonly packing?: Packing | undefined;
  /** The form of the body of an upsert that is not JSON. */
  readonly isArrow?: boolean | undefined;
  readonly isLines?: boolean | undefined;
  /** Milliseconds for all of it: waiting for a position, and executing. */
  readonly timeoutMs: number;
  /** The position that the replica has to be at first. */
  readonly position?: number | undefined;
  /** The version of the sender's shard map. */
  readonly mapVersion: number;
  /** The most bytes that the answer may have. */
  readonly answerBytes?: number | undefined;
  /** What the caller may reach, as the engine takes it. */
  readonly limits?: string | undefined;
  /** Whose cursors it may use. */
  readonly caller?: string | undefined;
}

/** Which replica a digest is asked of. */
export interface DigestQuestion {
  readonly collection: string;
  /** The position that the digest is of. */
  readonly position: number;
  readonly mapVersion: number;
}

/** The state of a replica at a position, in few bytes: equal ones have equal states. */
export interface ReplicaDigest {
  readonly position: number;
  readonly points: number;
  /** Hexadecimal. */
  readonly digest: string;
}

/** Where a replica is. */
export interface ReplicaPosition {
  /** The name of the shard's collection. */
  readonly collection: string;
  readonly position: number;
}

/** What a node does for others. A handler throws a `PeerRefusal` or an `EngineError`; others are logged, and internal. */
export interface PeerHandlers {
  readonly engine: Pick<Engine, 'receive' | 'execute'>;
  /**
   * Resolves, with the position of the replica, when a read may be executed: the maps agree about the replica, and it is at
   * the position that was asked for. Rejects when it does not come there within the time of the read, or the signal is
   * aborted, which says that nobody waits any more.
   */
  admit(read: ReplicaRead, signal: AbortSignal): Promise<number>;
  /** Of all replicas of this node. */
  positions(): Promise<readonly ReplicaPosition[]>;
  digest(question: DigestQuestion, signal: AbortSignal): Promise<ReplicaDigest>;
}
