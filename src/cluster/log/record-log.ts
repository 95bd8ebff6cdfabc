/** The replicated log of a cluster, as the rest of the cluster sees it: streams of records. */
import type { WaitLimits } from '../waiting';

/** A record to be published. */
export interface NewRecord {
  /** Names the request for ever: a record with an id that the log has is not taken a second time. */
  readonly operation: string;
  /** That of the stream; 0 of the streams of the shard map and of authentication, which have one. */
  readonly epoch: number;
  /** What the payload is. */
  readonly kind: string;
  readonly payload: Uint8Array;
}

/** A record of a stream. */
export interface LogRecord extends NewRecord {
  /** Its position: the sequence of its last frame. */
  readonly sequence: number;
  /** The sequence of its first frame; of a record with one frame, its position. */
  readonly firstSequence: number;
  readonly subject: string;
  /** When the log server stored it, in milliseconds since 1970 by the clock of that server. */
  readonly storedAtMs: number;
}

export interface Published {
  readonly sequence: number;
  /** Whether the stream had a record with the id of this one already; the sequence is that record's. */
  readonly isDuplicate: boolean;
}

/** How long a record may take into its stream: at most `MAX_PUBLISH_MS`. */
export type PublishLimits = WaitLimits;

export interface StreamState {
  /** The first sequence that the stream has; of an empty stream one more than the last. */
  readonly firstSequence: number;
  /** The last sequence that the stream gave; 0 where it gave none. */
  readonly lastSequence: number;
  /** When the stream was created, as the log servers write it: another stream of the same name has another one. */
  readonly created: string;
  /** When this was so, in milliseconds since 1970 by the clock of a log server. */
  readonly atMs: number;
}

export interface ReadRequest {
  /** Records with an earlier position are not given to the handler. */
  readonly fromSequence: number;
  /** Subjects as of `publish`; `*` stands for one token, a last `>` for one or more. None of them may contain another. */
  readonly subjects: readonly string[];
  /** Ends the read. */
  readonly signal: AbortSignal;
  /** The operation of the record before `fromSequence`, where it is known: the read fails where the stream has another. */
  readonly previousOperation?: string | undefined;
  /**
   * How many messages of its subjects the stream has that were not handled yet, and the sequence of the last one that was. It is
   * called whenever reading begins, also after an interruption, and then after each message.
   */
  readonly onPending?: ((pending: number, sequence: number) => void) | undefined;
  /**
   * Is told of a message that is no part of a record, because something else than a node published it, or because two
   * different records had one id. It depends on nothing but the stream, so all readers leave it out.
   */
  readonly onIgnored?: ((sequence: number, why: string) => void) | undefined;
}

/** Is called for one record after the other: the next one follows when its promise is fulfilled. */
export type RecordHandler = (record: LogRecord) => Promise<void> | void;

/** One stream: records in an order that all of its readers see. */
export interface RecordLog {
  /** The name of the stream, for messages. */
  readonly name: string;
  /**
   * Publishes a record. Where no acknowledgement comes it is published again with the same id, until the deadline.
   * @throws OutcomeUnknownError, LogUnavailableError, LogRefusedError; a RangeError for a record that is too long.
   */
  publish(subject: string, record: NewRecord, limits: PublishLimits): Promise<Published>;
  /**
   * Publishes a record of one frame if `lastSequence` is still the last sequence of the stream; `conflict` if it is not,
   * and the record is not and will not be in the stream.
   * @throws as `publish`.
   */
  publishExpecting(
    subject: string,
    record: NewRecord,
    lastSequence: number,
    limits: PublishLimits,
  ): Promise<Published | 'conflict'>;
  /**
   * Gives the records to the handler in the order of their positions. It goes on after interruptions, and returns only when
   * its signal is aborted.
   * @throws RecordsMissingError, RecordDamagedError, LogChangedError, and what the handler throws.
   */
  read(request: ReadRequest, handler: RecordHandler): Promise<void>;
  /** @throws StreamMissingError, LogUnavailableError; the reason of the signal, as the next two do */
  state(signal?: AbortSignal): Promise<StreamState>;
  /**
   * The sequence of the last message of a subject, which has no wildcards; 0 where the stream has none.
   * @throws LogUnavailableError
   */
  lastOf(subject: string, signal?: AbortSignal): Promise<number>;
  /**
   * When the log servers stored a message, in milliseconds since 1970; undefined where the stream does not have it.
   * @throws LogUnavailableError
   */
  storedAt(sequence: number, signal?: AbortSignal): Promise<number | undefined>;
  /**
   * Removes everything below a sequence. The caller must keep what any reader has not read, and the first frames of records
   * that end above the sequence (`firstSequence`).
   */
  truncateBelow(sequence: number): Promise<void>;
}

/** The streams of the log groups, as the shard map says which they are. */
export interface LogService {
  /** Number of log groups. */
  readonly groups: number;
  /** @throws RangeError for a group that there is not. */
  group(group: number): RecordLog;
}

