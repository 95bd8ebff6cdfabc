import { totalmem } from 'node:os';
import type { Config } from '../config';
import { hugePages, type HugePages } from '../metrics/huge-pages';
import { reasonOf } from '../files/explained';
import { processors } from '../process/processors';
import { bytesText, type Finding, type ReadText } from './finding';

/** The Node.js that runs this command; the launcher has refused what is too old. */
export function checkNode(): Finding {
  return {
    check: 'node',
    state: 'ok',
    what: `Node.js ${process.versions.node} (20.19 or newer is needed, and from 22.13 on it has SQLite)`,
  };
}

/** Whether the engine loads, and which instructions of the processor it uses. */
export async function checkEngine(): Promise<Finding> {
  const { kernelsHere } = await import('../engine/surroundings.js');
  try {
    return judgeKernels(kernelsHere());
  } catch (error) {
    const [what = '', ...rest] = reasonOf(error).split('\n');
    return { check: 'engine', state: 'problem', what: what.replace(/\.$/, ''), advice: rest.join(' ') };
  }
}

/** Portable code is several times as slow as the instructions that it stands for. */
export function judgeKernels({ rows, codes }: { readonly rows: string; readonly codes: string }): Finding {
  const what = `the engine loads; distances are computed with ${rows}, codes with ${codes}`;
  return rows === 'scalar'
    ? {
        check: 'engine',
        state: 'advice',
        what,
        advice:
          'use a processor with AVX2 (or NEON), or let the virtual machine pass these instructions on: searches are several times as fast with them',
      }
    : { check: 'engine', state: 'ok', what };
}

/** Huge pages, without which a random read of a vector also misses the cache of addresses. */
export function checkHugePages(state: HugePages = hugePages()): Finding {
  const check = 'huge-pages';
  switch (state) {
    case 'always':
    case 'madvise':
      return { check, state: 'ok', what: `transparent huge pages are given (${state})` };
    case 'never':
      return {
        check,
        state: 'advice',
        what: 'transparent huge pages are off',
        advice:
          'echo madvise > /sys/kernel/mm/transparent_hugepage/enabled, as root and at every start of the machine',
      };
    case 'unknown':
      return { check, state: 'unknown', what: 'this system does not say whether it gives huge pages' };
  }
}

/** Below this a start with data has little room. */
const LITTLE_MEMORY = 512 * 1024 * 1024;

/** The memory that a server would plan with. */
export function checkMemory(
  { memoryLimit }: Pick<Config, 'memoryLimit'>,
  group: number = process.constrainedMemory(),
  machine = totalmem(),
): Finding {
  const check = 'memory';
  const isLimited = group > 0 && group < machine;
  const there = isLimited ? group : machine;
  const where = isLimited ? 'the control group' : 'the machine';
  const planned = memoryLimit ?? there;
  const what = `${bytesText(planned)} of ${memoryLimit === undefined ? where : 'KITHDB_MEMORY_LIMIT'}`;
  if (planned > there) {
    return {
      check,
      state: 'problem',
      what: `KITHDB_MEMORY_LIMIT is ${bytesText(planned)}, and ${where} has ${bytesText(there)}`,
      advice: 'give a lower limit, or none: the process would be killed before it refuses writes',
    };
  }
  return planned < LITTLE_MEMORY
    ? { check, state: 'advice', what, advice: 'give it 512 MiB or more: Node alone takes 128 MiB of it' }
    : { check, state: 'ok', what };
}

/** Threads beyond the cores only take turns. */
export function checkProcessors(
  { searchThreads }: Pick<Config, 'searchThreads'>,
  cores = processors(),
): Finding {
  const what = `${cores} cores, ${searchThreads} threads for reads`;
  return searchThreads > cores
    ? {
        check: 'processors',
        state: 'advice',
        what,
        advice: 'leave KITHDB_SEARCH_THREADS out: more threads than cores take turns',
      }
    : { check: 'processors', state: 'ok', what };
}

/** Files that a server needs beside its connections: data files, the log, SQLite. */
const FILES_BESIDE_CONNECTIONS = 1024;
/** The usual limit of maps; each data file is one. */
const MAPS = 65_530;

/** The limits that the system sets to a process, on Linux. */
export function checkLimits(
  { maxConnections }: Pick<Config, 'maxConnections'>,
  read: ReadText,
): readonly Finding[] {
  const limits = read('/proc/self/limits');
  if (limits === undefined) {
    return [{ check: 'limits', state: 'unknown', what: 'this system does not list the limits of a process' }];
  }
  const needed = maxConnections + FILES_BESIDE_CONNECTIONS;
  const files = limitOf(limits, 'Max open files');
  const space = limitOf(limits, 'Max address space');
  return [
    files >= needed
      ? { check: 'open-files', state: 'ok', what: `${limitText(files)} files may be open` }
      : {
          check: 'open-files',
          state: 'advice',
          what: `${limitText(files)} files may be open, and ${maxConnections} connections and the data need ${needed}`,
          advice: `raise the limit (ulimit -n ${needed}, or LimitNOFILE=${needed} of the unit), or lower KITHDB_MAX_CONNECTIONS`,
        },
    space === Infinity
      ? { check: 'address-space', state: 'ok', what: 'the address space is not limited' }
      : {
          check: 'address-space',
          state: 'advice',
          what: `the address space is limited to ${bytesText(space)}`,
          advice:
            'lift it (ulimit -v unlimited, no LimitAS of the unit) and limit the memory instead: the engine reserves addresses that it does not use',
        },
    checkMaps(read),
    checkOvercommit(read),
  ];
}

/** The soft limit of a line of `/proc/self/limits`; no limit where there is no such line. */
function limitOf(limits: string, name: string): number {
  const line = limits.split('\n').find((one) => one.startsWith(name)) ?? '';
  const soft = line.slice(name.length).trim().split(/\s+/)[0] ?? '';
  return /^\d+$/.test(soft) ? Number(soft) : Infinity;
}

function limitText(limit: number): string {
  return limit === Infinity ? 'any number of' : String(limit);
}

function checkMaps(read: ReadText): Finding {
  const maps = Number(read('/proc/sys/vm/max_map_count')?.trim() ?? NaN);
  if (Number.isNaN(maps)) {
    return {
      check: 'maps',
      state: 'unknown',
      what: 'the system does not say how many maps a process may have',
    };
  }
  return maps >= MAPS
    ? { check: 'maps', state: 'ok', what: `a process may have ${maps} maps` }
    : {
        check: 'maps',
        state: 'advice',
        what: `a process may have ${maps} maps, and each data file is one`,
        advice: `sysctl vm.max_map_count=${MAPS}`,
      };
}

function checkOvercommit(read: ReadText): Finding {
  const mode = read('/proc/sys/vm/overcommit_memory')?.trim();
  return mode === '2'
    ? {
        check: 'overcommit',
        state: 'advice',
        what: 'the system promises no more memory than it has (vm.overcommit_memory=2)',
        advice: 'sysctl vm.overcommit_memory=0: reserved addresses count there as used memory',
      }
    : { check: 'overcommit', state: 'ok', what: 'reserved addresses do not count as memory' };
}
