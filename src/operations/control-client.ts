import { readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join, resolve } from 'node:path';
import { CONTROL_FILE, identityOf, type ControlAnswer } from './control-protocol';
import { BackupError } from './failure';

/** The files that a running server has staged. They stay until `end` is called. */
export interface Staged {
  /** The folder with the files. */
  readonly folder: string;
  readonly quarantined: readonly string[];
  /** Why the store of authentication is not among them, where it is damaged. */
  readonly storeFault: string | undefined;
  /** Rejects when the server goes away meanwhile. */
  readonly lost: Promise<never>;
  /** Notifies the server that the files are copied, and waits until it has removed the stage. */
  end(): Promise<void>;
}

/** Longest answer: the names of the quarantined collections are in it. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

/**
 * Asks the server that runs on a data directory for its files; undefined when none runs.
 * @throws BackupError when it refuses.
 */
export async function stageLive(dataDir: string): Promise<Staged | undefined> {
  const address = await addressOf(dataDir);
  const socket = address === undefined ? undefined : await connected(address);
  if (socket === undefined) {
    return undefined;
  }
  socket.write('backup\n');
  const answer = await answerOf(socket);
  if ('error' in answer) {
    socket.destroy();
    throw new BackupError(`The server cannot make a backup: ${answer.error}`);
  }
  const folder = join(dataDir, answer.staged);
  if ((await identityOf(folder).catch(() => undefined)) !== answer.identity) {
    // The folder is a copy of a served one: the address in the file belongs to the original.
    socket.destroy();
    return undefined;
  }
  const lost = new Promise<never>((_, reject) => {
    socket.once('close', () => {
      reject(new BackupError('The server ended while its files were copied: start it and try again'));
    });
  });
  lost.catch(() => undefined);
  return {
    folder,
    quarantined: answer.quarantined,
    storeFault: answer.storeFault,
    lost,
    end: () =>
      new Promise((resolve) => {
        if (socket.destroyed) {
          resolve();
          return;
        }
        socket.once('close', () => {
          resolve();
        });
        socket.end();
      }),
  };
}

async function addressOf(dataDir: string): Promise<string | undefined> {
  try {
    const { socket } = JSON.parse(await readFile(join(dataDir, CONTROL_FILE), 'utf8')) as {
      socket?: unknown;
    };
    return typeof socket === 'string' ? resolve(dataDir, socket) : undefined;
  } catch {
    // There is no file, or an incomplete one: no server is ready.
    return undefined;
  }
}

function connected(address: string): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect(address);
    socket.once('connect', () => {
      socket.removeAllListeners('error');
      socket.on('error', () => socket.destroy());
      resolve(socket);
    });
    socket.once('error', () => {
      resolve(undefined);
    });
  });
}

function answerOf(socket: Socket): Promise<ControlAnswer> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    let bytes = 0;
    const ended = (): void => {
      reject(new BackupError('The server ended before it answered: start it and try again'));
    };
    socket.once('close', ended);
    socket.on('data', (piece: Buffer) => {
      pieces.push(piece);
      bytes += piece.length;
      if (piece.includes(10) || bytes > MAX_ANSWER_BYTES) {
        socket.off('close', ended);
        socket.removeAllListeners('data');
        socket.resume();
        try {
          resolve(JSON.parse(Buffer.concat(pieces).toString()) as ControlAnswer);
        } catch {
          reject(new BackupError('The server answered something else than a backup'));
        }
      }
    });
  });
}
