import { closeSync, mkdtempSync, openSync, readdirSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { openNativeEngine } from '../../src/engine';
import { reportScrub } from '../../src/operations/scrub-report';
import { Served } from './served';

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'kithdb-scrub-'));
});
afterEach(() => {
  rmSync(dataDir, { recursive: true });
});

it('a file that decays while it is served is found, reported, and its collection set aside', async () => {
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
  const folder = join(dataDir, 'collections', '0000000000000001');
  const file = readdirSync(folder).find((name) => name.endsWith('.data'))!;
  // In place: a file that is mapped must not become shorter, not even for a moment.
  const handle = openSync(join(folder, file), 'r+');
  const byte = Buffer.alloc(1);
  readSync(handle, byte, 0, 1, 100);
  writeSync(handle, Buffer.from([byte.readUInt8() ^ 1]), 0, 1, 100);
  closeSync(handle);
  while (engine.status().faults.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
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
