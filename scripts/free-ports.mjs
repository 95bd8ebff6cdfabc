import { createServer } from 'node:net';

/** Below the ports that systems give to connections: a process that starts again finds its port free. */
const [LOWEST, HIGHEST] = [10_000, 32_000];

/**
 * So many ports of the loopback interface that nothing listens on.
 *
 * @param {number} count
 * @returns {Promise<number[]>}
 */
export async function freePorts(count) {
  const ports = new Set();
  while (ports.size < count) {
    const port = LOWEST + Math.floor(Math.random() * (HIGHEST - LOWEST));
    if (await isFree(port)) ports.add(port);
  }
  return [...ports];
}

function isFree(port) {
  return new Promise((resolve) => {
    const listener = createServer();
    listener.once('error', () => resolve(false));
    listener.listen(port, '127.0.0.1', () => listener.close(() => resolve(true)));
  });
}
