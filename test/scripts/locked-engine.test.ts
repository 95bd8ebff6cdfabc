import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { HOST, platformOf } from '../../src/engine/platform';

const SCRIPTS = join(__dirname, '..', '..', 'scripts', 'build', 'engine-package.mjs');
const KEY = `node_modules/@kithdb/engine-${platformOf(HOST)}`;

/** `npm start` on a machine without Rust takes the engine whose integrity stands in the lock file (C11.1). */
describe('C11.1 the engine of the lock file', () => {
  let clone: string;
  beforeEach(() => {
    clone = mkdtempSync(join(tmpdir(), 'kithdb-locked-'));
    mkdirSync(join(clone, KEY), { recursive: true });
    write('package.json', { version: '1.2.3' });
  });
  afterEach(() => {
    rmSync(clone, { recursive: true });
  });

  const write = (name: string, value: object): void => {
    writeFileSync(join(clone, name), JSON.stringify(value));
  };
  const lock = (name: string, entry: object): void => {
    write(name, { packages: { [KEY]: entry } });
  };
  const INSTALLED = join('node_modules', '.package-lock.json');

  /** What an expression over the script's exports gives, as JSON. */
  function evaluated(expression: string): string {
    const code = `import * as engine from '${pathToFileURL(SCRIPTS).href}';
      try { console.log(JSON.stringify(${expression})); } catch (error) { console.log(error.message); }`;
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', code], {
      encoding: 'utf8',
    });
    expect(stderr).toBe('');
    return stdout.trim();
  }
  const names = (): string => evaluated(`engine.lockNamesEngine(${JSON.stringify(clone)})`);
  const taken = (): string => evaluated(`engine.lockedEngine(${JSON.stringify(clone)})`);

  it('is one of this version, with an integrity', () => {
    expect(names()).toBe('false');
    lock('package-lock.json', { version: '1.2.3' });
    expect(names()).toBe('false');
    lock('package-lock.json', { version: '1.2.2', integrity: 'sha512-x' });
    expect(names()).toBe('false');
    lock('package-lock.json', { version: '1.2.3', integrity: 'sha512-x' });
    expect(names()).toBe('true');
  });

  it('is taken only as npm has verified and installed it', () => {
    lock('package-lock.json', { version: '1.2.3', integrity: 'sha512-x' });
    expect(taken()).toMatch(/^npm has not installed node_modules\/@kithdb\/engine-/);
    lock(INSTALLED, { version: '1.2.3', integrity: 'sha512-y' });
    expect(taken()).toMatch(/^npm has not installed/);
    lock(INSTALLED, { version: '1.2.3', integrity: 'sha512-x' });
    expect(taken()).toBe(JSON.stringify(join(clone, KEY)));
  });

  it('is named by no clone of today: nothing is published, and whoever owned the name would run code here', () => {
    expect(evaluated('engine.lockNamesEngine()')).toBe('false');
  });
});
