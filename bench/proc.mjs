/** What Linux tells of a process in `/proc`. On other systems each of these throws. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The memory of a process in bytes: resident, the most that was, and what of the resident one no file has.
 *
 * @param {number} pid
 */
export function memoryOf(pid) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const bytes = (field) => Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(status)[1]) * 1024;
  return { resident: bytes('VmRSS'), peak: bytes('VmHWM'), anonymous: bytes('RssAnon') };
}

/**
 * The processor time that a process has used, that of its ended threads included, in microseconds: to a hundredth of a second.
 *
 * @param {number} pid
 */
export function processorUsOf(pid) {
  return 1000 * statMs(readFileSync(`/proc/${pid}/stat`, 'utf8'));
}

/**
 * The threads of a process that have not ended, with the processor time that each has used.
 *
 * @param {number} pid
 * @returns {{id: string, name: string, ms: number}[]}
 */
export function threadsOf(pid) {
  const tasks = `/proc/${pid}/task`;
  return readdirSync(tasks).flatMap((id) => {
    const folder = join(tasks, id);
    try {
      return [{ id, name: readFileSync(join(folder, 'comm'), 'utf8').trim(), ms: threadMs(folder) }];
    } catch {
      // It has ended since.
      return [];
    }
  });
}

/** Nanoseconds by the scheduler, or hundredths of a second where it does not count them. */
function threadMs(folder) {
  if (existsSync(`${folder}/schedstat`)) {
    return Number(readFileSync(`${folder}/schedstat`, 'utf8').split(' ')[0]) / 1e6;
  }
  return statMs(readFileSync(`${folder}/stat`, 'utf8'));
}

/**
 * How often threads of a process have waited for a page that was not in memory.
 *
 * @param {number} pid
 */
export function majorFaultsOf(pid) {
  return Number(statFields(readFileSync(`/proc/${pid}/stat`, 'utf8'))[9]);
}

/** User and system time of a line of `stat`. */
function statMs(stat) {
  const fields = statFields(stat);
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** What stands in a line of `stat` from the state on. The name before it may hold spaces and brackets. */
function statFields(stat) {
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}
