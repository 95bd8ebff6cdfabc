import { randomUUID } from 'node:crypto';
import { STATUS_CODES, type IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { endThenCut, outstandingOn } from './connection';
import { failureBody, familyOf } from './envelope';
import { methodNotAllowed, type Failure } from './errors';
import { JSON_TYPE } from './exchange';
import { parseTarget } from './target';

/**
 * A failure as bytes, for a connection that Node's HTTP server answers nothing on any more; it says that the connection
 * ends.
 * @param url the target of the request, if its head has arrived; it decides the envelope
 */
export function rawAnswer({ status, message, headers = {} }: Failure, url = ''): Buffer {
  const body = failureBody(familyOf(parseTarget(url).path), message, 0);
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    'Connection: close',
    `Content-Type: ${JSON_TYPE}`,
    `Content-Length: ${body.length}`,
    `X-Request-Id: ${randomUUID()}`,
    ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ];
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`, 'latin1'), body]);
}

/** Methods that some route has. */
const METHODS = ['GET', 'HEAD', 'PUT', 'POST', 'PATCH', 'DELETE'];

/**
 * Refuses a `CONNECT`: this server is no proxy. Node hands its socket over without a response to write, and would close it
 * without an answer. The earlier requests of the connection are answered first.
 */
export function refuseConnect({ url = '' }: IncomingMessage, socket: Duplex): void {
  // Node has taken its own listeners off the socket.
  socket.on('error', () => socket.destroy());
  // What the client sends next is no HTTP; it must be read to notice the end of the connection.
  socket.resume();
  const answer = (): void => {
    if (socket.writable) {
      endThenCut(socket, rawAnswer(methodNotAllowed('CONNECT', url, METHODS)));
    }
  };
  const previous = outstandingOn(socket).at(-1);
  if (previous === undefined) {
    answer();
  } else {
    previous.whenOver(answer);
  }
}
