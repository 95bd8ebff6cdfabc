import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';

/** How a process ended. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

const LAUNCHER = join(__dirname, '..', '..', 'bin', 'kithdb.js');

/** The real server as a child process, on a free port. */
export class ServerChild {
  readonly #child: ChildProcess;
  /** Resolves when the process is gone. */
  readonly exit: Promise<Exit>;
  /** Resolves with the address when the server is ready; rejects when it ends before that. */
  readonly ready: Promise<string>;
  #output = '';

  constructor(dataDir: string) {
    const env = { PATH: process.env['PATH'], KITHDB_LOG_LEVEL: 'warn', KITHDB_LOG_FORMAT: 'json' };
    const child = spawn(process.execPath, [LAUNCHER, '--port', '0', '--data-dir', dataDir], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child = child;
    this.exit = new Promise((resolve, reject) => {
      child.once('error', reject);
      child.once('close', (code, signal) => {
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
