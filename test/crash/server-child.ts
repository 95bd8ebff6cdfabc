import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';

/** How a process ended. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

const LAUNCHER = join(__dirname, '..', '..', 'bin', 'kithdb.js');
/** A server whose background work is always busy. */
export const HURRIED = join(__dirname, 'hurried-server.cjs');

/** The server ended before it was ready. */
export class NotReady extends Error {}

/** What is unusual about a server. */
export interface Launch {
  /** The script that starts it. */
  readonly launcher?: string;
  /** More of its environment. */
  readonly env?: NodeJS.ProcessEnv;
}

/** The real server as a child process, on a free port. */
export class ServerChild {
  static readonly #running = new Set<ServerChild>();

  /** Kills every server that has not ended, and waits until they are gone: their folders can be removed then. */
  static readonly killAll = async (): Promise<void> => {
    const left = [...ServerChild.#running];
    for (const server of left) server.signal('SIGKILL');
    await Promise.all(left.map(({ exit }) => exit));
  };

  readonly #child: ChildProcess;
  /** Resolves when the process is gone. */
  readonly exit: Promise<Exit>;
  /** Resolves with the address when the server is ready; rejects when it ends before that. */
  readonly ready: Promise<string>;
  #output = '';

  constructor(dataDir: string, { launcher = LAUNCHER, env: added = {} }: Launch = {}) {
    const { PATH, PLANTED_FAULT: fault } = process.env;
    const usual = { PATH, KITHDB_LOG_LEVEL: 'warn', KITHDB_LOG_FORMAT: 'json' };
    const env = { ...usual, ...(fault !== undefined && { PLANTED_FAULT: fault }), ...added };
    const child = spawn(process.execPath, [launcher, '--port', '0', '--data-dir', dataDir], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child = child;
    ServerChild.#running.add(this);
    this.exit = new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code, signal) => {
        ServerChild.#running.delete(this);
        resolve({ code, signal });
      });
    });
    this.ready = new Promise((resolve, reject) => {
      const read = (chunk: Buffer): void => {
        this.#output += chunk.toString();
        const url = / ready on (\S+) in /.exec(this.#output)?.[1];
        if (url !== undefined) resolve(url);
      };
      child.stdout.on('data', read);
      child.stderr.on('data', read);
      this.exit.then(({ code, signal }) => {
        reject(
          new NotReady(`The server ended before it was ready (${code ?? signal ?? '?'}):\n${this.#output}`),
        );
      }, reject);
    });
    // A test that kills a server while it starts does not wait for it to be ready.
    this.ready.catch(() => undefined);
  }

  /** Everything that it printed so far. */
  get output(): string {
    return this.#output;
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }
}
