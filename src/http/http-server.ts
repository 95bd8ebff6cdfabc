import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { Duplex } from 'node:stream';
import { failureBody } from './envelope';
import { JSON_TYPE } from './exchange';
import type { HttpListeners } from './listener';

/** Bounds of Node's HTTP server: its own defaults let a handful of slow clients hold it for minutes. */
export interface ServerLimits {
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly connectionsCheckingIntervalMs: number;
  readonly keepAliveTimeoutMs: number;
  readonly maxRequestsPerSocket: number;
  readonly maxConnections: number;
}

export const DEFAULT_SERVER_LIMITS: ServerLimits = {
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 60_000,
  connectionsCheckingIntervalMs: 2000,
  keepAliveTimeoutMs: 65_000,
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
      : createSecureServer({ ...options, ...tls, minVersion: 'TLSv1.2' }, listeners.request);
  server.maxRequestsPerSocket = limits.maxRequestsPerSocket;
  server.maxConnections = limits.maxConnections;
  server.on('checkContinue', listeners.checkContinue);
  server.on('clientError', answerBrokenRequest);
  return server;
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

/**
 * Answers what is no HTTP request, or did not become one in time, and closes the connection. Where an answer has
 * begun on it, a second one would be taken for part of the first: then it is only closed.
 */
function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Duplex): void {
  const { _httpMessage: answering } = socket as Duplex & { _httpMessage?: { headersSent: boolean } | null };
  if (error.code === 'ECONNRESET' || !socket.writable || answering?.headersSent === true) {
    socket.destroy();
    return;
  }
  const { status, message } = BROKEN[error.code ?? ''] ?? MALFORMED;
  const body = failureBody('general', message, 0);
  const head = [
    `HTTP/1.1 ${status}`,
    'Connection: close',
    `Content-Type: ${JSON_TYPE}`,
    `Content-Length: ${body.length}`,
    `X-Request-Id: ${randomUUID()}`,
  ];
  socket.end(Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'), body]));
}
