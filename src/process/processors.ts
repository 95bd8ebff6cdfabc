import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';

const CGROUPS = '/sys/fs/cgroup';

/**
 * How many processors this process may use: those that it may run on, and no more than the quota of its control group allows,
 * which Node 20 does not look at. A whole number, at least 1.
 */
export function processors(cgroups = CGROUPS, there = availableParallelism()): number {
  return Math.max(1, Math.min(there, Math.ceil(quotaOf(cgroups))));
}

/** The processor time of a control group in that of one processor; infinite where there is no limit. */
function quotaOf(cgroups: string): number {
  // Version 2 has both numbers in one file, version 1 has them in two. What is no number is no limit.
  const [quota, period] = readWords(join(cgroups, 'cpu.max')) ?? [
    ...(readWords(join(cgroups, 'cpu', 'cpu.cfs_quota_us')) ?? []),
    ...(readWords(join(cgroups, 'cpu', 'cpu.cfs_period_us')) ?? []),
  ];
  const processorsOfQuota = Number(quota) / Number(period);
  return processorsOfQuota > 0 ? processorsOfQuota : Infinity;
}

function readWords(file: string): string[] | undefined {
  try {
    return readFileSync(file, 'utf8').trim().split(/\s+/);
  } catch {
    return undefined;
  }
}
