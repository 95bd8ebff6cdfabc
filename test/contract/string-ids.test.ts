import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, open } from '../../src';
import { send } from '../http/harness';
import { ContractServer, type Json } from './contract-server';

const UUID = '550E8400-E29B-41D4-A716-446655440000';
const CONFIG = { vectors: { size: 2, distance: 'Euclid' }, ids: 'string' };
/** In the order of a scroll. */
const IDS = [
  7,
  '"',
  '.',
  '..',
  '7',
  'a/b?c#d%41',
  'count',
  'doc 1',
  UUID.toLowerCase().replace(/^5/, 'e'),
  'é',
];

const point = (id: unknown, n = 0): object => ({ id, vector: [n, 1], payload: { n } });
const idsOf = (points: readonly Json[]): unknown[] => points.map(({ id }) => id as unknown);

describe('C21 string ids over HTTP', () => {
  let server: ContractServer;
  let path: string;
  beforeAll(async () => {
    server = await ContractServer.start();
    path = await server.holding(
      IDS.map((id, n) => point(id, n)),
      CONFIG,
    );
  });
  afterAll(() => server.stop());

  const encoded = (text: string): string => `${path}/points/${encodeURIComponent(text)}`;

  it('C21 integers come before strings, and strings in the order of their bytes', async () => {
    const page = await server.ok('POST', `${path}/points/scroll`, { limit: 4 });
    expect([idsOf(page.points), page.next_page_offset]).toEqual([IDS.slice(0, 4), '7']);
    const rest = await server.ok('POST', `${path}/points/scroll`, { limit: 50, offset: '7' });
    expect([idsOf(rest.points), rest.next_page_offset]).toEqual([IDS.slice(4), null]);
    expect((await server.ok('GET', path)).ids).toBe('string');
  });

  it('C21 in a path digits are the integer, and a string may be in quotes', async () => {
    for (const id of IDS) {
      expect((await server.ok('GET', encoded(JSON.stringify(id)))).id).toBe(id);
      const isBare = typeof id === 'string' && !['.', '..', '"', '7'].includes(id);
      if (isBare) expect((await server.ok('GET', encoded(id))).id).toBe(id);
    }
    for (const wrong of ['"7', '"7"x', '""', '"\\q"', '99999999999999999999', 'x'.repeat(257)]) {
      const [status, message] = await server.refused('GET', encoded(wrong));
      expect([status, message]).toEqual([400, expect.stringContaining('id: Can not recognize')]);
    }
    expect(await server.refused('GET', encoded('"8"'))).toEqual([404, 'Point not found: "8"']);
    expect(await server.refused('GET', encoded('8'))).toEqual([404, 'Point not found: 8']);
  });

  it('C21 what is no id is a 400 with its place', async () => {
    for (const wrong of ['', 'é'.repeat(129), -1, 1.5, null, true, ['a']]) {
      const body = { points: [point('a'), { ...point('b'), id: wrong }] };
      const [status, message] = await server.refused('PUT', `${path}/points`, body);
      expect([status, message]).toEqual([400, expect.stringContaining('points[1].id')]);
      const filter = { must: { has_id: ['a', wrong] } };
      const [, place] = await server.refused('POST', `${path}/points/count`, { filter });
      expect(place).toContain('has_id[1]: ');
    }
    const lone = Buffer.from([...Buffer.from('{"ids":["'), 0xc3, ...Buffer.from('"]}')]);
    expect((await server.raw('POST', `${path}/points`, lone)).status).toBe(400);
    expect(await server.refused('PATCH', path, { ids: 'default' })).toEqual([400, 'ids: unknown field']);
    const [status] = await server.refused('PUT', '/collections/other', { ...CONFIG, ids: 'uuid' });
    expect(status).toBe(400);
  });

  it('C21 a collection without string ids is what it was', async () => {
    const plain = await server.holding([point(7), point(UUID)]);
    const message =
      'points[0].id: value "doc" is not a valid point ID, valid values are either an unsigned integer or a UUID';
    expect(await server.refused('PUT', `${plain}/points`, { points: [point('doc')] })).toEqual([
      400,
      message,
    ]);
    expect((await server.ok('GET', `${plain}/points/${UUID}`)).id).toBe(UUID.toLowerCase());
    expect(await server.ok('GET', plain)).not.toHaveProperty('ids');
    expect(await server.refused('GET', `${plain}/points/%227%22`)).toEqual([
      400,
      'id: Can not recognize ""7"" as point id',
    ]);
  });

  it('C21 every change and every read by ids takes them', async () => {
    const c = await server.holding(['a', 'b', 'c', 7, '7'].map(point), CONFIG);
    await server.ok('PUT', `${c}/points/vectors`, { points: [{ id: 'a', vector: [9, 9] }] });
    await server.ok('POST', `${c}/points/payload`, {
      points: ['a'],
      payload: { k: 1 },
      if_version: { a: 2 },
    });
    await server.ok('PUT', `${c}/points/payload`, { points: ['b'], payload: { k: 2 } });
    await server.ok('POST', `${c}/points/payload/delete`, { points: ['a'], keys: ['n'] });
    await server.ok('POST', `${c}/points/payload/clear`, { points: ['c'] });
    await server.ok('POST', `${c}/points/vectors/delete`, { points: ['c'], vector: [''] });
    await server.ok('POST', `${c}/points/delete`, { points: ['7'] });
    const operations = [{ upsert: { batch: { ids: ['d'], vectors: [[3, 1]] } } }];
    await server.ok('POST', `${c}/points/batch`, { operations });
    const found = await server.ok('POST', `${c}/points`, { ids: ['d', 'a', 7], with_payload: true });
    expect(found.map(({ id, payload }: Json) => [id, payload])).toEqual([
      ['d', {}],
      ['a', { k: 1 }],
      [7, { n: 3 }],
    ]);
    const query = { query: 'd', limit: 1, params: { explain: true, why: ['a'] } };
    const near = await server.call('POST', `${c}/points/query`, query);
    expect(idsOf(near.body.result.points)).toEqual([7]);
    expect(near.body.explain.why[0].id).toBe('a');
    const context = [{ positive: 7, negative: 'a' }];
    const discovered = await server.ok('POST', `${c}/points/query`, {
      query: { discover: { target: 'd', context } },
    });
    expect(idsOf(discovered.points)).toEqual(['b']);
    const pairs = await server.ok('POST', `${c}/points/search/matrix/pairs`, { sample: 10, limit: 1 });
    expect(pairs.pairs.map(({ a }: Json) => a)).toEqual([7, 'a', 'b', 'd']);
  });

  it('C21, C22 a cursor goes on behind a string', async () => {
    const c = await server.holding(
      Array.from({ length: 9 }, (_, n) => point(`${'é"'.repeat(80)}${n}`, n)),
      CONFIG,
    );
    const found: unknown[] = [];
    let body: object = { limit: 4, cursor: { ttl: 60 } };
    for (;;) {
      const { body: page } = await server.call('POST', `${c}/points/scroll`, body);
      found.push(...idsOf(page.result.points));
      if (page.next_cursor === null) break;
      body = { cursor: page.next_cursor };
      await server.ok('POST', `${c}/points/delete`, { points: [`${'é"'.repeat(80)}8`] });
    }
    expect(found).toEqual(Array.from({ length: 9 }, (_, n) => `${'é"'.repeat(80)}${n}`));
  });

  it('C21, C20 a sync and its plan take them', async () => {
    const c = await server.holding([], CONFIG);
    const common = { scope: {}, all: true, hash_key: 'h' };
    const points = ['x', '7', 7].map((id) => ({ id, vector: [1, 1], payload: { h: 1 } }));
    const synced = await server.ok('PUT', `${c}/points/sync`, { ...common, points });
    expect(synced).toMatchObject({ added: 3, deleted: 0 });
    const entries = [
      { id: '7', hash: 1 },
      { id: 'x', hash: 2 },
    ];
    const plan = await server.ok('POST', `${c}/points/sync/plan`, { ...common, points: entries });
    expect(plan).toMatchObject({ needed: ['x'], unchanged: 1, deleted: 1, revision: synced.revision });
  });

  it('C21, C26 a restart and a clone keep them', async () => {
    await server.ok('POST', `${path}/clone`, { name: 'cloned' });
    await server.restart();
    for (const each of [path, '/collections/cloned']) {
      expect(idsOf((await server.ok('POST', `${each}/points/scroll`, { limit: 50 })).points)).toEqual(IDS);
      expect((await server.ok('GET', each)).ids).toBe('string');
    }
  });
});

