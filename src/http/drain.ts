import type { Server } from 'node:http';

/** How often connections that became idle are looked for while a server drains. */
const SWEEP_INTERVAL_MS = 20;

/**
 * Stops accepting, lets the requests in progress finish for at most `graceMs`, then cuts what is left. Idle
 * connections are closed at once. True when everything finished in time.
 */
export async function drain(server: Server, graceMs: number): Promise<boolean> {
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
  let grace: NodeJS.Timeout | undefined;
  const expired = new Promise<void>((resolve) => {
    grace = setTimeout(resolve, graceMs);
  });
  await Promise.race([closed, expired]);
  clearInterval(sweep);
  clearTimeout(grace);
  const finished = inTime;
  server.closeAllConnections();
  await closed;
  return finished;
}
