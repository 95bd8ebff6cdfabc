import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** How long a refused client may go on sending before its connection is cut. */
const LINGER_MS = 1000;

const closing = new WeakSet<Duplex>();

/**
 * Makes the current answer the last one of its connection, whose request body is left unread. What the client still
 * sends is thrown away.
 */
export function closeAfterResponse(request: IncomingMessage): void {
  const { socket } = request;
  closing.add(socket);
  // Node calls destroySoon() when an answer with `Connection: close` has been written.
  socket.destroySoon = () => {
    endThenCut(socket);
  };
  request.resume();
}

/**
 * Closes a connection in two steps: our side at once, after `last`, and the client's after a moment. Closing both at
 * once would reset the connection and could take the answer with it.
 */
export function endThenCut(socket: Duplex, last?: Buffer): void {
  socket.end(last);
  const cut = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => {
    clearTimeout(cut);
  });
}

/** Whether an earlier answer has already ended this connection: what else arrives on it is not a request. */
export function isClosing(request: IncomingMessage): boolean {
  return closing.has(request.socket);
}

/** A request whose answer has not been written whole. */
export class Outstanding {
  readonly #after: (() => void)[] = [];
  #over = false;

  constructor(
    readonly request: IncomingMessage,
    readonly response: ServerResponse,
  ) {}

  /** Calls back once, when the answer is written whole or the connection is gone; at once when it is so already. */
  whenOver(callback: () => void): void {
    if (this.#over) {
      callback();
    } else {
      this.#after.push(callback);
    }
  }

  /** For the queue of the connection. */
  end(): void {
    if (!this.#over) {
      this.#over = true;
      for (const callback of this.#after) {
        callback();
      }
    }
  }
}

/** What waits for its answer on each connection, in the order of the requests. */
const queues = new WeakMap<Duplex, Set<Outstanding>>();

/**
 * Puts a request into the queue of its connection. Node tells only the response whose turn it is that the connection
 * is gone; the queue tells those behind it too.
 */
export function enqueue(request: IncomingMessage, response: ServerResponse): Outstanding {
  const { socket } = request;
  let queue = queues.get(socket);
  if (queue === undefined) {
    queue = new Set();
    queues.set(socket, queue);
    const left = queue;
    socket.once('close', () => {
      for (const outstanding of left) {
        outstanding.end();
      }
      left.clear();
    });
  }
  const own = queue;
  const outstanding = new Outstanding(request, response);
  own.add(outstanding);
  // Once by nature; `once` would wrap it.
  response.on('close', () => {
    own.delete(outstanding);
    outstanding.end();
  });
  return outstanding;
}

/** What waits for its answer on a connection, in the order of the requests. */
export function outstandingOn(socket: Duplex): readonly Outstanding[] {
  return [...(queues.get(socket) ?? [])];
}
