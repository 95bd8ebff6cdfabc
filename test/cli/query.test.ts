import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ContractServer } from '../contract/contract-server';
import { kithdb, type Outcome } from './console';

/** `kithdb query` and `kithdb bench` (C11.4), beside a whole server. */
describe('C11.4 kithdb query', () => {
  let server: ContractServer;
  let folder: string;

  beforeAll(async () => {
    server = await ContractServer.start();
    folder = mkdtempSync(join(tmpdir(), 'kithdb-query-'));
    await server.collection('notes', { vectors: { main: { size: 2, distance: 'Dot' } } });
    await server.ok('PUT', '/collections/notes/points', {
      points: [
        { id: 1, vector: { main: [1, 0] }, payload: { title: 'one', tag: 'a' } },
        { id: 2, vector: { main: [2, 0] }, payload: { title: 'two', tag: 'b' } },
        { id: 3, vector: { main: [0, 3] }, payload: { title: '\u001b[31mred\u009b31m', tag: 'b' } },
      ],
    });
    const big =
      '{"points":[{"id":18446744073709551615,"vector":{"main":[0,1]},"payload":{"n":9007199254740993}}]}';
    expect((await server.raw('PUT', '/collections/notes/points', big)).status).toBe(200);
  });
  afterAll(async () => {
    await server.stop();
    rmSync(folder, { recursive: true });
  });

  const query = (...flags: string[]): Promise<Outcome> =>
    kithdb(['query', 'notes', '--using', 'main', '--url', `http://127.0.0.1:${server.port}`, ...flags]);

  it('finds the points nearest to a vector and to a point, as a table', async () => {
    const { code, out } = await query('--vector', '[1, 0]', '--limit', '2');
    expect([code, out]).toEqual([
      0,
      'ID  SCORE  PAYLOAD\n2   2      {"title":"two","tag":"b"}\n1   1      {"title":"one","tag":"a"}\n',
    ]);
    const near = JSON.parse((await query('--id', '1', '--json')).out) as { id: number }[];
    expect(near.map(({ id }) => id).slice(0, 1)).toEqual([2]);
  });

  it('C26 kithdb collections clone makes a collection of the same state, and says what is wrong', async () => {
    const url = `http://127.0.0.1:${server.port}`;
    const clone = (...flags: string[]): Promise<Outcome> =>
      kithdb(['collections', 'clone', 'notes', '--url', url, ...flags]);
    expect(await clone('--to', 'notes two')).toMatchObject({
      code: 0,
      out: 'The collection notes two is a clone of notes.\n',
    });
    const copy = '/collections/notes%20two';
    expect(await server.pointsOf(copy)).toEqual(await server.pointsOf('/collections/notes'));
    const taken = await clone('--to', 'notes two', '--json');
    expect([taken.code, taken.out, taken.err]).toEqual([1, '', expect.stringContaining('already exists')]);
    expect((await clone()).code).toBe(2);
    await server.ok('DELETE', copy);
  });

  it('takes filters, parameters, offsets and thresholds, and JSON of a file', async () => {
    const file = join(folder, 'vector.json');
    writeFileSync(file, '[0, 1]');
    const flags = ['--vector', file, '--params', '{"exact":true}'];
    const tag = ['--filter', '{"must":{"key":"tag","match":{"value":"b"}}}'];
    const ids = async (...more: string[]): Promise<unknown[]> =>
      (JSON.parse((await query(...flags, '--json', ...more)).out) as { id: unknown }[]).map(({ id }) => id);
    expect(await ids(...tag)).toEqual([3, 2]);
    expect(await ids(...tag, '--offset', '1')).toEqual([2]);
    expect(await ids('--score-threshold', '2.5')).toEqual([3]);
    const body = '{"query":[0,1],"using":"main","limit":1,"with_payload":false}';
    const whole = await kithdb([
      'query',
      'notes',
      '--url',
      `http://127.0.0.1:${server.port}`,
      '--json',
      '--body',
      body,
    ]);
    expect(JSON.parse(whole.out)).toEqual([expect.objectContaining({ id: 3, score: 3 })]);
  });

  it('lists points by their ids without a query; integers beyond 2^53 are whole', async () => {
    const { out } = await query();
    expect(out.split('\n')[0]).toBe('ID                    PAYLOAD');
    expect(out).toContain('\n18446744073709551615  {"n":9007199254740993}\n');
    const json = await query('--id', '18446744073709551615', '--json', '--with-vector');
    expect(json.code).toBe(0);
    expect(json.out).toContain('"vector":{"main":[0,3]}');
    expect((await query('--filter', '{"must":{"key":"tag","match":{"value":"none"}}}')).out).toBe(
      'No points.\n',
    );
  });

  it('writes nothing that controls a terminal, and cuts the table to its width', async () => {
    const { out } = await query('--limit', '10');
    // eslint-disable-next-line no-control-regex -- that is what it is about
    expect(out).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
    expect(out).toContain('\\u009b31m');
    const url = `http://127.0.0.1:${server.port}`;
    const narrow = await kithdb(['query', 'notes', '--using', 'main', '--url', url, '--with-vector'], {
      columns: 70,
    });
    expect(narrow.out.split('\n').every((line) => line.length <= 70)).toBe(true);
    expect(narrow.out).toContain('…');
  });

  it('finds what a text is near to, by a model', async () => {
    await server.ok('PUT', '/collections/texts', {
      vectors: {},
      sparse_vectors: { words: { modifier: 'idf' } },
    });
    const points = ['red apples', 'green pears'].map((text, id) => ({
      id,
      vector: { words: { text, model: 'qdrant/bm25' } },
      payload: { text },
    }));
    await server.ok('PUT', '/collections/texts/points?wait=true', { points });
    const flags = ['--using', 'words', '--text', 'a pear', '--model', 'qdrant/bm25', '--json'];
    const { out } = await kithdb(['query', 'texts', ...flags, '--url', `http://127.0.0.1:${server.port}`]);
    expect(JSON.parse(out)).toMatchObject([{ id: 1, payload: { text: 'green pears' } }]);
  });

  it('works in the folder, beside the server that has it open (C18)', async () => {
    const { out } = await kithdb([
      'query',
      '--collection',
      'notes',
      '--data-dir',
      server.dataDir,
      '--limit',
      '1',
    ]);
    expect(out).toBe('ID  PAYLOAD\n1   {"title":"one","tag":"a"}\n');
  });

  it.each([
    [['--vector', '[1'], 2, /--vector must be JSON: /],
    [
      ['--filter', '{"must":{"key":"a","range":{"gt":1e999}}}'],
      2,
      /--filter must be JSON: Infinity cannot be sent/,
    ],
    [
      ['--vector', '/not/there'],
      2,
      /--vector must be JSON .* or name a file with it, not \/not\/there: there is no such file/,
    ],
    [['--vector', '[1,0]', '--id', '1'], 2, /--id, --vector and --text exclude each other/],
    [['--text', 'a pear'], 2, /--text and --model belong together/],
    [['--limit', '0'], 2, /--limit must be a whole number from 1 to/],
    [['--score-threshold', 'x'], 2, /--score-threshold must be a number, not x/],
    [['--body', '{}'], 2, /--body has the whole request: --using belongs into it/],
    [['--vector', '[1]'], 1, /^kithdb: Dimension mismatch/],
    [['--collection', 'other'], 2, /notes and --collection say the same: give one/],
  ])('%j is exit code %i', async (flags, code, message) => {
    expect(await query(...flags)).toEqual({ code, out: '', err: expect.stringMatching(message) as string });
  });

  describe('C11.4 kithdb bench', () => {
    const bench = (...flags: string[]): Promise<Outcome> =>
      kithdb([
        'bench',
        '--url',
        `http://127.0.0.1:${server.port}`,
        '--seconds',
        '1',
        '--clients',
        '2',
        ...flags,
      ]);
    const collections = async (): Promise<unknown> => (await server.call('GET', '/collections')).body.result;

    it('measures a collection of its own, and removes it', async () => {
      const before = await collections();
      const { code, out } = await bench('--points', '500', '--dimensions', '16', '--batch', '100', '--json');
      expect(code).toBe(0);
      const report = JSON.parse(out) as Record<string, unknown>;
      expect(report).toMatchObject({
        points: 500,
        ingest: { requests: 5, points_per_second: expect.any(Number) as number },
        search: { p50_ms: expect.any(Number) as number, p99_ms: expect.any(Number) as number },
        recall: { at: 10, queries: 100, mean: 1 },
      });
      expect(await collections()).toEqual(before);
    });

    it('searches an existing collection, which does not change', async () => {
      const before = await server.everything('/collections/notes');
      const { code, out } = await bench('notes', '--using', 'main', '--limit', '2');
      expect([code, out]).toEqual([
        0,
        expect.stringMatching(/^4 points in notes\n[^]*\nsearch +\d+ [^]*recall at 2: 1\.0000/),
      ]);
      expect(out).not.toContain('ingest');
      expect(await server.everything('/collections/notes')).toEqual(before);
    });

    it.each([
      [['notes'], 1, /notes has no points with an unnamed vector: name one of its vectors with --using/],
      [['notes', '--using', 'other'], 1, /notes has no points with the vector other|other/],
      [['notes', '--points', '5'], 2, /--points is for a collection of its own/],
      [['--using', 'main'], 2, /--using is for --collection/],
      [['--distance', 'Near'], 2, /--distance must be one of Cosine, /],
      [['--clients', '0'], 2, /--clients must be a whole number from 1/],
    ])('%j is exit code %i', async (flags, code, message) => {
      expect(await bench(...flags)).toEqual({ code, out: '', err: expect.stringMatching(message) as string });
    });
  });
});
