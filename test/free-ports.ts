/** As scripts/free-ports.mjs, which Jest does not load: it is an ES module. */
import { createServer } from 'node:net';

/** Below the ports that systems give to connections: a process that starts again finds its port free. */
const [LOWEST, HIGHEST] = [10_000, 32_000];

/** So many ports of the loopback interface that nothing listens on. */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) {
    const port = LOWEST + Math.floor(Math.random() * (HIGHEST - LOWEST));
    if (await isFree(port)) ports.add(port);
  }
  return [...ports];
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const listener = createServer();
    listener.once('error', () => {
      resolve(false);
    });
    listener.listen(port, '127.0.0.1', () => {
      listener.close(() => {
        resolve(true);
      });
    });
  });
}
