import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';

/** Where control groups are mounted: those of version 2, and those of version 1 that limit processor time. */
const CGROUPS = 'sys/fs/cgroup';
const CGROUPS_1 = 'sys/fs/cgroup/cpu';

/**
 * How many processors this process may use: those that it may run on, and no more than the quotas of its control group and
 * of those above it allow, which Node 20 does not look at. A whole number, at least 1. `root` is `/`, but in tests.
 */
export function processors(root = '/', there = availableParallelism()): number {
  return Math.max(1, Math.min(there, Math.ceil(quotaOf(root))));
}

/** The least processor time that a group of this process has, in that of one processor; infinite where there is no limit. */
function quotaOf(root: string): number {
  const { v1, v2 } = groupsOf(root);
  // Version 2 has both numbers in one file, version 1 has them in two.
  const quotas = foldersOf(v2).map((folder) => readWords(join(root, CGROUPS, folder, 'cpu.max')));
  const quotas1 = foldersOf(v1).map((folder) =>
    ['cpu.cfs_quota_us', 'cpu.cfs_period_us'].flatMap((file) =>
      readWords(join(root, CGROUPS_1, folder, file)),
    ),
  );
  return Math.min(...[...quotas, ...quotas1].map(processorsOf));
}

/** The paths of the groups that this process is in: of version 2, and of version 1 the one that limits processor time. */
function groupsOf(root: string): { readonly v1: string; readonly v2: string } {
  const groups = { v1: '/', v2: '/' };
  for (const line of readText(join(root, 'proc/self/cgroup')).split('\n')) {
    // The number of the hierarchy, its controllers, the path.
    const [, hierarchy, controllers = '', path = '/'] = /^(\d+):([^:]*):(.*)$/.exec(line) ?? [];
    if (hierarchy === '0') groups.v2 = path;
    else if (controllers.split(',').includes('cpu')) groups.v1 = path;
  }
  return groups;
}

/**
 * The folders of a group and of all above it, up to the mount. In a container the mount often has its own group at its top,
 * while the path is that of the host: then the folders below it do not exist.
 */
function foldersOf(path: string): readonly string[] {
  const names = path.split('/').filter((name) => name !== '');
  // A group outside what the mount has.
  if (names.includes('..')) return [''];
  return [...names.keys(), names.length].map((depth) => names.slice(0, depth).join('/'));
}

/** What a quota and its period allow. What is no number is no limit. */
function processorsOf([quota, period]: readonly string[]): number {
  const count = Number(quota) / Number(period);
  return count > 0 ? count : Infinity;
}

function readWords(file: string): string[] {
  return readText(file).trim().split(/\s+/);
}

/** The text of a file; an empty one where it does not exist. */
function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
