import { ContractServer, idsOf, type Json } from './contract-server';

/** Points of three documents: `a` has 1, 2 and 3, `b` has 4 and 5, the document 7 has 3 and 6. */
const POINTS = [
  { id: 1, vector: [9, 1], payload: { doc: 'a' } },
  { id: 2, vector: [8, 1], payload: { doc: 'a' } },
  { id: 3, vector: [7, 1], payload: { doc: ['a', 7] } },
  { id: 4, vector: [6, 1], payload: { doc: 'b' } },
  { id: 5, vector: [5, 1], payload: { doc: 'b' } },
  { id: 6, vector: [4, 1], payload: { doc: 7 } },
  { id: 8, vector: [3, 1], payload: { doc: 1.5 } },
  { id: 9, vector: [2, 1], payload: {} },
];

describe('C12 grouped search', () => {
  let server: ContractServer;
  let path: string;

  const groups = async (rest: string, body: object): Promise<[unknown, unknown[]][]> => {
    const result = await server.ok('POST', `${path}/points/${rest}/groups`, body);
    return result.groups.map(({ id, hits }: { id: unknown; hits: { id: unknown }[] }) => [id, idsOf(hits)]);
  };

  beforeAll(async () => {
    server = await ContractServer.start(['--dialect', 'qdrant', '--max-result-window', '100']);
    path = await server.collection('c');
    await server.ok('PUT', `${path}/points`, { points: POINTS });
    const docs = await server.collection('docs');
    await server.ok('PUT', `${docs}/points`, {
      points: [{ id: 7, vector: [1, 2], payload: { title: 'x' } }],
    });
  });
  afterAll(() => server.stop());

  it('gives the best groups with the best hits of each', async () => {
    const all = [
      ['a', [1, 2, 3]],
      [7, [3, 6]],
      ['b', [4, 5]],
    ];
    expect(await groups('query', { query: [1, 0], group_by: 'doc' })).toEqual(all);
    expect(await groups('search', { vector: [1, 0], group_by: 'doc' })).toEqual(all);
    expect(await groups('recommend', { positive: [[1, 0]], group_by: 'doc' })).toEqual(all);
    await server.ok('PUT', `${path}/index`, { field_name: 'doc', field_schema: 'keyword' });
    const small = { query: [1, 0], group_by: 'doc', group_size: 1, limit: 2 };
    expect(await groups('query', small)).toEqual([
      ['a', [1]],
      [7, [3]],
    ]);
    const filter = { must_not: { has_id: [1, 2, 3] } };
    expect(await groups('query', { ...small, filter })).toEqual([
      ['b', [4]],
      [7, [6]],
    ]);
    expect(await groups('query', { ...small, group_by: 'absent' })).toEqual([]);
    expect(await groups('query', { group_by: 'doc', limit: 1 })).toEqual([['a', [1, 2, 3]]]);
    expect(await groups('query', { query: 1, group_by: 'doc', limit: 1 })).toEqual([['a', [2, 3]]]);
  });

  it('C4.3 strict mode limits all hits together, and asks for an index that lists values', async () => {
    const strict = await server.collection('strict', { vectors: { size: 2, distance: 'Dot' } });
    await server.ok('PUT', `${strict}/points`, { points: POINTS });
    await server.ok('PATCH', strict, {
      strict_mode_config: { enabled: true, max_query_limit: 6, unindexed_filtering_retrieve: false },
    });
    const ask = { query: [1, 0], group_by: 'doc', group_size: 2, limit: 3 };
    const index = (schema: string) =>
      server.ok('PUT', `${strict}/index`, { field_name: 'doc', field_schema: schema });
    for (const prepare of [() => Promise.resolve(), () => index('float')]) {
      await prepare();
      expect(await server.refused('POST', `${strict}/points/query/groups`, ask)).toEqual([
        400,
        "group_by: strict mode of the collection needs an index of keyword or uuid or integer or bool over 'doc' for its values",
      ]);
    }
    await index('keyword');
    await server.ok('POST', `${strict}/points/query/groups`, ask);
    expect(await server.refused('POST', `${strict}/points/query/groups`, { ...ask, group_size: 3 })).toEqual([
      400,
      "limit × group_size: 9 exceeds max_query_limit: 6 of the collection's strict mode",
    ]);
  });

  it('shows what is asked for of the hits, and of the points that have the ids of the groups', async () => {
    const body = { query: [1, 0], group_by: 'doc', group_size: 1, with_payload: true, with_vector: true };
    const result = await server.ok('POST', `${path}/points/query/groups`, { ...body, with_lookup: 'docs' });
    expect(result.groups.slice(0, 2)).toEqual([
      {
        id: 'a',
        hits: [{ id: 1, version: expect.any(Number), score: 9, payload: { doc: 'a' }, vector: [9, 1] }],
      },
      {
        id: 7,
        hits: [{ id: 3, version: expect.any(Number), score: 7, payload: { doc: ['a', 7] }, vector: [7, 1] }],
        lookup: { id: 7, payload: { title: 'x' } },
      },
    ]);
    const lookup = async (with_lookup: object): Promise<Json> => {
      const { groups: found } = await server.ok('POST', `${path}/points/query/groups`, {
        ...body,
        with_lookup,
      });
      return found[1].lookup;
    };
    expect(await lookup({ collection: 'docs', with_payload: false })).toEqual({ id: 7 });
    expect(await lookup({ collection: 'docs', with_payload: ['x'], with_vectors: true })).toEqual({
      id: 7,
      payload: {},
      vector: [1, 2],
    });
  });

  it('takes prefetches, each of which finds group_size times its limit', async () => {
    const prefetch = [{ query: [1, 0], limit: 2 }];
    expect(await groups('query', { prefetch, query: { fusion: 'rrf' }, group_by: 'doc' })).toEqual([
      ['a', [1, 2, 3]],
      [7, [3, 6]],
      ['b', [4, 5]],
    ]);
  });

  it('C12 finds a group although another one is the same UUID in another spelling, and full', async () => {
    const uuid = '550e8400-e29b-41d4-a716-446655440000';
    for (const field_schema of [undefined, 'keyword', 'uuid']) {
      const spelled = await server.collection(`spelled-${String(field_schema)}`);
      const point = (id: number, g: string): object => ({ id, vector: [100 - id, 1], payload: { g } });
      const near = Array.from({ length: 12 }, (_, at) => point(at, uuid));
      await server.ok('PUT', `${spelled}/points`, { points: [...near, point(20, uuid.toUpperCase())] });
      if (field_schema !== undefined)
        await server.ok('PUT', `${spelled}/index`, { field_name: 'g', field_schema });
      const body = { query: [1, 0], group_by: 'g', limit: 2, group_size: 1, params: { exact: true } };
      const found = await server.ok('POST', `${spelled}/points/query/groups`, body);
      expect(found.groups.map(({ id }: Json) => id)).toEqual([uuid, uuid.toUpperCase()]);
    }
  });

  it.each([
    ['query', { query: [1, 0] }, 400, 'Missing required field: group_by'],
    ['search', { group_by: 'doc' }, 400, 'Missing required field: vector'],
    ['query', { group_by: 'doc', group_size: 0 }, 400, /^group_size: value 0 invalid/],
    ['query', { group_by: 'a..b' }, 400, /^group_by: /],
    ['query', { group_by: 'doc', query: [1] }, 400, /^Wrong input: Vector dimension error/],
    [
      'query',
      { group_by: 'doc', with_lookup: { collection: 'docs', x: 1 } },
      400,
      'with_lookup.x: unknown field',
    ],
    ['query', { group_by: 'doc', with_lookup: {} }, 400, 'Missing required field: with_lookup.collection'],
    ['query', { group_by: 'doc', with_lookup: 'absent' }, 404, 'Not found: Collection absent not found'],
    ['query', { group_by: 'doc', group_size: 101 }, 400, /^limit: limit \* group_size must be at most 100/],
  ])('refuses %s %j', async (rest, body, status, message) => {
    const [found, said] = await server.refused('POST', `${path}/points/${rest}/groups`, body);
    expect(found).toBe(status);
    if (typeof message === 'string') expect(said).toBe(message);
    else expect(said).toMatch(message);
  });

  it('C2.7 shortens the number of groups to the window, and says so', async () => {
    const body = { query: [1, 0], group_by: 'doc', limit: 1_000_000, group_size: 50 };
    const answer = await server.call('POST', `${path}/points/query/groups`, body);
    expect(answer.body.result.groups).toHaveLength(2);
    expect(answer.body.warnings).toEqual([
      { message: 'limit: shortened to 2: limit * group_size is at most 100 (max_result_window)' },
    ]);
  });
});
