/**
 * Freezes one thread of a process: a control group of the first version's freezer takes single threads, where signals stop
 * whole processes. Linux with that hierarchy, and root.
 */
import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 1;

export class FrozenThread {
  #group;

  /**
   * @param {string} hierarchy where the freezer is mounted
   * @param {number} pid
   * @param {string} thread its name, as the system has it
   */
  constructor(hierarchy, pid, thread) {
    const tasks = readdirSync(`/proc/${pid}/task`);
    const nameOf = (task) => readFileSync(`/proc/${pid}/task/${task}/comm`, 'utf8').trim();
    const task = tasks.find((each) => nameOf(each) === thread);
    if (task === undefined) throw new Error(`process ${pid} has no thread ${thread}`);
    this.#group = join(hierarchy, `kithdb-bench-${pid}`);
    mkdirSync(this.#group);
    writeFileSync(join(this.#group, 'tasks'), task);
  }

  freeze() {
    return this.#become('FROZEN');
  }

  thaw() {
    return this.#become('THAWED');
  }

  async #become(state) {
    const file = join(this.#group, 'freezer.state');
    writeFileSync(file, state);
    while (readFileSync(file, 'utf8').trim() !== state) await sleep(POLL_MS);
  }

  /** Removes the group, once its process has ended. */
  remove() {
    rmdirSync(this.#group);
  }
}
