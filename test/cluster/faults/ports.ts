import { createServer, type AddressInfo, type Server } from 'node:net';

/** So many ports of the loopback interface that nothing listens on. */
export async function freePorts(count: number): Promise<number[]> {
  const listeners = await Promise.all(Array.from({ length: count }, listening));
  const ports = listeners.map((listener) => (listener.address() as AddressInfo).port);
  await Promise.all(listeners.map((listener) => new Promise((resolve) => listener.close(resolve))));
  return ports;
}

function listening(): Promise<Server> {
  return new Promise((resolve, reject) => {
    const listener = createServer();
    listener.once('error', reject);
    listener.listen(0, '127.0.0.1', () => {
      resolve(listener);
    });
  });
}
