/**
 * The package `@kithdb/models`: models of texts that run in this process, each on a thread of its own, from folders in the
 * layout of sentence-transformers. Nothing is downloaded.
 */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { BadFolder, type GivenFolder } from './folder';
import { TextFailure } from './encoder';
import type { Report } from './messages';

export { BadFolder, type GivenFolder, type Pooling } from './folder';
export { TextFailure } from './encoder';

/** What its thread loads. */
const LIBRARIES = ['onnxruntime-node', '@huggingface/tokenizers'];

/** A model that is loaded. */
export interface OpenModel {
  /** Components of its vectors. */
  readonly dimension: number;
  /** Whether its thread has ended, so that it makes no vectors any more. */
  readonly hasEnded: boolean;
  /**
   * The vectors of texts in their order, one after the other. Calls are worked on one after the other.
   * @throws TextFailure that names the place of a text, or another error of the model.
   */
  vectors(texts: readonly string[]): Promise<Float32Array>;
  /** Ends the thread, once what it runs has come to its end. */
  close(): Promise<void>;
}

/**
 * Loads the model of a folder, and tries it.
 * @throws BadFolder for a folder that cannot be used, an error with the code `MODULE_NOT_FOUND` where a library is missing.
 */
export async function openModel(folder: GivenFolder): Promise<OpenModel> {
  const { resolve } = createRequire(__filename);
  for (const library of LIBRARIES) resolve(library);
  const thread = new ModelThread(folder);
  try {
    await thread.loaded;
  } catch (error) {
    await thread.close();
    throw error;
  }
  return thread;
}

interface Waiting {
  readonly resolve: (vectors: Float32Array) => void;
  readonly reject: (error: Error) => void;
}

class ModelThread implements OpenModel {
  readonly loaded: Promise<void>;
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  #dimension = 0;
  #hasEnded = false;
  #last = 0;

  constructor(folder: GivenFolder) {
    this.#worker = new Worker(join(__dirname, 'worker.js'), { workerData: folder, name: 'kithdb-model' });
    this.loaded = new Promise((resolve, reject) => {
      this.#worker.on('message', (report: Report) => {
        if (report.kind === 'ready') {
          this.#dimension = report.dimension;
          // It does not keep a program from its end; a call that is waited for does.
          this.#worker.unref();
          resolve();
        } else if (report.kind === 'broken') {
          reject(broken(report));
        } else {
          this.#settle(report);
        }
      });
      const end = (why: Error): void => {
        this.#hasEnded = true;
        reject(why);
        for (const { reject: fail } of this.#waiting.values()) fail(why);
        this.#waiting.clear();
      };
      this.#worker.on('error', (error) => {
        end(error);
      });
      this.#worker.on('exit', () => {
        end(new Error('its thread has ended'));
      });
    });
  }

  get dimension(): number {
    return this.#dimension;
  }

  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  vectors(texts: readonly string[]): Promise<Float32Array> {
    if (this.#hasEnded) return Promise.reject(new Error('its thread has ended'));
    this.#last += 1;
    const id = this.#last;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      this.#worker.ref();
      this.#worker.postMessage({ id, texts });
    });
  }

  #settle(report: Extract<Report, { readonly id: number }>): void {
    const waiting = this.#waiting.get(report.id);
    this.#waiting.delete(report.id);
    if (this.#waiting.size === 0) this.#worker.unref();
    if (report.kind === 'vectors') waiting?.resolve(report.vectors);
    else if (report.text !== undefined) waiting?.reject(new TextFailure(report.message, report.text));
    else waiting?.reject(new Error(report.message));
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }
}

function broken({ message, code }: { readonly message: string; readonly code?: string | undefined }): Error {
  return code === undefined ? new BadFolder(message) : Object.assign(new Error(message), { code });
}
