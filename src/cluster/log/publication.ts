/** Publishing until a deadline: what is sent again when no acknowledgement comes, and what the caller may conclude. */
import { checksumOf, frameCount, frameMessage, onlyMessage } from './frames';
import {
  MessageRefused,
  NoAcknowledgement,
  NotDelivered,
  SequenceConflict,
  type MessageStream,
  type NewMessage,
} from './message-stream';
import { pause } from '../pause';
import { unlessAborted } from '../waiting';
import {
  FRAME_BYTES,
  LogRefusedError,
  LogUnavailableError,
  MAX_PUBLISH_MS,
  MAX_RECORD_BYTES,
  OutcomeUnknownError,
  type NewRecord,
  type Published,
  type PublishLimits,
} from './record-log';

/** How long one attempt waits for its acknowledgement. */
const ATTEMPT_MS = 2000;
const LONGEST_PAUSE_MS = 500;

/** The end of the time of a call. */
interface Deadline {
  readonly atMs: number;
  readonly signal: AbortSignal | undefined;
}

export async function publish(
  stream: MessageStream,
  subject: string,
  record: NewRecord,
  limits: PublishLimits,
): Promise<Published> {
  if (record.payload.length > MAX_RECORD_BYTES) {
    throw new RangeError(`a record has at most ${MAX_RECORD_BYTES} bytes, not ${record.payload.length}`);
  }
  const deadline = deadlineOf(limits);
  if (frameCount(record.payload) === 1) return send(stream, onlyMessage(subject, record), record, deadline);
  return publishFrames(stream, subject, record, deadline);
}

async function publishFrames(
  stream: MessageStream,
  subject: string,
  record: NewRecord,
  deadline: Deadline,
): Promise<Published> {
  const count = frameCount(record.payload);
  const checksum = checksumOf(record.payload);
  let previous = 0;
  for (let number = 0; number < count - 1; number += 1) {
    const message = frameMessage(subject, record, checksum, { number, count, previous });
    try {
      previous = (await send(stream, message, record, deadline)).sequence;
    } catch (error) {
      // Without its last frame it is no record.
      if (!(error instanceof OutcomeUnknownError)) throw error;
      throw new LogUnavailableError(`${stream.name} did not take all frames of a record in time`, {
        cause: error,
      });
    }
  }
  const last = frameMessage(subject, record, checksum, { number: count - 1, count, previous });
  return send(stream, last, record, deadline);
}

export async function publishExpecting(
  stream: MessageStream,
  subject: string,
  record: NewRecord,
  lastSequence: number,
  limits: PublishLimits,
): Promise<Published | 'conflict'> {
  if (frameCount(record.payload) > 1) {
    throw new RangeError(`such a record has at most ${FRAME_BYTES} bytes, not ${record.payload.length}`);
  }
  const message = { ...onlyMessage(subject, record), lastSequence };
  const deadline = deadlineOf(limits);
  try {
    return await send(stream, message, record, deadline);
  } catch (error) {
    if (!(error instanceof SequenceConflict)) throw error;
    // An earlier attempt, of this call or of another one, may have been the message that came between.
    const next = await untilAnswered(() => stream.message(lastSequence + 1), record, deadline);
    return next?.id === message.id ? { sequence: next.sequence, isDuplicate: true } : 'conflict';
  }
}

/** Asks until there is an answer. */
async function untilAnswered<T>(ask: () => Promise<T>, record: NewRecord, deadline: Deadline): Promise<T> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await unlessAborted(ask(), deadline.signal, noLongerAwaited);
    } catch (error) {
      if (!(error instanceof NotDelivered || error instanceof NoAcknowledgement)) throw error;
      if (isOver(deadline)) throw new OutcomeUnknownError(record.operation, { cause: error });
      await pauseBefore(attempt, deadline);
    }
  }
}

/** @throws SequenceConflict besides the errors of `publish` */
async function send(
  stream: MessageStream,
  message: NewMessage,
  { operation }: NewRecord,
  deadline: Deadline,
): Promise<Published> {
  let isPerhapsStored = false;
  let cause: unknown;
  for (let attempt = 0; !isOver(deadline); attempt += 1) {
    try {
      const timeoutMs = Math.min(ATTEMPT_MS, deadline.atMs - performance.now());
      const sent = stream.send(message, Math.max(1, timeoutMs));
      return await unlessAborted(sent, deadline.signal, noLongerAwaited);
    } catch (error) {
      if (error instanceof NoAcknowledgement) {
        isPerhapsStored = true;
      } else if (error instanceof MessageRefused && !isPerhapsStored) {
        throw new LogRefusedError(`${stream.name}: ${error.message}`, error.isFull, { cause: error });
      } else if (!(error instanceof NotDelivered || error instanceof MessageRefused)) {
        throw error;
      }
      cause = error;
    }
    await pauseBefore(attempt, deadline);
  }
  if (isPerhapsStored) throw new OutcomeUnknownError(operation, { cause });
  throw new LogUnavailableError(`${stream.name} could not be reached in time`, { cause });
}

function noLongerAwaited(): NoAcknowledgement {
  return new NoAcknowledgement('the caller did not wait for it');
}

function deadlineOf({ timeoutMs, signal }: PublishLimits): Deadline {
  if (!(timeoutMs > 0 && timeoutMs <= MAX_PUBLISH_MS)) {
    throw new RangeError(`the time to publish is at most ${MAX_PUBLISH_MS} ms, not ${timeoutMs}`);
  }
  return { atMs: performance.now() + timeoutMs, signal };
}

function isOver({ atMs, signal }: Deadline): boolean {
  return signal?.aborted === true || performance.now() >= atMs;
}

function pauseBefore(attempt: number, { atMs, signal }: Deadline): Promise<void> {
  const ms = Math.min(LONGEST_PAUSE_MS, 20 * 2 ** attempt, Math.max(0, atMs - performance.now()));
  return pause(ms, signal);
}
