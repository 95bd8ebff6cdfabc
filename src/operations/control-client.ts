import { readFile, realpath } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join, resolve } from 'node:path';
import {
  CONTROL_FILE,
  identityOf,
  writeRequest,
  type ControlAnswer,
  type ControlRequest,
} from './control-protocol';
import { BackupError } from './failure';
import type { TokenOrder, TokenOutcome } from './token-requests';

/** The files that a running server has staged. They stay until `end` is called. */
export interface Staged {
  /** The folder with the files. */
  readonly folder: string;
  readonly quarantined: readonly string[];
  /** Why the store of authentication is not among them, where it is damaged. */
  readonly storeFault: string | undefined;
  /** Rejects when the server goes away meanwhile, or takes the files back. */
  readonly lost: Promise<never>;
  /**
   * Notifies the server that the files are copied, and waits until it has removed the stage.
   * @throws BackupError when it had taken the files back before.
   */
  end(): Promise<void>;
}

/** Longest line: the names of the quarantined collections are in it. */
const MAX_LINE_BYTES = 64 * 1024 * 1024;
/** Signs of life in the time after which the server would take the files back. */
const SIGNS_OF_LIFE = 6;

/**
 * Asks the server that runs on a data directory for its files; undefined when none runs.
 * @throws BackupError when it refuses.
 */
export async function stageLive(dataDir: string): Promise<Staged | undefined> {
  const connection = await connectTo(dataDir);
  if (connection === undefined) {
    return undefined;
  }
  const answer = await connection.ask({ kind: 'backup' });
  if (answer === undefined) {
    throw new BackupError('The server ended before it answered: start it and try again');
  }
  if ('error' in answer) {
    connection.close();
    throw new BackupError(`The server cannot make a backup: ${answer.error}`);
  }
  if (!('staged' in answer)) {
    connection.close();
    throw new BackupError('The server answered something else than a backup');
  }
  const { staged, identity, silenceMs, quarantined, storeFault } = answer;
  const folder = join(dataDir, staged);
  if ((await identityOf(folder).catch(() => undefined)) !== identity) {
    // The folder is a copy of a served one: the address in the file belongs to the original.
    connection.close();
    return undefined;
  }
  connection.stayAlive(silenceMs / SIGNS_OF_LIFE);
  const lost = connection.closed.then((reason) => {
    throw new BackupError(
      reason === undefined
        ? 'The server ended while its files were copied: start it and try again'
        : takenBack(reason),
    );
  });
  lost.catch(() => undefined);
  return {
    folder,
    quarantined,
    storeFault,
    lost,
    end: async () => {
      const reason = await connection.end();
      if (reason !== undefined) {
        throw new BackupError(takenBack(reason));
      }
    },
  };
}

function takenBack(reason: string): string {
  return `The server has ended the backup: ${reason}`;
}

/**
 * Lets the server that runs on a data directory replace the admin's password, which has passed the policy; undefined when
 * none runs.
 * @returns `'done'`, or why the password is as it was: a sentence without its full stop.
 */
export function resetPasswordLive(dataDir: string, password: string): Promise<string | undefined> {
  const request = (folder: string) => ({ kind: 'reset password', folder, password }) as const;
  return changeLive(dataDir, request, 'password');
}

/**
 * Lets the server that runs on a data directory create the admin with a password that has passed the policy; undefined
 * when none runs.
 * @returns as {@link resetPasswordLive}.
 */
export function createAdminLive(dataDir: string, password: string): Promise<string | undefined> {
  return changeLive(dataDir, (folder) => ({ kind: 'create admin', folder, password }), 'admin');
}

/**
 * Lets the server that runs on a data directory replace the JWT secret; undefined when none runs.
 * @returns as {@link resetPasswordLive}.
 */
export function rotateSecretLive(dataDir: string): Promise<string | undefined> {
  return changeLive(dataDir, (folder) => ({ kind: 'rotate secret', folder }), 'secret');
}

/**
 * Lets the server that runs on a data directory note that a whole backup of it was made; undefined when none runs.
 * @returns as {@link resetPasswordLive}.
 */
export function noteBackupLive(dataDir: string): Promise<string | undefined> {
  return changeLive(dataDir, (folder) => ({ kind: 'note backup', folder }), 'time of the last backup');
}

/**
 * Lets the server that runs on a data directory carry out an order about access tokens; undefined when none runs.
 * @returns what became of it, or why nothing did: a sentence without its full stop.
 */
export async function tokensLive(
  dataDir: string,
  order: TokenOrder,
): Promise<TokenOutcome | string | undefined> {
  const answer = await askLive(dataDir, (folder) => ({ ...order, folder }));
  if (answer === undefined) return undefined;
  if (answer === 'ended')
    return 'it ended before it answered, and may have done it or not: list the access tokens';
  if ('error' in answer) return answer.error;
  // The folder may be a copy of a served one: then the address in its file belongs to the original.
  return 'tokens' in answer ? answer : undefined;
}

