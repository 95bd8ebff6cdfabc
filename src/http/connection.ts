import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/** How long a refused client may go on sending before its connection is cut. */
const LINGER_MS = 1000;

const closing = new WeakSet<Socket>();

/**
 * Makes the current answer the last one of its connection, whose request body is left unread. The connection is
 * closed in two steps: our side at once, the client's after a moment in which what it still sends is thrown away;
 * closing both at once would reset the connection and could take the answer with it.
 */
export function closeAfterResponse(request: IncomingMessage): void {
  const { socket } = request;
  closing.add(socket);
  // Node calls destroySoon() when an answer with `Connection: close` has been written.
  socket.destroySoon = () => {
    socket.end();
    const cut = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once('close', () => {
      clearTimeout(cut);
    });
  };
  request.resume();
}

/** Whether an earlier answer has already ended this connection: what else arrives on it is not a request. */
export function isClosing(request: IncomingMessage): boolean {
  return closing.has(request.socket);
}
