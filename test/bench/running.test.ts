import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const ROOT = join(__dirname, '..', '..');
const DATA = join(ROOT, 'data', 'debian-small');
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kithdb-bench-run-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

describe('the flags of the benchmarks', () => {
  it.each([
    ['rest', '--load-connections', '0'],
    ['rest', '--batch', '0'],
    ['rest', '--batch', '1.5'],
    ['rest', '--seconds', 'x'],
    ['rest', '--ef', '64,few'],
    ['rest', '--url', 'http://127.0.0.1:1'],
    ['rest', '--url', 'nonsense'],
    ['cluster', '--parts', 'searches,nothing'],
    ['cluster', '--rounds', '1'],
    ['cluster', '--rows', '0'],
    ['disk-use', '--rows', '0'],
    ['durable', '--folder', '/nowhere'],
    ['durable', '--rounds', '0'],
    ['target-recall', '--data', 'glove,normal:0x3'],
    ['target-recall', '--percent', '101'],
    ['target-recall', '--filters', 'none'],
    ['target-recall', '--runs', '0'],
    ['load-suite', '--scenarios', 'attack-1,attack-3'],
    ['load-suite', '--callers', 'all'],
    ['load-suite', '--seconds', '0'],
    ['load-suite', '--tree', '/nowhere'],
    ['load-suite', '--url', 'https://127.0.0.1:1'],
    ['load-suite', '--against', 'http://127.0.0.1:1'],
  ])('%s: %s %s is refused, and named', (bench, flag, value) => {
    const { status, stderr, stdout } = spawnSync(
      process.execPath,
      [join(ROOT, 'bench', `${bench}.mjs`), '--data', DATA, flag, value],
      { encoding: 'utf8', timeout: 120_000, env: { PATH: process.env['PATH'], TMPDIR: folder } },
    );
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toMatch(new RegExp(`^${flag} ${value}: `));
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe('a benchmark that is interrupted', () => {
  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const)(
    'by %s ends its server, whose settings are its own, and leaves nothing',
    async (signal, code) => {
      const child = spawn(
        process.execPath,
        [join(ROOT, 'bench', 'rest.mjs'), '--data', DATA, '--seconds', '60'],
        {
          // With these of its caller the server would ask for credentials.
          env: {
            ...process.env,
            TMPDIR: folder,
            KITHDB_AUTH_ENABLED: 'true',
            KITHDB_GENERATE_ADMIN_PASSWORD: 'true',
          },
          stdio: ['ignore', 'pipe', 'inherit'],
        },
      );
      const closed = once(child, 'close');
      await Promise.race([once(child.stdout, 'data'), closed]);
      child.kill(signal);
      expect(await closed).toEqual([code, null]);
      expect(readdirSync(folder).filter((name) => name.startsWith('kithdb-bench'))).toEqual([]);
    },
  );
});
