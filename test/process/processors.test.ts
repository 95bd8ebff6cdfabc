import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { processors } from '../../src/process/processors';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kithdb-processors-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

/** The folder of the groups of version 2, and of those of version 1 that limit processor time. */
const V2 = 'sys/fs/cgroup';
const V1 = 'sys/fs/cgroup/cpu';
const OWN = 'proc/self/cgroup';

type Files = Readonly<Record<string, string>>;

/** The files of a group of version 1 with a quota, in a period of 100 ms. */
const quota1 = (group: string, quota: number): Files => ({
  [`${V1}${group}/cpu.cfs_quota_us`]: `${quota}\n`,
  [`${V1}${group}/cpu.cfs_period_us`]: '100000\n',
});

function processorsWith(files: Files): number {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return processors(folder, 8);
}

it.each<[string, Files, number]>([
  ['without control groups', {}, 8],
  ['without a quota', { [`${V2}/cpu.max`]: 'max 100000\n' }, 8],
  ['with a quota', { [`${V2}/cpu.max`]: '300000 100000\n' }, 3],
  ['with a part of a processor', { [`${V2}/cpu.max`]: '150000 100000\n' }, 2],
  ['with little', { [`${V2}/cpu.max`]: '5000 100000\n' }, 1],
  ['with more than there are', { [`${V2}/cpu.max`]: '9900000 100000\n' }, 8],
  ['with a file that says nothing', { [`${V2}/cpu.max`]: '\n' }, 8],
  ['of version 1', quota1('', 200_000), 2],
  ['of version 1 without a quota', quota1('', -1), 8],
])('C11.6 the processors of a process %s', (_, files, count) => {
  expect(processorsWith(files)).toBe(count);
});

const UNIT = { [OWN]: '0::/system.slice/kithdb.service\n' };
const POD_1 = { [OWN]: '5:memory:/other\n4:cpu,cpuacct:/pods/one\n1:name=systemd:/other\n0::/other\n' };

it.each<[string, Files, number]>([
  ['its own', { ...UNIT, [`${V2}/system.slice/kithdb.service/cpu.max`]: '200000 100000\n' }, 2],
  ['the one above', { ...UNIT, [`${V2}/system.slice/cpu.max`]: '200000 100000\n' }, 2],
  [
    'its own, where the one above has more',
    {
      ...UNIT,
      [`${V2}/system.slice/kithdb.service/cpu.max`]: '200000 100000\n',
      [`${V2}/system.slice/cpu.max`]: '400000 100000\n',
    },
    2,
  ],
  [
    'the one above, where its own has more',
    {
      ...UNIT,
      [`${V2}/system.slice/kithdb.service/cpu.max`]: 'max 100000\n',
      [`${V2}/system.slice/cpu.max`]: '300000 100000\n',
      [`${V2}/cpu.max`]: '500000 100000\n',
    },
    3,
  ],
  ['none: another has it', { ...UNIT, [`${V2}/system.slice/other.service/cpu.max`]: '200000 100000\n' }, 8],
  ['the one at the top of a container', { ...UNIT, [`${V2}/cpu.max`]: '200000 100000\n' }, 2],
  [
    'the one at the top, itself being beside it',
    { [OWN]: '0::/../b\n', [`${V2}/cpu.max`]: '200000 100000\n' },
    2,
  ],
  ['none: it is beside the top', { [OWN]: '0::/../b\n', 'sys/fs/b/cpu.max': '200000 100000\n' }, 8],
  ['its own, of version 1', { ...POD_1, ...quota1('/pods/one', 300_000), ...quota1('/pods', -1) }, 3],
  [
    'the one above, of version 1',
    { ...POD_1, ...quota1('/pods/one', 300_000), ...quota1('/pods', 150_000) },
    2,
  ],
  ['none: another of version 1 has it', { ...POD_1, ...quota1('/other', 200_000) }, 8],
])('C11.6 the group whose quota limits a process is %s', (_, files, count) => {
  expect(processorsWith(files)).toBe(count);
});
