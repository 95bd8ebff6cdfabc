import type { LogRecord, RecordLog } from '../log/record-log';
import type { ReplicaAnswer } from '../record/answer';
import { decodeWrite } from '../record/write-record';
import type { Progress } from './progress';
import { readState, type ReplicaState, type ShardReplica } from './shard-replica';
import type { Engine } from '../../engine/types';
import { nameOf, type Shard } from '../shards';

/** The kind of a record of the stream of a log group. */
export const WRITE = 'write';

/** A digest is made after the first record beyond each multiple of so many positions. */
const DIGEST_EVERY = 10_000;

/** The state of a replica at a position, for comparison with others. */
export interface PositionedDigest extends Required<ReplicaState> {
  readonly replica: string;
}

/** What the reader of a replica tells. */
export interface ReaderEvents {
  /** The outcome of a record, for its coordinator. */
  answered(coordinator: string, answer: ReplicaAnswer): void;
  /** A digest was made. */
  digested(digest: PositionedDigest): void;
  /** How many messages of its subjects the stream has that were not applied yet. */
  behind(messages: number): void;
}

/** What a reader is made of. */
export interface ReaderParts {
  readonly node: string;
  readonly engine: Engine;
  readonly log: RecordLog;
  readonly progress: Progress;
  readonly events: ReaderEvents;
}

/** The subjects of the records that a shard reads. */
export function subjectsOf({ collection, shard }: Shard): readonly string[] {
  return [subjectOf(collection, shard), subjectOf(collection, 'all')];
}

/** The subject of a record that changes one shard, or several. */
export function subjectOf(collection: number, shard: number | 'all'): string {
  return `${collection}.${shard}`;
}

/** Reads the stream of a shard and applies it to the replica of this node. */
export class ReplicaReader {
  #lastDigestAt: number;

  constructor(
    private readonly shard: Shard,
    readonly replica: ShardReplica,
    private readonly parts: ReaderParts,
  ) {
    this.#lastDigestAt = replica.position;
  }

  /**
   * Applies record after record. Rejects when the stream lacks records that the replica needs, is another one, or has one
   * that cannot be read; when `signal` is aborted it resolves. `lastOperation` is that of the record at its position.
   */
  async run(signal: AbortSignal, lastOperation?: string): Promise<void> {
    const { log, progress, events } = this.parts;
    const name = nameOf(this.shard);
    this.replica.passTo(progress.of(name));
    const isAtRecord = this.replica.position === this.replica.changed;
    const request = {
      ...(isAtRecord && lastOperation !== undefined && { previousOperation: lastOperation }),
      fromSequence: this.replica.position + 1,
      subjects: subjectsOf(this.shard),
      signal,
      onPending: (messages: number) => {
        events.behind(messages);
      },
    };
    try {
      await log.read(request, (record) => this.#take(record, signal));
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  async #take(record: LogRecord, signal: AbortSignal): Promise<void> {
    const { sequence: position, operation: operationId, kind, payload } = record;
    if (kind !== WRITE) throw new Error(`the record at ${position} is of the unknown kind ${kind}`);
    const write = decodeWrite(Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength));
    const { name, changed: previous } = this.replica;
    const outcome = await this.replica.apply({ position, operationId, record: write }, signal);
    this.replica.passTo(position);
    this.parts.progress.note(nameOf(this.shard), position);
    if (outcome === undefined) return;
    const { shard } = this.shard;
    const { node, events } = this.parts;
    events.answered(write.coordinator, {
      ...{ operationId, shard, node, position, outcome },
      ...{ replica: name, previous },
    });
    await this.#digestIfDue(position);
  }

  /** Every replica makes its digest after the same record: the first that it applies beyond a multiple of positions. */
  async #digestIfDue(position: number): Promise<void> {
    const isDue = Math.floor(position / DIGEST_EVERY) > Math.floor(this.#lastDigestAt / DIGEST_EVERY);
    this.#lastDigestAt = position;
    if (!isDue) return;
    const { engine, events } = this.parts;
    const { points, digest = '' } = await readState(engine, this.replica.name, true);
    events.digested({ replica: this.replica.name, position, points, digest });
  }
}