it('C15, C21 the filter of a token names them', async () => {
  const password = 'Correct-Horse-9-Battery';
  const env = { KITHDB_ADMIN_PASSWORD: password, KITHDB_AUTH_ENABLED: 'true' };
  const server = await ContractServer.start([], env);
  try {
    const as = (token: string, method: string, path: string, json?: object) =>
      send({ port: server.port }, method, path, {
        ...(json !== undefined && { json }),
        headers: { authorization: `Bearer ${token}` },
      });
    const login = await send({ port: server.port }, 'POST', '/auth/admin/login', { json: { password } });
    const jwt: string = login.body.token;
    await as(jwt, 'PUT', '/collections/c', CONFIG);
    await as(jwt, 'PUT', '/collections/c/points', { points: ['doc', 'other', UUID].map((id) => point(id)) });
    await as(jwt, 'PUT', '/collections/d', { vectors: CONFIG.vectors });
    await as(jwt, 'PUT', '/collections/d/points', { points: [point(UUID), point(1)] });
    const filter = { must: { has_id: ['doc', UUID] } };
    const made = await as(jwt, 'POST', '/auth/access_token', { name: 't', permission: 'read,write', filter });
    const { token } = made.body;
    const count = async (of: string) =>
      (await as(token, 'POST', `/collections/${of}/points/count`, {})).body.result.count as number;
    expect([await count('c'), await count('d')]).toEqual([2, 1]);
    expect((await as(token, 'GET', '/collections/c/points/other')).status).toBe(404);
    expect((await as(token, 'GET', '/collections/c/points/doc')).status).toBe(200);
    const refused = { name: 't', permission: 'read', filter: { must: { has_id: [''] } } };
    expect((await as(jwt, 'POST', '/auth/access_token', refused)).status).toBe(400);
  } finally {
    await server.stop();
  }
});

