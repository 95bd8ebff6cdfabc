/** What a replica tells the coordinator of a record that it has applied or refused. */
import type { EngineErrorCode, EngineErrorDetails } from '../../engine/types';
import { objectIn } from '../json';

/** The outcome of a record in one shard: the same on every replica, apart from the envelope's `time`. */
export type ShardOutcome =
  | { readonly answer: string }
  | { readonly error: { readonly code: EngineErrorCode; readonly details: EngineErrorDetails } };

/** An outcome, and whose it is. */
export interface ReplicaAnswer {
  readonly operationId: string;
  readonly shard: number;
  readonly node: string;
  /** The name of the replica. */
  readonly replica: string;
  /** The position of the record. */
  readonly position: number;
  /** The position of the record that had changed the replica last before this one; 0 where none had. */
  readonly previous: number;
  readonly outcome: ShardOutcome;
}

/** Longer answers are errors of the coordinator's patience, not of the replica: an update's answer is short. */
const MAX_BYTES = 512 * 1024;

export function encodeAnswer(answer: ReplicaAnswer): Buffer {
  return Buffer.from(JSON.stringify(answer));
}

/** The answer of some bytes; undefined where they are none. */
export function decodeAnswer(bytes: Uint8Array): ReplicaAnswer | undefined {
  if (bytes.length > MAX_BYTES) return undefined;
  const answer: Partial<ReplicaAnswer> | undefined = objectIn(bytes);
  const isAnswer =
    typeof answer?.operationId === 'string' &&
    typeof answer.node === 'string' &&
    typeof answer.replica === 'string' &&
    Number.isSafeInteger(answer.shard) &&
    Number.isSafeInteger(answer.position) &&
    Number.isSafeInteger(answer.previous) &&
    typeof answer.outcome === 'object';
  return isAnswer ? (answer as ReplicaAnswer) : undefined;
}
