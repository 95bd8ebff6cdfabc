import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A start that failed for a reason that the operator can remove: the message is one sentence. */
export class StartError extends Error {
  override readonly name = 'StartError';
}

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the address is already in use (--port chooses another, 0 any free one)',
  EACCES: 'permission denied',
  EADDRNOTAVAIL: 'this machine has no such address',
  ENOTFOUND: 'the host name cannot be resolved',
  EAI_AGAIN: 'the host name cannot be resolved',
};

/**
 * Connections that the system keeps until the event loop accepts them; it may have a lower limit. Beyond it a client
 * tries again only after a second.
 */
const BACKLOG = 4096;

/**
 * Listens, and gives the port, which the system chose when `port` is 0.
 * @throws StartError saying why the address cannot be used.
 */
export function listen(server: Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const onError = (error: NodeJS.ErrnoException): void => {
      const reason = REASONS[error.code ?? ''] ?? error.code ?? error.message;
      reject(new StartError(`Cannot listen on ${authority(host, port)}: ${reason}`, { cause: error }));
    };
    server.once('error', onError);
    server.listen({ port, host, backlog: BACKLOG }, () => {
      server.off('error', onError);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

/** Host and port as in a URL. */
export function authority(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
