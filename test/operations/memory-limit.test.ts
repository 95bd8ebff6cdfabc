import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { loadConfig, readFlags } from '../../src/config';
import { startServer, type RunningServer } from '../../src/server';
import { bytesInFlight } from '../../src/process/memory';

const MIB = 1024 * 1024;
const dataDir = mkdtempSync(join(tmpdir(), 'kithdb-memory-limit-'));
afterAll(() => {
  rmSync(dataDir, { recursive: true });
});

async function serve(...flags: string[]): Promise<RunningServer> {
  const commandLine = readFlags(['--port', '0', '--data-dir', dataDir, ...flags]);
  const env = { KITHDB_TOKEN_STORE: 'memory' };
  const server = await startServer(loadConfig({ commandLine, env, terminal: false }), {
    log: { log: pino({ level: 'silent' }), flush: () => undefined },
    print: () => undefined,
    ownsProcess: false,
  });
  await server.ready;
  return server;
}

async function call(server: RunningServer, method: string, path: string, body?: unknown) {
  const response = await fetch(`${server.url}${path}`, {
    method,
    headers: { 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { code: response.status, retryAfter: response.headers.get('retry-after'), text };
}

const points = (from: number, to: number) =>
  Array.from({ length: to - from }, (_, at) => ({
    id: from + at,
    vector: [1, 2, 3, from + at],
    payload: { n: at },
  }));

it('C1.5 writes that grow are a 507 with Retry-After where memory is used up; reads and deletions go on', async () => {
  const before = await serve();
  const config = { vectors: { size: 4, distance: 'Euclid' } };
  expect((await call(before, 'PUT', '/collections/c', config)).code).toBe(200);
  expect((await call(before, 'PUT', '/collections/c/points', { points: points(0, 100) })).code).toBe(200);
  await before.stop();
  // Less than the process of this test holds by itself.
  const server = await serve('--memory-limit', `${64 * MIB}`);
  for (const [method, path, body, failed] of [
    ['PUT', '/collections/c/points', { points: points(100, 101) }, 'Upsert failed'],
    ['POST', '/collections/c/points/payload', { payload: { a: 1 }, points: [1] }, 'Payload operation failed'],
    ['PUT', '/collections/c/index', { field_name: 'n', field_schema: 'integer' }, 'Field index failed'],
    ['PUT', '/collections/d', config, 'Collection operation failed'],
  ] as const) {
    const answer = await call(server, method, path, body);
    expect(answer).toMatchObject({ code: 507, text: expect.stringContaining(`"${failed}: memory limit"`) });
    expect(answer.retryAfter).toMatch(/^[1-9]$/);
  }
  const search = { vector: [1, 2, 3, 4], limit: 3, with_payload: true };
  for (const [method, path, body] of [
    ['POST', '/collections/c/points/search', search],
    ['POST', '/collections/c/points/delete', { points: [1, 2, 3] }],
    ['POST', '/collections/c/points/payload/delete', { keys: ['n'], points: [4] }],
    ['POST', '/collections/c/points/payload/clear', { points: [5] }],
  ] as const) {
    expect(await call(server, method, path, body)).toMatchObject({ code: 200 });
  }
  const count = await call(server, 'POST', '/collections/c/points/count', {});
  expect(JSON.parse(count.text)).toMatchObject({ result: { count: 97 } });
  const metrics = (await call(server, 'GET', '/metrics')).text;
  expect(metrics).toContain('kithdb_health_issues{kind="memory_limit"} 1');
  expect(metrics).toContain(`kithdb_memory_limit_bytes{of="process"} ${64 * MIB}`);
  expect(metrics).toMatch(/kithdb_memory_held_bytes\{of="process"\} [1-9]/);
  await server.stop();
  // A limit that leaves room takes them again.
  const after = await serve();
  expect((await call(after, 'PUT', '/collections/c/points', { points: points(0, 3) })).code).toBe(200);
  await after.stop();
});

it('bodies in flight take an eighth of the memory at most, and a longer one is a 413', async () => {
  const of = (memoryLimit: number, maxBodyBytes = 64 * MIB) => bytesInFlight({ memoryLimit, maxBodyBytes });
  expect([of(256 * MIB), of(1024 * MIB), of(64 * 1024 * MIB)]).toEqual([32 * MIB, 128 * MIB, 256 * MIB]);
  expect(of(64 * 1024 * MIB, 1024 * MIB)).toBe(1024 * MIB);
  const server = await serve('--memory-limit', `${64 * MIB}`);
  const answer = await call(server, 'POST', '/collections/c/points/search', { pad: 'x'.repeat(8 * MIB) });
  expect(answer).toMatchObject({ code: 413, text: expect.stringContaining(`limit ${8 * MIB} bytes`) });
  await server.stop();
});
