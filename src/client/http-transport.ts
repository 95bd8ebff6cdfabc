import { setMaxListeners } from 'node:events';
import * as http from 'node:http';
import * as https from 'node:https';
import { replaceVectors } from './answered-vectors';
import { answerError, ConnectionError, type FailureDetails, type KithError } from './errors';
import { httpTarget } from './http-routes';
import { encodeBody, parseJson } from './json';
import { isWrite } from './operation-ids';
import { Positions } from './positions';
import { retrying, retryPolicy, type RetryPolicy } from './retries';
import type { ByteTransport, Call, Envelope, VersionInfo } from './transport';

/** How to reach a server. */
export interface HttpOptions {
  /** An access token, or the admin's JWT. */
  readonly token?: string;
  /** Further headers of every request. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Connections that are open at once; 64 when absent. Further calls wait for one. */
  readonly maxConnections?: number;
  /** Certificates that are trusted in place of those that Node knows, as PEM. */
  readonly ca?: string;
  /**
   * Whether reads see what this client wrote before, whichever node of a cluster answers (C30.4): true when absent. On one node they
   * always do.
   */
  readonly readYourWrites?: boolean;
}

/** How to reach a server that may be busy, starting or away for a moment. */
export interface RetryingHttpOptions extends HttpOptions {
  /** How failures that may pass are tried again; `{ retries: 0 }` for not at all. */
  readonly retry?: Partial<RetryPolicy>;
}

/** One request under the base URL. */
export interface HttpRequest {
  readonly method: string;
  /** With its query string. */
  readonly path: string;
  readonly body?: unknown;
  /** Whether the body is lines of JSON, as bytes. */
  readonly isLines?: boolean | undefined;
  /** Sent as `Idempotency-Key`. */
  readonly operationId?: string | undefined;
  /** Sent as `KithDB-Position`. */
  readonly position?: string | undefined;
  /** Takes the headers of a success. */
  readonly answered?: ((headers: http.IncomingHttpHeaders) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

const MAX_CONNECTIONS = 64;
/** Answers that are longer are refused; the server gives at most 256 MiB (C2.7). */
const MAX_ANSWER_BYTES = 320 * 1024 * 1024;
/** Failures of the network before a connection was made: nothing was sent. */
const NOT_CONNECTED = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);
/** Failures of a connection. All others, such as a refused certificate, come again. */
const LOST = new Set(['ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT']);

interface RawAnswer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: Buffer;
}

/** The transport of a server, which repeats what fails and may pass. */
export function httpTransport(url: string, { retry, ...options }: RetryingHttpOptions = {}): ByteTransport {
  return retrying(new HttpTransport(url, options), retryPolicy(retry));
}

/** Operations over HTTP/1.1, on connections that stay open. */
export class HttpTransport implements ByteTransport {
  readonly #base: URL;
  readonly #prefix: string;
  readonly #agent: http.Agent;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #closed = new AbortController();
  /** Of what was written over this transport. */
  readonly #written = new Positions();
  readonly #readsItsWrites: boolean;

