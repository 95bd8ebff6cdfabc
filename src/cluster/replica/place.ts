/** Where a replica is in its stream, and whether the stream is still the one that it has read. */
import { recordFrom } from '../log/record-from';
import { LogChangedError, type LogRecord, type RecordLog } from '../log/record-log';
import { decodeWrite } from '../record/write-record';
import type { Shard } from '../shards';
import { subjectsOf } from './replica-reader';
import type { ShardReplica } from './shard-replica';

const READ_MS = 30_000;

/** A replica, and where the records of its shard begin in the stream. */
export interface ReplicaPlace {
  readonly shard: Shard;
  readonly replica: ShardReplica;
  readonly firstPosition: number;
}

/**
 * The operation of the last record that changed a replica, which the stream has at its position; undefined where it is not of
 * this stream, whose records of the shard follow `firstPosition`, and where the stream does not reach back so far.
 * @throws LogChangedError where the stream has another record there, or ends before it; LogUnavailableError
 */
export async function lastOperationOf(
  log: RecordLog,
  { shard, replica, firstPosition }: ReplicaPlace,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { firstSequence, lastSequence } = await log.state(signal);
  const position = replica.changed;
  if (position <= firstPosition || position < firstSequence) return undefined;
  if (position > lastSequence) {
    throw new LogChangedError(
      log.name,
      `it ends at ${lastSequence}, before the record ${position} of a replica`,
    );
  }
  const record = await recordAt(log, shard, position, signal);
  const isKnown = record !== undefined && (await replica.has(writeOf(record)));
  if (!isKnown) throw new LogChangedError(log.name, `it does not have the record ${position} of a replica`);
  return record.operation;
}

/**
 * The last position up to which a replica has every record of its shard: beyond its own one where the stream has no later
 * record of the shard.
 */
export async function positionWithRecords(
  log: RecordLog,
  shard: Shard,
  position: number,
  signal: AbortSignal,
): Promise<number> {
  const { lastSequence } = await log.state(signal);
  return (await hasNothingAfter(log, shard, position, signal)) ? Math.max(position, lastSequence) : position;
}

/** Whether a stream has no record of a shard behind a position. */
export async function hasNothingAfter(
  log: RecordLog,
  shard: Shard,
  position: number,
  signal: AbortSignal,
): Promise<boolean> {
  for (const subject of subjectsOf(shard)) {
    if ((await log.lastOf(subject, signal)) > position) return false;
  }
  return true;
}

/** The record of a shard at a position; undefined where the stream has none there. */
async function recordAt(
  log: RecordLog,
  shard: Shard,
  position: number,
  signal: AbortSignal,
): Promise<LogRecord | undefined> {
  const place = { fromSequence: position, subjects: subjectsOf(shard) };
  const found = await recordFrom(log, place, { timeoutMs: READ_MS, signal });
  return found?.sequence === position ? found : undefined;
}

function writeOf({
  sequence: position,
  operation: operationId,
  payload,
}: LogRecord): Parameters<ShardReplica['has']>[0] {
  const record = decodeWrite(Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength));
  return { position, operationId, record };
}
