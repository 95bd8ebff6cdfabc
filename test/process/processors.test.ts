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

it.each<[string, Readonly<Record<string, string>>, number]>([
  ['without control groups', {}, 8],
  ['without a quota', { 'cpu.max': 'max 100000\n' }, 8],
  ['with a quota', { 'cpu.max': '300000 100000\n' }, 3],
  ['with a part of a processor', { 'cpu.max': '150000 100000\n' }, 2],
  ['with little', { 'cpu.max': '5000 100000\n' }, 1],
  ['with more than there are', { 'cpu.max': '9900000 100000\n' }, 8],
  ['with a file that says nothing', { 'cpu.max': '\n' }, 8],
  ['of version 1', { 'cpu/cpu.cfs_quota_us': '200000\n', 'cpu/cpu.cfs_period_us': '100000\n' }, 2],
  [
    'of version 1 without a quota',
    { 'cpu/cpu.cfs_quota_us': '-1\n', 'cpu/cpu.cfs_period_us': '100000\n' },
    8,
  ],
])('C11.6 the processors of a process %s', (_, files, count) => {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  expect(processors(folder, 8)).toBe(count);
});
