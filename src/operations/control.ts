import { chmodSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import { damageOf } from '../auth/store/port';
import { CONTROL_FILE, identityOf, MAX_LINE_BYTES, type ControlAnswer } from './control-protocol';
import { STORE_FILE } from './data-files';
import { diskFull, explained, isDiskFull } from '../files/explained';

/** Folder in the data directory in which a running server offers its files to a backup. */
export const STAGING = 'staging';

/** What the server does for a backup. */
export interface Staging {
  /** Links everything that is served into {@link STAGING}. */
  readonly stage: () => Promise<void>;
  readonly unstage: () => Promise<void>;
  /** Copies the store of authentication to a path; false when it is only in memory. */
  readonly copyStore: (path: string) => Promise<boolean>;
  /** Names of collections that are quarantined. */
  readonly quarantined: () => readonly string[];
}

/** The socket on which a running server takes requests of commands on its own machine. */
export interface Control {
  close(): Promise<void>;
}

/** Longest time between a connection and its request. */
const REQUEST_MS = 10_000;
const MAX_CONNECTIONS = 8;
const SOCKET = 'control.sock';
/** Unix limits the path of a socket to 104 or 108 bytes. */
const MAX_SOCKET_PATH_BYTES = 100;

/**
 * Listens on a socket in the data directory, so that exactly the users who may read the data may back them up. The caller
 * holds the lock of the directory, so a socket that is left there belongs to no running process.
 */
export async function openControl(dataDir: string, staging: Staging, log: Logger): Promise<Control> {
  const { address, name = address, folder } = await socketAddress(dataDir);
  const server = createServer({ allowHalfOpen: true });
  const sockets = new Set<Socket>();
  let busy = false;
  server.maxConnections = MAX_CONNECTIONS;
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    socket.setTimeout(REQUEST_MS, () => socket.destroy());
    void requestOf(socket).then(async (request) => {
      socket.setTimeout(0);
      if (request !== 'backup') {
        answer(socket, { error: 'unknown request' });
        socket.end();
      } else if (busy) {
        answer(socket, { error: 'another backup of this server is running' });
        socket.end();
      } else {
        busy = true;
        await serveBackup(dataDir, socket, staging, log).finally(() => {
          busy = false;
        });
      }
    });
  });
  await listening(server, address);
  await writeFile(join(dataDir, CONTROL_FILE), `${JSON.stringify({ socket: name })}\n`, { mode: 0o600 });
  return {
    close: async () => {
      const closed = new Promise<void>((resolve) =>
        server.close(() => {
          resolve();
        }),
      );
      sockets.forEach((socket) => socket.destroy());
      await closed;
      await rm(join(dataDir, CONTROL_FILE), { force: true });
      if (folder !== undefined) {
        await rm(folder, { recursive: true, force: true });
      }
    },
  };
}

/** Stages the files, answers, and removes the stage when the client ends or loses its connection. */
async function serveBackup(dataDir: string, socket: Socket, staging: Staging, log: Logger): Promise<void> {
  const gone = new Promise<void>((resolve) => {
    socket.once('end', resolve).once('close', () => {
      resolve();
    });
    if (socket.destroyed) {
      resolve();
    }
  });
  const startedAt = performance.now();
  try {
    await staging.stage();
    // A damaged store must not prevent the backup of the collections.
    const copied = await staging.copyStore(join(dataDir, STAGING, STORE_FILE)).catch(damageOf);
    const store = typeof copied === 'string' ? { hasStore: false, storeFault: copied } : { hasStore: copied };
    const quarantined = staging.quarantined();
    log.info({ stagedMs: Math.round(performance.now() - startedAt), quarantined }, 'backup begins');
    const identity = await identityOf(join(dataDir, STAGING));
    answer(socket, { staged: STAGING, identity, ...store, quarantined });
    await gone;
    log.info({ tookMs: Math.round(performance.now() - startedAt) }, 'backup ends');
  } catch (error) {
    log.error({ err: error }, 'backup failed');
    answer(socket, { error: troubleOf(error, dataDir) });
  }
  await staging.unstage().catch((error: unknown) => {
    log.warn({ err: error }, 'what was staged for a backup cannot be removed; the next start removes it');
  });
  // The end of the connection notifies the client that the stage is removed.
  socket.end();
}

/** Why nothing was staged, with the place and what to do. */
function troubleOf(error: unknown, dataDir: string): string {
  return isDiskFull(error) ? diskFull(dataDir) : explained(error);
}

function answer(socket: Socket, message: ControlAnswer): void {
  if (!socket.destroyed) {
    socket.write(`${JSON.stringify(message)}\n`);
  }
}

/** The request of a connection: one line. */
function requestOf(socket: Socket): Promise<string | undefined> {
  return new Promise((resolve) => {
    let text = '';
    const read = (piece: Buffer): void => {
      text += piece.toString('latin1');
      const end = text.indexOf('\n');
      if (end >= 0 || text.length > MAX_LINE_BYTES) {
        socket.off('data', read);
        // Further data is ignored, but it must be read to notice the end of the connection.
        socket.resume();
        resolve(end >= 0 ? text.slice(0, end) : undefined);
      }
    };
    socket.on('data', read);
  });
}

/** Where to listen. `name` is the address in the file: relative if possible, so that a copy of the file refers to no socket. */
async function socketAddress(dataDir: string): Promise<{ address: string; name?: string; folder?: string }> {
  if (process.platform === 'win32') {
    return { address: `\\\\.\\pipe\\kithdb-${randomUUID()}` };
  }
  const near = join(dataDir, SOCKET);
  if (Buffer.byteLength(near) <= MAX_SOCKET_PATH_BYTES) {
    await rm(near, { force: true });
    return { address: near, name: SOCKET };
  }
  const folder = await mkdtemp(join(tmpdir(), 'kithdb-'));
  return { address: join(folder, SOCKET), folder };
}

function listening(server: Server, address: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(address, () => {
      server.off('error', reject);
      server.on('error', () => undefined);
      if (process.platform !== 'win32') {
        chmodSync(address, 0o600);
      }
      resolve();
    });
  });
}
