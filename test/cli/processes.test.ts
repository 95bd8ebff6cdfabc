import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServerChild } from '../crash/server-child';
import { kithdb } from '../operations/command';
import { until } from '../until';

const LAUNCHER = join(__dirname, '..', '..', 'bin', 'kithdb.js');

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kithdb-processes-'));
});
afterEach(async () => {
  await ServerChild.killAll();
  rmSync(folder, { recursive: true });
});

/** A command whose streams the test has. */
function started(...argv: string[]) {
  const child = spawn(process.execPath, [LAUNCHER, ...argv], {
    env: { PATH: process.env['PATH'] },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let err = '';
  child.stderr.on('data', (piece: Buffer) => (err += piece.toString()));
  const ended = new Promise<{ code: number | null; err: string }>((resolve) => {
    child.once('close', (code) => {
      resolve({ code, err });
    });
  });
  return { child, ended };
}

describe('the command as a process', () => {
  it('logs without colours into a pipe, whatever standard output is', async () => {
    const env = { KITHDB_LOG_FORMAT: 'pretty', KITHDB_LOG_LEVEL: 'info', FORCE_COLOR: '1' };
    const server = new ServerChild(folder, { env });
    await server.ready;
    server.signal('SIGTERM');
    expect((await server.exit).code).toBe(0);
    expect(server.output).toMatch(/INFO.*listening/);
    expect(server.output).not.toContain('\u001b');
  });

  it('ends without a stack trace when nobody reads its output any more', async () => {
    const { child, ended } = started('help', 'commands');
    child.stdout.destroy();
    expect(await ended).toEqual({ code: 1, err: '' });
  });

  it('removes the collection of a benchmark that is interrupted', async () => {
    const dataDir = join(folder, 'data');
    mkdirSync(dataDir);
    const sizes = ['--points', '200', '--dimensions', '8', '--seconds', '3600'];
    const { child, ended } = started('bench', '--data-dir', dataDir, ...sizes);
    child.stdout.resume();
    await until(async () =>
      (await kithdb('collections', '--data-dir', dataDir)).out.includes('kithdb-bench-'),
    );
    child.kill('SIGINT');
    expect(await ended).toEqual({ code: 1, err: 'kithdb: Interrupted: nothing is left of it\n' });
    expect((await kithdb('collections', '--data-dir', dataDir)).out).toBe('There are no collections.\n');
  });
});
