import { readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import type { AnswerReader, Embedder } from './embedder';
import type { EndpointModel } from './model';
import { ModelFailure } from './model-failure';
import { Semaphore } from './semaphore';

/** Calls of one endpoint that run at a time, and that wait. */
const CALLS_AT_A_TIME = 4;
const MAX_WAITING = 1024;
/** How long one call may take. */
const CALL_MS = 30_000;
/** Pauses before a call is repeated; there are as many repetitions. */
const PAUSES_MS = [250, 1000, 4000] as const;
/** The longest pause that an endpoint may ask for; beyond it the call has failed. */
const LONGEST_PAUSE_MS = 10_000;
/** Bytes that an answer may have, at least and for each text: 8,192 components of 32 characters. */
const ANSWER_BYTES = 64 * 1024;
const ANSWER_BYTES_A_TEXT = 256 * 1024;
const MAX_KEY_BYTES = 64 * 1024;

/** What went wrong with one call, and whether and when it may be repeated. */
class CallFailure extends Error {
  constructor(
    message: string,
    readonly isWorthRepeating = false,
    readonly pauseMs?: number,
  ) {
    super(message);
  }
}

/** The endpoint of one model. */
export class Endpoint implements Embedder {
  readonly callSize = { texts: 64, bytes: 256 * 1024 };
  readonly isOneAtATime = false;
  readonly #semaphore = new Semaphore(CALLS_AT_A_TIME, MAX_WAITING);

  constructor(
    readonly model: EndpointModel,
    private readonly pausesMs: readonly number[] = PAUSES_MS,
  ) {}

  /** @throws ModelFailure when the endpoint fails, also after repetitions. */
  vectors(texts: readonly string[], signal: AbortSignal, read: AnswerReader): Promise<Buffer> {
    return this.#semaphore.run(signal, () => this.#withRepetitions(texts, signal, read));
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  async #withRepetitions(texts: readonly string[], signal: AbortSignal, read: AnswerReader): Promise<Buffer> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return this.#checked(await readAnswer(await this.#call(texts, signal), texts.length, read));
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof CallFailure)) throw error;
        const pauseMs = error.pauseMs ?? this.pausesMs[attempt];
        if (!error.isWorthRepeating || attempt >= this.pausesMs.length || pauseMs === undefined) {
          throw new ModelFailure(this.model.name, error.message);
        }
        // Between half of it and all of it: many that failed together do not come back together.
        await pause(pauseMs * (0.5 + Math.random() / 2), undefined, { signal }).catch(() => undefined);
        signal.throwIfAborted();
      }
    }
  }

  #checked(vectors: Buffer): Buffer {
    const { name, dimension } = this.model;
    const found = vectors.readUInt32LE(0);
    if (dimension !== undefined && found !== dimension) {
      throw new ModelFailure(name, `its vectors have ${found} components in place of ${dimension}`);
    }
    return vectors;
  }

  async #call(texts: readonly string[], signal: AbortSignal): Promise<Buffer> {
    const { url, model, keyFile } = this.model;
    const headers: Record<string, string> = {
      accept: 'application/json',
      'content-type': 'application/json',
      ...(keyFile !== undefined && { authorization: `Bearer ${await readKey(keyFile)}` }),
    };
    const most = ANSWER_BYTES + texts.length * ANSWER_BYTES_A_TEXT;
    const late = AbortSignal.timeout(CALL_MS);
    try {
      const response = await fetch(`${url}/embeddings`, {
        method: 'POST',
        headers,
        body: JSON.stringify({ model, input: texts, encoding_format: 'float' }),
        // The key goes to the configured host and to no other.
        redirect: 'manual',
        signal: AbortSignal.any([signal, late]),
      });
      if (response.status !== 200) {
        await response.body?.cancel();
        throw statusFailure(response);
      }
      return await limited(response, most);
    } catch (error) {
      if (error instanceof CallFailure) throw error;
      signal.throwIfAborted();
      if (late.aborted) throw new CallFailure(`it did not answer within ${CALL_MS / 1000} s`, true);
      throw new CallFailure(`it cannot be reached${causeOf(error)}`, true);
    }
  }
}

/** The text of an endpoint's failure may contain the key, so only the status is reported. */
function statusFailure(response: Response): CallFailure {
  const { status } = response;
  if (status >= 300 && status < 400) {
    return new CallFailure(`it answered ${status}, and redirects are not followed`);
  }
  const isBusy = status === 429 || status >= 500;
  const after = Number(response.headers.get('retry-after') ?? NaN) * 1000;
  const asksForPause = isBusy && Number.isFinite(after) && after >= 0;
  const isTooLong = asksForPause && after > LONGEST_PAUSE_MS;
  return new CallFailure(
    `it answered ${status}`,
    isBusy && !isTooLong,
    asksForPause && !isTooLong && after > 0 ? after : undefined,
  );
}

/** The code of the system, such as `ECONNREFUSED`, where there is one. */
function causeOf(error: unknown): string {
  const cause: unknown = error instanceof Error ? error.cause : undefined;
  const code = cause instanceof Error ? (cause as NodeJS.ErrnoException).code : undefined;
  return typeof code === 'string' && /^[A-Z_0-9]{1,64}$/.test(code) ? ` (${code})` : '';
}

async function limited(response: Response, most: number): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
    length += chunk.length;
    // Leaving the loop ends the connection.
    if (length > most) throw new CallFailure(`its answer has more than ${most} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length);
}

async function readAnswer(answer: Buffer, texts: number, read: AnswerReader): Promise<Buffer> {
  try {
    return await read(answer, texts);
  } catch (error) {
    throw new CallFailure(error instanceof Error ? error.message : 'its answer cannot be read');
  }
}

/** The key of a file, less the space around it. */
async function readKey(file: string): Promise<string> {
  let key: string;
  try {
    key = (await readFile(file, 'utf8')).trim();
  } catch {
    throw new CallFailure('the file of its key cannot be read');
  }
  if (key.length > MAX_KEY_BYTES || !/^[\x21-\x7e]+$/.test(key)) {
    throw new CallFailure('the file of its key holds no key');
  }
  return key;
}
