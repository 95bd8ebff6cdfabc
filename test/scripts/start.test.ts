import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inScript } from '../docs/script';
import { isNoPosix, itUnless, type Missing } from '../missing';
import { until } from '../until';

const ROOT = join(__dirname, '..', '..');

/** Why a start would build first: other tests use what it would replace. */
function whyNotBuilt(): Missing {
  const stale = inScript('scripts/build/everything.mjs', 'script.outOfDate()') as string[];
  return stale.length === 0 ? undefined : `not built, or out of date: ${stale.join(', ')}`;
}

let folder: string;
let child: ChildProcess | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kithdb-start-'));
});
afterEach(() => {
  // What npm started is in its group; all of it is gone unless the test failed.
  if (child?.exitCode === null) process.kill(-child.pid!, 'SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

itUnless(isNoPosix ?? whyNotBuilt())(
  'C11.1, C11.3 npm start serves with the flags behind the dashes, builds nothing that is up to date, and ends on SIGTERM',
  async () => {
    const npm = join(process.execPath, '..', 'npm');
    const start = ['--prefix', ROOT, 'start', '--', '--port', '0', '--data-dir', 'data'];
    const started = spawn(npm, start, {
      ...{ cwd: folder, detached: true },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child = started;
    let printed = '';
    for (const stream of [started.stdout, started.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => (printed += text));
    }
    const ended = new Promise<number | null>((resolve) => started.once('close', resolve));
    const ready = / ready on (\S+) in /;
    await until(() => ready.test(printed) || started.exitCode !== null, 50);
    const url = ready.exec(printed)?.[1];
    if (url === undefined) throw new Error(`npm start ended with ${String(started.exitCode)}:\n${printed}`);
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    // Relative paths start from where npm was called.
    expect(existsSync(join(folder, 'data', 'log'))).toBe(true);
    started.kill('SIGTERM');
    expect(await ended).toBe(0);
    await expect(fetch(`${url}/readyz`)).rejects.toThrow();
    expect(printed).not.toMatch(/Installing|Compiling|Building/);
  },
);
