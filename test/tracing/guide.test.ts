import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { spawn } from 'node:child_process';
import { until } from '../until';
import { snippetsOf } from '../docs/page';

const ROOT = join(__dirname, '..', '..');
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';

it('the file of the guide traces a server that is started with it', async () => {
  // Below the packages of the tests, as a user's file is below those that were installed.
  const folder = mkdtempSync(join(ROOT, '.build', 'tracing-'));
  const guide = readFileSync(join(ROOT, 'docs', 'guides', 'tracing.md'), 'utf8');
  const code = snippetsOf(guide).find(({ name }) => name === 'tracing.mjs')?.code ?? '';
  writeFileSync(join(folder, 'tracing.mjs'), code);
  const args = [
    join(ROOT, 'bin', 'kithdb.js'),
    '--port',
    '0',
    '--data-dir',
    'data',
    '--token-store',
    'memory',
  ];
  const server = spawn(process.execPath, args, {
    cwd: folder,
    env: { ...process.env, NODE_OPTIONS: '--import ./tracing.mjs' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  let logged = '';
  server.stdout.setEncoding('utf8').on('data', (text: string) => (printed += text));
  server.stderr.setEncoding('utf8').on('data', (text: string) => (logged += text));
  try {
    await until(() => /"url":"([^"]+)"/.test(logged));
    const [, url = ''] = /"url":"([^"]+)"/.exec(logged) ?? [];
    const headers = { traceparent: `00-${TRACE}-00f067aa0ba902b7-01` };
    await fetch(`${url}/healthz`, { headers });
    await until(
      () => printed.includes(`traceId: '${TRACE}'`) && printed.includes("'http.route': '/healthz'"),
    );
  } finally {
    server.kill();
    await until(() => server.exitCode !== null);
    rmSync(folder, { recursive: true, force: true });
  }
  expect(logged).toContain(`"trace_id":"${TRACE}"`);
  expect(server.exitCode).toBe(0);
});
