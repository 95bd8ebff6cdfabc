/** What a log is made of: a stream of messages, each with one sequence, and no retries. */
import type { StreamState } from './record-log';

export interface StreamMessage {
  readonly sequence: number;
  /** The id by which the stream recognises it. */
  readonly id: string;
  readonly subject: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly payload: Uint8Array;
  readonly storedAtMs: number;
}

export interface NewMessage extends Pick<StreamMessage, 'id' | 'subject' | 'headers' | 'payload'> {
  /** It is taken only where the stream's last sequence is this one. */
  readonly lastSequence?: number | undefined;
}

export interface DeliveredMessage extends StreamMessage {
  /** How many messages of the session's subjects follow it. */
  readonly pending: number;
}

/** The messages from a sequence on, until something interrupts their delivery: then the iteration ends. */
export interface MessageSession extends AsyncIterable<DeliveredMessage> {
  /** How many messages of its subjects there were when it began. */
  readonly pending: number;
  close(): void;
}

export interface MessageStream {
  readonly name: string;
  /** @throws NoAcknowledgement, NotDelivered, SequenceConflict, MessageRefused */
  send(message: NewMessage, timeoutMs: number): Promise<{ sequence: number; isDuplicate: boolean }>;
  /** @throws NotDelivered */
  open(fromSequence: number, subjects: readonly string[]): Promise<MessageSession>;
  /**
   * The message with a sequence, where the stream has it.
   * @throws NotDelivered
   */
  message(sequence: number): Promise<StreamMessage | undefined>;
  /**
   * The last message of a subject, where the stream has one.
   * @throws NotDelivered
   */
  lastOf(subject: string): Promise<StreamMessage | undefined>;
  /** @throws NotDelivered, NoSuchStream */
  state(): Promise<StreamState>;
  /** @throws NotDelivered */
  removeBelow(sequence: number): Promise<void>;
}

/** The message may be in the stream. */
export class NoAcknowledgement extends Error {}

/** The message, or the question, reached no stream; it can be tried again. */
export class NotDelivered extends Error {}

/** The servers answered that they do not have the stream. */
export class NoSuchStream extends NotDelivered {}

/** Another message came to be the last one of the stream. */
export class SequenceConflict extends Error {}

/** The stream does not take the message, and trying again does not help. */
export class MessageRefused extends Error {
  constructor(
    message: string,
    /** Whether that is for want of room. */
    readonly isFull: boolean,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}
