/** A process of a fault test, which is killed, stopped and started again. */
import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';

/** How a process ended. */
export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface Program {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: NodeJS.ProcessEnv;
}

export class Child {
  static readonly #running = new Set<Child>();

  /** Kills what a failed test has left. */
  static async killAll(): Promise<void> {
    await Promise.all([...Child.#running].map((child) => child.kill()));
  }

  #process: ChildProcess | undefined;
  #exit: Promise<Exit> = Promise.resolve({ code: 0, signal: null });

  /** @param output of everything that it prints, of all of its lives */
  constructor(readonly output: string) {}

  get isRunning(): boolean {
    return this.#process !== undefined;
  }

  /** Of the last start. */
  get exit(): Promise<Exit> {
    return this.#exit;
  }

  start({ command, args, env }: Program): void {
    if (this.isRunning) throw new Error(`${this.output}: it runs already`);
    const output = openSync(this.output, 'a');
    const started = spawn(command, args, { stdio: ['ignore', output, output], ...(env && { env }) });
    closeSync(output);
    this.#process = started;
    Child.#running.add(this);
    this.#exit = new Promise((resolve, reject) => {
      started.once('error', reject);
      started.once('exit', (code, signal) => {
        this.#process = undefined;
        Child.#running.delete(this);
        resolve({ code, signal });
      });
    });
    this.#exit.catch(() => undefined);
  }

  signal(signal: NodeJS.Signals): void {
    this.#process?.kill(signal);
  }

  async kill(): Promise<void> {
    this.signal('SIGKILL');
    await this.#exit;
  }

  /** What it printed last. */
  tail(lines = 20): string {
    return readFileSync(this.output, 'utf8').trimEnd().split('\n').slice(-lines).join('\n');
  }

  /** How often a text is in what it printed. */
  countOf(text: string): number {
    return readFileSync(this.output, 'utf8').split(text).length - 1;
  }
}
