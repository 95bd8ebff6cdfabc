import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { inModule } from './module';

const COLLECTIONS = join(
  __dirname,
  '..',
  '..',
  'crates/engine/tests/data/release-0.1.0/directory/collections',
);
/** Headers of files, and what aligns extents to 64 bytes. */
const MAX_SLACK = 0.5;

interface Found {
  points: number;
  payloads: number;
  rows: number;
  links: number;
  codes: number;
  files: number[];
}

const folders = readdirSync(COLLECTIONS, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => join(COLLECTIONS, name))
  .filter((folder) => readdirSync(folder).includes('MANIFEST'));

function extentBytes(folder: string): Found {
  const path = JSON.stringify(join(folder, 'MANIFEST'));
  return inModule(
    'manifest.mjs',
    `return m.extentBytes(process.getBuiltinModule('node:fs').readFileSync(${path}));`,
  ) as Found;
}

describe('the bytes that a manifest names', () => {
  it.each(folders)('are in the files of %s, which are those that it names', (folder) => {
    const { files, ...kinds } = extentBytes(folder);
    const names = readdirSync(folder).filter((name) => name.endsWith('.data'));
    const numbers = names.map((name) => Number.parseInt(name, 16)).sort((a, b) => a - b);
    expect([...files].sort((a, b) => a - b)).toEqual(numbers);
    const used = Object.values(kinds).reduce((sum, bytes) => sum + bytes, 0);
    const all = names.reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
    expect(used).toBeLessThanOrEqual(all);
    expect(used).toBeGreaterThan(all * (1 - MAX_SLACK));
  });

  it('are of every kind', () => {
    const found = folders.map(extentBytes);
    for (const kind of ['points', 'payloads', 'rows', 'links', 'codes'] as const)
      expect(found.some((one) => one[kind] > 0)).toBe(true);
  });
});