/** What the server that runs on a data directory says of itself: `ready`, or what it is instead; undefined when none runs. */
export async function healthLive(dataDir: string): Promise<string | undefined> {
  const connection = await connectTo(dataDir);
  if (connection === undefined) {
    return undefined;
  }
  const answer = await connection.ask({ kind: 'health' });
  connection.close();
  return answer !== undefined && 'health' in answer ? answer.health : 'nothing';
}

async function changeLive(
  dataDir: string,
  requestFor: (folder: string) => ControlRequest,
  what: string,
): Promise<string | undefined> {
  const answer = await askLive(dataDir, requestFor);
  if (answer === undefined) return undefined;
  if (answer === 'ended') {
    return `it ended before it answered, and the ${what} may have changed or not: try again`;
  }
  if ('error' in answer) {
    return answer.error;
  }
  // As above.
  return 'change' in answer && answer.change === 'done' ? 'done' : undefined;
}

/** The answer of the server that runs on a data directory; undefined when none runs. */
async function askLive(
  dataDir: string,
  requestFor: (folder: string) => ControlRequest,
): Promise<ControlAnswer | 'ended' | undefined> {
  const connection = await connectTo(dataDir);
  if (connection === undefined) {
    return undefined;
  }
  const answer = await connection.ask(requestFor(await identityOf(dataDir)));
  connection.close();
  return answer ?? 'ended';
}

/** A connection to the control socket of a running server. */
class Connection {
  readonly #lines: ControlAnswer[] = [];
  #waiting: ((line: ControlAnswer | undefined) => void) | undefined;
  #signs: NodeJS.Timeout | undefined;
  /** Resolves when the connection is gone, with the refusal that was sent and not asked for. */
  readonly closed: Promise<string | undefined>;

  constructor(private readonly socket: Socket) {
    let pieces: Buffer[] = [];
    let bytes = 0;
    socket.on('data', (piece: Buffer) => {
      pieces.push(piece);
      bytes += piece.length;
      if (piece.includes(10)) {
        const arrived = Buffer.concat(pieces);
        const end = arrived.lastIndexOf(10);
        arrived
          .toString('utf8', 0, end)
          .split('\n')
          .forEach((line) => {
            this.#take(line);
          });
        // It may end amid a character.
        const rest = arrived.subarray(end + 1);
        pieces = [rest];
        bytes = rest.length;
      } else if (bytes > MAX_LINE_BYTES) {
        socket.destroy();
      }
    });
    this.closed = new Promise((resolve) => {
      socket.once('close', () => {
        clearInterval(this.#signs);
        this.#waiting?.(undefined);
        const last = this.#lines.at(-1);
        resolve(last !== undefined && 'error' in last ? last.error : undefined);
      });
    });
  }

  /** Sends a request; undefined when the server ends before it answers. */
  ask(request: ControlRequest): Promise<ControlAnswer | undefined> {
    this.socket.write(`${writeRequest(request)}\n`);
    return new Promise((resolve) => {
      if (this.socket.destroyed) {
        resolve(undefined);
      }
      this.#waiting = resolve;
    });
  }

  /** Sends a byte now and then, so that the server knows that this process still runs. */
  stayAlive(everyMs: number): void {
    this.#signs = setInterval(() => this.socket.write('\n'), everyMs);
  }

  /** Ends the connection, and waits until the server has ended it too; with its refusal, where it sent one. */
  end(): Promise<string | undefined> {
    clearInterval(this.#signs);
    this.socket.end();
    return this.closed;
  }

  close(): void {
    this.socket.destroy();
  }

  #take(text: string): void {
    const line = readAnswer(text);
    if (this.#waiting === undefined) {
      this.#lines.push(line);
    } else {
      this.#waiting(line);
      this.#waiting = undefined;
    }
  }
}

function readAnswer(text: string): ControlAnswer {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) {
      return value as ControlAnswer;
    }
  } catch {
    // The same as any other line that is no answer.
  }
  return { error: 'it sent something else than an answer' };
}

async function connectTo(dataDir: string): Promise<Connection | undefined> {
  const address = await addressOf(dataDir);
  const socket = address === undefined ? undefined : await connected(address);
  return socket && new Connection(socket);
}

async function addressOf(dataDir: string): Promise<string | undefined> {
  try {
    // The path by which the server has its socket: another one may be too long for a socket.
    const folder = await realpath(dataDir);
    const { socket } = JSON.parse(await readFile(join(folder, CONTROL_FILE), 'utf8')) as {
      socket?: unknown;
    };
    return typeof socket === 'string' ? resolve(folder, socket) : undefined;
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
