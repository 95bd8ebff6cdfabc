/**
 * A process that holds one index and executes messages: JSON lines on its standard input, answered by JSON lines on its
 * standard output. Only one such process works at a time; the others wait for their next line.
 */
import { spawn, spawnSync } from 'node:child_process';
import { createInterface } from 'node:readline';

export class Worker {
  #child;
  #pending = null;
  #gone = null;

  /**
   * @param {string} name what the system is called in the report
   * @param {string} command
   * @param {string[]} args
   * @param {NodeJS.ProcessEnv} [env] besides this process's own
   */
  constructor(name, command, args, env = {}) {
    this.name = name;
    this.#child = spawn(command, args, {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, ...env },
    });
    this.#child.once('error', (error) => this.#fail(error));
    this.#child.once('close', (code, signal) =>
      this.#fail(new Error(`${name} ended with ${signal ?? `exit code ${code}`}`)),
    );
    // The message went to a process that has just ended; its end is reported instead.
    this.#child.stdin.on('error', () => undefined);
    createInterface({ input: this.#child.stdout }).on('line', (line) => this.#answer(line));
  }

  #answer(line) {
    const pending = this.#pending;
    this.#pending = null;
    if (!pending) return;
    let answer;
    try {
      answer = JSON.parse(line);
    } catch {
      pending.reject(new Error(`${this.name} said: ${line}`));
      return;
    }
    if (answer.error) pending.reject(new Error(`${this.name}: ${answer.error}`));
    else pending.resolve(answer);
  }

  #fail(error) {
    this.#gone ??= error;
    this.#pending?.reject(this.#gone);
    this.#pending = null;
  }

  /**
   * @param {{command: string}} message
   * @returns {Promise<any>} the answer
   */
  ask(message) {
    return new Promise((resolve, reject) => {
      if (this.#gone) {
        reject(this.#gone);
        return;
      }
      this.#pending = { resolve, reject };
      this.#child.stdin.write(`${JSON.stringify(message)}\n`);
    });
  }

  /**
   * Binds all threads of the process to some cores.
   *
   * @param {number[]} cores
   * @returns {boolean} whether this system can do that
   */
  pin(cores) {
    const args = ['-a', '-c', '-p', cores.join(','), String(this.#child.pid)];
    return spawnSync('taskset', args, { stdio: 'ignore' }).status === 0;
  }

  /** Ends the process and waits for its end. */
  async stop() {
    if (this.#gone) return;
    const ended = new Promise((resolve) => this.#child.once('close', resolve));
    this.#child.stdin.end();
    await ended;
  }
}
