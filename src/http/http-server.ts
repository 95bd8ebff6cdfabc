import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { Duplex } from 'node:stream';
import type { Socket } from 'node:net';
import { trackConnections } from './drain';
import { endThenCut, outstandingOn } from './connection';
import { failureBody, familyOf } from './envelope';
import { JSON_TYPE } from './exchange';
import type { HttpListeners } from './listener';
import { parseTarget } from './target';

/** Bounds of Node's HTTP server. With Node's defaults a few slow clients could block it for minutes. */
export interface ServerLimits {
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly connectionsCheckingIntervalMs: number;
  readonly keepAliveTimeoutMs: number;
  /** The connection of a client that reads nothing of its answer for this time is cut. */
  readonly stalledAnswerMs: number;
  readonly maxRequestsPerSocket: number;
  readonly maxConnections: number;
}

export const DEFAULT_SERVER_LIMITS: ServerLimits = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 60_000,
  connectionsCheckingIntervalMs: 2000,
  keepAliveTimeoutMs: 65_000,
  stalledAnswerMs: 30_000,
  maxRequestsPerSocket: 10_000,
  maxConnections: 2048,
};

/** Certificate and key, as PEM text. */
export interface TlsMaterial {
  readonly cert: string;
  readonly key: string;
}

/** A server that is not listening yet, over TLS (1.2 or later) when there is a certificate. */
export function createHttpServer(
  listeners: HttpListeners,
  limits: ServerLimits = DEFAULT_SERVER_LIMITS,
  tls?: TlsMaterial,
): Server {
  const options = {
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
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
      ? createServer(options, listeners.request)
      : createSecureServer(
          { ...options, ...tls, minVersion: 'TLSv1.2', handshakeTimeout: limits.headersTimeoutMs },
          listeners.request,
        );
  trackConnections(server);
  // No bound on the number of headers: beyond one Node would drop headers silently, and the checks need them all. The
  // bytes of a head are bounded.
  server.maxHeadersCount = 0;
  server.timeout = limits.stalledAnswerMs;
  server.on('timeout', (socket: Socket) => {
    endIfStalled(socket, limits.stalledAnswerMs);
  });
  server.maxRequestsPerSocket = limits.maxRequestsPerSocket;
  server.maxConnections = limits.maxConnections;
  server.on('checkContinue', listeners.checkContinue);
  server.on('checkExpectation', listeners.checkExpectation);
  server.on('clientError', answerBrokenRequest);
  server.on('drop', listeners.drop);
  return server;
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

interface Broken {
  readonly status: string;
  readonly message: string;
}

const BROKEN: Readonly<Record<string, Broken>> = {
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: '408 Request Timeout',
    message: 'Timeout: the request did not arrive in time',
  },
  HPE_HEADER_OVERFLOW: {
    status: '431 Request Header Fields Too Large',
    message: 'Request headers too large',
  },
  HPE_CHUNK_EXTENSIONS_OVERFLOW: { status: '413 Payload Too Large', message: 'Chunk extensions too large' },
};

const MALFORMED: Broken = { status: '400 Bad Request', message: 'Malformed HTTP request' };

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
      endThenCut(socket, brokenAnswer(error.code, broken?.request.url));
    }
  };
  if (previous === undefined) {
    answer();
  } else {
    socket.pause();
    previous.whenOver(answer);
  }
}

/** `url` is that of the request, if its head has arrived. */
function brokenAnswer(code: string | undefined, url = ''): Buffer {
  const { status, message } = BROKEN[code ?? ''] ?? MALFORMED;
  const body = failureBody(familyOf(parseTarget(url).path), message, 0);
  const head = [
    `HTTP/1.1 ${status}`,
    'Connection: close',
    `Content-Type: ${JSON_TYPE}`,
    `Content-Length: ${body.length}`,
    `X-Request-Id: ${randomUUID()}`,
  ];
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'), body]);
}
