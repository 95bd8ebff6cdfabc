import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Answer, SearchProfile } from '../engine/types';
import { closeAfterResponse, enqueue, type Outstanding, type Refusable } from './connection';
import type { AuditedBody } from './audited-body';
import { COMPRESSED_ABOVE_BYTES, compress, isOnePiece, writeCompressed } from './compressed-answer';
import { announcedLength } from './content';
import { acceptsGzip } from './content-coding';
import { failureAnswer, familyOf } from './envelope';
import { shuttingDown, type Failure } from './errors';
import type { Lifecycle } from './lifecycle';
import { requestIds } from './request-id';
import type { RequestTrace } from './request-trace';
import type { RouteContext } from './route';
import type { Route } from './route-table';
import type { Target } from './target';

/** The content type of every answer. */
export const JSON_TYPE = 'application/json; charset=utf-8';

/** Who made a request, for the access log. */
export type PrincipalKind = 'admin-jwt' | 'access-token' | 'anonymous' | 'none';

const NO_PARAMS: Readonly<Record<string, string>> = Object.freeze({});

/** A long answer is written in chunks of this size, so that a client that does not read it is noticed. */
const SLICE_BYTES = 256 * 1024;

/** A body up to this size may be read to its end although its request is refused. */
const SHORT_BODY_BYTES = 64 * 1024;

/** A client's own request id is kept if it is short and printable (C1.9). */
const CLIENT_REQUEST_ID = /^[\x20-\x7e]{1,128}$/;

const nextRequestId = requestIds();

/**
 * One request and its answer, passed from check to check in both lanes. It is made before the first check, so that every
 * answer has its time and its id.
 */
export class Exchange implements RouteContext, Refusable {
  readonly arrivedAt = performance.now();
  readonly requestId: string;
  readonly method: string;
  readonly path: string;
  /** Whether the path was sent with slashes at its end, of which `path` has none. */
  readonly endsWithSlash: boolean;
  readonly queryString: string;
  params: Readonly<Record<string, string>> = NO_PARAMS;
  /** Undefined when no route matched. */
  route: Route | undefined;
  principal: PrincipalKind = 'none';
  /** Whose credential it carries, such as `token 7`; undefined where none counts. */
  credential: string | undefined;
  /** Its body, where the audit stream names parts of it. */
  auditedBody: AuditedBody | undefined;
  /** What its searches did, where the engine took long. */
  search: SearchProfile | undefined;
  /** Its span, where requests are traced. */
  trace: RequestTrace | undefined;
  /** What its access token may reach, as JSON for the engine; all where absent (C15). */
  limits: string | undefined;
  /** Headers that every answer of this exchange carries besides its own (CORS). */
  extraHeaders: Readonly<Record<string, string>> | undefined;
  /** Headers of a success, besides those: what a cluster says of it. */
  answerHeaders: Readonly<Record<string, string>> | undefined;
  /** The client waits for `100 Continue` before it sends its body. */
  expectsContinue = false;
  /** Its body may arrive for longer than others: who reads it sees to it. */
  streamsBody = false;
  /** An answer that comes before the end of a short body leaves the connection open. */
  skipsShortBody = false;
  /** The length of the body that the request announces; 0 without one, undefined for a chunked one. */
  readonly announcedBytes: number | undefined;
  readonly #outstanding: Outstanding;

  constructor(
    readonly request: IncomingMessage,
    readonly response: ServerResponse,
    target: Target,
    private readonly lifecycle: Lifecycle,
  ) {
    this.method = request.method ?? 'GET';
    this.path = target.path;
    this.endsWithSlash = target.endsWithSlash;
    this.queryString = target.queryString;
    this.announcedBytes = announcedLength(request);
    this.#outstanding = enqueue(request, response, this);
    const sent = request.headers['x-request-id'];
    this.requestId = typeof sent === 'string' && CLIENT_REQUEST_ID.test(sent) ? sent : nextRequestId();
  }

  /** Seconds since the request arrived. */
  elapsedSeconds(): number {
    return (performance.now() - this.arrivedAt) / 1000;
  }

  /** Calls back once, when the answer is written whole or the connection is gone; at once when it is so already. */
  whenOver(callback: () => void): void {
    this.#outstanding.whenOver(callback);
  }

  /**
   * Whether the client got the whole answer, once the exchange is over. Node also calls an answer finished when the rest of
   * it was lost with the connection.
   */
  wasAnswered(): boolean {
    return this.response.writableFinished && this.request.socket.errored === null;
  }

  /** Answers a request that a server that stops gives up (C11.3). */
  refuseAtStop(): void {
    this.fail(shuttingDown());
  }

  /** Ends the connection of a client that does not read its answer. */
  cut(): void {
    this.request.socket.destroy(new Error('the client does not read its answer'));
  }

  /**
   * Answers with JSON bytes. Does nothing when the client has disconnected. `progressed` is called for each part of a long
   * answer that the system has taken.
   */
  send(
    status: number,
    body: Answer,
    headers?: Readonly<Record<string, string>>,
    progressed?: () => void,
  ): void {
    const head = ['X-Content-Type-Options', 'nosniff'];
    if (headers?.['Content-Type'] === undefined) {
      head.push('Content-Type', JSON_TYPE);
    }
    if (body.length > COMPRESSED_ABOVE_BYTES) {
      head.push('Vary', 'Accept-Encoding');
      const { headers: asked, httpVersion } = this.request;
      if (acceptsGzip(asked['accept-encoding']) && httpVersion !== '1.0' && this.method !== 'HEAD') {
        const bytes = typeof body === 'string' ? Buffer.from(body, 'latin1') : body;
        this.#sendCompressed(status, bytes, head, headers, progressed);
        return;
      }
    }
    head.push('Content-Length', String(body.length));
    this.#write(status, body, head, headers, progressed);
  }

