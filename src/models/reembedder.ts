import { setTimeout as pause } from 'node:timers/promises';
import { executeJson } from '../engine/json-call';
import {
  EngineError,
  type Engine,
  type EngineRequest,
  type EngineErrorCode,
  type Operation,
} from '../engine/types';
import { engineFailure } from '../http/errors';

/** Texts of a batch; a call of an endpoint has as many. */
const MAX_TEXTS = 64;
/** How often the engine is asked which fields are being embedded anew. */
const POLL_MS = 1000;
/** Pauses after failures that follow each other. */
const PAUSES_MS = [1000, 2000, 4000, 8000, 15_000, 30_000, 60_000] as const;

/** Errors after which there is nothing more to do for a field. */
const ENDED: ReadonlySet<EngineErrorCode> = new Set<EngineErrorCode>([
  'reembedding_not_found',
  'vector_not_found',
  'collection_not_found',
  'collection_deleted',
  'collection_fault',
  'not_ready',
  'shutting_down',
  'cancelled',
]);

/** What changes for tests. */
export interface ReembedderOptions {
  readonly pollMs?: number;
  readonly pausesMs?: readonly number[];
}

/** A vector field that is being embedded anew. */
interface Field {
  readonly collection: string;
  readonly vector: string;
}

/** What the engine gives out: the body that brings the vectors back, and what is said beside it. */
interface NextTexts {
  readonly begun: number;
  readonly rate?: number;
  readonly has_more: boolean;
  readonly points: readonly PointText[];
}

/** The text of a point. */
interface PointText {
  /** The id of the point, as messages have it. */
  readonly point: string;
}

/**
 * Embeds the vector fields of an engine that are being embedded anew (C19), one batch of a field at a time: the engine
 * gives out texts, the same body goes back to it, and their vectors are put in as those of every other text. What is done is
 * in the engine, so nothing is kept here that a restart would lose.
 */
export class Reembedder {
  readonly #stop = new AbortController();
  readonly #underWay = new Map<string, Promise<void>>();
  /** Give up the calls that run. */
  readonly #abandon = new Set<() => void>();
  readonly #pollMs: number;
  readonly #pausesMs: readonly number[];
  #watching: Promise<void> | undefined;

  /** `engine` is open. */
  constructor(
    private readonly engine: Engine,
    { pollMs = POLL_MS, pausesMs = PAUSES_MS }: ReembedderOptions = {},
  ) {
    this.#pollMs = pollMs;
    this.#pausesMs = pausesMs;
  }

  /** Begins to look for fields. It does not keep the process alive. */
  start(): void {
    this.#watching ??= this.#watch();
  }

  /** Gives up what runs: texts whose vectors are not written are embedded again by the next worker. */
  async close(): Promise<void> {
    this.#stop.abort();
    for (const abandon of this.#abandon) abandon();
    await this.#watching;
    await Promise.all(this.#underWay.values());
  }

  async #watch(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      for (const field of await this.#fields()) {
        const name = JSON.stringify([field.collection, field.vector]);
        if (this.#underWay.has(name)) continue;
        const embedding = this.#embed(field).finally(() => this.#underWay.delete(name));
        this.#underWay.set(name, embedding);
      }
      await this.#pause(this.#pollMs);
    }
  }

  /** The fields, where this process has the data: an attached one leaves them to the owner. */
  async #fields(): Promise<readonly Field[]> {
    const role = this.engine.role?.();
    if (role !== undefined && role !== 'owner') return [];
    try {
      return await this.#call<readonly Field[]>('list_reembeddings', undefined, undefined);
    } catch {
      // The engine is closing, or has too much to do.
      return [];
    }
  }

  /** Embeds the texts of a field until there are none for now. */
  async #embed(field: Field): Promise<void> {
    let most = MAX_TEXTS;
    let failures = 0;
    let error: string | undefined;
    while (!this.#stop.signal.aborted) {
      let points: readonly PointText[] = [];
      try {
        const next = await this.#next(field, most, error);
        if (next.points.length === 0) {
          if (!next.has_more) return;
          continue;
        }
        const pauseMs = failures === 0 ? 0 : (this.#pausesMs[failures - 1] ?? this.#pausesMs.at(-1) ?? 0);
        if (!(await this.#pause(pauseMs))) return;
        const begun = performance.now();
        points = next.points;
        await this.#call('fill_vectors', field, { begun: next.begun, points: next.points });
        [most, failures, error] = [Math.min(MAX_TEXTS, most * 2), 0, undefined];
        if (next.rate !== undefined) {
          await this.#pause((1000 * next.points.length) / next.rate - (performance.now() - begun));
        }
      } catch (failure) {
        if (!(failure instanceof EngineError) || ENDED.has(failure.code)) return;
        error = sentenceOf(failure, points);
        // One text that the model refuses is found by halves; the others go on.
        const sent = points.length === 0 ? most : points.length;
        [most, failures] = [Math.max(1, sent >> 1), Math.min(failures + 1, this.#pausesMs.length)];
      }
    }
  }

  #next(field: Field, limit: number, error: string | undefined): Promise<NextTexts> {
    return this.#call<NextTexts>('next_texts', field, { limit, ...(error !== undefined && { error }) });
  }

  async #call<T>(operation: Operation, field: Field | undefined, content: object | undefined): Promise<T> {
    const abandoning: (() => void)[] = [];
    const request: EngineRequest = {
      operation,
      collection: field?.collection,
      // As in a path: quotes are in no other name.
      target: field === undefined ? undefined : field.vector === '' ? '""' : field.vector,
      whenAbandoned: (callback) => {
        if (this.#stop.signal.aborted) callback();
        abandoning.push(callback);
        this.#abandon.add(callback);
      },
    };
    const result = await executeJson(this.engine, request, content).finally(() => {
      for (const callback of abandoning) this.#abandon.delete(callback);
    });
    return result as T;
  }

  /** Whether there is still something to do after a pause. */
  async #pause(ms: number): Promise<boolean> {
    const { signal } = this.#stop;
    if (ms > 0) await pause(ms, undefined, { signal, ref: false }).catch(() => undefined);
    return !signal.aborted;
  }
}

/**
 * Why a batch failed. Places in its body mean nothing to who reads it, so the point is named in their place. A model does not
 * say which of several texts it refuses: the point is known when the halves have come to one.
 */
function sentenceOf({ code, details }: EngineError, points: readonly PointText[]): string {
  const { message } = engineFailure(code, details, 'Re-embedding failed');
  const sentence = message.replace(/^points\[\d+\]\.input(?:\.model)?: /, '');
  const [only, ...others] = points;
  const isOfPoint = code === 'model_failed' && only !== undefined && others.length === 0;
  return isOfPoint ? `point ${only.point}: ${sentence}` : sentence;
}
