import {
  closeSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { loadConfig, readFlags } from '../../src/config';
import { openNativeEngine } from '../../src/engine';
import { reportScrub } from '../../src/operations/scrub-report';
import { startServer } from '../../src/server';
import { Served } from './served';

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'kithdb-scrub-'));
});
afterEach(() => {
  rmSync(dataDir, { recursive: true });
});

/** Flips a bit of the first collection's first data file; answers its name. */
function spoil(): string {
  const folder = join(dataDir, 'collections', '0000000000000001');
  const file = readdirSync(folder).find((name) => name.endsWith('.data'))!;
  // In place: a file that is mapped must not become shorter, not even for a moment.
  const handle = openSync(join(folder, file), 'r+');
  const byte = Buffer.alloc(1);
  readSync(handle, byte, 0, 1, 100);
  writeSync(handle, Buffer.from([byte.readUInt8() ^ 1]), 0, 1, 100);
  closeSync(handle);
  return file;
}

it('C10.2 a collection that decays stops answering over HTTP, says why, and can be deleted; the others serve', async () => {
  const before = await Served.on(dataDir);
  await before.create('hit');
  await before.create('spared');
  await before.upsert('hit', 0, 100);
  await before.upsert('spared', 0, 100);
  await before.stop();
  const commandLine = readFlags(['--port', '0', '--data-dir', dataDir]);
  const env = { KITHDB_TOKEN_STORE: 'memory' };
  const server = await startServer(loadConfig({ commandLine, env, terminal: false }), {
    openEngine: (options) =>
      openNativeEngine({ ...options, scrub: { bytesPerSecond: 1e9, intervalSeconds: 0.05 } }),
    log: { log: pino({ level: 'silent' }), flush: () => undefined },
    print: () => undefined,
    ownsProcess: false,
  });
  await server.ready;
  const call = async (method: string, path: string, body?: unknown) => {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${server.url}${path}`, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { code: response.status, body: await response.json() };
  };
  const search = { vector: [1, 1, 0, 1], limit: 3 };
  expect((await call('POST', '/collections/hit/points/search', search)).code).toBe(200);
  const file = spoil();
  while ((await call('POST', '/collections/hit/points/search', search)).code === 200)
    await new Promise((resolve) => setTimeout(resolve, 10));
  const fault = expect.stringMatching(new RegExp(`${file}.*kithdb check.*kithdb repair.*restore a backup`));
  for (const [method, path, body] of [
    ['POST', '/collections/hit/points/search', search],
    ['POST', '/collections/hit/points/count', {}],
    ['PUT', '/collections/hit/points', { points: [{ id: 1, vector: [1, 2, 3, 4] }] }],
  ] as const) {
    expect(await call(method, path, body)).toMatchObject({ code: 500, body: { status: { error: fault } } });
  }
  expect(await call('GET', '/collections/hit')).toMatchObject({
    code: 200,
    body: { result: { status: 'red', optimizer_status: { error: fault } } },
  });
  expect((await call('POST', '/collections/spared/points/search', search)).code).toBe(200);
  expect(await call('DELETE', '/collections/hit')).toMatchObject({ code: 200, body: { result: true } });
  await server.stop();
});

it('what a start finds damaged is counted, and an error in the log with the file and what was done', async () => {
  const server = await Served.on(dataDir);
  await server.create('hit');
  await server.upsert('hit', 0, 100);
  await server.stop();
  // A stop leaves checkpoints: this one of the catalog is read from its copy, and written again.
  const path = join(dataDir, 'catalog', 'CATALOG');
  const bytes = readFileSync(path);
  bytes[20]! ^= 1;
  writeFileSync(path, bytes);
  const lines: string[] = [];
  const commandLine = readFlags(['--port', '0', '--data-dir', dataDir]);
  const env = { KITHDB_TOKEN_STORE: 'memory' };
  const again = await startServer(loadConfig({ commandLine, env, terminal: false }), {
    log: { log: pino({}, { write: (line: string) => lines.push(line) }), flush: () => undefined },
    print: () => undefined,
    ownsProcess: false,
  });
  await again.ready;
  const errors = lines.map((line) => JSON.parse(line)).filter(({ level }) => level >= 50);
  expect(errors).toEqual([
    expect.objectContaining({
      file: 'catalog/CATALOG',
      what: expect.stringMatching(/CATALOG is damaged.*written again/),
    }),
  ]);
  const metrics = await (await fetch(`${again.url}/metrics`)).text();
  expect(metrics).toContain('kithdb_checksum_failures_total{file="catalog"} 1');
  expect(metrics).toContain('kithdb_checksum_failures_total{file="data"} 0');
  await again.stop();
});

it('a file that decays while it is served is found, reported, and its collection quarantined', async () => {
  const server = await Served.on(dataDir);
  await server.create('hit');
  await server.create('spared');
  await server.upsert('hit', 0, 100);
  await server.upsert('spared', 0, 100);
  await server.stop();
  const scrub = { bytesPerSecond: 1e9, intervalSeconds: 0.05 };
  const engine = openNativeEngine({ dataDir, scrub });
  await engine.open();
  const lines: string[] = [];
  const stop = reportScrub(engine, pino({}, { write: (line: string) => lines.push(line) }), 5);
  while (engine.scrub().passes === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  expect(engine.scrub()).toMatchObject({ dataFailures: 0, graphFailures: 0, findings: [] });
  expect(engine.scrub().bytes).toBeGreaterThan(1000);
  const file = spoil();
  while (engine.status().faults.length === 0) await engine.refresh(0);
  expect(engine.status().faults).toEqual([{ name: 'hit', fault: expect.stringContaining(file) }]);
  while (!lines.some((line) => line.includes('is damaged')))
    await new Promise((resolve) => setTimeout(resolve, 5));
  const logged = JSON.parse(lines.find((line) => line.includes('is damaged'))!);
  expect(logged).toMatchObject({
    level: 50,
    collection: 'hit',
    file: `collections/0000000000000001/${file}`,
    what: expect.stringMatching(/quarantined: restore a backup/),
  });
  const count = (collection: string) => engine.execute({ operation: 'count', collection });
  await expect(count('hit')).rejects.toMatchObject({ code: 'collection_fault' });
  expect(String(await count('spared'))).toContain('"count":100');
  stop();
  await engine.close();
});
