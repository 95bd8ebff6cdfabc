import type { Server } from 'node:http';
import { createServer, type AddressInfo, type ListenOptions, type Server as TcpServer } from 'node:net';
import { Server as TlsServer } from 'node:tls';

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
 * Sockets that listen for one event loop. Node accepts one connection of each per iteration of the loop, which takes tens of
 * milliseconds under load: with one socket a new connection waits for as many iterations as others came before it. With many,
 * thousands of connections that send nothing would fill the iterations. Where the system does not spread connections over
 * sockets, there is one.
 */
export const SOCKETS_PER_LOOP = process.platform === 'linux' ? 4 : 1;

/** What accepts connections of a server beside itself. */
const acceptors = new WeakMap<Server, readonly TcpServer[]>();

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

/** Listens on sockets that listen already, all of one address; gives their port. The server closes the descriptors. */
export async function listenOn(server: Server, descriptors: readonly number[]): Promise<number> {
  const [own = -1, ...others] = descriptors;
  const port = await listening(server, { fd: own });
  acceptors.set(server, await Promise.all(others.map((descriptor) => acceptFor(server, descriptor))));
  return port;
}

/** Hands the connections of one more socket to a server, as if it had accepted them itself. */
async function acceptFor(server: Server, descriptor: number): Promise<TcpServer> {
  // As Node makes its servers: those of HTTP let a client end its side first, those of TLS do not.
  const allowHalfOpen = !(server instanceof TlsServer);
  const acceptor = createServer({ allowHalfOpen, noDelay: true }, (socket) => {
    server.emit('connection', socket);
  });
  await listening(acceptor, { fd: descriptor });
  acceptor.on('error', (error) => {
    server.emit('error', error);
  });
  return acceptor;
}

/** Accepts no more connections. Resolves when all that were accepted have ended. */
export async function stopListening(server: Server): Promise<void> {
  const all = [server, ...(acceptors.get(server) ?? [])];
  await Promise.all(
    all.map(
      (one) =>
        new Promise<void>((resolve) => {
          one.close(() => {
            resolve();
          });
        }),
    ),
  );
}

function listening(server: TcpServer, options: ListenOptions & { readonly fd?: number }): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    // With a descriptor Node overlooks a backlog among the options.
    server.listen(options, BACKLOG, () => {
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
