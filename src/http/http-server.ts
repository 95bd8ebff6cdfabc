import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { Duplex } from 'node:stream';
import type { Socket } from 'node:net';
import { secureOptions, type TlsMaterial } from './certificate';
import { connectionsOf, trackConnections } from './drain';
import { ConnectionLimit } from './connection-limit';
import { endThenCut, outstandingOn, type Outstanding } from './connection';
import type { Failure } from './errors';
import type { HttpListeners } from './request-listeners';
import { rawAnswer, refuseConnect } from './raw-answer';

/** Bounds of Node's HTTP server. With Node's defaults a few slow clients could block it for minutes. */
export interface ServerLimits {
  readonly headersTimeoutMs: number;
  /** Between the head of a request and the end of its body, unless that is streamed. */
  readonly requestTimeoutMs: number;
  readonly connectionsCheckingIntervalMs: number;
  readonly keepAliveTimeoutMs: number;
  /** At this number the connection that is idle for longest makes room for a new one. */
  readonly maxConnections: number;
  /** The connection of a client that reads nothing of its answer for this time is cut. */
  readonly stalledAnswerMs: number;
}

export const DEFAULT_SERVER_LIMITS: ServerLimits = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 60_000,
  connectionsCheckingIntervalMs: 2000,
  keepAliveTimeoutMs: 65_000,
  stalledAnswerMs: 30_000,
  maxConnections: 2048,
};

/** A server that is not listening yet, over TLS (1.2 or later) when there is a certificate. */
export function createHttpServer(
  listeners: HttpListeners,
  limits: ServerLimits = DEFAULT_SERVER_LIMITS,
  tls?: TlsMaterial,
  connections = new ConnectionLimit(limits.maxConnections, listeners.cut),
): Server {
  const counted =
    (listener: RequestListener): RequestListener =>
    (request, response) => {
      connections.began(request, response);
      listener(request, response);
    };
  const options = {
    ...listeners.messages,
    headersTimeout: limits.headersTimeoutMs,
    // Node's own has no exceptions.
    requestTimeout: 0,
    connectionsCheckingInterval: limits.connectionsCheckingIntervalMs,
    keepAliveTimeout: limits.keepAliveTimeoutMs,
    noDelay: true,
    // The listener refuses a missing Host itself, with an envelope and an id.
    requireHostHeader: false,
    // Explicit, because a command-line flag of Node can turn it on.
    insecureHTTPParser: false,
  };
  const server =
    tls === undefined
      ? createServer(options, counted(listeners.request))
      : createSecureServer(
          { ...options, ...secureOptions(tls), handshakeTimeout: limits.headersTimeoutMs },
          counted(listeners.request),
        );
  connections.watch(server);
  server.on('connection', listeners.connected);
  trackConnections(server);
  refuseLate(server, limits);
  // No bound on the number of headers: beyond one Node would drop headers silently, and the checks need them all. The
  // bytes of a head are bounded.
  server.maxHeadersCount = 0;
  server.timeout = limits.stalledAnswerMs;
  server.on('timeout', (socket: Socket) => {
    endIfStalled(socket, limits.stalledAnswerMs);
  });
  server.on('checkContinue', counted(listeners.checkContinue));
  server.on('checkExpectation', counted(listeners.checkExpectation));
  server.on('clientError', answerBrokenRequest);
  server.on('connect', refuseConnect);
  return server;
}

/** Refuses requests whose bodies have not arrived in time, but for those that are streamed. */
function refuseLate(server: Server, limits: ServerLimits): void {
  const look = setInterval(() => {
    const before = performance.now() - limits.requestTimeoutMs;
    for (const socket of connectionsOf(server)) {
      const isLate = ({ request, exchange }: Outstanding): boolean =>
        !request.complete && exchange.arrivedAt < before && !exchange.streamsBody;
      if (outstandingOn(socket).some(isLate)) {
        answerBrokenRequest({ name: '', message: '', code: 'ERR_HTTP_REQUEST_TIMEOUT' }, socket);
      }
    }
  }, limits.connectionsCheckingIntervalMs).unref();
  server.once('close', () => {
    clearInterval(look);
  });
}

/**
 * Ends a connection without traffic in either direction for a while. It stays open while its request arrives or runs:
 * those have limits of their own.
 */
function endIfStalled(socket: Socket, stalledAnswerMs: number): void {
  const [first] = outstandingOn(socket);
  if (first === undefined || first.response.headersSent) {
    socket.destroy(first && new Error('the client does not read its answer'));
  } else {
    socket.setTimeout(stalledAnswerMs);
  }
}

/** What is wrong with bytes that are no request, by the code of Node's error. */
const BROKEN: Readonly<Record<string, Failure>> = {
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, message: 'Timeout: the request did not arrive in time' },
  HPE_HEADER_OVERFLOW: { status: 431, message: 'Request headers too large' },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: { status: 413, message: 'Chunk extensions too large' },
};

const MALFORMED: Failure = { status: 400, message: 'Malformed HTTP request' };

/** Connections whose broken request has been answered. */
const refused = new WeakSet<Duplex>();

/**
 * Answers bytes that are not an HTTP request, or not a complete one in time, and closes the connection. The earlier
 * requests of the connection are answered first: a client matches answers to requests by their order.
 */
function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (refused.has(socket)) {
    return;
  }
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  refused.add(socket);
  const waiting = outstandingOn(socket);
  const last = waiting.at(-1);
  // A request that has not arrived whole is the broken one; otherwise the bytes after the last request are broken.
  const broken = last?.request.complete === false ? last : undefined;
  const previous = broken === undefined ? last : waiting.at(-2);
  const answer = (): void => {
    if (!socket.writable) {
      // The previous answer was the last of this connection, and closes it.
      return;
    }
    if (broken?.response.headersSent === true) {
      // The client would parse a second answer as part of the first.
      socket.destroy();
    } else {
      endThenCut(socket, rawAnswer(BROKEN[error.code ?? ''] ?? MALFORMED, broken?.request.url));
    }
  };
  if (previous === undefined) {
    answer();
  } else {
    socket.pause();
    previous.whenOver(answer);
  }
}
