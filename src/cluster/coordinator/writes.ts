import { randomUUID } from 'node:crypto';
import { EngineError, type EngineRequest } from '../../engine/types';
import type { CollectionEntry } from '../map/state';
import { OutcomeUnknownError, type LogService } from '../log/record-log';
import type { ShardOutcome } from '../record/answer';
import { encodeWrite, type WriteRecord } from '../record/write-record';
import { subjectOf, WRITE } from '../replica/replica-reader';
import type { Acknowledgements, Outcomes } from './acknowledgements';

/** Of all streams: a stream that was lost is not made anew yet. */
const EPOCH = 0;

/** Where a write is in its stream: what a later read can wait for. */
export interface WrittenAt {
  readonly group: number;
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
  /** Rejects with the error that the parts of a write would get now, where one would. */
  readonly rehearse: (collection: CollectionEntry, record: WriteRecord, deadline: Deadline) => Promise<void>;
  /** The outcomes of a record that was published before. Rejects with the error of a shard that does not keep its own. */
  readonly recall: (
    collection: CollectionEntry,
    write: PublishedWrite,
    deadline: Deadline,
  ) => Promise<Outcomes>;
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
  readonly envelope: string;
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
    { limits, deadline }: { readonly limits: string | undefined; readonly deadline: Deadline },
  ): Promise<WriteAnswer> {
    const bodies = await this.parts.split(request, body, collection);
    const operationId = request.operationId ?? randomUUID();
    const record: WriteRecord = {
      operation: request.operation,
      ...(request.target !== undefined && { target: request.target }),
      isLenient: request.isLenient ?? false,
      ...(request.packing !== undefined && { packing: { body: request.packing.body, answer: false } }),
      ...(limits !== undefined && { limits }),
      coordinator: this.parts.node,
      parts: bodies,
    };
    // One shard applies its part or refuses it. Several are asked first, so that one of them does not refuse alone.
    if (bodies.size > 1) await this.parts.rehearse(collection, record, deadline);
    const { outcomes, position } = await this.#publish(collection, operationId, record, deadline);
    return {
      envelope: answerOf(outcomes),
      at: { group: collection.group, position, shards: [...bodies.keys()] },
    };
  }

  async #publish(
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
          { timeoutMs: Math.max(1, Math.ceil(deadline.at - performance.now())), signal: deadline.signal },
        );
      // The record of an earlier call: its replicas have answered that one.
      const write = { operationId, position, record };
      const outcomes = isDuplicate ? await recall(collection, write, deadline) : await answered;
      return { outcomes, position };
    } catch (error) {
      throw unconfirmed(error, operationId, deadline);
    } finally {
      over.abort();
    }
  }
}

/** The error of a write that was given up. */
function unconfirmed(error: unknown, operationId: string, deadline: Deadline): unknown {
  return error instanceof OutcomeUnknownError || deadline.signal.aborted
    ? new EngineError('not_confirmed', { id: operationId })
    : error;
}

/**
 * The envelope of a write: each shard has answered with the same operation number, which is the record's. @throws EngineError
 * of the first shard that has refused.
 */
function answerOf(outcomes: Outcomes): string {
  let answer: string | undefined;
  const refused: number[] = [];
  let error: Extract<ShardOutcome, { error: unknown }>['error'] | undefined;
  for (const [shard, outcome] of [...outcomes].sort(([one], [other]) => one - other)) {
    if ('error' in outcome) {
      error ??= outcome.error;
      refused.push(shard);
    } else {
      answer ??= outcome.answer;
    }
  }
  if (error === undefined) return answer ?? '';
  const { code, details } = error;
  if (answer === undefined) throw new EngineError(code, details);
  const place = `shard ${refused.join(', ')} (the others have applied their parts)`;
  throw new EngineError(code, {
    ...details,
    place: details.place === undefined ? place : `${place}: ${details.place}`,
  });
}
