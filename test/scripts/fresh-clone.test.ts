import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const root = join(__dirname, '..', '..');

let clone: string;

beforeAll(() => {
  clone = mkdtempSync(join(tmpdir(), 'kithdb-fresh-clone-'));
  // The files of the working tree, so that a change is tested before it is committed.
  for (const file of run('git', ['ls-files', '-z']).stdout.split('\0').filter(Boolean)) {
    if (existsSync(join(root, file))) cpSync(join(root, file), join(clone, file));
  }
});

afterAll(() => {
  rmSync(clone, { recursive: true, force: true });
});

// A fresh clone has no node_modules, and these commands install them: nothing that they load may need a package.
describe('the commands of a fresh clone, before the packages are installed', () => {
  it('npm test reads its arguments', () => {
    const { status, stderr } = runScript('test.mjs', ['no-such-step']);
    expect(stderr).toMatch(/^No such step: no-such-step/);
    expect(status).toBe(2);
  });

  it('npm run test:long reads its arguments', () => {
    const { status, stderr } = runScript('test-long.mjs', ['no-such-suite']);
    expect(stderr).toMatch(/^No such suite: no-such-suite/);
    expect(status).toBe(2);
  });

  it('npm start and npm run build load what installs the packages', () => {
    const url = pathToFileURL(join(clone, 'scripts', 'build', 'everything.mjs')).href;
    const { status, stderr } = run(process.execPath, ['--input-type=module', '-e', `await import('${url}')`]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });

  // With Node 22.13 or newer the state of sqlite3 was read from its package.
  it('what is out of date is known', () => {
    const url = pathToFileURL(join(clone, 'scripts', 'build', 'everything.mjs')).href;
    const script = `console.log((await import('${url}')).outOfDate().join())`;
    const { stdout, stderr } = run(process.execPath, ['--input-type=module', '-e', script]);
    expect({ stdout: stdout.trim(), stderr }).toEqual({
      stdout: 'packages,engine,TypeScript,description,console,sqlite3',
      stderr: '',
    });
  });
});

// What compiles the engine takes minutes. With a package of it that is not there, whoever reaches that step fails at once.
describe('npm start of a fresh clone, before anything is compiled', () => {
  const env = { ...process.env, KITHDB_ENGINE_PACKAGE: '/no/such/package.tgz', KITHDB_PORT: undefined };

  beforeAll(() => {
    symlinkSync(join(root, 'node_modules'), join(clone, 'node_modules'), 'junction');
  });

  it('C11.1 refuses flags that do not exist and values that are wrong', () => {
    const { status, stdout, stderr } = start('--prot', '7000', '--data-dir', 'data', '--log-level', 'loud');
    expect(stderr).toMatch(/Unknown flag --prot\. Did you mean --port\?/);
    expect(stderr).toMatch(/--log-level must be .*not "loud"/);
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
  });

  it('C11.1 answers --help', () => {
    expect(start('serve', '--help')).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('--data-dir') as string,
    });
  });

  it('goes on to the build with right flags', () => {
    const { status, stderr } = start('--port', '0');
    expect(stderr).toMatch(/no such package|package\.tgz/i);
    expect(status).toBe(1);
  });

  function start(...flags: string[]) {
    return runScript('start.mjs', flags, env);
  }
});

function runScript(script: string, args: readonly string[], env = process.env) {
  return run(process.execPath, [join(clone, 'scripts', script), ...args], env);
}

function run(command: string, args: readonly string[], env = process.env) {
  return spawnSync(command, args, { encoding: 'utf8', cwd: root, env });
}
