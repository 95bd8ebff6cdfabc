import { unlessAborted } from '../waiting';
import type { MessageStream } from './message-stream';
import { NoSuchStream, NotDelivered } from './message-stream';
import { publish, publishExpecting } from './publication';
import { Reading } from './reading';
import {
  LogUnavailableError,
  StreamMissingError,
  type NewRecord,
  type Published,
  type PublishLimits,
  type ReadRequest,
  type RecordHandler,
  type RecordLog,
  type StreamState,
} from './record-log';

/** A log over a stream of messages. */
export class StreamLog implements RecordLog {
  constructor(readonly stream: MessageStream) {}

  get name(): string {
    return this.stream.name;
  }

  publish(subject: string, record: NewRecord, limits: PublishLimits): Promise<Published> {
    return publish(this.stream, subject, record, limits);
  }

  publishExpecting(
    subject: string,
    record: NewRecord,
    lastSequence: number,
    limits: PublishLimits,
  ): Promise<Published | 'conflict'> {
    return publishExpecting(this.stream, subject, record, lastSequence, limits);
  }

  read(request: ReadRequest, handler: RecordHandler): Promise<void> {
    return new Reading(this.stream, request, handler).run();
  }

  state(signal?: AbortSignal): Promise<StreamState> {
    return this.#available(this.stream.state(), signal);
  }

  async lastOf(subject: string, signal?: AbortSignal): Promise<number> {
    return (await this.#available(this.stream.lastOf(subject), signal))?.sequence ?? 0;
  }

  async storedAt(sequence: number, signal?: AbortSignal): Promise<number | undefined> {
    return (await this.#available(this.stream.message(sequence), signal))?.storedAtMs;
  }

  truncateBelow(sequence: number): Promise<void> {
    return this.#available(this.stream.removeBelow(sequence));
  }

  async #available<T>(answer: Promise<T>, signal?: AbortSignal): Promise<T> {
    try {
      return await unlessAborted(answer, signal);
    } catch (error) {
      if (error instanceof NoSuchStream) throw new StreamMissingError(this.name, { cause: error });
      if (!(error instanceof NotDelivered)) throw error;
      throw new LogUnavailableError(error.message, { cause: error });
    }
  }
}
