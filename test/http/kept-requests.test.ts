import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sleep } from '../until';

const CONNECTIONS = 16;
const REQUESTS = 1200;
/** Bytes of a request that may stay until the next full collection. Its objects are some 15 KB. */
const MOST_KEPT = 1024;
const TOKEN = 'a-token-of-enough-characters';

const SEARCH = { vector: [1, 2, 3, 4], limit: 5 };
const REQUESTED: readonly (readonly [
  name: string,
  method: string,
  path: string,
  body: object | undefined,
])[] = [
  ['search', 'POST', '/collections/a/points/search', SEARCH],
  ['batch', 'POST', '/collections/a/points/search/batch', { searches: [SEARCH, SEARCH] }],
  ['upsert', 'PUT', '/collections/a/points', { points: [{ id: 1, vector: [1, 2, 3, 4] }] }],
  ['refused search', 'POST', '/collections/a/points/search', { vector: 3 }],
  ['collection', 'GET', '/collections/a', undefined],
  ['health', 'GET', '/healthz', undefined],
];

/**
 * What is over is freed by collections of the young generation. A `Set`, `Map` or `WeakMap` of requests prevents that from the
 * first full collection on: see `src/http/linked-list.ts`.
 */
describe.each([
  ['without authentication', { KITHDB_EVENT_LOOPS: '1' }],
  ['with an access token', { KITHDB_EVENT_LOOPS: '1', KITHDB_ACCESS_TOKEN: TOKEN }],
  // The heap is that of the first event loop, which also answers what the second one relays to it.
  ['with two event loops', { KITHDB_EVENT_LOOPS: '2' }],
])('a request that is over, %s', (_, env) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'kithdb-kept-'));
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  let server: ChildProcess;
  let port = '';

  beforeAll(async () => {
    server = fork(join(__dirname, 'kept-server.cjs'), ['--port', '0', '--data-dir', dataDir], {
      execArgv: ['--expose-gc'],
      env: { PATH: process.env['PATH'], KITHDB_LOG_LEVEL: 'warn', KITHDB_LOG_FORMAT: 'json', ...env },
      stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    });
    let printed = '';
    while (port === '') {
      const [chunk] = (await once(server.stdout!, 'data')) as [Buffer];
      printed += chunk.toString();
      port = / ready on http:\/\/[^:]+:(\d+)/.exec(printed)?.[1] ?? '';
    }
    await call('PUT', '/collections/a', { vectors: { size: 4, distance: 'Cosine' } });
    const points = Array.from({ length: 100 }, (_, id) => ({ id, vector: [1, id, 2, 3] }));
    await call('PUT', '/collections/a/points?wait=true', { points });
  });

  afterAll(async () => {
    agent.destroy();
    server.kill('SIGKILL');
    await once(server, 'close');
    rmSync(dataDir, { recursive: true, force: true });
  });

  /** The status of an answer that is read whole. */
  function call(method: string, path: string, body?: object): Promise<number> {
    const text = body === undefined ? '' : JSON.stringify(body);
    const headers = {
      'Content-Type': 'application/json',
      'Content-Length': text.length,
      ...('KITHDB_ACCESS_TOKEN' in env && { 'api-key': TOKEN }),
    };
    return new Promise((resolve, reject) => {
      const sent = request({ port, agent, method, path, headers }, (answer) => {
        answer.resume();
        answer.once('end', () => {
          resolve(answer.statusCode!);
        });
      });
      sent.once('error', reject);
      sent.end(text);
    });
  }

  /** Bytes that the server's heap holds after a collection. */
  async function collected(which: 'full' | 'young'): Promise<number> {
    server.send(which);
    const [bytes] = (await once(server, 'message')) as [number];
    return bytes;
  }

  it.each(REQUESTED)('%s: leaves nothing that waits for a full collection', async (_, method, path, body) => {
    const statuses = new Map<number, number>();
    let sent = 0;
    const connection = async (): Promise<void> => {
      while (sent < REQUESTS) {
        sent += 1;
        // Requests are under way while everything is collected.
        const full = sent === REQUESTS / 4 ? collected('full') : undefined;
        const status = await call(method, path, body);
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
        await full;
      }
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, connection));
    expect([...statuses]).toEqual([
      [body !== undefined && 'vector' in body && body.vector === 3 ? 400 : 200, REQUESTS],
    ]);
    // The last answers are written.
    await sleep(50);
    const young = await collected('young');
    expect((young - (await collected('full'))) / ((REQUESTS * 3) / 4)).toBeLessThan(MOST_KEPT);
  });
});
