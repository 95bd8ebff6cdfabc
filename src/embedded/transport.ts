import { answerError, ConnectionError } from '../client/errors';
import { encodeJson, parseJson } from '../client/json';
import type { ByteTransport, Call, Envelope, VersionInfo } from '../client/transport';
import { CallingThread } from '../engine/calling-thread';
import { bytesOf, EngineError, type Answer, type Engine, type Packing } from '../engine/types';
import { engineFailure } from '../http/errors';
import { QDRANT_API_LEVEL } from '../system/plain';
import { productVersion } from '../system/version';
import { failurePrefix } from './failure-prefix';
import { packBody, READS_OF_POINTS, unpackAnswer } from './packing';

/** Interval of the timer that keeps the process alive while calls are under way. */
const KEEP_ALIVE_MS = 60_000;
/** What closing may take: what is not checkpointed then stays in the log. Calls of other processes wait meanwhile. */
const CLOSE_MS = 1000;
const EMPTY = Buffer.alloc(0);
/** How long calls may be answered on this thread before other work of the event loop is served. */
const HERE_MS = 2;

/** Executes the operations of a client in the engine of a folder, which is in this process or in the owner's (C18). */
export class EmbeddedTransport implements ByteTransport {
  readonly #engine: Engine;
  #underWay = 0;
  #alive: NodeJS.Timeout | undefined;
  #closed: Promise<void> | undefined;
  readonly #thread = new CallingThread(HERE_MS);

  /** `engine` is open; it is closed with the transport, and so are the models that it has and what embeds with them. */
  constructor(
    engine: Engine,
    private readonly embedding: {
      readonly models?: { close(): Promise<void> };
      readonly reembedder?: { close(): Promise<void> };
    } = {},
  ) {
    this.#engine = engine;
  }

  readonly packsVectors = true;

  async execute(call: Call): Promise<Envelope> {
    const answer = call.float32Vectors === true && READS_OF_POINTS.has(call.operation);
    const bytes = await this.#execute(call, answer);
    return answer ? unpackAnswer(bytes) : (parseJson(bytes.toString()) as Envelope);
  }

  executeBytes(call: Call): Promise<Buffer> {
    return this.#execute(call, false);
  }

  async #execute(call: Call, packsAnswer: boolean): Promise<Buffer> {
    this.#refuseClosed();
    call.signal?.throwIfAborted();
    // Written before anything is counted: a value that cannot be sent throws.
    const packed = packBody(call.operation, call.body);
    const body = packed ?? jsonOf(call.body);
    // Calls beside each other are for the threads of the engine.
    const mayRunHere = this.#underWay === 0 && this.#thread.hasTime();
    this.#begin();
    try {
      const packing = { body: packed !== undefined, answer: packsAnswer };
      const answer = this.#run(call, body, { packing, mayRunHere }).catch((error: unknown) => {
        if (!(error instanceof EngineError) || error.code !== 'needs_json') throw error;
        const asJson = { packing: { ...packing, body: false }, mayRunHere: false };
        return this.#run(call, jsonOf(call.body), asJson);
      });
      return bytesOf(await answer);
    } catch (error) {
      throw this.#translate(failurePrefix(call.operation), call.signal, error);
    } finally {
      this.#end();
    }
  }

  #run(
    { operation, collection, target, flags, isLines, operationId, signal }: Call,
    bytes: Buffer,
    { packing, mayRunHere }: { readonly packing: Packing; readonly mayRunHere: boolean },
  ): Promise<Answer> {
    const body = bytes.length === 0 ? undefined : this.#engine.receive();
    body?.append(bytes, bytes.length);
    return this.#engine.execute({
      operation,
      collection,
      target,
      wait: flags?.wait,
      timeoutSeconds: flags?.timeout,
      operationId,
      body,
      packing,
      isLines,
      mayRunHere,
      whenAbandoned: (callback) => {
        signal?.addEventListener('abort', callback, { once: true });
      },
    });
  }

  /** Runs work with the engine; `prefix` begins the message of an internal failure. */
  async withEngine<T>(
    work: (engine: Engine) => Promise<T>,
    { prefix, signal }: { readonly prefix: string; readonly signal: AbortSignal },
  ): Promise<T> {
    this.#refuseClosed();
    signal.throwIfAborted();
    this.#begin();
    try {
      return await work(this.#engine);
    } catch (error) {
      throw this.#translate(prefix, signal, error);
    } finally {
      this.#end();
    }
  }

  #refuseClosed(): void {
    if (this.#closed !== undefined) {
      throw new ConnectionError('The database is closed', false, { isPermanent: true });
    }
  }

  #translate(prefix: string, signal: AbortSignal | undefined, error: unknown): unknown {
    if (signal?.aborted === true) {
      return signal.reason;
    }
    if (!(error instanceof EngineError)) {
      return error;
    }
    if (error.code === 'shutting_down') {
      return new ConnectionError('The database was closed before the answer', true, {
        isPermanent: true,
        cause: error,
      });
    }
    const { status, message, retryAfterSeconds } = engineFailure(error.code, error.details, prefix);
    return answerError(status, message, { retryAfterSeconds, cause: error });
  }

  /** What this process is in the folder: `owner`, `attached to process 7` or `waiting for an owner`. */
  role(): string | undefined {
    return this.#engine.role?.();
  }

  version(): Promise<VersionInfo> {
    return Promise.resolve({
      title: 'kithdb - vector database',
      version: QDRANT_API_LEVEL,
      kithdb_version: productVersion(),
    });
  }

  close(): Promise<void> {
    this.#closed ??= this.#closeAll();
    return this.#closed;
  }

  async #closeAll(): Promise<void> {
    this.#begin();
    try {
      await this.#closeParts();
    } finally {
      this.#end();
    }
  }

  async #closeParts(): Promise<void> {
    const { models, reembedder } = this.embedding;
    await reembedder?.close();
    try {
      await this.#engine.close(CLOSE_MS);
    } finally {
      await models?.close();
    }
  }

  /** The native binding does not keep the event loop alive; a call whose answer is awaited, and closing, do. */
  #begin(): void {
    this.#underWay += 1;
    this.#alive ??= setInterval(() => undefined, KEEP_ALIVE_MS);
    this.#alive.ref();
  }

  #end(): void {
    this.#underWay -= 1;
    if (this.#underWay === 0) this.#alive?.unref();
  }
}

/** The body as JSON text, in memory that the engine may take. */
function jsonOf(body: unknown): Buffer {
  if (body === undefined) return EMPTY;
  if (!(body instanceof Uint8Array)) return Buffer.from(encodeJson(body));
  // The engine copies a part of some memory, and may take the whole of it.
  const isPart = body.length < body.buffer.byteLength;
  return isPart ? Buffer.from(body.buffer, body.byteOffset, body.length) : Buffer.from(body);
}
