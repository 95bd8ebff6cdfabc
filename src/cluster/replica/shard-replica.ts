import { executeJson, type Executor } from '../../engine/json-call';
import { bytesOf, EngineError, type Engine, type EngineErrorCode } from '../../engine/types';
import { bodyOf } from '../engine-body';
import { pause } from '../pause';
import type { ShardOutcome } from '../record/answer';
import { formIn, type WriteRecord } from '../record/write-record';
import { reasonOf } from '../../files/explained';

/**
 * Refusals that follow from the record and the state before it: every replica gives the same one, so it is the answer. All
 * others are of this node at this moment (no room, no time, a stop), and the record is applied again until it has an answer.
 */
const IS_ANSWER: ReadonlySet<EngineErrorCode> = new Set<EngineErrorCode>([
  'bad_request',
  'vectors_config_required',
  'missing_field',
  'filter_parse',
  'dimension_mismatch',
  'vector_not_found',
  'model_mismatch',
  'point_not_found',
  'point_without_vector',
  'version_conflict',
  'points_forbidden',
]);

/** The engine's longest time for a request: a record is applied however long that takes. */
const MAX_SECONDS = 3600;
const FIRST_PAUSE_MS = 20;
const MAX_PAUSE_MS = 2_000;

/** What a replica has, of one moment. */
export interface ReplicaState {
  readonly position: number;
  readonly points: number;
  /** Where it was asked for. */
  readonly digest?: string;
}

/** A record for a replica. */
export interface PositionedWrite {
  readonly position: number;
  readonly operationId: string;
  readonly record: WriteRecord;
}

/** The replica of a shard on this node: applies the records of its stream, one after the other. */
export class ShardReplica {
  #position: number;
  #changed: number;
  #stalled: string | undefined;
  #applied = 0;

  private constructor(
    private readonly engine: Engine,
    /** The collection of the engine. */
    readonly name: string,
    private readonly shard: number,
    position: number,
  ) {
    this.#position = position;
    this.#changed = position;
  }

  /** The replica in a collection that the engine has. */
  static async open(engine: Engine, name: string, shard: number): Promise<ShardReplica> {
    const { position } = await readState(engine, name);
    return new ShardReplica(engine, name, shard, position);
  }

  /** The position of the last record that was applied or refused since it was opened. */
  get position(): number {
    return this.#position;
  }

  /** The position of the last record that changed it. */
  get changed(): number {
    return this.#changed;
  }

  /** How many records it has applied or refused since it was opened. */
  get applied(): number {
    return this.#applied;
  }

  /** Why the next record cannot be applied at the moment; undefined while nothing is wrong. */
  get stalled(): string | undefined {
    return this.#stalled;
  }

  /**
   * Applies its part of a record, durably; `undefined` where the record has no part for it, and where it had been passed.
   * Rejects when `signal` is aborted, and then the record may have been applied, and with the fault of a replica that is
   * damaged.
   */
  async apply(write: PositionedWrite, signal: AbortSignal): Promise<ShardOutcome | undefined> {
    const body = write.record.parts.get(this.shard);
    if (body === undefined || write.position <= this.#position) return undefined;
    const outcome = await this.#untilAnswered(write, body, signal);
    // Where it had been passed, the engine knows whether it was applied.
    if (outcome === undefined) this.#changed = (await readState(this.engine, this.name)).position;
    else if ('answer' in outcome) this.#changed = write.position;
    this.#position = write.position;
    this.#applied += 1;
    return outcome;
  }

  /**
   * Whether a record that it is beyond was applied to it. A replica keeps that of its last records.
   * @throws EngineError where that cannot be said at the moment
   */
  async has(write: PositionedWrite): Promise<boolean> {
    const body = write.record.parts.get(this.shard);
    if (body === undefined || write.position > this.#changed) return false;
    const outcome = await this.#execute(write, body);
    return outcome !== undefined && 'answer' in outcome;
  }

  /** Notes that there is no record for it up to a position. */
  passTo(position: number): void {
    this.#position = Math.max(this.#position, position);
  }

  async #untilAnswered(
    write: PositionedWrite,
    body: Buffer,
    signal: AbortSignal,
  ): Promise<ShardOutcome | undefined> {
    let pauseMs = FIRST_PAUSE_MS;
    for (;;) {
      signal.throwIfAborted();
      try {
        const outcome = await this.#execute(write, body);
        this.#stalled = undefined;
        return outcome;
      } catch (error) {
        this.#stalled = reasonOf(error);
        if (isDamage(error)) throw error;
      }
      await pause(pauseMs, signal);
      pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS);
    }
  }

  /** Rejects where that is no answer to the record. */
  async #execute(
    { position, operationId, record }: PositionedWrite,
    body: Buffer,
  ): Promise<ShardOutcome | undefined> {
    const { operation, target, isLenient, limits } = record;
    try {
      const answer = await this.engine.execute({
        ...{ operation, collection: this.name, target, isLenient, limits, ...formIn(record) },
        ...{ position, operationId, timeoutSeconds: MAX_SECONDS },
        ...(body.length > 0 && { body: bodyOf(this.engine, body) }),
      });
      return { answer: bytesOf(answer).toString() };
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      // It was applied, or refused, before this process began.
      if (error.code === 'position_passed') return undefined;
      if (IS_ANSWER.has(error.code)) return { error: { code: error.code, details: error.details } };
      throw error;
    }
  }
}

/** Whether files of a replica are damaged, so that it is not going to answer. */
export function isDamage(error: unknown): boolean {
  return error instanceof EngineError && error.code === 'collection_fault';
}

/** The position of a replica that the engine has, and how many points; with `digest` the sum over all of them. */
export async function readState(engine: Executor, name: string, digest = false): Promise<ReplicaState> {
  const request = { operation: 'replica_state', collection: name, timeoutSeconds: MAX_SECONDS } as const;
  return (await executeJson(engine, request, { digest })) as ReplicaState;
}
