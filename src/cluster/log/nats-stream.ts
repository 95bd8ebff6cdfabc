/** A stream of JetStream as a stream of messages. */
import {
  AckPolicy,
  DeliverPolicy,
  JetStreamApiCodes,
  JetStreamApiError,
  ReplayPolicy,
  type ConsumerInfo,
  type JetStreamClient,
  type JetStreamManager,
  type JsMsg,
  type StoredMsg,
  type StreamInfo,
} from '@nats-io/jetstream';
import { errors, headers as natsHeaders, nanos, type MsgHdrs } from '@nats-io/transport-node';
import { reasonOf } from '../../files/explained';
import {
  MessageRefused,
  NoAcknowledgement,
  NoSuchStream,
  NotDelivered,
  SequenceConflict,
  type MessageSession,
  type MessageStream,
  type NewMessage,
  type StreamMessage,
} from './message-stream';
import { NatsSession } from './nats-session';
import type { StreamState } from './record-log';

const MESSAGE_ID = 'Nats-Msg-Id';
/** Error codes of JetStream: https://github.com/nats-io/nats-server/blob/main/server/errors.json */
const REFUSALS: ReadonlySet<number> = new Set([
  10054, // longer than the stream takes
  10060, // another stream was expected
]);
const NO_ROOM: ReadonlySet<number> = new Set([
  10002, // the account's limit
  10023, // the server's resources
  10047, // the server's limit of storage
]);
/** The stream could not store a message; one that has a limit of its own says so in the description. */
const STORE_FAILED = 10077;
const LIMIT_OF_STREAM = /maximum (?:bytes|messages) exceeded/;
const CONFLICTS: ReadonlySet<number> = new Set([
  JetStreamApiCodes.StreamWrongLastSequence,
  JetStreamApiCodes.StreamWrongLastSequenceUnknown,
]);
/** A consumer that nobody asks for messages is removed by the servers after this time. */
const CONSUMER_IDLE_MS = 60_000;

export interface NatsClients {
  readonly publisher: JetStreamClient;
  readonly manager: JetStreamManager;
}

export class NatsStream implements MessageStream {
  /** @param prefix of the subjects of the stream, with its dot: callers do not see it. */
  constructor(
    readonly clients: NatsClients,
    readonly name: string,
    readonly prefix: string,
  ) {}

  async send(message: NewMessage, timeoutMs: number): Promise<{ sequence: number; isDuplicate: boolean }> {
    const { id, subject, headers, payload, lastSequence } = message;
    const sent = natsHeaders();
    for (const [name, value] of Object.entries(headers)) sent.set(name, value);
    try {
      const { seq, duplicate } = await this.clients.publisher.publish(this.prefix + subject, payload, {
        msgID: id,
        headers: sent,
        timeout: timeoutMs,
        expect: { streamName: this.name, ...(lastSequence !== undefined && { lastSequence }) },
      });
      return { sequence: seq, isDuplicate: duplicate };
    } catch (error) {
      throw outcomeOf(error);
    }
  }

  async open(fromSequence: number, subjects: readonly string[]): Promise<MessageSession> {
    const info = await asked(this.#addConsumer(fromSequence, subjects));
    const messages = await this.clients.publisher.consumers
      .getConsumerFromInfo(info)
      .consume(NatsSession.OPTIONS);
    const remove = (): void => {
      // Otherwise the servers do it, after the time that it may be idle.
      this.clients.manager.consumers.delete(this.name, info.name).catch(() => undefined);
    };
    return new NatsSession(messages, info.num_pending, (message) => this.#delivered(message), remove);
  }

  #addConsumer(fromSequence: number, subjects: readonly string[]): Promise<ConsumerInfo> {
    return this.clients.manager.consumers.add(this.name, {
      ack_policy: AckPolicy.None,
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: Math.max(1, fromSequence),
      replay_policy: ReplayPolicy.Instant,
      filter_subjects: subjects.map((subject) => this.prefix + subject),
      inactive_threshold: nanos(CONSUMER_IDLE_MS),
      num_replicas: 1,
      mem_storage: true,
    });
  }

  async message(sequence: number): Promise<StreamMessage | undefined> {
    const found = await asked(this.clients.manager.streams.getMessage(this.name, { seq: sequence }));
    return found === null ? undefined : this.#message(found, found.header, found.time.getTime());
  }

  async lastOf(subject: string): Promise<StreamMessage | undefined> {
    const last = { last_by_subj: this.prefix + subject };
    const found = await asked(this.clients.manager.streams.getMessage(this.name, last));
    return found === null ? undefined : this.#message(found, found.header, found.time.getTime());
  }

  async state(): Promise<StreamState> {
    const info: StreamInfo & { readonly ts?: string } = await asked(
      this.clients.manager.streams.info(this.name),
    );
    const { last_seq: lastSequence, messages, first_seq: firstSequence, last_ts: lastAt } = info.state;
    // A server that does not say what time it is has stored its last message then or later.
    const atMs = Date.parse(info.ts ?? lastAt);
    const { created } = info;
    return { firstSequence: messages === 0 ? lastSequence + 1 : firstSequence, lastSequence, created, atMs };
  }

  async removeBelow(sequence: number): Promise<void> {
    await asked(this.clients.manager.streams.purge(this.name, { seq: sequence }));
  }

  #delivered(message: JsMsg): StreamMessage & { readonly pending: number } {
    const { pending } = message.info;
    return { ...this.#message(message, message.headers, message.time.getTime()), pending };
  }

  #message(
    { seq, subject, data }: JsMsg | StoredMsg,
    headers: MsgHdrs | undefined,
    storedAtMs: number,
  ): StreamMessage {
    return {
      sequence: seq,
      id: headers?.get(MESSAGE_ID) ?? '',
      subject: subject.slice(this.prefix.length),
      headers: Object.fromEntries((headers?.keys() ?? []).map((key) => [key, headers?.get(key) ?? ''])),
      payload: data,
      storedAtMs,
    };
  }
}

/** The answer of an API of the servers. */
async function asked<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    const isMissing = error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound;
    const options = { cause: error };
    throw isMissing ? new NoSuchStream(reasonOf(error), options) : new NotDelivered(reasonOf(error), options);
  }
}

/** What the failure of a publish means. */
function outcomeOf(error: unknown): Error {
  const options = { cause: error };
  const reason = reasonOf(error);
  if (error instanceof JetStreamApiError) {
    if (CONFLICTS.has(error.code)) return new SequenceConflict(reason, options);
    if (REFUSALS.has(error.code)) return new MessageRefused(reason, false, options);
    if (isForWantOfRoom(error)) return new MessageRefused(reason, true, options);
    return new NoAcknowledgement(reason, options);
  }
  return isUndelivered(error) ? new NotDelivered(reason, options) : new NoAcknowledgement(reason, options);
}

function isForWantOfRoom({ code, message }: JetStreamApiError): boolean {
  return NO_ROOM.has(code) || (code === STORE_FAILED && LIMIT_OF_STREAM.test(message));
}

/** Whether nobody received a message; the client wraps this error. */
function isUndelivered(error: unknown): boolean {
  if (error instanceof errors.ClosedConnectionError || error instanceof errors.DrainingConnectionError)
    return true;
  const cause = error instanceof Error ? error.cause : undefined;
  return [error, cause].some((one) => one instanceof errors.RequestError && one.isNoResponders());
}