  /** @throws TypeError when the URL is none of `http:` or `https:`. */
  constructor(url: string, options: HttpOptions = {}) {
    const { token, headers, maxConnections = MAX_CONNECTIONS, ca, readYourWrites = true } = options;
    this.#readsItsWrites = readYourWrites;
    // Every request that is under way listens to it.
    setMaxListeners(0, this.#closed.signal);
    this.#base = new URL(url);
    const { protocol, pathname } = this.#base;
    if (protocol !== 'http:' && protocol !== 'https:') {
      throw new TypeError(`The URL of a server begins with http:// or https://, not ${protocol}`);
    }
    this.#prefix = pathname.replace(/\/+$/, '');
    const pool = { keepAlive: true, maxSockets: maxConnections };
    this.#agent =
      protocol === 'https:'
        ? new https.Agent({ ...pool, ...(ca !== undefined && { ca }) })
        : new http.Agent(pool);
    this.#headers = { ...headers, ...(token !== undefined && { authorization: `Bearer ${token}` }) };
  }

  async execute(call: Call): Promise<Envelope> {
    const envelope = (await this.request(this.#requestOf(call))) as Envelope;
    if (call.float32Vectors === true) {
      replaceVectors(envelope.result, (components) => Float32Array.from(components));
    }
    return envelope;
  }

  executeBytes(call: Call): Promise<Uint8Array> {
    return this.requestBytes(this.#requestOf(call));
  }

  /** The highest positions of the writes so far in a cluster; undefined where there is none. */
  get position(): string | undefined {
    return this.#written.header();
  }

  async version(signal?: AbortSignal): Promise<VersionInfo> {
    return (await this.request({ method: 'GET', path: '/', signal })) as VersionInfo;
  }

  close(): Promise<void> {
    this.#closed.abort();
    this.#agent.destroy();
    return Promise.resolve();
  }

  #requestOf(call: Call): HttpRequest {
    const { method, path, hasBody } = httpTarget(call);
    const { signal, operationId, isLines, position, onMissingShards } = call;
    const isRead = call.collection !== undefined && !isWrite(call.operation);
    return {
      ...{ method, path, signal, operationId, isLines, body: hasBody ? (call.body ?? {}) : undefined },
      ...(isRead && { position: this.#readsItsWrites ? this.#written.header(position) : position }),
      answered: (headers) => {
        const { 'kithdb-position': written, 'kithdb-missing-shards': missing } = headers;
        if (typeof written === 'string') this.#written.add(written);
        if (typeof missing === 'string') onMissingShards?.(missing.split(',').map(Number));
      },
    };
  }

  /** The body of a success as it came; rejects as {@link Transport.execute} does. */
  async requestBytes(request: HttpRequest): Promise<Uint8Array> {
    const answer = await this.#send(request);
    if (!isSuccess(answer)) {
      throw failureOf(answer);
    }
    request.answered?.(answer.headers);
    return answer.body;
  }

  /** The parsed body of a success; rejects as {@link Transport.execute} does. */
  async request(request: HttpRequest): Promise<unknown> {
    const answer = await this.#send(request);
    if (!isSuccess(answer)) {
      throw failureOf(answer);
    }
    const body = bodyOf(answer);
    request.answered?.(answer.headers);
    return body;
  }

  #send({ method, path, body, isLines, operationId, position, signal }: HttpRequest): Promise<RawAnswer> {
    const bytes = body === undefined ? undefined : encodeBody(body);
    const headers: Record<string, string | number> = { ...this.#headers };
    if (bytes !== undefined) {
      headers['content-type'] = isLines === true ? 'application/x-ndjson' : 'application/json';
      headers['content-length'] = bytes.length;
    }
    if (operationId !== undefined) {
      headers['idempotency-key'] = operationId;
    }
    if (position !== undefined) {
      headers['kithdb-position'] = position;
    }
    const { protocol, hostname, port } = this.#base;
    const options: https.RequestOptions = {
      // URL keeps the brackets of an IPv6 address, which are no part of the host.
      hostname: hostname.replace(/^\[(.*)\]$/, '$1'),
      ...(port !== '' && { port }),
      path: this.#prefix + path,
      method,
      headers,
      agent: this.#agent,
    };
    return new Promise((resolve, reject) => {
      if (this.#closed.signal.aborted) {
        reject(closedError(false));
        return;
      }
      const request = protocol === 'https:' ? https.request(options) : http.request(options);
      const stopWatching = watch(request, [
        [signal, () => signal?.reason as Error],
        [this.#closed.signal, () => closedError(true)],
      ]);
      const fail = (error: Error): void => {
        stopWatching();
        // What ends the request may show as the end of its connection.
        const reason = signal?.aborted === true ? (signal.reason as Error) : undefined;
        reject(
          reason ??
            (this.#closed.signal.aborted ? closedError(true) : lostConnection(error, this.#base.origin)),
        );
      };
      // A second error may follow the first one.
      request.on('error', fail);
      request.once('response', (response) => {
        read(response).then((answer) => {
          stopWatching();
          resolve(answer);
        }, fail);
      });
      request.end(bytes);
    });
  }
}

/** Destroys a request when one of the signals is aborted; gives what ends that. */
function watch(
  request: http.ClientRequest,
  signals: readonly (readonly [AbortSignal | undefined, () => Error])[],
): () => void {
  const stops = signals.flatMap(([signal, reason]) => {
    if (signal === undefined) {
      return [];
    }
    const destroy = (): void => {
      request.destroy(reason());
    };
    if (signal.aborted) {
      destroy();
    }
    signal.addEventListener('abort', destroy, { once: true });
    return [
      () => {
        signal.removeEventListener('abort', destroy);
      },
    ];
  });
  return () => {
    for (const stop of stops) {
      stop();
    }
  };
}

async function read(response: http.IncomingMessage): Promise<RawAnswer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_ANSWER_BYTES) {
      throw new ConnectionError(`The answer has more than ${MAX_ANSWER_BYTES} bytes`, true, {
        isPermanent: true,
      });
    }
    chunks.push(chunk);
  }
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    body: Buffer.concat(chunks, bytes),
  };
}

/** The parsed body of a success. */
function bodyOf(answer: RawAnswer): unknown {
  try {
    return parseJson(answer.body.toString());
  } catch (error) {
    throw new ConnectionError('The answer is not JSON', true, { ...detailsOf(answer), cause: error });
  }
}

function isSuccess({ status }: RawAnswer): boolean {
  return status >= 200 && status < 300;
}

/** The error of an answer that is no success. */
function failureOf(answer: RawAnswer): KithError {
  let message: string | undefined;
  try {
    message = messageOf(parseJson(answer.body.toString()));
  } catch {
    // A proxy in between answers as it likes.
  }
  return answerError(answer.status, message ?? `The server answered ${answer.status}`, detailsOf(answer));
}

function detailsOf({ headers }: RawAnswer): FailureDetails {
  const requestId = headers['x-request-id'];
  return {
    requestId: typeof requestId === 'string' ? requestId : undefined,
    retryAfterSeconds: wholeSeconds(headers['retry-after']),
  };
}

function closedError(outcomeUnknown: boolean): ConnectionError {
  return new ConnectionError('The client is closed', outcomeUnknown, { isPermanent: true });
}

function lostConnection(error: Error, origin: string): ConnectionError {
  if (error instanceof ConnectionError) {
    return error;
  }
  const { code = '' } = error as NodeJS.ErrnoException;
  return new ConnectionError(
    `No answer from ${origin}: ${error.message === '' ? code : error.message}`,
    !NOT_CONNECTED.has(code),
    {
      cause: error,
      isPermanent: code === 'ENOTFOUND' || !(NOT_CONNECTED.has(code) || LOST.has(code)),
    },
  );
}

/** The seconds of a `Retry-After`; a date is none. */
function wholeSeconds(header: string | undefined): number | undefined {
  return header !== undefined && /^\d{1,9}$/.test(header) ? Number(header) : undefined;
}

/** The sentence of a failure (C1.2, C1.3). */
function messageOf(body: unknown): string | undefined {
  const { status, message } = (body ?? {}) as { status?: { error?: unknown }; message?: unknown };
  for (const sentence of [status?.error, message]) {
    if (typeof sentence === 'string') {
      return sentence;
    }
  }
  return undefined;
}
