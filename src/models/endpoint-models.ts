import { EngineError, type TextInput, type TextModels, type VectorsContext } from '../engine/types';
import { Endpoint } from './endpoint';
import type { EndpointModel } from './model';
import { ModelFailure } from './model-failure';
import { VectorCache } from './vector-cache';

/** Texts of one call, and bytes of these: a longer text has a call of its own. */
const MOST_TEXTS = 64;
const MOST_TEXT_BYTES = 256 * 1024;
const CACHE_BYTES = 32 * 1024 * 1024;
/** Characters of an unknown name that a message repeats. */
const MOST_ECHOED = 100;
/** Names that a message lists. */
const MOST_LISTED = 10;

/** What changes for tests. */
export interface EndpointOptions {
  readonly pausesMs?: readonly number[];
  readonly cacheBytes?: number;
}

/** The models of a configuration, each with an endpoint. */
export class EndpointModels implements TextModels {
  readonly #endpoints: ReadonlyMap<string, Endpoint>;
  readonly #cache: VectorCache;

  constructor(
    models: readonly EndpointModel[],
    { pausesMs, cacheBytes = CACHE_BYTES }: EndpointOptions = {},
  ) {
    this.#endpoints = new Map(models.map((model) => [model.name, new Endpoint(model, pausesMs)]));
    this.#cache = new VectorCache(cacheBytes);
  }

  async vectors(inputs: readonly TextInput[], context: VectorsContext): Promise<readonly Buffer[]> {
    const wanted = this.#byModel(inputs);
    const stop = new AbortController();
    const each = { ...context, signal: AbortSignal.any([context.signal, stop.signal]) };
    const calls = [...wanted].flatMap(([model, texts]) => {
      const missing = [...texts].filter(([, { vector }]) => vector === undefined).map(([text]) => text);
      return batches(missing).map((batch) => this.#ask(model, batch, texts, each));
    });
    try {
      await Promise.all(calls);
    } catch (error) {
      // The first failure is the answer, and ends the others.
      stop.abort();
      throw error;
    }
    return inputs.map(({ model, text, place }) => {
      const vector = wanted.get(model)?.get(text)?.vector;
      if (vector === undefined) throw failed(new ModelFailure(model, 'it made no vector'), place);
      return vector;
    });
  }

  /** The different texts of each model, with the vectors that are known. Unknown models are refused before any is asked. */
  #byModel(inputs: readonly TextInput[]): Map<string, Texts> {
    const wanted = new Map<string, Texts>();
    for (const { place, model } of inputs) {
      if (!this.#endpoints.has(model)) throw this.#unknown(place, model);
    }
    for (const { place, model, text } of inputs) {
      const texts = wanted.get(model) ?? new Map<string, Wanted>();
      wanted.set(model, texts);
      if (!texts.has(text)) texts.set(text, { place, vector: this.#cache.get(model, text) });
    }
    return wanted;
  }

  #unknown(place: string, model: string): EngineError {
    const names = ['qdrant/bm25', ...this.#endpoints.keys()];
    const listed = names.slice(0, MOST_LISTED).join(', ') + (names.length > MOST_LISTED ? ', …' : '');
    const message = `${place}.model: unknown model '${model.slice(0, MOST_ECHOED)}', expected ${listed}`;
    return new EngineError('bad_request', { message });
  }

  async #ask(model: string, batch: readonly string[], texts: Texts, context: VectorsContext): Promise<void> {
    const endpoint = this.#endpoints.get(model);
    if (endpoint === undefined) return;
    let answer: Buffer;
    try {
      answer = await endpoint.vectors(batch, context.signal, context.read);
    } catch (error) {
      throw error instanceof ModelFailure ? failed(error, texts.get(batch[0] ?? '')?.place) : error;
    }
    context.hold(answer.length);
    const bytes = answer.readUInt32LE(0) * 4;
    for (const [at, text] of batch.entries()) {
      const vector = Buffer.from(answer.subarray(4 + at * bytes, 4 + (at + 1) * bytes));
      const wanted = texts.get(text);
      if (wanted !== undefined) wanted.vector = vector;
      this.#cache.put(model, text, vector);
    }
  }
}

/** A text that wants its vector, and the first place that has it. */
interface Wanted {
  readonly place: string;
  vector: Buffer | undefined;
}

type Texts = Map<string, Wanted>;

/** The texts in parts that one call may have. */
function batches(texts: readonly string[]): string[][] {
  const parts: string[][] = [];
  let bytes = Infinity;
  for (const text of texts) {
    const length = Buffer.byteLength(text);
    const last = parts.at(-1);
    if (last === undefined || last.length >= MOST_TEXTS || bytes + length > MOST_TEXT_BYTES) {
      parts.push([text]);
      bytes = length;
    } else {
      last.push(text);
      bytes += length;
    }
  }
  return parts;
}

function failed({ model, why }: ModelFailure, place: string | undefined): EngineError {
  return new EngineError('model_failed', {
    name: model,
    message: why,
    ...(place !== undefined && { place }),
  });
}
