import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, open } from '../../src';
import { Positions } from '../../src/client/positions';

const POINTS = { points: [{ id: 1, vector: [1] }] };

describe('the client of a node', () => {
  let url: string;
  let asked: IncomingMessage[];
  /** Headers of the next answers. */
  let answers: Readonly<Record<string, string>>[];
  let server: Server;

  beforeEach(async () => {
    asked = [];
    answers = [];
    server = createServer((request, response) => {
      asked.push(request.resume());
      response.writeHead(200, answers.shift() ?? {}).end('{"result":{"count":1},"status":"ok","time":0}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  const sent = (): (string | string[] | undefined)[] =>
    asked.map(({ headers }) => headers['kithdb-position']);

  test('C30.4 sends with its reads the positions of its writes, and tells them', async () => {
    answers = [{}, { 'kithdb-position': '3:7:0.1' }, {}, { 'kithdb-position': '3:9:1' }];
    const db = connect(url);
    expect(db.position).toBeUndefined();
    await db.count('birds');
    await db.upsert('birds', POINTS);
    await db.count('birds');
    await db.delete('birds', { points: [2] });
    await db.query('birds', { query: [1] });
    expect(sent()).toEqual([undefined, undefined, '3:7:0.1', undefined, '3:9:1, 3:7:0']);
    expect(db.position).toBe('3:9:1, 3:7:0');
    await db.getCollections();
    expect(sent().at(-1)).toBeUndefined();
    await db.close();
  });

  test('C30.4 sends what a call names, and nothing of its own where that is switched off', async () => {
    answers = [{ 'kithdb-position': '3:7:0' }];
    const db = connect(url, { readYourWrites: false });
    await db.upsert('birds', POINTS);
    await db.count('birds');
    expect(db.position).toBe('3:7:0');
    await db.count('birds', {}, { position: '5:1:2' });
    const other = connect(url);
    answers = [{ 'kithdb-position': '4:1:0' }];
    await other.upsert('birds', POINTS);
    await other.count('birds', {}, { position: db.position! });
    expect(sent()).toEqual([undefined, undefined, '5:1:2', undefined, '3:7:0, 4:1:0']);
    await db.close();
    await other.close();
  });

  test('C30.5 allows an answer without some shards where a call does, and tells which', async () => {
    const missing: (readonly number[])[] = [];
    const onMissingShards = (shards: readonly number[]): void => {
      missing.push(shards);
    };
    const db = connect(url);
    await db.count('birds', { exact: true, allow_partial: true }, { onMissingShards });
    expect(missing).toEqual([]);
    answers = [{ 'kithdb-missing-shards': '0, 2' }];
    expect(await db.count('birds', { allow_partial: true }, { onMissingShards })).toEqual({ count: 1 });
    expect(missing).toEqual([[0, 2]]);
    await db.count('birds');
    const paths = asked.map((request) => request.url);
    const path = '/collections/birds/points/count';
    expect(paths).toEqual([`${path}?allow_partial=true`, `${path}?allow_partial=true`, path]);
    await db.close();
  });
});

describe('positions', () => {
  test('are one for all shards that have the same, and never fall back', () => {
    const positions = new Positions();
    positions.add('1:5:0.1.2');
    positions.add('1:4:0, 1:6:2, 2:1:0');
    expect(positions.header()).toBe('2:1:0, 1:6:2, 1:5:0.1');
  });

  test('of a form that is not known are passed over, those of a call are sent as they are', () => {
    const positions = new Positions();
    positions.add('later:1');
    expect(positions.header()).toBeUndefined();
    positions.add('1:5:0');
    expect(positions.header('later:1, 1:5:0')).toBe('later:1, 1:5:0');
  });

  test('C30.4 are 64 at most: of the collections that were written last, behind those of a call', () => {
    const positions = new Positions();
    for (let collection = 1; collection <= 70; collection += 1) positions.add(`${collection}:1:0`);
    const sent = positions.header()?.split(', ') ?? [];
    expect(sent).toHaveLength(64);
    expect(sent[0]).toBe('70:1:0');
    expect(sent).not.toContain('6:1:0');
    expect(positions.header('99:1:0')?.split(', ')).toEqual(['99:1:0', ...sent.slice(0, 63)]);
  });
});

describe('the client of a folder', () => {
  test('C30.4, C30.5 takes the same options, which change nothing there', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'kithdb-positions-'));
    const db = await open(folder);
    await db.createCollection('birds', { vectors: { size: 1, distance: 'Dot' } });
    await db.upsert('birds', POINTS);
    const onMissingShards = jest.fn();
    const options = { position: '3:1000:0', onMissingShards };
    expect(await db.count('birds', { exact: true, allow_partial: true }, options)).toEqual({ count: 1 });
    expect(onMissingShards).not.toHaveBeenCalled();
    await db.close();
    rmSync(folder, { recursive: true });
  });
});
