import { randomUUID } from 'node:crypto';
import { bodyFormOf } from '../../engine/native-call';
import { EngineError, type EngineRequest } from '../../engine/types';
import type { CollectionEntry } from '../map/state';
import { MAX_PUBLISH_MS, OutcomeUnknownError, type LogService } from '../log/record-log';
import { pause } from '../pause';
import { encodeWrite, type WriteRecord } from '../record/write-record';
import { subjectOf, WRITE } from '../replica/replica-reader';
import type { Acknowledgements, Outcomes } from './acknowledgements';
import { mayBeStrict } from './layout';
import { answersOf } from './outcomes';

/** The log of a group puts that of its present stream in the place of it. */
const EPOCH = 0;

/** After this time replicas are asked for the answers that they have not sent: one is lost with the connection that it was sent on. */
const ASK_AFTER_MS = 5_000;

/** The end of a write, which nobody reads: an error for each would cost a stack trace. */
const OVER = new Error('the write has come to its end');

/** Where a write is in its stream: what a later read can wait for. */
export interface WrittenAt {
  readonly collection: number;
  readonly position: number;
  /** The shards that it changed. */
  readonly shards: readonly number[];
}

/** What the coordinator of a write uses. */
export interface WriteParts {
  readonly node: string;
  readonly acknowledgements: Acknowledgements;
  readonly logs: LogService;
  /** The bodies of the shards that a write changes. @throws EngineError for a body that cannot be read or split. */
  readonly split: (
    request: EngineRequest,
    body: Buffer,
    collection: CollectionEntry,
  ) => Promise<ReadonlyMap<number, Buffer>>;
  /** Rejects with the error of a write that is beyond a limit of its collection's strict mode. */
  readonly check: (
    collection: CollectionEntry,
    request: EngineRequest,
    body: Buffer,
    context: WriteContext,
  ) => Promise<void>;
  /** Rejects with the error that the parts of a write would get now, where one would. */
  readonly rehearse: (
    collection: CollectionEntry,
    write: Omit<PublishedWrite, 'position'>,
    deadline: Deadline,
  ) => Promise<void>;
  /** The outcomes of a record that was published before. Rejects with the error of a shard that does not keep its own. */
  readonly recall: (
    collection: CollectionEntry,
    write: PublishedWrite,
    deadline: Deadline,
  ) => Promise<Outcomes>;
  /** The envelope of a write whose shards have answered, in the order of their numbers. @throws EngineError `internal` */
  readonly join: (
    collection: CollectionEntry,
    request: EngineRequest,
    body: Buffer,
    answers: readonly Buffer[],
  ) => Buffer;
}

/** Whose write it is, and when it is given up. */
export interface WriteContext {
  /** The filter of the caller's token. */
  readonly limits: string | undefined;
  readonly deadline: Deadline;
}

export interface PublishedWrite {
  readonly operationId: string;
  readonly position: number;
  readonly record: WriteRecord;
}

/** When a request is given up. */
export interface Deadline {
  readonly signal: AbortSignal;
  /** Of `performance.now()`. */
  readonly at: number;
}

/** An answer, and where its record is. */
export interface WriteAnswer {
  readonly envelope: Buffer;
  readonly at: WrittenAt;
}

/** Publishes writes, and waits until enough replicas have them. */
export class Writes {
  constructor(private readonly parts: WriteParts) {}

  /**
   * Executes a write of points or of what a collection declares.
   * @throws EngineError: as one node answers; `not_confirmed` when it may or may not be applied.
   */
  async execute(
    collection: CollectionEntry,
    request: EngineRequest,
    body: Buffer,
    context: WriteContext,
  ): Promise<WriteAnswer> {
    const { limits, deadline } = context;
    const bodies = await this.parts.split(request, body, collection);
    await this.parts.check(collection, request, body, context);
    const form = bodyFormOf(request);
    const operationId = request.operationId ?? randomUUID();
    const record: WriteRecord = {
      operation: request.operation,
      ...(request.target !== undefined && { target: request.target }),
      isLenient: request.isLenient ?? false,
      ...(form !== 'json' && { form }),
      ...(limits !== undefined && { limits }),
      coordinator: this.parts.node,
      parts: bodies,
    };
    // One shard applies its part or refuses it. Several are asked first, so that one of them does not refuse alone. What comes
    // from the stream meets no strict mode.
    if (bodies.size > 1 || mayBeStrict(collection)) {
      await this.parts.rehearse(collection, { operationId, record }, deadline);
    }
    const { outcomes, position } = await this.publish(collection, operationId, record, deadline);
    return {
      envelope: this.parts.join(collection, request, body, answersOf(outcomes)),
      at: { collection: collection.id, position, shards: [...bodies.keys()] },
    };
  }

  /** Publishes a record; resolves with the outcomes when enough replicas have applied it. @throws EngineError */
  async publish(
    collection: CollectionEntry,
    operationId: string,
    record: WriteRecord,
    deadline: Deadline,
  ): Promise<{ readonly outcomes: Outcomes; readonly position: number }> {
    const { acknowledgements, recall, logs } = this.parts;
    const shards = [...record.parts.keys()];
    const [only, ...others] = shards;
    const subject = subjectOf(collection.id, others.length === 0 && only !== undefined ? only : 'all');
    const over = new AbortController();
    const signal = AbortSignal.any([deadline.signal, over.signal]);
    // Replicas may answer before the stream acknowledges.
    const answered = acknowledgements.wait(
      operationId,
      { shards, copies: collection.writeConsistencyFactor },
      signal,
    );
    answered.catch(() => undefined);
    try {
      const { sequence: position, isDuplicate } = await logs
        .group(collection.group)
        .publish(
          subject,
          { operation: operationId, epoch: EPOCH, kind: WRITE, payload: encodeWrite(record) },
          { timeoutMs: publishMs(deadline), signal: deadline.signal },
        );
      // The record of an earlier call: its replicas have answered that one.
      const write = { operationId, position, record };
      const ask = (): Promise<Outcomes> => recall(collection, write, { ...deadline, signal });
      const outcomes = isDuplicate ? await ask() : await sentOrAsked(answered, ask, signal);
      return { outcomes, position };
    } catch (error) {
      throw unconfirmed(error, operationId, deadline);
    } finally {
      over.abort(OVER);
    }
  }
}

/** The outcomes that replicas send, or, where these do not come, those that they give when they are asked. */
async function sentOrAsked(
  sent: Promise<Outcomes>,
  ask: () => Promise<Outcomes>,
  signal: AbortSignal,
): Promise<Outcomes> {
  const isLate = await Promise.race([sent.then(() => false), pause(ASK_AFTER_MS, signal).then(() => true)]);
  if (!isLate) return sent;
  // One that has refused its part has nothing to give: it says so by itself, or the deadline comes.
  return Promise.race([sent, ask().catch(() => sent)]);
}

/** How long the record may take into its stream: a longer deadline has the rest for the answers. */
function publishMs({ at }: Deadline): number {
  return Math.min(MAX_PUBLISH_MS, Math.max(1, Math.ceil(at - performance.now())));
}

/** The error of a write that was given up. */
function unconfirmed(error: unknown, operationId: string, deadline: Deadline): unknown {
  return error instanceof OutcomeUnknownError || deadline.signal.aborted
    ? new EngineError('not_confirmed', { id: operationId })
    : error;
}
