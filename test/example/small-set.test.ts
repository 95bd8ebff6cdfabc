import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const root = join(__dirname, '..', '..');

/** What the benchmark writes with `--out`, as far as it is checked here. */
interface BenchReport {
  ingest: { points: number };
  search: { ef: string; recall: number }[];
  plans: { scan: number; wide_walk: number; two_hop_walk: number; hops: number };
  filtered: { matching: string; recall: number }[];
  underLoad: { upsertedPointsPerSecond: number };
  restart: { exitCode: number };
}

/** The built server, as a user starts it. */
async function serve(dataDir: string): Promise<{ url: string; stop: () => Promise<number | null> }> {
  const server: ChildProcess = spawn(
    process.execPath,
    [join(root, 'bin', 'kithdb.js'), '--port', '0', '--data-dir', dataDir, '--log-level', 'warn'],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  );
  const exited = new Promise<number | null>((resolve) => server.once('close', resolve));
  const url = await new Promise<string>((resolve, reject) => {
    let text = '';
    server.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      const line = text.split('\n').find((candidate) => /\bready\b/i.test(candidate));
      const address = /https?:\/\/[\w.-]+:\d+/.exec(line ?? '');
      if (address) resolve(address[0]);
    });
    server.once('close', () => {
      reject(new Error(`the server ended before it was ready:\n${text}`));
    });
  });
  return {
    url,
    stop: () => {
      server.kill('SIGTERM');
      return exited;
    },
  };
}

describe('the small data set', () => {
  const folder = mkdtempSync(join(tmpdir(), 'kithdb-example-'));

  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  test('the example loads it, answers its questions, and may be run again', async () => {
    const server = await serve(join(folder, 'example'));
    const script = join(root, 'scripts', 'example.mjs');
    const first = await run(process.execPath, [script, '--url', server.url]);
    const second = await run(process.execPath, [script, '--url', server.url]);
    const exitCode = await server.stop();

    for (const { stdout } of [first, second]) {
      expect(stdout).toContain('2000 package descriptions are stored');
      // Best answers: without a filter, and under a keyword, a tag, a range and a negation.
      expect(stdout).toMatch(/files change”\n +0\.65 +reflex /);
      expect(stdout).toMatch(/python or perl\n +0\.60 +python3-py-stringmatching /);
      expect(stdout).toMatch(/interface::x11\n +0\.60 +biloba /);
      expect(stdout).toMatch(/at most 100\n +0\.70 +bittwist /);
      expect(stdout).toMatch(/nor libdevel\n +0\.80 +qtractor /);
    }
    expect(exitCode).toBe(0);
  });

  test('the example says how to start a server when there is none', async () => {
    const script = join(root, 'scripts', 'example.mjs');
    await expect(run(process.execPath, [script, '--url', 'http://127.0.0.1:9'])).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining('npm start') as string,
    });
  });

  test('the example says which flags it has, and that a token is not known', async () => {
    const server = await serve(join(folder, 'guarded'));
    const script = join(root, 'scripts', 'example.mjs');
    const call = (path: string, method: string, body: object, token = ''): Promise<Response> =>
      fetch(server.url + path, {
        method,
        headers: { 'content-type': 'application/json', ...(token && { authorization: `Bearer ${token}` }) },
        body: JSON.stringify(body),
      });
    const password = { password: 'Correct-Horse-7-Battery' };
    await call('/auth/admin', 'POST', password);
    const { token } = (await (await call('/auth/admin/login', 'POST', password)).json()) as { token: string };
    await call('/auth/enabled', 'PATCH', { enabled: true }, token);

    const failure = async (...flags: string[]): Promise<unknown> =>
      run(process.execPath, [script, ...flags]).catch((error: unknown) => error);
    const [none, unknown, misspelt, help] = await Promise.all([
      failure('--url', server.url),
      failure('--url', server.url, '--token', 'nonsense'),
      failure('--tokn', 'x'),
      run(process.execPath, [script, '--help']),
    ]);
    await server.stop();

    expect(none).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('pass one with --token') as string,
    });
    expect(unknown).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('not know this token') as string,
    });
    expect(misspelt).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/'--tokn'[^]*--token TOKEN/) as string,
    });
    expect(help.stdout).toContain('--token TOKEN');
  });

  test.each(['rest', 'index', 'durable'])('bench:%s says what it needs', async (name) => {
    const script = join(root, 'bench', `${name}.mjs`);
    const failure = async (...flags: string[]): Promise<unknown> =>
      run(process.execPath, [script, ...flags]).catch((error: unknown) => error);

    const nowhere = join(folder, 'nowhere');
    const [help, none, missing] = await Promise.all([
      run(process.execPath, [script, '--help']),
      failure(),
      failure('--data', nowhere),
    ]);
    expect(help).toMatchObject({ stderr: '', stdout: expect.stringContaining('--data FOLDER') as string });
    expect(none).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/--data FOLDER is required; data\/debian-small/) as string,
    });
    expect(missing).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        new RegExp(`^${nowhere} (has no meta\\.json|is no folder)[^\\n]*\\n$`),
      ) as string,
    });
  });

  test('exact search over REST finds every true neighbour, the graph nearly all, and a restart is clean', async () => {
    const out = join(folder, 'report.json');
    await run(process.execPath, [
      join(root, 'bench', 'rest.mjs'),
      ...['--data', join(root, 'data', 'debian-small')],
      ...['--full-scan-kb', '10', '--ef', 'exact,64', '--connections', '2'],
      ...['--seconds', '0.05', '--out', out],
      ...['--filtered', '--search-under-load'],
    ]);
    const report = JSON.parse(readFileSync(out, 'utf8')) as BenchReport;

    expect(report.ingest.points).toBe(2000);
    expect(report.search.find(({ ef }) => ef === 'exact')?.recall).toBe(1);
    expect(report.search.find(({ ef }) => ef === '64')?.recall).toBeGreaterThanOrEqual(0.97);
    // So few points are walked to only where the search is narrow: see the planner's costs.
    expect(report.plans).toMatchObject({ scan: 0, two_hop_walk: 0 });
    expect(report.plans.wide_walk).toBeGreaterThan(100);
    expect(report.plans.hops).toBeGreaterThan(report.plans.wide_walk);
    expect(report.filtered.map(({ matching }) => matching)).toEqual(['50 %', '10 %', '1 %', '0.1 %']);
    expect(Math.min(...report.filtered.map(({ recall }) => recall))).toBeGreaterThanOrEqual(0.95);
    expect(report.underLoad.upsertedPointsPerSecond).toBeGreaterThan(0);
    expect(report.restart.exitCode).toBe(0);
  });
});
