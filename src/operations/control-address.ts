import { randomUUID } from 'node:crypto';
import { chmod, mkdir, mkdtemp, realpath, rename, rm } from 'node:fs/promises';
import type { Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const SOCKET = 'control.sock';
/** Folder in the data directory in which the socket gets its mode. */
const PRIVATE_FOLDER = 'control.new';
/** Unix limits the path of a socket to 104 or 108 bytes. */
const MAX_SOCKET_PATH_BYTES = 100;

/** Where a control socket listens. */
export interface ControlAddress {
  /** The address: relative to the data directory if possible, so that a copy of the directory refers to no socket. */
  readonly name: string;
  /** Removes what is left of it on the disk. */
  remove(): Promise<void>;
}

/**
 * Listens on a socket that only the owner of the process can open. `bind` gives a socket the mode that the process'
 * umask leaves, and a change of the umask would reach every thread, those of the engine too. So the socket is made in a
 * folder that only the owner can enter, and moved to its place when its mode is 0600.
 */
export async function listenPrivately(server: Server, dataDir: string): Promise<ControlAddress> {
  if (process.platform === 'win32') {
    const name = `\\\\.\\pipe\\kithdb-${randomUUID()}`;
    await listening(server, name);
    return { name, remove: () => Promise.resolve() };
  }
  // Commands may reach the directory by another path, a longer one perhaps: they resolve it to this one.
  const folder = await realpath(dataDir);
  const privateFolder = join(folder, PRIVATE_FOLDER);
  return Buffer.byteLength(join(privateFolder, SOCKET)) <= MAX_SOCKET_PATH_BYTES
    ? listenInside(server, privateFolder, join(folder, SOCKET))
    : listenElsewhere(server);
}

async function listenInside(server: Server, privateFolder: string, place: string): Promise<ControlAddress> {
  // What is there was left by a process that was killed: the caller holds the lock of the directory.
  await remove(place);
  await remove(privateFolder);
  await mkdir(privateFolder, { mode: 0o700 });
  try {
    await listenOn(server, join(privateFolder, SOCKET));
    await rename(join(privateFolder, SOCKET), place);
  } finally {
    await remove(privateFolder);
  }
  return { name: SOCKET, remove: () => remove(place) };
}

/** Listens in a folder of its own, where the path of the data directory is too long for a socket. */
async function listenElsewhere(server: Server): Promise<ControlAddress> {
  // Made with mode 0700.
  const folder = await mkdtemp(join(tmpdir(), 'kithdb-'));
  const name = join(folder, SOCKET);
  await listenOn(server, name);
  return { name, remove: () => remove(folder) };
}

async function listenOn(server: Server, path: string): Promise<void> {
  await listening(server, path);
  await chmod(path, 0o600);
}

function remove(path: string): Promise<void> {
  return rm(path, { recursive: true, force: true });
}

function listening(server: Server, address: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(address, () => {
      server.off('error', reject);
      server.on('error', () => undefined);
      resolve();
    });
  });
}
