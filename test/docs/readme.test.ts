import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { snippetsOf } from './page';
import { inScript } from './script';

const ROOT = join(__dirname, '..', '..');
const README = readFileSync(join(ROOT, 'README.md'), 'utf8');

const PACKED = ['kithdb-0.1.0.tgz', 'kithdb-engine-linux-x64-gnu-0.1.0.tgz'];
const OPTIONAL = ['kithdb-mcp-0.1.0.tgz', 'kithdb-models-0.1.0.tgz'];

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kithdb-readme-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

test('the README has fewer than 120 lines', () => {
  expect(README.trimEnd().split('\n').length).toBeLessThan(120);
});

test('the README installs kithdb and its engine of what npm run pack has written, and no optional package', () => {
  const packages = join(folder, 'kithdb-packages');
  const bin = join(folder, 'bin');
  for (const path of [packages, bin]) mkdirSync(path);
  for (const name of [...PACKED, ...OPTIONAL]) writeFileSync(join(packages, name), '');
  for (const command of ['npm', 'npx']) {
    writeFileSync(join(bin, command), `#!/bin/sh\nfor word in ${command} "$@"; do echo "$word"; done\n`);
    chmodSync(join(bin, command), 0o755);
  }
  const installing = snippetsOf(README).filter(({ code }) => code.includes('/tmp/kithdb-packages'));
  expect(installing).toHaveLength(1);
  const code = installing[0]!.code.replaceAll('/tmp/', `${folder}/`);
  // As any shell of POSIX expands it.
  const printed = execFileSync('sh', ['-e', '-c', code], {
    encoding: 'utf8',
    cwd: folder,
    env: { PATH: `${bin}:${process.env['PATH'] ?? ''}` },
  });
  const installed = printed.split('\n').filter((line) => line.endsWith('.tgz'));
  expect(installed.map((path) => basename(path)).sort()).toEqual([...PACKED].sort());
});

test('npm run pack leaves no tarballs of its packages in other versions beside those that it writes', () => {
  const others = [
    'kithdb-0.0.9.tgz',
    'kithdb-engine-linux-arm64-musl-0.1.0-rc.1.tgz',
    'kithdb-models-1.0.0.tgz',
  ];
  const foreign = ['kithdb-fork-0.0.9.tgz', 'notes.tgz', 'kithdb-0.0.9.zip'];
  const kept = [...PACKED, ...OPTIONAL, ...foreign];
  for (const name of [...kept, ...others]) writeFileSync(join(folder, name), '');
  const removed = inScript(
    'scripts/package/tarballs.mjs',
    `script.removeOtherVersions(${JSON.stringify(folder)}, '0.1.0')`,
  );
  expect(removed).toEqual(expect.arrayContaining(others));
  expect(readdirSync(folder).sort()).toEqual(kept.sort());
  expect(existsSync(join(folder, others[0]!))).toBe(false);
});
