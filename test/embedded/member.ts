import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import type { OpenOptions } from '../../src/embedded/open';

const SCRIPT = join(__dirname, 'member-process.cjs');

/** What a process could not do. */
export class MemberError extends Error {
  constructor(
    name: string,
    readonly status: number | undefined,
    message: string,
  ) {
    super(message);
    this.name = name;
  }
}

interface Message {
  readonly call?: number;
  readonly result?: unknown;
  readonly error?: { readonly name: string; readonly status?: number; readonly message: string };
  readonly opened?: boolean;
  readonly failed?: string;
  readonly acknowledged?: number;
}

/** What a writer did. */
export interface Written {
  readonly acknowledged: number;
  readonly slowestMs: number;
  readonly failures: readonly string[];
}

/** Another process that has a folder open. */
export class Member {
  static readonly #running = new Set<Member>();

  /** Kills those that are left, and waits until they are gone. */
  static readonly killAll = async (): Promise<void> => {
    const left = [...Member.#running];
    for (const member of left) member.kill();
    await Promise.all(left.map(({ gone }) => gone));
  };

  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #calls = new Map<number, { resolve: (result: unknown) => void; reject: (error: Error) => void }>();
  #lastCall = 0;
  readonly #opened: Promise<void>;
  /** Resolves when the process is gone. */
  readonly gone: Promise<void>;
  /** The ids of the points whose writes were acknowledged. */
  readonly acknowledged: number[] = [];

  private constructor(folder: string, options: OpenOptions) {
    const child = spawn(process.execPath, [SCRIPT, folder, JSON.stringify(options)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.#child = child;
    // A process that was killed reads nothing any more.
    child.stdin.on('error', () => undefined);
    Member.#running.add(this);
    this.gone = new Promise((resolve) => {
      child.once('exit', () => {
        Member.#running.delete(this);
        for (const { reject } of this.#calls.values()) reject(new Error('the process is gone'));
        resolve();
      });
    });
    this.#opened = new Promise((resolve, reject) => {
      createInterface({ input: child.stdout }).on('line', (line) => {
        const message = JSON.parse(line) as Message;
        if (message.opened === true) resolve();
        else if (message.failed !== undefined) reject(new Error(message.failed));
        else if (message.acknowledged !== undefined) this.acknowledged.push(message.acknowledged);
        else this.#answered(message);
      });
      child.once('exit', () => {
        reject(new Error('the process ended before it had opened the folder'));
      });
    });
    this.#opened.catch(() => undefined);
  }

  /** Starts a process and waits until it has opened the folder. */
  static async open(folder: string, options: OpenOptions = {}): Promise<Member> {
    const member = Member.start(folder, options);
    await member.#opened;
    return member;
  }

  /** Starts a process. */
  static start(folder: string, options: OpenOptions = {}): Member {
    return new Member(folder, options);
  }

  get opened(): Promise<void> {
    return this.#opened;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }

  /** The result of an operation of the engine. */
  execute(operation: string, collection?: string, body?: unknown, flags?: object): Promise<unknown> {
    return this.#call('execute', { request: { operation, collection, body, flags } });
  }

  role(): Promise<string> {
    return this.#call('role') as Promise<string>;
  }

  /** Begins to write points, from the id `first` on, one a call. */
  async write(collection: string, first: number, pauseMs = 0): Promise<void> {
    await this.#call('write', { collection, first, pauseMs });
  }

  stop(): Promise<Written> {
    return this.#call('stop') as Promise<Written>;
  }

  /** Stops its event loop, which makes the file `begun`, until there is the file `released`. */
  block(begun: string, released: string): Promise<unknown> {
    return this.#call('block', { begun, released });
  }

  async close(): Promise<void> {
    // The answer may be lost with the connection.
    this.#call('close').catch(() => undefined);
    await this.gone;
  }

  #call(what: string, more: object = {}): Promise<unknown> {
    const call = ++this.#lastCall;
    return new Promise((resolve, reject) => {
      this.#calls.set(call, { resolve, reject });
      this.#child.stdin.write(`${JSON.stringify({ call, what, ...more })}\n`);
    });
  }

  #answered({ call = 0, result, error }: Message): void {
    const waiting = this.#calls.get(call);
    this.#calls.delete(call);
    if (error === undefined) waiting?.resolve(result);
    else waiting?.reject(new MemberError(error.name, error.status, error.message));
  }
}
