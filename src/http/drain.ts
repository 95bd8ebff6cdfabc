import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** How often idle connections are closed while a server drains. */
const SWEEP_INTERVAL_MS = 20;
/** How long a new connection may still send its first request while a server drains. */
const UNUSED_MS = 500;

const connections = new WeakMap<Server, Set<Socket>>();

/**
 * Tracks the connections of a server from the start: Node's own list has those over TLS only after their handshake, and
 * counts a connection without a request as busy.
 */
export function trackConnections(server: Server): void {
  const open = new Set<Socket>();
  connections.set(server, open);
  const remember = (socket: Socket): void => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
  };
  server.on('connection', remember);
  // The socket above TLS has read no bytes until the first request.
  server.on('secureConnection', remember);
}

/**
 * Stops accepting, lets the requests in progress finish for at most `graceMs`, then cuts what is left. Idle
 * connections are closed at once, unused ones after a moment. True when everything finished in time.
 */
export async function drain(server: Server, graceMs: number): Promise<boolean> {
  const open = connections.get(server) ?? new Set<Socket>();
  let inTime = false;
  const closed = new Promise<void>((resolve) => {
    server.close(() => {
      inTime = true;
      resolve();
    });
  });
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
  let grace: NodeJS.Timeout | undefined;
  const expired = new Promise<void>((resolve) => {
    grace = setTimeout(resolve, graceMs);
  });
  await Promise.race([closed, expired]);
  clearInterval(sweep);
  clearTimeout(unused);
  clearTimeout(grace);
  const finished = inTime;
  for (const socket of open) {
    socket.destroy();
  }
  server.closeAllConnections();
  await closed;
  return finished;
}
