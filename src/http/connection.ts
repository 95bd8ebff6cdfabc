import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { LinkedList } from './linked-list';

/** How long a refused client may continue to send before its connection is cut. */
const LINGER_MS = 1000;

/** Connections whose last answer has been sent or queued. */
const closing = new WeakSet<Duplex>();

/**
 * Makes the current answer the last one of its connection, because the body of its request is not read. What the client
 * still sends is discarded.
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
 * Closes a connection in two steps: the server's side at once, after `last`, and the client's after a moment. Closing
 * both at once would reset the connection, and the client could lose the answer.
 */
export function endThenCut(socket: Duplex, last?: Buffer): void {
  socket.end(last);
  const cut = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => {
    clearTimeout(cut);
  });
}

/** Whether an earlier answer has ended this connection: what arrives on it afterwards is not a request. */
export function isClosing(request: IncomingMessage): boolean {
  return closing.has(request.socket);
}

/** What can answer a request that a server that stops gives up. */
export interface Refusable {
  /** `performance.now()` when its head had arrived. */
  readonly arrivedAt: number;
  /** Its body may arrive for longer than others. */
  readonly streamsBody: boolean;
  /** Answers with a 503, unless an answer has begun. */
  refuseAtStop(): void;
}

/** A request whose answer has not been written whole. */
export class Outstanding {
  readonly #after: (() => void)[] = [];
  #over = false;

  /**
   * `exchange` is an object and no callback on purpose: with a new closure for each request in a property of its own, V8
   * keeps every request alive until the next full garbage collection, and the others take six times as long.
   */
  constructor(
    readonly request: IncomingMessage,
    readonly response: ServerResponse,
    readonly exchange: Refusable,
  ) {}

  /** Calls back once, when the answer is written whole or the connection is gone; at once when it is so already. */
  whenOver(callback: () => void): void {
    if (this.#over) {
      callback();
    } else {
      this.#after.push(callback);
    }
  }

  /** Called by the queue of the connection. */
  end(): void {
    if (!this.#over) {
      this.#over = true;
      for (const callback of this.#after) {
        callback();
      }
    }
  }
}

/** The requests of each connection that wait for their answers, in their order. Kept by socket: no state of the process. */
const queues = new WeakMap<Duplex, LinkedList<Outstanding>>();

/**
 * Puts a request into the queue of its connection. Node notifies only the first response in the queue when the
 * connection is gone; the queue notifies the others too.
 */
export function enqueue(
  request: IncomingMessage,
  response: ServerResponse,
  exchange: Refusable,
): Outstanding {
  const { socket } = request;
  let queue = queues.get(socket);
  if (queue === undefined) {
    queue = new LinkedList();
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
  const outstanding = new Outstanding(request, response, exchange);
  const entry = own.add(outstanding);
  // The event comes once; `once` would only add a wrapper.
  response.on('close', () => {
    entry.remove();
    outstanding.end();
  });
  return outstanding;
}

/** The requests of a connection that wait for their answers, in their order. */
export function outstandingOn(socket: Duplex): readonly Outstanding[] {
  return [...(queues.get(socket) ?? [])];
}
