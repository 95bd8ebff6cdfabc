import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const root = join(__dirname, '..', '..');

// A fresh clone has no node_modules, and these commands install them: nothing that they load may need a package.
describe('the commands of a fresh clone, before the packages are installed', () => {
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

  it('npm test reads its arguments', () => {
    const { status, stderr } = runScript('test.mjs', 'no-such-step');
    expect(stderr).toMatch(/^No such step: no-such-step/);
    expect(status).toBe(2);
  });

  it('npm run test:long reads its arguments', () => {
    const { status, stderr } = runScript('test-long.mjs', 'no-such-suite');
    expect(stderr).toMatch(/^No such suite: no-such-suite/);
    expect(status).toBe(2);
  });

  it('npm start and npm run build load what installs the packages', () => {
    const url = pathToFileURL(join(clone, 'scripts', 'build', 'everything.mjs')).href;
    const { status, stderr } = run(process.execPath, ['--input-type=module', '-e', `await import('${url}')`]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });

  function runScript(script: string, ...args: string[]) {
    return run(process.execPath, [join(clone, 'scripts', script), ...args]);
  }
});

function run(command: string, args: string[]) {
  return spawnSync(command, args, { encoding: 'utf8', cwd: root });
}
