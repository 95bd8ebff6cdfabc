import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync, existsSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { ContractServer } from '../contract/contract-server';
import { runCommand, type Outcome } from './run-command';

/** `kithdb import`, `export` and `collections` (C11.4), beside a whole server. */
describe('transfer', () => {
  let server: ContractServer;
  let folder: string;
  let made = 0;

  beforeAll(async () => {
    server = await ContractServer.start();
    folder = mkdtempSync(join(tmpdir(), 'kithdb-transfer-'));
  });
  afterAll(async () => {
    await server.stop();
    rmSync(folder, { recursive: true });
  });

  const kithdb = (...argv: string[]): Promise<Outcome> => runCommand(argv);

  const url = (): string[] => ['--url', `http://127.0.0.1:${server.port}`];

  function file(name: string, content: string | Buffer): string {
    const path = join(folder, name);
    writeFileSync(path, content);
    return path;
  }

  /** Imports a file into a new collection. */
  async function imported(path: string, ...flags: string[]): Promise<Outcome & { readonly name: string }> {
    made += 1;
    const name = `imported-${made}`;
    const all = ['--collection', name, '--file', path, '--distance', 'Dot', ...flags];
    return { ...(await kithdb('import', ...url(), ...all)), name };
  }

  async function exported(name: string, ...flags: string[]): Promise<unknown[]> {
    const { code, out } = await kithdb('export', ...url(), '--collection', name, ...flags);
    expect(code).toBe(0);
    return out
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as unknown);
  }

  it('C11.4 lines of JSON go in and come out, blank lines and vectors in base64 included', async () => {
    const base64 = Buffer.from(Float32Array.of(0.5, -2).buffer).toString('base64');
    const lines = [
      '{"id":1,"vector":[1,2],"payload":{"a":[{"b":1},{"b":2}],"text":"x"}}',
      '',
      `{"id":"8f1f1a9c-1c5d-4a53-9f0e-0b6c9f0e1a2b","vector":"${base64}"}`,
    ];
    const { code, out, name } = await imported(file('points.jsonl', lines.join('\r\n')));
    expect([code, out]).toEqual([0, expect.stringMatching(/^2 points are in imported-\d+ \(/)]);
    expect(await exported(name)).toEqual([
      { id: 1, vector: [1, 2], payload: { a: [{ b: 1 }, { b: 2 }], text: 'x' } },
      { id: '8f1f1a9c-1c5d-4a53-9f0e-0b6c9f0e1a2b', vector: [0.5, -2], payload: {} },
    ]);
    expect(
      await exported(
        name,
        '--without-vectors',
        '--filter',
        '{"must":[{"key":"text","match":{"value":"x"}}]}',
      ),
    ).toEqual([{ id: 1, vector: {}, payload: { a: [{ b: 1 }, { b: 2 }], text: 'x' } }]);
  });

  it('an export of several pages has every point once, whatever its strings hold', async () => {
    const tricky = ['}', '{"points":[', '"],"next_page_offset":7', '\\\\', '\\"}', 'é "quoted"', '\n]'];
    const points = Array.from({ length: 2100 }, (_, id) => ({
      id,
      vector: [id, 0.1],
      payload: { text: tricky[id % tricky.length] },
    }));
    const { name } = await imported(
      file('tricky.jsonl', points.map((point) => JSON.stringify(point)).join('\n')),
    );
    expect(await exported(name)).toEqual(points);
  });

  it('columns of CSV become ids, named vectors and payload, with integers beyond 2^53', async () => {
    const csv = 'key,title,emb,n,big,flag\n7,"One, two","[1,2]",3,9007199254740993,true\n8,,"[3,4]",1.5,,x\n';
    const { code, name } = await imported(
      file('rows.csv.gz', gzipSync(csv)),
      '--id',
      'key',
      '--vector',
      'main=emb',
    );
    expect(code).toBe(0);
    const { out } = await kithdb('export', ...url(), '--collection', name);
    expect(out.split('\n')).toEqual([
      '{"id":7,"payload":{"title":"One, two","n":3,"big":9007199254740993,"flag":true},"vector":{"main":[1.0,2.0]}}',
      '{"id":8,"payload":{"n":1.5,"flag":"x"},"vector":{"main":[3.0,4.0]}}',
      '',
    ]);
    const wrong = await imported(join(folder, 'rows.csv.gz'), '--vector', 'none');
    expect([wrong.code, wrong.err]).toEqual([
      1,
      expect.stringContaining('has no column none: it has key, title'),
    ]);
  });

  it('a column named id has the ids without a flag, and a row without a value of it is refused', async () => {
    const csv = await imported(file('ids.csv', 'id,vector\n7,"[1,2]"\n8,"[3,4]"\n'));
    expect(await exported(csv.name)).toEqual([
      { id: 7, vector: [1, 2], payload: {} },
      { id: 8, vector: [3, 4], payload: {} },
    ]);
    const lines = await imported(
      file('ids.jsonl', '{"id":9,"emb":[1,2]}\n{"emb":[3,4]}\n'),
      ...['--vector', 'emb', '--parallel', '1'],
    );
    expect(await exported(lines.name)).toEqual([
      { id: 1, vector: [3, 4], payload: {} },
      { id: 9, vector: [1, 2], payload: {} },
    ]);
    const without = await imported(file('without.csv', 'id,vector\n,"[1,2]"\n'));
    expect([without.code, without.err]).toEqual([
      1,
      expect.stringContaining('it has no id in the column id'),
    ]);
  });

  it('files of vectors have the number of the row as id, and payloads from another file', async () => {
    const floats = Buffer.from(Float32Array.of(1, 2, 3, 4, 5, 6).buffer);
    const header = `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }`.padEnd(117) + '\n';
    const head = Buffer.concat([
      Buffer.from('\x93NUMPY\x01\x00', 'latin1'),
      Buffer.from([118, 0]),
      Buffer.from(header),
    ]);
    const payloads = file('payloads.jsonl', '{"n":0}\n{"n":1}\n{"n":2}\n');
    const npy = await imported(file('vectors.npy', Buffer.concat([head, floats])), '--payload', payloads);
    expect([npy.code, npy.err]).toEqual([0, '']);
    expect(await exported(npy.name)).toEqual([
      { id: 0, vector: [1, 2], payload: { n: 0 } },
      { id: 1, vector: [3, 4], payload: { n: 1 } },
      { id: 2, vector: [5, 6], payload: { n: 2 } },
    ]);
    const rows = [
      [1, 2],
      [3, 4],
    ].map(([a = 0, b = 0]) => Buffer.from([2, 0, 0, 0, a, b]));
    const bvecs = await imported(file('vectors.bvecs', Buffer.concat(rows)));
    expect(await exported(bvecs.name)).toEqual([
      { id: 0, vector: [1, 2], payload: {} },
      { id: 1, vector: [3, 4], payload: {} },
    ]);
    const cut = await imported(file('cut.fvecs', Buffer.from([2, 0, 0, 0, 1])));
    expect([cut.code, cut.err]).toEqual([1, expect.stringContaining('is not a file of .fvecs')]);
  });

  it('columns of Parquet are read', async () => {
    const { parquetWriteBuffer } = await import('hyparquet-writer');
    const columnData = [
      { name: 'id', data: [5, 6], type: 'INT32' as const },
      {
        name: 'vector',
        data: [
          [1, 2],
          [3, 4],
        ],
        type: 'JSON' as const,
      },
      { name: 'title', data: ['a', null], type: 'STRING' as const },
    ];
    const path = file('rows.parquet', Buffer.from(parquetWriteBuffer({ columnData })));
    const { code, err, name } = await imported(path, '--id', 'id');
    expect([code, err]).toEqual([0, '']);
    expect(await exported(name)).toEqual([
      { id: 5, vector: [1, 2], payload: { title: 'a' } },
      { id: 6, vector: [3, 4], payload: {} },
    ]);
  });

  const MIXED = [
    '{"id":1,"vector":[1,2]}',
    '{"id":2,"vector":[1,2,3]}',
    '{"id":3,"vector":[1,2]}},{"id":9,"vector":[1,2]}',
    '{"id":4,"vector":[1,2]',
    '{"id":5,"vector":[1,2],"payload":{"deep":"}, {"}}',
    '{"id":"six","vector":[1,2]}',
    '{"id":7,"vector":[3,4]}',
  ].join('\n');

  it('the first row that is refused ends an import; with --rejects each goes to the file with its reason', async () => {
    const path = file('mixed.jsonl', MIXED);
    const ended = await imported(path);
    expect([ended.code, ended.err]).toEqual([
      1,
      expect.stringMatching(/^kithdb: line \d: .*\n.*--rejects FILE/),
    ]);
    const rejects = join(folder, 'rejects.jsonl');
    const { code, out, name } = await imported(path, '--rejects', rejects);
    expect([code, out]).toEqual([3, expect.stringMatching(/^3 points are in .*, 4 rows rejected/)]);
    const places = readFileSync(rejects, 'utf8')
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { place: string }).place);
    expect(places.sort()).toEqual(['line 2', 'line 3', 'line 4', 'line 6']);
    expect((await exported(name)).map((point) => (point as { id: number }).id)).toEqual([1, 5, 7]);
  });

  it('--dry-run names what an import would reject, of a collection that is there and of one that is not', async () => {
    const path = file('mixed.jsonl', MIXED);
    const nowhere = ['--data-dir', join(folder, 'none')];
    const dry = (...flags: string[]): Promise<Outcome> => kithdb('import', path, '--dry-run', ...flags);
    const { code, out, err } = await dry('--collection', 'x', ...nowhere, '--distance', 'Dot');
    expect([code, out]).toEqual([3, expect.stringMatching(/^3 points would be sent, 4 rows rejected/)]);
    expect(err.split('\n')).toEqual([
      'kithdb: line 2: the vector has the dimension 3, not 2',
      'kithdb: line 3: it is not JSON',
      'kithdb: line 4: it is not JSON',
      'kithdb: line 6: id: "six" is neither an unsigned integer nor a UUID',
      '',
    ]);
    expect(existsSync(join(folder, 'none'))).toBe(false);
    const strings = await dry(
      '--collection',
      'x',
      ...nowhere,
      '--distance',
      'Dot',
      '--ids',
      'string',
      '--json',
    );
    expect(JSON.parse(strings.out)).toMatchObject({ points: 4, rejected: 3 });
    const { name } = await imported(file('three.jsonl', '{"id":1,"vector":[1,2,3]}'));
    const there = await dry('--collection', name, ...url(), '--json');
    expect(JSON.parse(there.out)).toMatchObject({ points: 1, rejected: 6 });
    expect(await exported(name)).toHaveLength(1);
    const beside = await dry('--collection', name, '--data-dir', server.dataDir, '--json');
    expect(JSON.parse(beside.out)).toMatchObject({ points: 1, rejected: 6 });
  });

  it('a vector that cannot be read is named by its field, in the file of --rejects too', async () => {
    const lines = [
      '{"id":1,"vector":[1,2]}',
      '{"id":2,"vector":"x"}',
      // A line with a text for some vector is read whole.
      '{"id":3,"vector":{"title":"x"},"payload":{"vector":""}}',
      '{"vector":"AAAAAAAAAAA="}',
      '{"id":4,"vector":""}',
    ];
    const path = file('unreadable.jsonl', lines.join('\n'));
    const rejects = join(folder, 'unreadable-rejects.jsonl');
    const { code, out, err } = await imported(path, '--rejects', rejects);
    expect([code, out]).toEqual([3, expect.stringMatching(/^1 point is in .*, 4 rows rejected/)]);
    const rows = readFileSync(rejects, 'utf8').trim().split('\n');
    const reasons = rows.map((line) => {
      const { place, reason } = JSON.parse(line) as Record<string, string>;
      return `${place}: ${reason}`;
    });
    const neither = 'is neither a list of numbers nor base64 of 32-bit floats (little-endian)';
    expect(reasons).toEqual([
      `line 2: the vector ${neither}`,
      `line 3: the vector title ${neither}`,
      'line 4: it has no id',
      'line 5: it has no vector',
    ]);
    expect(err).toBe(reasons.map((reason) => `kithdb: ${reason}\n`).join(''));
  });

  it('named vectors of a point may be base64, and texts of models are sent as they are', async () => {
    const base64 = Buffer.from(Float32Array.of(0.5, -2).buffer).toString('base64');
    const owls = '{"text":"AAAA","model":"qdrant/bm25"}';
    const lines = [
      `{"id":1,"vector":{"image":"${base64}"}}`,
      `{"id":2,"vector":{"image":[3,4], "text" : "${base64}","words":${owls}},"payload":{"a":1.0}}`,
      `{"id":3,"vectors":{"words":${owls},"image": "${base64}"}}`,
      `{"id":4,"vector":{"words":${owls}},"payload":{"vector":"x"}}`,
      '{"id":5,"vector":{"text":"AAAA","model":"nobody"}}',
      '{"id":6,"vector":{"text":"AAAA","model":"nobody"},"payload":{"vector":"x"}}',
      '{"id":7,"vector":{"image":"AAAA"}}',
    ];
    const vectors = { image: { size: 2, distance: 'Dot' }, text: { size: 2, distance: 'Dot' } };
    await server.ok('PUT', '/collections/named-base64', { vectors, sparse_vectors: { words: {} } });
    const rejects = join(folder, 'named-base64-rejects.jsonl');
    const path = file('named-base64.jsonl', lines.join('\n'));
    const flags = ['--collection', 'named-base64', '--file', path, '--rejects', rejects];
    const { code, err } = await kithdb('import', ...url(), ...flags);
    expect([code, err.trim().split('\n').sort()]).toEqual([
      3,
      [
        "kithdb: line 5: vector.model: unknown model 'nobody', expected qdrant/bm25",
        "kithdb: line 6: vector.model: unknown model 'nobody', expected qdrant/bm25",
        'kithdb: line 7: the vector image is neither a list of numbers nor base64 of 32-bit floats (little-endian)',
      ],
    ]);
    const words = expect.objectContaining({ indices: [expect.any(Number)] }) as unknown;
    expect(await exported('named-base64')).toEqual([
      { id: 1, vector: { image: [0.5, -2] }, payload: {} },
      { id: 2, vector: { image: [3, 4], text: [0.5, -2], words }, payload: { a: 1 } },
      { id: 3, vector: { image: [0.5, -2], words }, payload: {} },
      { id: 4, vector: { words }, payload: { vector: 'x' } },
    ]);
  });

  it('a vector may be called id', async () => {
    const base64 = Buffer.from(Float32Array.of(0.5, -2).buffer).toString('base64');
    const { code, name } = await imported(
      file('id.jsonl', `{"id":7,"vector":{"id":"${base64}"},"payload":{"vector":""}}`),
    );
    expect(code).toBe(0);
    expect(await exported(name)).toEqual([{ id: 7, vector: { id: [0.5, -2] }, payload: { vector: '' } }]);
  });

  it('an import that was interrupted goes on where it was, if the file is the same', async () => {
    const lines = Array.from({ length: 1200 }, (_, id) => `{"id":${id},"vector":[${id},1]}`);
    lines[1100] = '{"id":1100,"vector":[1,2,3]}';
    const path = file('long.jsonl', lines.join('\n'));
    const { code, err, name } = await imported(path, '--parallel', '1');
    expect([code, err]).toEqual([1, expect.stringContaining('the same command with --resume goes on')]);
    expect(JSON.parse(readFileSync(`${path}.kithdb-import`, 'utf8'))).toMatchObject({ next: 500 });
    const again = ['import', ...url(), '--collection', name, '--file', path, '--resume'];
    const rest = await kithdb(...again, '--rejects', join(folder, 'rest.jsonl'), '--json');
    expect(JSON.parse(rest.out)).toMatchObject({ points: 699, rejected: 1 });
    expect(existsSync(`${path}.kithdb-import`)).toBe(false);
    expect(await exported(name)).toHaveLength(1199);
  });

  it('C11.4, C18 without --url the data directory is opened, beside its server too', async () => {
    const lines = file('folder.jsonl', '{"id":1,"vector":[1,2],"payload":{}}\n');
    const dataDir = join(folder, 'data');
    const flags = ['--collection', 'notes', '--data-dir', dataDir];
    expect(await kithdb('export', ...flags)).toMatchObject({
      code: 1,
      err: expect.stringContaining('There is no data directory') as string,
    });
    // An import makes the directory as open() does, where it has a collection to make.
    expect(await kithdb('import', ...flags, '--file', lines)).toMatchObject({ code: 1 });
    expect(existsSync(dataDir)).toBe(false);
    expect(await kithdb('import', ...flags, '--file', lines, '--distance', 'Dot')).toMatchObject({
      ...{ code: 0, err: '' },
      out: expect.stringMatching(/^1 point is in notes/) as string,
    });
    expect((await kithdb('export', ...flags)).out).toBe('{"id":1,"payload":{},"vector":[1.0,2.0]}\n');
    const { name } = await imported(lines);
    const beside = await kithdb('export', '--collection', name, '--data-dir', server.dataDir);
    expect([beside.code, beside.out]).toEqual([0, '{"id":1,"payload":{},"vector":[1.0,2.0]}\n']);
  });

  it('collections that are deleted while they are listed are left out', async () => {
    const answers: Readonly<Record<string, readonly [status: number, answer: object]>> = {
      '/collections': [200, { result: { collections: [{ name: 'a' }, { name: 'c' }] } }],
      '/collections/a': [404, { status: { error: 'Collection not found: a' } }],
      '/collections/c': [200, { result: { status: 'green', points_count: 7, indexed_vectors_count: 0 } }],
    };
    const old = createServer((request, response) => {
      const [status, answer] = answers[request.url ?? ''] ?? [500, {}];
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
    });
    await once(old.listen(0, '127.0.0.1'), 'listening');
    try {
      const { port } = old.address() as AddressInfo;
      const listed = await kithdb('collections', '--url', `http://127.0.0.1:${port}`, '--json');
      expect(listed).toMatchObject({ code: 0, err: '' });
      expect(JSON.parse(listed.out)).toEqual([{ name: 'c', status: 'green', points: 7, indexed_vectors: 0 }]);
    } finally {
      old.closeAllConnections();
      old.close();
    }
  });

  it('collections are listed with their points; an unknown server, collection or format is an error', async () => {
    const { name } = await imported(file('one.jsonl', '{"id":1,"vector":[1]}'));
    const { out } = await kithdb('collections', ...url());
    expect(out).toMatch(/^NAME +STATUS +POINTS +INDEXED VECTORS\n/);
    expect(out).toMatch(new RegExp(`^${name} +green +1 +\\d\n`, 'm'));
    const json = await kithdb('collections', ...url(), '--json');
    expect(JSON.parse(json.out)).toContainEqual(expect.objectContaining({ name, points: 1 }));
    const to = join(folder, 'one-out.jsonl');
    const exportOne = ['export', ...url(), name, '--json'];
    expect(JSON.parse((await kithdb(...exportOne, '--to', to)).out)).toEqual({
      collection: name,
      points: 1,
      file: to,
      one_view: true,
    });
    expect(await kithdb(...exportOne)).toMatchObject({ code: 2, out: '' });
    expect(await kithdb('export', ...url(), '--collection', 'none')).toMatchObject({
      code: 1,
      err: 'kithdb: Collection not found: none\n',
    });
    expect(
      await kithdb('import', ...url(), '--collection', 'none', '--file', join(folder, 'one.jsonl')),
    ).toMatchObject({
      code: 1,
      err: expect.stringContaining('Collection not found: none. --distance DISTANCE creates it') as string,
    });
    expect(await kithdb('import', '--collection', 'x', '--file', file('x.txt', ''))).toMatchObject({
      code: 2,
    });
    expect(await kithdb('collections', '--url', 'ftp://x')).toMatchObject({ code: 2 });
  });
});
