/** A control group of Linux that limits the memory of one process. */
import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const V1 = '/sys/fs/cgroup/memory';
const V2 = '/sys/fs/cgroup';

/** How long the processes of a group that were killed may take to leave it. */
const REMOVAL_TIMEOUT_MS = 10_000;

let made = 0;

export class Cgroup {
  #path;

  /** @param {string} path */
  constructor(path) {
    this.#path = path;
    /** What a process starts with that is to be in the group from its first page on. */
    this.prefix = ['/bin/sh', '-c', 'echo $$ > "$0" && exec "$@"', join(path, 'cgroup.procs')];
  }

  /**
   * A group with a limit, or null where this process may not make one.
   *
   * @param {number} memoryMb
   */
  static make(memoryMb) {
    const isV1 = existsSync(join(V1, 'memory.limit_in_bytes'));
    const path = join(isV1 ? V1 : V2, `kithdb-bench-${process.pid}-${made++}`);
    try {
      mkdirSync(path);
    } catch {
      return null;
    }
    const limit = join(path, isV1 ? 'memory.limit_in_bytes' : 'memory.max');
    try {
      // A folder elsewhere than in a hierarchy, or without the controller of memory, does not have the file.
      if (!existsSync(limit)) throw new Error(`no ${limit}`);
      writeFileSync(limit, String(memoryMb * 2 ** 20));
      return new Cgroup(path);
    } catch {
      rmdirSync(path);
      return null;
    }
  }

  /** The most memory that the group has had, in bytes; null where the system does not say. */
  get peakBytes() {
    const bytes = this.#read('memory.max_usage_in_bytes', 'memory.peak');
    return bytes === null ? null : Number(bytes);
  }

  /** How often processes of the group were killed for want of memory, as the system writes it. */
  get events() {
    return this.#read('memory.oom_control', 'memory.events');
  }

  #read(...names) {
    const file = names.map((name) => join(this.#path, name)).find((path) => existsSync(path));
    return file === undefined ? null : readFileSync(file, 'utf8').trim();
  }

  async remove() {
    const endsAt = performance.now() + REMOVAL_TIMEOUT_MS;
    for (;;) {
      try {
        rmdirSync(this.#path);
        return;
      } catch (error) {
        if (error.code === 'ENOENT') return;
        if (error.code !== 'EBUSY' || performance.now() > endsAt) throw error;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
  }
}
