import type { WaitLimits } from '../waiting';
import {
  LogUnavailableError,
  StreamMissingError,
  type LogRecord,
  type RecordLog,
  type StreamState,
} from './record-log';

/** Where to look for a record. */
export interface RecordPlace {
  readonly fromSequence: number;
  /** As of a read; all of them where absent. */
  readonly subjects?: readonly string[];
}

/**
 * The first record of some subjects from a sequence on; undefined where the stream has none up to its present end.
 * @throws LogUnavailableError where that is not known in time; the reason of the signal; the errors of `RecordLog.read`
 */
export async function recordFrom(
  log: RecordLog,
  { fromSequence, subjects = ['>'] }: RecordPlace,
  { timeoutMs, signal }: WaitLimits,
): Promise<LogRecord | undefined> {
  const enough = new AbortController();
  const late = AbortSignal.timeout(timeoutMs);
  const ends = [enough.signal, late, ...(signal === undefined ? [] : [signal])];
  let found: LogRecord | undefined;
  const request = {
    ...{ fromSequence, subjects, signal: AbortSignal.any(ends) },
    onPending: (pending: number) => {
      if (pending === 0) enough.abort();
    },
  };
  await log.read(request, (record) => {
    found ??= record;
    enough.abort();
  });
  signal?.throwIfAborted();
  if (!enough.signal.aborted) throw new LogUnavailableError(`${log.name} could not be read in time`);
  return found;
}

/** The state of a stream; undefined where the log servers do not have it. @throws as `RecordLog.state` */
export async function stateIfThere(log: RecordLog, signal?: AbortSignal): Promise<StreamState | undefined> {
  try {
    return await log.state(signal);
  } catch (error) {
    if (error instanceof StreamMissingError) return undefined;
    throw error;
  }
}
