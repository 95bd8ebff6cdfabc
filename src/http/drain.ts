import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import { outstandingOn } from './connection';
import { LinkedList } from './linked-list';
import { stopListening } from './listen';

/** How often idle connections are closed while a server drains. */
const SWEEP_INTERVAL_MS = 20;
/** How long a new connection may still send its first request while a server drains. */
const UNUSED_MS = 500;

const connections = new WeakMap<Server, LinkedList<Socket>>();

/**
 * Tracks the connections of a server from the start: Node's own list has those over TLS only after their handshake, and
 * counts a connection without a request as busy. Closing the server, or its idle connections, cuts no answer from then on.
 */
export function trackConnections(server: Server): void {
  const open = new LinkedList<Socket>();
  connections.set(server, open);
  const remember = (socket: Socket): void => {
    const entry = open.add(socket);
    socket.once('close', () => {
      entry.remove();
    });
  };
  server.on('connection', remember);
  // The socket above TLS has read no bytes until the first request.
  server.on('secureConnection', remember);
  keepSending(server, open);
}

/**
 * Leaves connections with bytes to send out of what a server closes as idle. Node counts a connection as idle from the
 * end of its answer on, and its `close()` drops what the system has not taken by then.
 */
function keepSending(server: Server, open: Iterable<Socket>): void {
  const closeIdle = server.closeIdleConnections.bind(server);
  server.closeIdleConnections = () => {
    const sending = [...open].filter(({ writableLength }) => writableLength > 0);
    // Only Node knows which connections are idle: its call ends them all, but for those that cannot be ended meanwhile.
    for (const socket of sending) {
      socket.destroy = () => socket;
    }
    closeIdle();
    for (const socket of sending) {
      Reflect.deleteProperty(socket, 'destroy');
    }
  };
}

/** The connections of a tracked server. */
export function connectionsOf(server: Server): Iterable<Socket> {
  return connections.get(server) ?? [];
}

/** What a server does for the requests that run when it stops. */
export interface Draining {
  /** How long they may take to finish. */
  readonly graceMs: number;
  /** How long those that are given up then may take to be answered. */
  readonly answerMs: number;
  /** Gives up what still runs behind the server, which then answers. */
  readonly giveUp: () => void;
}

/** How long the last answers may take to be written. */
const WRITE_MS = 200;

/**
 * Stops accepting and lets the requests in progress finish for `graceMs`. The others are given up: each is answered with
 * what became of it, or with a 503 (C11.3). Then what is left is cut. Idle connections are closed at once, unused ones
 * after a moment. True when everything finished in its grace.
 */
export async function drain(server: Server, { graceMs, answerMs, giveUp }: Draining): Promise<boolean> {
  const open = connectionsOf(server);
  const closed = stopListening(server);
  const sweep = setInterval(() => {
    server.closeIdleConnections();
  }, SWEEP_INTERVAL_MS);
  const unused = setTimeout(() => {
    for (const socket of open) {
      if (socket.bytesRead === 0) {
        socket.destroy();
      }
    }
  }, UNUSED_MS);
  const finished = await settlesWithin(closed, graceMs);
  clearTimeout(unused);
  if (!finished) {
    giveUp();
    refuse(open, (request) => !request.complete);
    await settlesWithin(closed, answerMs);
    refuse(open, () => true);
    await settlesWithin(closed, WRITE_MS);
  }
  clearInterval(sweep);
  const cut = Promise.all(Array.from(open, cutConnection));
  server.closeAllConnections();
  await Promise.all([cut, closed]);
  return finished;
}

/** Resolves when the requests of the connection are over, and logged. */
function cutConnection(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    socket.once('close', () => {
      resolve();
    });
    // Without an error an answer whose rest is lost here would look finished.
    socket.destroy(new Error('the server has stopped'));
  });
}

/** Answers the chosen requests that have no answer yet with a 503. */
function refuse(open: Iterable<Socket>, chosen: (request: IncomingMessage) => boolean): void {
  for (const socket of open) {
    for (const outstanding of outstandingOn(socket)) {
      if (chosen(outstanding.request)) {
        outstanding.exchange.refuseAtStop();
      }
    }
  }
}

/** Waits for a promise, at most for `ms`. Whether it has resolved. */
async function settlesWithin(promise: Promise<void>, ms: number): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const expired = new Promise<false>((resolve) => {
    timer = setTimeout(resolve, ms, false);
  });
  const settled = await Promise.race([promise.then(() => true), expired]);
  clearTimeout(timer);
  return settled;
}
