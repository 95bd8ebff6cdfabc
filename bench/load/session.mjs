/** One measurement: a server that was started for it, and what is needed to send to it. */
import { readFileSync } from 'node:fs';

/**
 * @typedef {object} Session
 * @property {import('./generator.mjs').Generator} generator
 * @property {import('./requests.mjs').Requests} requests
 * @property {import('./targets.mjs').Server} server
 * @property {import('../../data/vector-set.mjs').VectorSet} set
 * @property {typeof import('./scale.mjs').FULL} scale
 * @property {number} seconds of each measurement
 * @property {number} memorySeconds of the scenario `memory`
 * @property {{costlyLength?: number}} shared what all servers have in common
 */

/**
 * @typedef {object} Part
 * @property {string} name
 * @property {import('./targets.mjs').StartOptions} [start]
 * @property {(session: Session) => Promise<Result>} run
 */

/**
 * @typedef {object} Result
 * @property {import('./verdict.mjs').Figure[]} figures
 * @property {string} [note] one line, for example what became of the attackers' requests
 * @property {object} [details] for the file only
 */

/**
 * @typedef {object} Scenario
 * @property {string} about one line
 * @property {boolean} [byCallers] whether it is run with both kinds of callers
 * @property {boolean} [needsTree] whether it starts or stops servers
 * @property {(scale: typeof import('./scale.mjs').FULL) => Part[]} parts
 */

/** Starts clients that attack until they are stopped. */
export function attack({ generator, server }, traffic, requests) {
  return generator.start(server, traffic, requests, { token: server.attackerToken });
}

/** The resident memory of a server in MB every 100 ms, where /proc tells; `stop` gives the first and the highest. */
export function watchMemory(pid) {
  const read = () => {
    try {
      return Math.round(
        Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) / 1024,
      );
    } catch {
      return null;
    }
  };
  const first = read();
  let highest = first;
  const timer = setInterval(() => (highest = Math.max(highest, read() ?? 0)), 100);
  return {
    stop: () => {
      clearInterval(timer);
      return { firstMb: first, highestMb: highest };
    },
  };
}

/** A process is busy that uses a third of a processor over this time; and how long it is looked at. */
const WINDOW_MS = 100;
const BUSY_SHARE = 1 / 3;
const IDLE_WINDOWS = 3;
const LONGEST_MS = 60_000;

/** Milliseconds until a server that nobody asks anything has become idle, to a tenth of a second; null where /proc does not tell. */
export async function busyAfter(pid) {
  const startedAt = performance.now();
  let busyUntil = 0;
  let used = processorMs(pid);
  for (let idle = 0; idle < IDLE_WINDOWS && busyUntil < LONGEST_MS;) {
    await new Promise((resolve) => setTimeout(resolve, WINDOW_MS));
    const now = processorMs(pid);
    if (now === null) return null;
    const isBusy = now - used > BUSY_SHARE * WINDOW_MS;
    if (isBusy) busyUntil = Math.round(performance.now() - startedAt);
    idle = isBusy ? 0 : idle + 1;
    used = now;
  }
  return busyUntil;
}

/** The processor time of a process in milliseconds, where /proc tells: to a hundredth of a second. */
function processorMs(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return (Number(fields[11]) + Number(fields[12])) * 10;
  } catch {
    return null;
  }
}
