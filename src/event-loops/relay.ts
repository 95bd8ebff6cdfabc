import { request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { closeAfterResponse } from '../http/connection';
import { badRequest, unexpected } from '../http/errors';
import type { Exchange } from '../http/exchange';
import { Tunnel, type TunnelledConnection } from './tunnel';

/** Headers that are about a connection, and not about what it carries. */
const OF_CONNECTION = new Set(['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding']);
/** Methods whose requests Node's client would send in chunks when no length is announced. */
const WITH_BODY = new Set(['POST', 'PUT', 'PATCH']);

/**
 * Has the main loop answer a request of a connection of this event loop: it gets the request as it was sent, through a tunnel
 * of its own, and what it answers is passed on. Both directions are streamed, at the pace of the slower side. The id of the
 * request is the same on both event loops.
 * @param open hands the other end of a tunnel to the main loop
 */
export function relay(
  exchange: Exchange,
  open: (port: MessagePort, from: TunnelledConnection) => void,
): void {
  const { request, response } = exchange;
  // The main loop limits it.
  exchange.streamsBody = true;
  const tunnel = openTunnel(request, open);
  const forwarded = forward(exchange, tunnel);
  if (forwarded === undefined) {
    tunnel.destroy();
    exchange.fail(badRequest('Malformed HTTP request'));
    return;
  }
  forwarded.on('continue', () => {
    response.writeContinue();
  });
  let answer: IncomingMessage | undefined;
  forwarded.on('response', (arrived) => {
    answer = arrived;
    passOn(exchange, arrived);
  });
  forwarded.on('error', () => {
    if (response.headersSent) response.destroy();
    else exchange.fail(unexpected());
  });
  exchange.whenOver(() => {
    // Cut before its end, the answer would be one that its client has not got.
    if (answer?.complete === true) tunnel.end();
    else forwarded.destroy();
  });
  sendBody(exchange, forwarded);
}

/** Undefined for a head that Node's parser accepts and its client does not send. */
function forward(exchange: Exchange, tunnel: Tunnel): ClientRequest | undefined {
  const { method, request } = exchange;
  const headers = headersOf(exchange);
  try {
    return httpRequest({ createConnection: () => tunnel, method, path: request.url ?? '/', headers });
  } catch {
    return undefined;
  }
}

function openTunnel(
  request: IncomingMessage,
  open: (port: MessagePort, from: TunnelledConnection) => void,
): Tunnel {
  const { port1, port2 } = new MessageChannel();
  const { remoteAddress, remotePort, localAddress } = request.socket;
  const isTls = 'encrypted' in request.socket;
  open(port2, { remoteAddress, remotePort, localAddress, isTls, httpVersion: request.httpVersion });
  const tunnel = new Tunnel(port1);
  // Whoever uses it has noticed.
  tunnel.on('error', () => undefined);
  return tunnel;
}

/** Names and values alternating, repeated ones too: the checks of the main loop need them all. */
function headersOf({ request, requestId, method, announcedBytes }: Exchange): string[] {
  const headers = withoutConnection(request.rawHeaders, (name) => name !== 'x-request-id');
  headers.push('X-Request-Id', requestId, 'Connection', 'keep-alive');
  if (announcedBytes === undefined) {
    headers.push('Transfer-Encoding', 'chunked');
  } else if (request.headers['content-length'] === undefined && WITH_BODY.has(method)) {
    headers.push('Content-Length', '0');
  }
  return headers;
}

function withoutConnection(
  rawHeaders: readonly string[],
  keeps: (name: string) => boolean = () => true,
): string[] {
  const kept: string[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const [name = '', value = ''] = [rawHeaders[at], rawHeaders[at + 1]];
    const lower = name.toLowerCase();
    if (!OF_CONNECTION.has(lower) && keeps(lower)) {
      kept.push(name, value);
    }
  }
  return kept;
}

function sendBody({ request, announcedBytes }: Exchange, forwarded: ClientRequest): void {
  if (announcedBytes === 0) {
    forwarded.end();
    return;
  }
  request.pipe(forwarded);
  forwarded.on('close', () => {
    request.unpipe(forwarded);
  });
}

function passOn({ request, response }: Exchange, answer: IncomingMessage): void {
  if (response.headersSent || response.destroyed) {
    answer.destroy();
    return;
  }
  const head = withoutConnection(answer.rawHeaders);
  if (answer.headers.connection === 'close') {
    head.push('Connection', 'close');
    if (!request.complete) {
      request.unpipe();
      closeAfterResponse(request);
    }
  }
  response.writeHead(answer.statusCode ?? 500, answer.statusMessage, head);
  pipeline(answer, response, (error) => {
    // The client notices that the answer is shorter than its length.
    if (error) response.destroy();
  });
}
