import fs, { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LineWriter } from '../../src/http/line-writer';
import { isNoLinux, itUnless } from '../missing';
import { sleep, until } from '../until';

const LAUNCHER = join(__dirname, '..', '..', 'bin', 'kithdb.js');

let folder: string;
let children: ChildProcess[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kithdb-log-'));
});

afterEach(() => {
  jest.restoreAllMocks();
  children.forEach((child) => child.kill('SIGKILL'));
  children = [];
  rmSync(folder, { recursive: true, force: true });
});

describe('LineWriter', () => {
  const lossLine = (lines: number): string => `lost ${lines}\n`;

  /** Makes every write to a file fail until the test restores it. */
  function failing(): { stop: () => void } {
    let fails = true;
    const error = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
    const { write, writeSync } = fs;
    jest.spyOn(fs, 'write').mockImplementation((...args: Parameters<typeof write>) => {
      if (fails) {
        setImmediate(args.at(-1) as (failure: Error) => void, error);
      } else {
        write(...args);
      }
    });
    jest.spyOn(fs, 'writeSync').mockImplementation((...args: Parameters<typeof writeSync>) => {
      if (fails) {
        throw error;
      }
      return writeSync(...args);
    });
    return { stop: () => (fails = false) };
  }

  it('writes lines in their order, those that wait at the end included', async () => {
    const file = openSync(join(folder, 'log'), 'a');
    const writer = new LineWriter(file, lossLine);
    const lines = Array.from({ length: 2000 }, (_, at) => `line ${at} ${'ü'.repeat(at % 90)}\n`);
    lines.slice(0, 1000).forEach((line) => {
      writer.write(line);
    });
    await until(() => readFileSync(join(folder, 'log'), 'utf8') === lines.slice(0, 1000).join(''));
    lines.slice(1000).forEach((line) => {
      writer.write(line);
    });
    writer.flush();
    await until(() => readFileSync(join(folder, 'log'), 'utf8').length === lines.join('').length);
    closeSync(file);
  });

  it('keeps lines that cannot be written, writes them when there is room again, and reports how many were dropped', async () => {
    const file = openSync(join(folder, 'log'), 'a');
    const disk = failing();
    const writer = new LineWriter(file, lossLine);
    const long = `${'x'.repeat(1024 * 1024 - 1)}\n`;
    for (let line = 0; line < 7; line += 1) {
      writer.write(long);
    }
    await until(() => jest.mocked(fs.write).mock.calls.length > 1);
    disk.stop();
    await until(() => readFileSync(join(folder, 'log'), 'utf8').endsWith('lost 2\n'));
    expect(readFileSync(join(folder, 'log'))).toHaveLength(5 * long.length + 'lost 2\n'.length);
    closeSync(file);
  });
});

describe('a server whose output cannot be written', () => {
  const full = itUnless(isNoLinux).each(['json', 'pretty']);

  full('serves and stops as it should (%s)', async (format) => {
    const script = join(__dirname, 'server-process.cjs');
    const device = openSync('/dev/full', 'w');
    const child = spawn(
      process.execPath,
      [script, '--port', '0', '--data-dir', folder, '--log-format', format],
      {
        env: { PATH: process.env['PATH'], KITHDB_TOKEN_STORE: 'memory' },
        stdio: ['ignore', device, device, 'ipc'],
      },
    );
    closeSync(device);
    children.push(child);
    const [port] = (await once(child, 'message')) as [number];
    for (let request = 0; request < 20; request += 1) {
      expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200);
      await sleep(20);
    }
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
  });

  itUnless(isNoLinux)('serves and stops as it should (as a command)', async () => {
    const device = openSync('/dev/full', 'w');
    const child = spawn(process.execPath, [LAUNCHER, 'serve', '--port', '0', '--data-dir', folder], {
      env: { PATH: process.env['PATH'], KITHDB_TOKEN_STORE: 'memory', KITHDB_LOG_FORMAT: 'json' },
      stdio: ['ignore', device, 'pipe'],
    });
    closeSync(device);
    children.push(child);
    let logged = '';
    child.stderr?.on('data', (piece: Buffer) => (logged += piece.toString()));
    const isReady = async (): Promise<boolean> => {
      const url = /"url":"([^"]+)"/.exec(logged)?.[1];
      return url !== undefined && (await fetch(`${url}/readyz`).catch(() => undefined))?.status === 200;
    };
    await until(async () => child.exitCode !== null || (await isReady()));
    // The line that it prints is written at about this time, and the error comes after it.
    await sleep(300);
    expect([child.exitCode, await isReady()]).toEqual([null, true]);
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
  });
});
