import * as http from 'node:http';
import * as https from 'node:https';
import { answerError, ConnectionError, type FailureDetails } from './errors';
import { httpTarget } from './http-routes';
import { encodeJson, parseJson } from './json';
import type { Call, Envelope, Transport, VersionInfo } from './transport';

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
}

/** One request under the base URL. */
export interface HttpRequest {
  readonly method: string;
  /** With its query string. */
  readonly path: string;
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
}

const MAX_CONNECTIONS = 64;
/** Answers that are longer are refused; the server gives at most 256 MiB (C2.7). */
const MOST_ANSWER_BYTES = 320 * 1024 * 1024;
/** Failures of the network before a connection was made: nothing was sent. */
const NOT_CONNECTED = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);
/** Failures of a connection. All others, such as a refused certificate, come again. */
const LOST = new Set(['ECONNRESET', 'ECONNABORTED', 'EPIPE', 'ETIMEDOUT']);

interface RawAnswer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly text: string;
}

/** Operations over HTTP/1.1, on connections that stay open. */
export class HttpTransport implements Transport {
  readonly #base: URL;
  readonly #prefix: string;
  readonly #agent: http.Agent;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #closed = new AbortController();

  /** @throws TypeError when the URL is none of `http:` or `https:`. */
  constructor(url: string, { token, headers, maxConnections = MAX_CONNECTIONS, ca }: HttpOptions = {}) {
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
    const { method, path, hasBody } = httpTarget(call);
    const body = hasBody ? (call.body ?? {}) : undefined;
    return (await this.request({ method, path, body, signal: call.signal })) as Envelope;
  }

  async version(signal?: AbortSignal): Promise<VersionInfo> {
    return (await this.request({ method: 'GET', path: '/', signal })) as VersionInfo;
  }

  close(): Promise<void> {
    this.#closed.abort();
    this.#agent.destroy();
    return Promise.resolve();
  }

  /** The parsed body of a success; rejects as {@link Transport.execute} does. */
  async request(request: HttpRequest): Promise<unknown> {
    const { status, headers, text } = await this.#send(request);
    const requestId = headers['x-request-id'];
    const details: FailureDetails = {
      requestId: typeof requestId === 'string' ? requestId : undefined,
      retryAfterSeconds: wholeSeconds(headers['retry-after']),
    };
    let body: unknown;
    try {
      body = parseJson(text);
    } catch (error) {
      if (status >= 200 && status < 300) {
        throw new ConnectionError('The answer is not JSON', true, { ...details, cause: error });
      }
    }
    if (status < 200 || status >= 300) {
      throw answerError(status, messageOf(body) ?? `The server answered ${status}`, details);
    }
    return body;
  }

  #send({ method, path, body, signal }: HttpRequest): Promise<RawAnswer> {
    const text = body === undefined ? undefined : encodeJson(body);
    const headers: Record<string, string | number> = { ...this.#headers };
    if (text !== undefined) {
      headers['content-type'] = 'application/json';
      headers['content-length'] = Buffer.byteLength(text);
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
        reject(error instanceof ConnectionError || signal?.aborted === true ? error : lostConnection(error));
      };
      request.once('error', fail);
      request.once('response', (response) => {
        read(response).then((answer) => {
          stopWatching();
          resolve(answer);
        }, fail);
      });
      request.end(text);
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
    if (bytes > MOST_ANSWER_BYTES) {
      throw new ConnectionError(`The answer has more than ${MOST_ANSWER_BYTES} bytes`, true, {
        isPermanent: true,
      });
    }
    chunks.push(chunk);
  }
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    text: Buffer.concat(chunks, bytes).toString('utf8'),
  };
}

function closedError(outcomeUnknown: boolean): ConnectionError {
  return new ConnectionError('The client is closed', outcomeUnknown, { isPermanent: true });
}

function lostConnection(error: Error): ConnectionError {
  const { code = '' } = error as NodeJS.ErrnoException;
  return new ConnectionError(
    `No answer: ${error.message === '' ? code : error.message}`,
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