  #sendCompressed(
    status: number,
    body: Buffer,
    head: string[],
    headers: Readonly<Record<string, string>> | undefined,
    progressed?: () => void,
  ): void {
    if (!isOnePiece(body)) {
      head.push('Content-Encoding', 'gzip');
      if (this.#writeHead(status, head, headers)) {
        writeCompressed(this.response, body, progressed);
      }
      return;
    }
    compress(body, (compressed) => {
      if (compressed !== undefined) {
        head.push('Content-Encoding', 'gzip');
      }
      const sent = compressed ?? body;
      head.push('Content-Length', String(sent.length));
      this.#write(status, sent, head, headers);
    });
  }

  /** Begins an answer whose body the caller writes; false when nobody is there to read it. */
  begin(status: number, headers: Readonly<Record<string, string>>): boolean {
    return this.#writeHead(status, ['X-Content-Type-Options', 'nosniff'], headers);
  }

  /** Answers 200 with bytes as they are: `headers` say their type and their coding. */
  sendFile(body: Buffer, headers: Readonly<Record<string, string>>): void {
    const head = ['X-Content-Type-Options', 'nosniff', 'Content-Length', String(body.length)];
    this.#write(200, body, head, headers);
  }

  /** Answers without a body. */
  sendEmpty(status: number, headers: Readonly<Record<string, string>>): void {
    this.#write(status, undefined, [], headers);
  }

  /** `head` has names and values alternating, which Node writes faster than an object. */
  #write(
    status: number,
    body: Answer | undefined,
    head: string[],
    headers: Readonly<Record<string, string>> | undefined,
    progressed?: () => void,
  ): void {
    const { response } = this;
    if (!this.#writeHead(status, head, headers)) {
      return;
    }
    if (typeof body === 'string') {
      endInOnePiece(response, body);
    } else if (body === undefined || body.length <= SLICE_BYTES) {
      response.end(body);
    } else {
      writeInSlices(response, body, 0, progressed);
    }
  }

  /** Writes the head of an answer; false where there is one already, or nobody to read it. */
  #writeHead(status: number, head: string[], headers: Readonly<Record<string, string>> | undefined): boolean {
    const { response } = this;
    if (response.headersSent || response.destroyed) {
      return false;
    }
    head.push('X-Request-Id', this.requestId);
    for (const more of [headers, this.extraHeaders]) {
      if (more !== undefined) {
        head.push(...Object.entries(more).flat());
      }
    }
    if (this.announcedBytes !== 0 && !this.request.complete && !this.#skipsBody()) {
      // The rest of this body is not read, and what follows it must not be parsed as a request.
      head.push('Connection', 'close');
      closeAfterResponse(this.request);
    } else if (this.lifecycle.phase === 'stopping') {
      head.push('Connection', 'close');
    }
    response.writeHead(status, head);
    return true;
  }

  /** Reads the rest of a short body, of which nothing is needed, so that its connection can stay open. */
  #skipsBody(): boolean {
    const { announcedBytes } = this;
    if (!this.skipsShortBody || this.expectsContinue || announcedBytes === undefined) {
      return false;
    }
    if (announcedBytes <= SHORT_BODY_BYTES) {
      this.request.resume();
      return true;
    }
    return false;
  }

  /** Answers with a JSON value that has no envelope. */
  sendValue(status: number, value: unknown, headers?: Readonly<Record<string, string>>): void {
    this.send(status, Buffer.from(JSON.stringify(value)), headers);
  }

  /** Answers with a failure in the envelope of the path's family. */
  fail(failure: Failure): void {
    const body = failureAnswer(familyOf(this.path), failure.message, this.elapsedSeconds());
    const headers =
      failure.retryAfterSeconds === undefined
        ? failure.headers
        : { ...failure.headers, 'Retry-After': String(failure.retryAfterSeconds) };
    this.send(failure.status, body, headers);
  }
}

/**
 * Ends an answer whose body is a string of single bytes, so that it is sent in one string with the head. Node's own `end`
 * would write an empty string after it, and join the two again.
 */
function endInOnePiece(response: ServerResponse, body: string): void {
  const { socket } = response;
  if (socket === null) {
    // An earlier response of the connection is not finished.
    response.end(body, 'latin1');
    return;
  }
  socket.cork();
  response.write(body, 'latin1');
  socket.uncork();
  response.end();
}

/** Writes the rest of a body in chunks, each when the one before has been handed to the system. */
function writeInSlices(response: ServerResponse, body: Buffer, from: number, progressed?: () => void): void {
  const to = from + SLICE_BYTES;
  if (to >= body.length) {
    response.end(body.subarray(from));
    return;
  }
  response.write(body.subarray(from, to), (error) => {
    if (!error && !response.destroyed) {
      progressed?.();
      writeInSlices(response, body, to, progressed);
    }
  });
}
