import { ContractServer, type Json } from './contract-server';

/** Values of every kind, alone and in arrays. */
const PAYLOADS: readonly object[] = [
  { k: 'a' },
  { k: ['a', 'b', 'b'] },
  { k: 1 },
  { k: [1, 'a', true] },
  { k: true },
  { k: [2.5, null, { x: 1 }, ['a']] },
  { k: '550E8400-e29b-41d4-a716-446655440000' },
  { k: '550e8400-e29b-41d4-a716-446655440000' },
  { k: 'é"\\' },
  { k: -7 },
  { other: 'a' },
  {},
];

const COUNTS = [
  { value: 'a', count: 3 },
  { value: true, count: 2 },
  { value: 1, count: 2 },
  { value: -7, count: 1 },
  { value: '550E8400-e29b-41d4-a716-446655440000', count: 1 },
  { value: '550e8400-e29b-41d4-a716-446655440000', count: 1 },
  { value: 'b', count: 1 },
  { value: 'é"\\', count: 1 },
];

describe('C6.8 facets', () => {
  let server: ContractServer;
  let path: string;
  beforeAll(async () => {
    server = await ContractServer.start();
    path = await server.holding(PAYLOADS.map((payload, at) => ({ id: at + 1, vector: [1, 0], payload })));
  });
  afterAll(() => server.stop());

  const facet = async (body: object): Promise<Json> =>
    (await server.ok('POST', `${path}/facet`, { key: 'k', limit: 100, ...body })).hits;

  it.each([undefined, 'keyword', 'integer', 'bool', 'uuid', 'float', 'text', 'datetime', 'geo'])(
    'C6.8, C7 count stored values, most first and then by value, with an index of type %s or without',
    async (type) => {
      if (type !== undefined) {
        await server.ok('PUT', `${path}/index`, { field_name: 'k', field_schema: type });
      }
      expect(await facet({})).toEqual(COUNTS);
      expect(await facet({ limit: 2 })).toEqual(COUNTS.slice(0, 2));
      // Of few points the documents are read, of many the index is.
      for (const filter of [
        { must: { has_id: [2, 4] } },
        { must_not: { has_id: [1] } },
        { must: { has_id: [99] } },
      ]) {
        const expected: Record<string, number> = {};
        const { points } = await server.ok('POST', `${path}/points/scroll`, { filter, limit: 100 });
        for (const { payload } of points) {
          for (const value of new Set([payload.k].flat())) {
            if (['string', 'boolean'].includes(typeof value) || Number.isInteger(value)) {
              expected[JSON.stringify(value)] = (expected[JSON.stringify(value)] ?? 0) + 1;
            }
          }
        }
        const found = await facet({ filter });
        const byValue = Object.fromEntries(
          found.map(({ value, count }: Json) => [JSON.stringify(value), count]),
        );
        expect(byValue).toEqual(expected);
      }
      await server.ok('DELETE', `${path}/index/k`);
    },
  );

  it('C6.8 follow writes and deletions', async () => {
    await server.ok('PUT', `${path}/index`, { field_name: 'k', field_schema: 'keyword' });
    await server.ok('PUT', `${path}/points`, { points: [{ id: 50, vector: [1, 0], payload: { k: 'b' } }] });
    expect(await facet({ limit: 4 })).toContainEqual({ value: 'b', count: 2 });
    await server.ok('POST', `${path}/points/delete`, { points: [50] });
    expect(await facet({})).toEqual(COUNTS);
    await server.ok('DELETE', `${path}/index/k`);
  });

  it('C6.8 have ten values unless told otherwise, and none where there are none', async () => {
    const many = await server.holding(
      Array.from({ length: 12 }, (_, at) => ({ id: at, vector: [1, 0], payload: { tags: [`t${at}`] } })),
    );
    expect((await server.ok('POST', `${many}/facet`, { key: 'tags[]' })).hits).toHaveLength(10);
    expect(await server.ok('POST', `${many}/facet`, { key: 'absent', exact: true })).toEqual({ hits: [] });
  });

  it.each([
    [{}, 'Missing required field: key'],
    [{ key: 'k', limit: 0 }, /^limit: value 0 invalid/],
    [{ key: 'k', limit: 100_001 }, /max_result_window/],
    [{ key: 'a..b' }, /^key: Invalid json path/],
    [{ key: 'k', filter: { x: 1 } }, /^Filter parse error: /],
    [{ key: 'k', shard_key: 'a' }, /^shard_key: /],
  ])('C6.8 refuse %j', async (body, message) => {
    const [status, said] = await server.refused('POST', `${path}/facet`, body);
    expect(status).toBe(400);
    if (typeof message === 'string') expect(said).toBe(message);
    else expect(said).toMatch(message);
  });
});

