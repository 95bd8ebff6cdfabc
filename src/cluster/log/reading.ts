/** Reading a stream for as long as a caller wants: through interruptions, without gaps, one record after the other. */
import { areOfOneRecord, checksumOf, FrameBuffer, parseFrame, recordOf, type Frame } from './frames';
import { NotDelivered, type MessageSession, type MessageStream, type StreamMessage } from './message-stream';
import { pause } from '../pause';
import { unlessAborted } from '../waiting';
import { stateReaching } from './reaching';
import {
  LogChangedError,
  RecordDamagedError,
  RecordsMissingError,
  type LogRecord,
  type ReadRequest,
  type RecordHandler,
} from './record-log';

/** What is kept of records that are not complete; frames beyond it are fetched when the last frame of their record comes. */
const FRAME_BUFFER_BYTES = 16 * 1024 * 1024;
const LONGEST_PAUSE_MS = 2000;
/** How often a read of some subjects looks, where the sequence of a message is not the next one, whether there is a gap. */
const GAP_CHECK_MS = 5000;

export class Reading {
  readonly #frames = new FrameBuffer(FRAME_BUFFER_BYTES);
  readonly #readsAll: boolean;
  /** The sequence up to which messages were handled. */
  #sequence: number;
  /** The id of the message with that sequence, where it is known. */
  #id: string | undefined;
  #created: string | undefined;
  #checkedAtMs = 0;

  constructor(
    readonly stream: MessageStream,
    readonly request: ReadRequest,
    readonly handler: RecordHandler,
  ) {
    this.#sequence = request.fromSequence - 1;
    this.#readsAll = request.subjects.includes('>');
  }

  async run(): Promise<void> {
    const { signal } = this.request;
    for (let failures = 0; !signal.aborted; failures += 1) {
      const before = this.#sequence;
      try {
        await this.#runSession();
      } catch (error) {
        if (isEnd(error, signal)) return;
        if (!(error instanceof NotDelivered)) throw error;
      }
      if (this.#sequence > before) failures = 0;
      await pause(Math.min(LONGEST_PAUSE_MS, 20 * 2 ** failures), signal);
    }
  }

  async #runSession(): Promise<void> {
    const { signal, subjects, onPending } = this.request;
    const session = await this.#opened(subjects, signal);
    const close = (): void => {
      session.close();
    };
    signal.addEventListener('abort', close, { once: true });
    try {
      // After the session began: what changes from now on interrupts it.
      await unlessAborted(this.#checkPlace(), signal);
      onPending?.(session.pending, this.#sequence);
      if (!signal.aborted) await this.#handleAll(session);
    } finally {
      signal.removeEventListener('abort', close);
      session.close();
    }
  }

  /** A session; one that begins after the signal was aborted is closed. */
  #opened(subjects: readonly string[], signal: AbortSignal): Promise<MessageSession> {
    const opening = this.stream.open(this.#sequence + 1, subjects);
    return unlessAborted(opening, signal).catch((error: unknown) => {
      opening.then(
        (session) => {
          session.close();
        },
        () => undefined,
      );
      throw error;
    });
  }

  async #handleAll(session: MessageSession): Promise<void> {
    const { signal, onPending } = this.request;
    for await (const message of session) {
      if (signal.aborted) return;
      await this.#checkGap(message);
      const record = await this.#recordEndingWith(message);
      if (record !== undefined) await this.handler(record);
      this.#sequence = message.sequence;
      this.#id = message.id;
      onPending?.(message.pending, message.sequence);
    }
  }

  /** That the stream is still the one that was read, and has what is to be read next. */
  async #checkPlace(): Promise<void> {
    const { name } = this.stream;
    const { firstSequence, lastSequence, created } = await stateReaching(this.stream, this.#sequence);
    this.#checkedAtMs = performance.now();
    this.#created ??= created;
    if (this.#created !== created) {
      throw new LogChangedError(name, `it was created at ${created}, and that one at ${this.#created}`);
    }
    if (lastSequence < this.#sequence) {
      throw new LogChangedError(name, `it ends at ${lastSequence}, before ${this.#sequence}`);
    }
    if (firstSequence > this.#sequence + 1) {
      throw new RecordsMissingError(name, this.#sequence + 1, firstSequence);
    }
    await this.#checkLast(firstSequence);
  }

  /** That the message that was read last is still in its place. */
  async #checkLast(firstSequence: number): Promise<void> {
    const { previousOperation } = this.request;
    const isFirst = this.#id === undefined;
    if ((isFirst && previousOperation === undefined) || this.#sequence < firstSequence) return;
    const message = await this.stream.message(this.#sequence);
    const found = isFirst ? message && parseFrame(message)?.operation : message?.id;
    const expected = this.#id ?? previousOperation;
    if (found === expected) return;
    throw new LogChangedError(
      this.stream.name,
      `at ${this.#sequence} it has ${found ?? 'no record'}, and that one had ${expected ?? 'none'}`,
    );
  }

  async #checkGap({ sequence }: StreamMessage): Promise<void> {
    const next = this.#sequence + 1;
    if (sequence === next) return;
    if (sequence < next)
      throw new LogChangedError(this.stream.name, `${sequence} came after ${this.#sequence}`);
    if (this.#readsAll) throw new RecordsMissingError(this.stream.name, next, sequence);
    if (performance.now() - this.#checkedAtMs < GAP_CHECK_MS) return;
    const { firstSequence } = await this.stream.state();
    this.#checkedAtMs = performance.now();
    if (firstSequence > next)
      throw new RecordsMissingError(this.stream.name, next, Math.min(firstSequence, sequence));
  }

  /** The record whose last frame a message is. */
  async #recordEndingWith(message: StreamMessage): Promise<LogRecord | undefined> {
    const frame = parseFrame(message);
    if (frame === undefined) {
      this.#ignore(message, 'it is no record');
      return undefined;
    }
    if (frame.count === 1) return this.#intact([frame]);
    if (frame.number < frame.count - 1) {
      this.#frames.add(frame);
      return undefined;
    }
    const frames = [frame];
    for (let at = frame; at.number > 0;) {
      const previous = this.#frames.take(at.previous) ?? (await this.#fetchFrame(at.previous));
      if (previous?.number !== at.number - 1 || !areOfOneRecord(previous, frame)) {
        this.#ignore(message, `the frame at ${at.previous} is none of its record`);
        return undefined;
      }
      frames.unshift(previous);
      at = previous;
    }
    return this.#intact(frames);
  }

  #intact(frames: readonly Frame[]): LogRecord {
    const record = recordOf(frames);
    if (checksumOf(record.payload) === frames[0]?.checksum) return record;
    throw new RecordDamagedError(this.stream.name, record.sequence);
  }

  async #fetchFrame(sequence: number): Promise<Frame | undefined> {
    const message = await this.stream.message(sequence);
    if (message !== undefined) return parseFrame(message);
    const { firstSequence } = await this.stream.state();
    throw new RecordsMissingError(this.stream.name, sequence, Math.max(firstSequence, sequence + 1));
  }

  #ignore({ sequence }: StreamMessage, why: string): void {
    this.request.onIgnored?.(sequence, why);
  }
}

/** Whether an error is what ends a read. */
function isEnd(error: unknown, signal: AbortSignal): boolean {
  return signal.aborted && error === signal.reason;
}
