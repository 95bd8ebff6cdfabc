/** One measurement: a server that was started for it, and what is needed to send to it. */
import { memoryOf, threadsOf } from '../proc.mjs';
import { atMost } from './verdict.mjs';

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
      return Math.round(memoryOf(pid).resident / 2 ** 20);
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

/** The most resident memory that a server has had, in MB, where /proc tells. */
export function peakResidentMb(pid) {
  try {
    return Math.round(memoryOf(pid).peak / 2 ** 20);
  } catch {
    return null;
  }
}

/** A client that leaves ends its work within this. */
const WORK_ENDS_MS = 50;

/** A process is busy that uses a third of a processor over this time; and how long it must not be. */
const WINDOW_MS = WORK_ENDS_MS / 2;
const BUSY_SHARE = 1 / 3;
const IDLE_WINDOWS = 8;
const LONGEST_MS = 60_000;

/**
 * Milliseconds until a server has become idle that nobody asks anything from now on, to a window; null where /proc does not
 * tell. `kithdb_reads` of `/metrics` would not do: it may be two seconds old.
 */
export async function busyAfter(pid) {
  const startedAt = performance.now();
  let busyUntil = 0;
  let [before, beganAt] = [processorMs(pid), startedAt];
  if (before === null) return null;
  for (let idle = 0; idle < IDLE_WINDOWS && busyUntil < LONGEST_MS;) {
    await new Promise((resolve) => setTimeout(resolve, WINDOW_MS));
    const [used, now] = [processorMs(pid), performance.now()];
    if (used === null) return null;
    const isBusy = spent(before, used) > BUSY_SHARE * (now - beganAt);
    if (isBusy) busyUntil = Math.round(now - startedAt);
    idle = isBusy ? 0 : idle + 1;
    [before, beganAt] = [used, now];
  }
  return busyUntil;
}

/** {@link busyAfter} beside its bound. */
export function busyFigure(busyMs) {
  const bounds = busyMs === null ? {} : { must: WORK_ENDS_MS };
  return atMost('busy after the attackers were told to go', busyMs, 'ms', bounds);
}

/**
 * The processor time of each thread of a process in milliseconds, where /proc tells.
 *
 * @returns {Map<string, number> | null}
 */
function processorMs(pid) {
  try {
    return new Map(threadsOf(pid).map(({ id, ms }) => [id, ms]));
  } catch {
    return null;
  }
}

/** What all threads have used between two looks; one that has begun since counts whole. */
function spent(before, now) {
  let total = 0;
  for (const [thread, ms] of now) total += ms - (before.get(thread) ?? 0);
  return total;
}