/** All streams of a cluster that log servers have. */
export interface LogServers extends LogService {
  readonly cluster: string;
  /**
   * Makes the stream of the shard map where it does not exist and `isNew` is given, with that first sequence.
   * @throws StreamMissingError where it does not exist otherwise; LogConfigurationError, LogUnavailableError as `makeGroup`
   */
  makeMap(map: NewMap, limits: WaitLimits): Promise<StreamOrigin>;
  /** Removes the stream of the shard map with all that is left of it. @throws LogUnavailableError */
  removeMap(): Promise<void>;
  /**
   * Makes a stream of a log group where it does not exist. Where another node made it before, it has the first sequence
   * that that node gave it.
   * @throws LogConfigurationError, LogUnavailableError where it could not be made in the time, or the reason of the signal.
   */
  makeGroup(group: number, stream: NewStream, limits: WaitLimits): Promise<StreamOrigin>;
  /**
   * Makes the stream of the changes of authentication where it does not exist: nodes notice a lost one by its records.
   * @throws LogConfigurationError, LogUnavailableError as `makeGroup`
   */
  makeAuth(limits: WaitLimits): Promise<void>;
  /** The stream of the shard map. */
  readonly map: RecordLog;
  /** The stream of the changes of authentication. */
  readonly auth: RecordLog;
  /**
   * The stream of a log group in an epoch, the first one when absent.
   * @throws RangeError for a group that there is not.
   */
  group(group: number, epoch?: number): RecordLog;
  close(): Promise<void>;
}

/** The stream of the shard map, where it is to be made. */
export interface NewMap {
  /** Whether it may be made. */
  readonly isNew: boolean;
  /** The sequence that its first record gets. */
  readonly firstSequence: number;
}

/** A stream of a log group that is to be made. */
export interface NewStream {
  /** 0 for the first stream of a group; one that takes the place of a lost one has a later epoch. */
  readonly epoch: number;
  /** The sequence that its first record gets. */
  readonly firstSequence: number;
}

/** What tells a stream from others of its name. */
export interface StreamOrigin extends Pick<StreamState, 'created'> {
  /** The sequence that its first record got or gets. */
  readonly firstSequence: number;
}

/** A record of at most so many bytes is one message; a longer one is published in frames of this size. */
export const FRAME_BYTES = 768 * 1024;
export const MAX_RECORD_BYTES = 256 * 1024 * 1024;
/** Streams recognise a message id for so long. */
export const DUPLICATE_WINDOW_MS = 10 * 60_000;
/** Half of the window: the other half is for messages that are under way at the deadline. */
export const MAX_PUBLISH_MS = DUPLICATE_WINDOW_MS / 2;

/** The record may be in the stream, or come to be in it. */
export class OutcomeUnknownError extends Error {
  constructor(
    readonly operation: string,
    options?: ErrorOptions,
  ) {
    super(
      `the outcome of the operation ${operation} is unknown: the log did not acknowledge it in time`,
      options,
    );
    this.name = 'OutcomeUnknownError';
  }
}

/** The log could not be reached in time; what was to be published is not in it. */
export class LogUnavailableError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'LogUnavailableError';
  }
}

/** The log refused a record for good, for example because a limit of its account is reached. */
export class LogRefusedError extends Error {
  constructor(
    message: string,
    /** Whether the reason is that the log servers have no room for it. */
    readonly isFull: boolean,
    options?: ErrorOptions,
  ) {
    super(message, options);
    this.name = 'LogRefusedError';
  }
}

/** The log servers say that they do not have a stream. */
export class StreamMissingError extends Error {
  constructor(
    readonly stream: string,
    options?: ErrorOptions,
  ) {
    super(`the log servers do not have the stream ${stream}`, options);
    this.name = 'StreamMissingError';
  }
}

/** The log servers or a stream are not as a cluster needs them. */
export class LogConfigurationError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'LogConfigurationError';
  }
}

/** The stream lacks records that were to be read: they were removed, or lost. */
export class RecordsMissingError extends Error {
  constructor(
    readonly stream: string,
    /** The first sequence that is missing. */
    readonly fromSequence: number,
    /** The first sequence after it that the stream has. */
    readonly nextSequence: number,
  ) {
    super(`${stream} lacks the records from ${fromSequence} to ${nextSequence - 1}`);
    this.name = 'RecordsMissingError';
  }
}

/** The payload of a record is not the one that was published. */
export class RecordDamagedError extends Error {
  constructor(
    readonly stream: string,
    readonly sequence: number,
  ) {
    super(
      `the record at ${sequence} of ${stream} is damaged: its payload has another checksum than it was published with`,
    );
    this.name = 'RecordDamagedError';
  }
}

/** The stream is not the one that was read before: it was made anew, or went back. */
export class LogChangedError extends Error {
  constructor(
    readonly stream: string,
    what: string,
  ) {
    super(`${stream} is not the stream that was read before: ${what}`);
    this.name = 'LogChangedError';
  }
}
