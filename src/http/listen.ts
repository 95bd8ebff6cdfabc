import type { Server } from 'node:http';
import type { AddressInfo, ListenOptions } from 'node:net';

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
export async function listen(server: Server, port: number, host: string): Promise<number> {
  try {
    return await listening(server, { port, host });
  } catch (error) {
    throw cannotListen(error, port, host);
  }
}

/** Listens on a socket that listens already; gives its port. The server closes the descriptor. */
export function listenOn(server: Server, descriptor: number): Promise<number> {
  return listening(server, { fd: descriptor });
}

function listening(server: Server, options: ListenOptions & { readonly fd?: number }): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ ...options, backlog: BACKLOG }, () => {
      server.off('error', reject);
      resolve((server.address() as AddressInfo).port);
    });
  });
}

/** Why an address cannot be used. */
export function cannotListen(error: unknown, port: number, host: string): StartError {
  const { code = '', message } = error as NodeJS.ErrnoException;
  const reason = REASONS[code] ?? (code === '' ? message : code);
  return new StartError(`Cannot listen on ${authority(host, port)}: ${reason}`, { cause: error });
}

/** Host and port as in a URL. */
export function authority(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}