describe('C12, C21 string ids in the dialect qdrant', () => {
  let server: ContractServer;
  beforeAll(async () => {
    server = await ContractServer.start(['--dialect', 'qdrant']);
  });
  afterAll(() => server.stop());

  it('C12, C21 a snapshot brings them back where there was no collection with any', async () => {
    const path = await server.holding([point('doc'), point('7'), point(7)], CONFIG);
    const { name } = await server.ok('POST', `${path}/snapshots`);
    await server.ok('DELETE', path);
    await server.restart();
    expect(await server.ok('PUT', `${path}/snapshots/${name}/recover`)).toBe(true);
    await server.ok('PUT', `${path}/points`, { points: [point('new')] });
    const { points } = await server.ok('POST', `${path}/points/scroll`, {});
    expect(idsOf(points)).toEqual([7, '7', 'doc', 'new']);
  });

  it('C12, C21 recommendations, discoveries, groups and lookups take them', async () => {
    const path = await server.holding(
      ['a', 'b', 'c'].map((id, n) => point(id, n)),
      CONFIG,
    );
    const name = path.replace('/collections/', '');
    const recommend = { positive: ['a'], negative: ['c'], limit: 1 };
    expect(idsOf(await server.ok('POST', `${path}/points/recommend`, recommend))).toEqual(['b']);
    const discover = { target: 'a', context: [{ positive: 'a', negative: 'c' }], limit: 1 };
    expect(idsOf(await server.ok('POST', `${path}/points/discover`, discover))).toEqual(['b']);
    const plain = await server.holding(
      [
        { id: 1, vector: [1, 1], payload: { of: 'b' } },
        { id: UUID, vector: [9, 1], payload: { of: 'x' } },
      ],
      { vectors: CONFIG.vectors },
    );
    const grouped = { query: [1, 1], group_by: 'of', with_lookup: name };
    const { groups } = await server.ok('POST', `${plain}/points/query/groups`, grouped);
    expect(groups.map(({ lookup }: Json) => lookup?.id as unknown)).toEqual(['b', undefined]);
    const query = { query: 'b', lookup_from: { collection: name }, limit: 1 };
    expect(idsOf((await server.ok('POST', `${plain}/points/query`, query)).points)).toEqual([1]);
    const batch = { searches: [query, { ...query, lookup_from: undefined }] };
    expect(await server.refused('POST', `${plain}/points/query/batch`, batch)).toEqual([
      400,
      expect.stringContaining('searches[1].query: value "b" is not a valid point ID'),
    ]);
    expect((await server.refused('GET', `${path}/points/absent`))[1]).toContain('absent');
  });
});

describe('C21 string ids of the client', () => {
  it.each(['over HTTP', 'over a folder'])('are the same %s', async (how) => {
    const server = how === 'over HTTP' ? await ContractServer.start() : undefined;
    const folder = mkdtempSync(join(tmpdir(), 'kithdb-string-ids-'));
    const db = server === undefined ? await open(folder) : connect(`http://127.0.0.1:${server.port}`);
    try {
      await db.createCollection('c', { vectors: { size: 2, distance: 'Euclid' }, ids: 'string' });
      await db.upsert('c', { points: IDS.map((id, n) => ({ id, vector: [n, 1] })) });
      const found: unknown[] = [];
      for await (const page of db.scrollPages('c', { limit: 3 })) found.push(...idsOf(page));
      expect(found).toEqual(IDS);
      for (const id of IDS) {
        // As in a path, digits are the integer.
        expect((await db.getPoint('c', id)).id).toBe(id === '7' ? 7 : id);
        expect(idsOf(await db.retrieve('c', { ids: [id] }))).toEqual([id]);
      }
      expect((await db.query('c', { query: 'é', limit: 1 })).points).toHaveLength(1);
      await expect(db.getPoint('c', 'absent')).rejects.toMatchObject({ status: 404 });
    } finally {
      await db.close();
      await server?.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
