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

/** What is unusual about a server. */
export interface Launch {
  /** The script that starts it. */
  readonly launcher?: string;
  /** More of its environment. */
  readonly env?: NodeJS.ProcessEnv;
}

/** The real server as a child process, on a free port. */
export class ServerChild {
  static readonly #running = new Set<ChildProcess>();

  /** Kills every server that has not ended. */
  static readonly killAll = (): void => {
    for (const child of ServerChild.#running) child.kill('SIGKILL');
  };

  readonly #child: ChildProcess;
  /** Resolves when the process is gone. */
  readonly exit: Promise<Exit>;
  /** Resolves with the address when the server is ready; rejects when it ends before that. */
  readonly ready: Promise<string>;
  #output = '';

  constructor(dataDir: string, { launcher = LAUNCHER, env: added = {} }: Launch = {}) {
    const usual = { PATH: process.env['PATH'], KITHDB_LOG_LEVEL: 'warn', KITHDB_LOG_FORMAT: 'json' };
    const env = { ...usual, ...added };
    const child = spawn(process.execPath, [launcher, '--port', '0', '--data-dir', dataDir], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child = child;
    ServerChild.#running.add(child);
    this.exit = new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code, signal) => {
        ServerChild.#running.delete(child);
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
          new Error(`The server ended before it was ready (${code ?? signal ?? '?'}):\n${this.#output}`),
        );
      }, reject);
    });
    // Whoever kills a server that is still starting does not wait for it.
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
