import { setMaxListeners } from 'node:events';
import { EngineError, type TextInput, type TextModels, type VectorsContext } from '../engine/types';
import type { CallSize, Embedder } from './embedder';
import { Endpoint } from './endpoint';
import { LocalModel, type ModelLoader } from './local-model';
import type { TextModel } from './model';
import { ModelFailure } from './model-failure';
import { VectorCache } from './vector-cache';

const CACHE_BYTES = 32 * 1024 * 1024;
/** Characters of an unknown name that a message repeats. */
const MAX_ECHOED = 100;
/** Names that a message lists. */
const MAX_LISTED = 10;

/** What changes for tests. */
export interface ModelsOptions {
  readonly pausesMs?: readonly number[];
  readonly cacheBytes?: number;
  readonly load?: ModelLoader;
}

/** The models of a configuration: each has an endpoint, or is loaded from a folder. */
export class ConfiguredModels implements TextModels {
  readonly #cache: VectorCache;

  private constructor(
    private readonly models: ReadonlyMap<string, Embedder>,
    cacheBytes: number,
  ) {
    this.#cache = new VectorCache(cacheBytes);
  }

  /** @throws BadModel for a folder whose model cannot be loaded. */
  static async open(models: readonly TextModel[], options: ModelsOptions = {}): Promise<ConfiguredModels> {
    const opened = new Map<string, Embedder>();
    try {
      // One after the other: each takes the memory of its file twice while it is loaded.
      for (const model of models) {
        const embedder =
          'path' in model
            ? await LocalModel.open(model, options.load)
            : new Endpoint(model, options.pausesMs);
        opened.set(model.name, embedder);
      }
    } catch (error) {
      await closeAll(opened);
      throw error;
    }
    return new ConfiguredModels(opened, options.cacheBytes ?? CACHE_BYTES);
  }

  /** Ends the threads of models that have one. */
  close(): Promise<void> {
    return closeAll(this.models);
  }

  async vectors(inputs: readonly TextInput[], context: VectorsContext): Promise<readonly Buffer[]> {
    const wanted = this.#byModel(inputs);
    const stop = new AbortController();
    const each = { ...context, signal: AbortSignal.any([context.signal, stop.signal]) };
    // Every call to a model listens to it, also while it waits.
    setMaxListeners(0, each.signal);
    const calls = [...wanted].flatMap(([model, texts]) => this.#askAll(model, texts, each));
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
      if (!this.models.has(model)) throw this.#unknown(place, model);
    }
    for (const { place, model, text } of inputs) {
      const texts = wanted.get(model) ?? new Map<string, Wanted>();
      wanted.set(model, texts);
      if (!texts.has(text)) texts.set(text, { place, vector: this.#cache.get(model, text) });
    }
    return wanted;
  }

  #unknown(place: string, model: string): EngineError {
    const names = ['qdrant/bm25', ...this.models.keys()];
    const listed = names.slice(0, MAX_LISTED).join(', ') + (names.length > MAX_LISTED ? ', …' : '');
    const at = place === '' ? 'model' : `${place}.model`;
    const message = `${at}: unknown model '${model.slice(0, MAX_ECHOED)}', expected ${listed}`;
    return new EngineError('bad_request', { message });
  }

  /** What ends when a model has made the vectors that are not known: side by side, or all in one. */
  #askAll(name: string, texts: Texts, context: VectorsContext): readonly Promise<void>[] {
    const model = this.models.get(name);
    if (model === undefined) return [];
    const missing = [...texts].filter(([, { vector }]) => vector === undefined).map(([text]) => text);
    const parts = batches(missing, model.callSize);
    const ask = (batch: readonly string[]): Promise<void> =>
      this.#ask(name, model, { batch, texts, context });
    if (!model.isOneAtATime) return parts.map(ask);
    const inOrder = async (): Promise<void> => {
      for (const part of parts) await ask(part);
    };
    return [inOrder()];
  }

  async #ask(model: string, embedder: Embedder, { batch, texts, context }: Asked): Promise<void> {
    let answer: Buffer;
    try {
      answer = await embedder.vectors(batch, context.signal, context.read);
    } catch (error) {
      throw error instanceof ModelFailure
        ? failed(error, texts.get(batch[error.text ?? 0] ?? '')?.place)
        : error;
    }
    context.hold(answer.length);
    const bytes = answer.readUInt32LE(0) * 4;
    for (const [at, text] of batch.entries()) {
      const vector = copyOf(answer.subarray(4 + at * bytes, 4 + (at + 1) * bytes));
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

/** Some texts of a request that one call makes the vectors of. */
interface Asked {
  readonly batch: readonly string[];
  readonly texts: Texts;
  readonly context: VectorsContext;
}

async function closeAll(models: ReadonlyMap<string, Embedder>): Promise<void> {
  await Promise.all([...models.values()].map((model) => model.close()));
}

/** The same bytes in memory of their own: of short ones `Buffer.from` makes parts of the pool, which they would keep whole. */
function copyOf(bytes: Buffer): Buffer {
  const copy = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(copy);
  return copy;
}

/** The texts in parts that one call may have. */
function batches(texts: readonly string[], most: CallSize): string[][] {
  const parts: string[][] = [];
  let bytes = Infinity;
  for (const text of texts) {
    const length = Buffer.byteLength(text);
    const last = parts.at(-1);
    if (last === undefined || last.length >= most.texts || bytes + length > most.bytes) {
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
    // A text with which a model is tried stands nowhere.
    ...(place !== undefined && place !== '' && { place }),
  });
}
