import type { OpenModel } from '../local-models';
import { BadModel } from './bad-model';
import type { Embedder } from './embedder';
import { isMissing, loadLocalModels, localModelsAdvice } from './local-package';
import type { FolderModel } from './model';
import { ModelFailure } from './model-failure';
import { Semaphore } from './semaphore';

/** Requests that wait; each has one call at a time. */
const MAX_WAITING = 1024;
const HEAD_BYTES = 4;

/** Loads the model of a folder. */
export type ModelLoader = (model: FolderModel) => Promise<OpenModel>;

/** A model that runs in this process, on a thread of its own, from a folder. */
export class LocalModel implements Embedder {
  /** A run is as long as a call: short, so that the texts of others come soon. */
  readonly callSize = { texts: 8, bytes: 64 * 1024 };
  readonly isOneAtATime = true;
  readonly #semaphore = new Semaphore(1, MAX_WAITING);
  #open: OpenModel;
  #isClosed = false;

  private constructor(
    private readonly model: FolderModel,
    open: OpenModel,
    private readonly load: ModelLoader,
  ) {
    this.#open = open;
  }

  /** @throws BadModel that names the model and what is wrong with its folder. */
  static async open(model: FolderModel, load: ModelLoader = loadModel): Promise<LocalModel> {
    return new LocalModel(model, await openChecked(model, load), load);
  }

  vectors(texts: readonly string[], signal: AbortSignal): Promise<Buffer> {
    return untilOver(
      signal,
      // It is released at the end of the run and not of the request: nothing stops a run.
      this.#semaphore.run(signal, () => this.#call(texts)),
    );
  }

  async #call(texts: readonly string[]): Promise<Buffer> {
    try {
      // Its thread may have ended with an error: too little memory, for one.
      if (this.#open.hasEnded && !this.#isClosed) await this.#openAgain();
      if (this.#isClosed) throw new Error('it is closed');
      const vectors = await this.#open.vectors(texts);
      return framed(vectors, texts.length);
    } catch (error) {
      const { message, text } = error as Error & { readonly text?: number };
      throw new ModelFailure(this.model.name, message, text);
    }
  }

  async #openAgain(): Promise<void> {
    const open = await openChecked(this.model, this.load);
    // It may have been closed meanwhile.
    if (this.#isClosed) await open.close();
    else this.#open = open;
  }

  close(): Promise<void> {
    this.#isClosed = true;
    return this.#open.close();
  }
}

async function openChecked(model: FolderModel, load: ModelLoader): Promise<OpenModel> {
  let open: OpenModel;
  try {
    open = await load(model);
  } catch (error) {
    const why = isMissing(error)
      ? localModelsAdvice()
      : error instanceof Error
        ? error.message
        : String(error);
    throw new BadModel(`names the model '${model.name}', which cannot be used: ${why}`);
  }
  const { name, dimension } = model;
  if (dimension !== undefined && open.dimension !== dimension) {
    await open.close();
    throw new BadModel(
      `names the model '${name}', whose vectors have ${open.dimension} components in place of ${dimension}`,
    );
  }
  return open;
}

async function loadModel({ path, pooling, normalize }: FolderModel): Promise<OpenModel> {
  const { openModel } = await loadLocalModels();
  return openModel({
    path,
    ...(pooling !== undefined && { pooling }),
    ...(normalize !== undefined && { normalize }),
  });
}

/** The result of work, or the reason of `signal` as soon as it is aborted. */
async function untilOver<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  let giveUp = (): void => undefined;
  const over = new Promise<never>((_, reject) => {
    giveUp = () => {
      reject(signal.reason as Error);
    };
  });
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    return await Promise.race([work, over]);
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}

function framed(vectors: Float32Array, texts: number): Buffer {
  const frame = Buffer.allocUnsafeSlow(HEAD_BYTES + vectors.byteLength);
  frame.writeUInt32LE(vectors.length / texts);
  frame.set(new Uint8Array(vectors.buffer, vectors.byteOffset, vectors.byteLength), HEAD_BYTES);
  return frame;
}