describe('C6.9 the distance matrix', () => {
  let server: ContractServer;
  let path: string;
  beforeAll(async () => {
    server = await ContractServer.start();
    path = await server.collection('m', {
      vectors: { v: { size: 2, distance: 'Euclid' } },
      sparse_vectors: { words: {} },
    });
    const points = [0, 1, 3, 7, 15].map((x, at) => ({
      id: at + 1,
      vector: { v: [x, 0], words: { indices: [1, at + 2], values: [1, 1] } },
      payload: { n: at },
    }));
    await server.ok('PUT', `${path}/points`, { points: [...points, { id: 9, vector: {} }] });
  });
  afterAll(() => server.stop());

  it('C6.9 pairs each point of the sample with its nearest others', async () => {
    const { pairs } = await server.ok('POST', `${path}/points/search/matrix/pairs`, { using: 'v', limit: 1 });
    expect(pairs).toEqual([
      { a: 1, b: 2, score: 1 },
      { a: 2, b: 1, score: 1 },
      { a: 3, b: 2, score: 2 },
      { a: 4, b: 3, score: 4 },
      { a: 5, b: 4, score: 8 },
    ]);
    const filter = { must: { key: 'n', range: { gte: 3 } } };
    const few = await server.ok('POST', `${path}/points/search/matrix/pairs`, { using: 'v', filter });
    expect(few.pairs).toEqual([
      { a: 4, b: 5, score: 8 },
      { a: 5, b: 4, score: 8 },
    ]);
  });

  it('C6.9 the offsets are the same as places in the list of ids', async () => {
    const body = { using: 'v', limit: 2 };
    const { pairs } = await server.ok('POST', `${path}/points/search/matrix/pairs`, body);
    const offsets = await server.ok('POST', `${path}/points/search/matrix/offsets`, body);
    expect(offsets.ids).toEqual([1, 2, 3, 4, 5]);
    const again = offsets.scores.map((score: number, at: number) => ({
      a: offsets.ids[offsets.offsets_row[at]],
      b: offsets.ids[offsets.offsets_col[at]],
      score,
    }));
    expect(again).toEqual(pairs);
  });

  it('C6.9 is empty where fewer than two points match', async () => {
    for (const id of [9, 3]) {
      const body = { using: 'v', filter: { must: { has_id: [id] } } };
      const offsets = await server.ok('POST', `${path}/points/search/matrix/offsets`, body);
      expect(offsets).toEqual({ ids: [], offsets_row: [], offsets_col: [], scores: [] });
      expect(await server.ok('POST', `${path}/points/search/matrix/pairs`, body)).toEqual({ pairs: [] });
    }
  });

  it('C6.9 draws a sample of that many points, and compares sparse vectors, too', async () => {
    const drawn = await server.ok('POST', `${path}/points/search/matrix/offsets`, { using: 'v', sample: 2 });
    expect(drawn.ids).toHaveLength(2);
    const { pairs } = await server.ok('POST', `${path}/points/search/matrix/pairs`, {
      using: 'words',
      limit: 4,
    });
    expect(pairs).toHaveLength(20);
    expect(new Set(pairs.map(({ score }: Json) => score))).toEqual(new Set([1]));
  });

  it.each([
    [{ using: 'w' }, 'Vector not found: w'],
    [{ using: 'v', sample: 1 }, /^sample: value 1 invalid/],
    [{ using: 'v', limit: 0 }, /^limit: value 0 invalid/],
    [{ using: 'v', sample: 100_001 }, /^sample: must be at most 100000 \(max_result_window\)/],
    [{ using: 'v', sample: 2000, limit: 1000 }, /^limit: at most 1000000 pairs/],
    [{ using: 'v', nonsense: 1 }, 'nonsense: unknown field'],
  ])('C6.9 refuses %j', async (body, message) => {
    const [status, said] = await server.refused('POST', `${path}/points/search/matrix/pairs`, body);
    expect(status).toBe(400);
    if (typeof message === 'string') expect(said).toBe(message);
    else expect(said).toMatch(message);
  });
});

describe('C4.7 one-node answers', () => {
  let server: ContractServer;
  beforeAll(async () => {
    server = await ContractServer.start();
  });
  afterAll(() => server.stop());

  it('C4.7 say that there is no cluster, and what runs', async () => {
    expect(await server.ok('GET', '/cluster')).toEqual({ status: 'disabled' });
    expect(await server.ok('GET', '/cluster/telemetry')).toEqual({
      collections: {},
      cluster: { enabled: false, number_of_peers: 0, peers: {} },
    });
    await server.collection('one');
    const telemetry = await server.ok('GET', '/telemetry?details_level=3&anonymize=true');
    expect(telemetry).toMatchObject({ app: { name: 'kithdb' }, cluster: { enabled: false } });
    expect(Date.parse(telemetry.app.startup)).toBeLessThanOrEqual(Date.now());
  });

  it('C4.7 a collection is one active shard and one segment', async () => {
    const path = await server.holding([{ id: 1, vector: [1, 0] }]);
    expect(await server.ok('GET', `${path}/cluster`)).toEqual({
      peer_id: 0,
      shard_count: 1,
      local_shards: [{ shard_id: 0, points_count: 1, state: 'Active' }],
      remote_shards: [],
      shard_transfers: [],
    });
    expect(await server.ok('GET', `${path}/optimizations?with=queued`)).toEqual({
      summary: { queued_optimizations: 0, queued_segments: 0, queued_points: 0, idle_segments: 1 },
      running: [],
    });
    for (const rest of ['cluster', 'optimizations']) {
      expect(await server.refused('GET', `/collections/absent/${rest}`)).toEqual([
        404,
        'Collection not found: absent',
      ]);
    }
  });
});
