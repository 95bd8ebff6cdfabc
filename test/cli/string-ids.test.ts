import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ContractServer } from '../contract/contract-server';
import { runCommand } from './run-command';

/** `kithdb import`, `export` and `query` where ids are strings (C11.4, C21). */
describe('string ids on the command line', () => {
  let server: ContractServer;
  let folder: string;
  beforeAll(async () => {
    server = await ContractServer.start();
    folder = mkdtempSync(join(tmpdir(), 'kithdb-string-ids-'));
  });
  afterAll(async () => {
    await server.stop();
    rmSync(folder, { recursive: true });
  });

  const CONFIG = { vectors: { size: 2, distance: 'Dot' }, ids: 'string' };
  const IDS = [
    7,
    '"quoted"',
    '7',
    'a,"b"\n',
    '12345678901234567890123',
    'x'.repeat(256),
    '\u0001'.repeat(200),
    'é',
  ];
  const sorted = [...IDS].sort((a, b) =>
    a === 7 ? -1 : b === 7 ? 1 : Buffer.compare(Buffer.from(String(a)), Buffer.from(String(b))),
  );

  const run = (verb: string, ...flags: string[]) =>
    runCommand([verb, '--url', `http://127.0.0.1:${server.port}`, ...flags]);

  async function ids(name: string): Promise<unknown[]> {
    const page = await server.ok('POST', `/collections/${name}/points/scroll`, { limit: 100 });
    return page.points.map(({ id }: { id: unknown }) => id);
  }

  it.each(['jsonl', 'parquet'])('C21 come back as they were through a %s file', async (format) => {
    const points = IDS.map((id) => ({ id, vector: [1, 0], payload: { is: String(id) } }));
    const from = await server.collection(`from-${format}`, CONFIG);
    await server.ok('PUT', `${from}/points`, { points });
    const file = join(folder, `points.${format}`);
    // A page of one point: each id is where a page begins.
    expect(await run('export', '--collection', `from-${format}`, '--to', file)).toMatchObject({ code: 0 });
    const into = ['--collection', `to-${format}`, '--file', file, '--distance', 'Dot', '--ids', 'string'];
    expect(await run('import', ...into)).toMatchObject({ code: 0, err: '' });
    expect(await ids(`to-${format}`)).toEqual(sorted);
  });

  it('C21 of columns: typed ones are what they are, and those of CSV as in a path', async () => {
    const vector = Buffer.from(new Float32Array([1, 0]).buffer).toString('base64');
    const lines = [
      { key: '7', vector },
      { key: 7, vector },
      { key: 'doc', vector },
    ];
    const jsonl = join(folder, 'rows.jsonl');
    writeFileSync(jsonl, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
    await server.collection('rows', CONFIG);
    expect(await run('import', '--collection', 'rows', '--file', jsonl, '--id', 'key')).toMatchObject({
      code: 0,
    });
    expect(await ids('rows')).toEqual([7, '7', 'doc']);
    const points = join(folder, 'points-base64.jsonl');
    writeFileSync(points, `${JSON.stringify({ id: '8', vector })}\n`);
    expect(await run('import', '--collection', 'rows', '--file', points)).toMatchObject({ code: 0 });
    expect(await ids('rows')).toEqual([7, '7', '8', 'doc']);
    const csv = join(folder, 'rows.csv');
    writeFileSync(csv, `id,vector\n9,"[1,0]"\n"""9""","[1,0]"\nüber,"[1,0]"\n`);
    expect(await run('import', '--collection', 'rows', '--file', csv, '--id', 'id')).toMatchObject({
      code: 0,
    });
    expect(await ids('rows')).toEqual([7, 9, '7', '8', '9', 'doc', 'über']);
    const without = ['--collection', 'rows', '--file', csv, '--ids', 'string'];
    expect(await run('import', ...without)).toMatchObject({
      code: 2,
      err: expect.stringContaining('--distance'),
    });
    await server.collection('plain');
    expect(await run('import', '--collection', 'plain', '--file', points)).toMatchObject({ code: 0 });
    expect(await ids('plain')).toEqual([8]);
  });

  it('C21 an export by pages begins each page at a string', async () => {
    const file = join(folder, 'pages.jsonl');
    const c = await server.collection('pages', CONFIG);
    const many = Array.from({ length: 2500 }, (_, n) => ({ id: `${'é"\\'.repeat(40)}${n}`, vector: [n, 1] }));
    await server.ok('PUT', `${c}/points`, { points: many });
    expect(await run('export', '--collection', 'pages', '--to', file)).toMatchObject({ code: 0 });
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
    expect(new Set(lines.map((line) => (JSON.parse(line) as { id: string }).id)).size).toBe(many.length);
  });

  it('C21 a query by id takes a string, and one of digits in quotes', async () => {
    const c = await server.collection('near', CONFIG);
    const points = [7, '7', 'doc'].map((id, n) => ({ id, vector: [n + 1, n] }));
    await server.ok('PUT', `${c}/points`, { points });
    for (const [given, own] of [
      ['7', 7],
      ['"7"', '7'],
      ['doc', 'doc'],
    ] as const) {
      const { code, out } = await run('query', '--collection', 'near', '--id', given, '--json');
      expect(code).toBe(0);
      const list = JSON.parse(out) as readonly { id: unknown }[];
      expect(list.map(({ id }) => id)).not.toContain(own);
      expect(list).toHaveLength(2);
    }
    expect((await run('query', '--collection', 'near', '--id', '"7')).code).toBe(2);
  });
});
