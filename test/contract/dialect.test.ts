import { readFileSync } from 'node:fs';
import { engineRoutes } from '../../src/engine-routes';
import { ContractServer, idsOf, type Json } from './contract-server';

const ONE = { must: { key: 'n', match: { value: 1 } } };
const POINT = { id: 1, vector: { v: [9, 9] } };

/** Every operation that changes or deletes what a filter selects: where it is, a body that it takes, and its filter there. */
const BY_FILTER: Readonly<
  Record<string, readonly [method: string, rest: string, body: Readonly<Record<string, unknown>>, at: string]>
> = {
  upsert: ['PUT', '/points', { points: [POINT], update_filter: ONE }, 'update_filter'],
  delete: ['POST', '/points/delete', { filter: ONE }, 'filter'],
  set_payload: ['POST', '/points/payload', { payload: { a: 1 }, filter: ONE }, 'filter'],
  overwrite_payload: ['PUT', '/points/payload', { payload: { a: 1 }, filter: ONE }, 'filter'],
  delete_payload: ['POST', '/points/payload/delete', { keys: ['n'], filter: ONE }, 'filter'],
  clear_payload: ['POST', '/points/payload/clear', { filter: ONE }, 'filter'],
  update_vectors: ['PUT', '/points/vectors', { points: [POINT], update_filter: ONE }, 'update_filter'],
  delete_vectors: ['POST', '/points/vectors/delete', { vector: ['v'], filter: ONE }, 'filter'],
  sync: ['PUT', '/points/sync', { scope: ONE, hash_key: 'h', points: [] }, 'scope'],
};

/** The operations of a batch: each has the body of an endpoint. */
const OF_BATCH = Object.keys(BY_FILTER).filter((operation) => operation !== 'sync');

/** A body with each key misspelt that says what is selected, and with one that is unknown beside them. */
function misspelt(body: Readonly<Record<string, unknown>>, at: string): readonly object[] {
  const { [at]: filter, ...rest } = body;
  const filters = [
    { mst: ONE.must },
    { must: { ke: 'n', match: { value: 1 } } },
    { must: { key: 'n', mtch: { value: 1 } } },
    { must: { key: 'n', match: { valu: 1 } } },
    { must: [{ must_nt: ONE.must }] },
  ];
  return [
    { ...rest, [at.slice(0, -1)]: filter },
    { ...body, filtr: {} },
    ...filters.map((wrong) => ({ ...rest, [at]: wrong })),
  ];
}

/** Other requests that change points, each with a key that is misspelt. */
const MISSPELT: readonly (readonly [method: string, rest: string, body: object])[] = [
  ['POST', '/points/payload', { payload: { a: 1 }, points: [1], ky: 'b' }],
  ['PUT', '/points', { points: [{ ...POINT, paylod: {} }] }],
  ['PUT', '/points/vectors', { points: [{ ...POINT, if_versio: 1 }] }],
  ['PUT', '/points/sync', { al: true, hash_key: 'h', points: [] }],
  ['PUT', '/points/sync', { scope: ONE, hash_key: 'h', points: [{ id: 1, vectr: { v: [9, 9] } }] }],
  ['POST', '/points/batch', { operations: [{ delete: { filter: ONE } }], oprations: [] }],
  ['POST', '/points/batch', { operations: [{ delete: { filter: ONE }, delte: {} }] }],
];

describe.each(['specification', 'qdrant'])('C12 the dialect %s', (dialect) => {
  let server: ContractServer;
  let path: string;

  beforeAll(async () => {
    server = await ContractServer.start(dialect === 'qdrant' ? ['--dialect', 'qdrant'] : []);
    path = await another();
  });
  afterAll(() => server.stop());

  /** The path of a new collection with three points. */
  async function another(): Promise<string> {
    const points = [1, 2, 3].map((id) => ({ id, vector: { v: [id, 1] }, payload: { n: id } }));
    return server.holding(points, { vectors: { v: { size: 2, distance: 'Dot' } } });
  }

  it('C9.2 is named by GET /', async () => {
    expect((await server.call('GET', '/')).body.dialect).toBe(dialect);
  });

  it('C1.10 null under one of two names of a field is nothing beside the other, in either order', async () => {
    const vectors = { size: 2, distance: 'Dot' };
    const quantization = { scalar: { type: 'int8' } };
    const bodies = [
      { vectors, vectors_config: null, quantization_config: quantization, quantization: null },
      { vectors_config: vectors, vectors: null, quantization: quantization, quantization_config: null },
    ];
    for (const body of bodies) {
      const own = await server.holding([{ id: 1, vector: [1, 0] }], body);
      expect((await server.ok('GET', own)).config.quantization_config).toMatchObject(quantization);
      for (const limited of [
        { limit: 0.5e1, top: null },
        { top: 5, limit: null },
      ]) {
        const search = { vector: [1, 0], ...limited, with_vectors: true, with_vector: null };
        expect(await server.ok('POST', `${own}/points/search`, search)).toMatchObject([{ vector: [1, 0] }]);
      }
      const points = [{ id: 2, vector: [1, 1], vectors: null }];
      expect(await server.ok('PUT', `${own}/points`, { points })).toMatchObject({ status: 'completed' });
    }
  });

  it('C1.10 every endpoint that changes points is among those that are tried with misspelt keys', () => {
    const changing = engineRoutes.filter((route) => route.permission === 'write' && route.reach === 'points');
    const tried = Object.values(BY_FILTER).map(([method, rest]) => `${method} ${rest}`);
    const found = changing.map(
      (route) => `${route.method} ${route.path.replace('/collections/:collection_name', '')}`,
    );
    expect([...tried, 'POST /points/batch'].sort()).toEqual(found.sort());
    const { UpdateOperation } = JSON.parse(readFileSync('dist/openapi.json', 'utf8')).components.schemas;
    const described = UpdateOperation.anyOf.flatMap(({ required }: { required: string[] }) => required);
    expect([...OF_BATCH].sort()).toEqual(described.sort());
  });

  it.each(Object.entries(BY_FILTER))(
    'C1.10 %s with a misspelt key is a 400, and nothing happens; without it is taken',
    async (_operation, [method, rest, body, at]) => {
      const before = await server.everything(path);
      for (const wrong of misspelt(body, at)) {
        expect([wrong, ...(await server.refused(method, `${path}${rest}`, wrong))]).toEqual([
          wrong,
          400,
          expect.any(String),
        ]);
        expect([wrong, ...(await server.everything(path))]).toEqual([wrong, ...before]);
      }
      expect((await server.call(method, `${await another()}${rest}`, body)).status).toBe(200);
    },
  );

  it.each(OF_BATCH)(
    'C1.10, C1.7 %s in a batch with a misspelt key is a 400, and nothing of the batch happens; without it is taken',
    async (operation) => {
      const [, , body, at] = BY_FILTER[operation]!;
      const before = await server.everything(path);
      const batch = (one: object): object => ({
        operations: [{ upsert: { points: [{ ...POINT, id: 9 }] } }, { [operation]: one }],
      });
      for (const wrong of misspelt(body, at)) {
        expect([wrong, ...(await server.refused('POST', `${path}/points/batch`, batch(wrong)))]).toEqual([
          wrong,
          400,
          expect.stringContaining('operations[1]'),
        ]);
        expect([wrong, ...(await server.everything(path))]).toEqual([wrong, ...before]);
      }
      expect((await server.call('POST', `${await another()}/points/batch`, batch(body))).status).toBe(200);
    },
  );

  it.each(MISSPELT)(
    'C1.10 %s %s with a misspelt key is a 400, and nothing happens: %j',
    async (method, rest, body) => {
      const before = await server.everything(path);
      const [status, message] = await server.refused(method, `${path}${rest}`, body);
      expect([status, message]).toEqual([400, expect.any(String)]);
      expect(await server.everything(path)).toEqual(before);
    },
  );

  it.each([
    ['POST', '/points/search', { vector: { name: 'v', vector: [1, 0] }, filter: { mst: [] } }],
    ['POST', '/points/scroll', { filter: { must: { key: 'n', mtch: {} } } }],
    ['POST', '/points/count', { filter: { mst: [] } }],
    ['POST', '/facet', { key: 'n', filter: { mst: [] } }],
    [
      'POST',
      '/points/query',
      { query: [1, 0], using: 'v', prefetch: { query: [1, 0], using: 'v', lmit: 3 } },
    ],
    ['POST', '/points/search', { vector: { name: 'v', vector: [1, 0], x: 1 } }],
    ['POST', '/points/scroll', { with_payload: { inclde: [] } }],
  ])(
    'C1.10 %s %s with an unknown key inside a filter, a part or a selector is a 400',
    async (method, rest, body) => {
      expect((await server.refused(method, `${path}${rest}`, body))[0]).toBe(400);
    },
  );

  it.each([
    ['POST', '/operations/flush'],
    ['POST', '/operations/optimize'],
    ['POST', '/operations/rebuild_index'],
    ['GET', '/status'],
    ['POST', '/points/recommend'],
    ['POST', '/points/recommend/batch'],
    ['POST', '/points/discover'],
    ['POST', '/points/discover/batch'],
    ['POST', '/points/search/groups'],
    ['POST', '/points/query/groups'],
    ['POST', '/points/recommend/groups'],
    ['GET', '/aliases'],
    ['POST', '/snapshots'],
    ['GET', '/snapshots'],
    ['GET', '/snapshots/s'],
    ['DELETE', '/snapshots/s'],
    ['PUT', '/snapshots/recover'],
    ['POST', '/snapshots/upload'],
    ['PUT', '/snapshots/s/recover'],
  ])('C8, C12 %s %s answers in the dialect qdrant only', async (method, rest) => {
    const { status } = await server.call(method, path + rest);
    expect(status === 501).toBe(dialect === 'specification');
  });
});

describe('C12 the dialect qdrant', () => {
  let server: ContractServer;
  let path: string;

  /** The `result` and the warnings of a request that must succeed. */
  const warned = async (method: string, rest: string, body: object): Promise<[Json, string[]]> => {
    const answer = await server.call(method, path + rest, body);
    if (answer.status !== 200) throw new Error(`${method} ${rest}: ${answer.status} ${answer.text}`);
    const warnings = (answer.body.warnings ?? []) as { message: string }[];
    return [answer.body.result, warnings.map(({ message }) => message)];
  };

  beforeAll(async () => {
    server = await ContractServer.start(['--dialect', 'qdrant', '--max-result-window', '50']);
    path = await server.collection('c', { vectors: { size: 2, distance: 'Dot' } });
    const points = [1, 2, 3, 4].map((id) => ({ id, vector: [id, 5 - id], payload: { n: id } }));
    await server.ok('PUT', `${path}/points`, { points });
  });
  afterAll(() => server.stop());

  it('leaves absent ids out of a retrieve', async () => {
    expect(idsOf(await server.ok('POST', `${path}/points`, { ids: [9, 2, 8, 1] }))).toEqual([2, 1]);
    expect(await server.ok('POST', `${path}/points`, { ids: [9] })).toEqual([]);
  });

  it("says Qdrant's sentences where something is not found", async () => {
    for (const [method, rest, body, sentence] of [
      ['GET', '/collections/absent', undefined, "Not found: Collection `absent` doesn't exist!"],
      ['POST', '/collections/absent/points/count', {}, "Not found: Collection `absent` doesn't exist!"],
      ['GET', `${path}/points/9`, undefined, 'Not found: Point with id 9 does not exists!'],
      ['POST', `${path}/points/query`, { query: 9 }, 'Not found: No point with id 9 found'],
      [
        'POST',
        `${path}/points/payload`,
        { payload: { a: 1 }, points: [9] },
        'Not found: No point with id 9 found',
      ],
    ] as const) {
      expect(await server.refused(method, rest, body)).toEqual([404, sentence]);
    }
  });

  it('passes over unknown fields of the body of a read and of its params, and names them', async () => {
    const [hits, warnings] = await warned('POST', '/points/search', {
      vector: [1, 0],
      limit: 1,
      nonsense: { must: [1, { a: null }] },
      params: { exact: true, more: 1 },
    });
    expect(idsOf(hits)).toEqual([4]);
    expect(warnings).toEqual(['nonsense: unknown field, ignored', 'params.more: unknown field, ignored']);
    for (const [rest, body, place] of [
      ['/points/query', { query: [1, 0], x: 1 }, 'x'],
      ['/points/query/batch', { searches: [{ query: [1, 0] }, { query: [1, 0], x: 1 }] }, 'searches[1].x'],
      ['/points/scroll', { x: [] }, 'x'],
      ['/points/count', { x: 1 }, 'x'],
      ['/points', { ids: [1], x: 1 }, 'x'],
      ['/facet', { key: 'n', x: 1 }, 'x'],
      ['/points/recommend', { positive: [1], x: 1 }, 'x'],
      ['/points/query/groups', { query: [1, 0], group_by: 'n', x: 1 }, 'x'],
      ['/points/search/groups', { vector: [1, 0], group_by: 'n', offset: 1 }, 'offset'],
    ] as const) {
      expect((await warned('POST', rest, body))[1]).toEqual([`${place}: unknown field, ignored`]);
    }
  });

  it('passes over unknown fields of a new collection, of a changed one and of a field index', async () => {
    const made = await server.call('PUT', '/collections/d', {
      vectors: { size: 2, distance: 'Dot' },
      init_from: { collection: 'c' },
    });
    expect([made.status, made.body.warnings]).toEqual([
      200,
      [{ message: 'init_from: unknown field, ignored' }],
    ]);
    const changed = await server.call('PATCH', '/collections/d', { x: 1, metadata: { a: 1 } });
    expect([changed.status, changed.body.warnings.length]).toEqual([200, 1]);
    const indexed = await server.call('PUT', '/collections/d/index', {
      field_name: 'n',
      field_schema: 'integer',
      x: 1,
    });
    expect([indexed.status, indexed.body.warnings.length]).toEqual([200, 1]);
    const nested = { vectors: { size: 2, distance: 'Dot', x: 1 } };
    expect(await server.refused('PUT', '/collections/e', nested)).toEqual([400, 'vectors.x: unknown field']);
  });

  it('C2.7 shortens limits beyond the window of searches, queries and prefetches, and says so', async () => {
    const [hits, warnings] = await warned('POST', '/points/search', {
      vector: [1, 0],
      limit: 999_999_999,
      offset: 1,
    });
    expect(idsOf(hits)).toEqual([3, 2, 1]);
    expect(warnings).toEqual(['limit: shortened to 49: limit + offset is at most 50 (max_result_window)']);
    const prefetch = [{ query: [1, 0], limit: 51 }];
    const [, inner] = await warned('POST', '/points/query', { prefetch, query: { fusion: 'rrf' } });
    expect(inner).toEqual([
      'prefetch[0].limit: shortened to 50: limit + offset is at most 50 (max_result_window)',
    ]);
    expect((await server.refused('POST', `${path}/points/search`, { vector: [1, 0], offset: 50 }))[0]).toBe(
      400,
    );
    expect((await server.refused('POST', `${path}/points/scroll`, { limit: 51, order_by: 'n' }))[0]).toBe(
      400,
    );
  });

  it('recommends and discovers as the universal query does', async () => {
    const recommend = { positive: [1, [0, 3]], negative: [4] };
    const discover = { target: [1, 1], context: [{ positive: 1, negative: 4 }] };
    const more = { filter: { must_not: { has_id: [2] } }, limit: 2, with_payload: true };
    for (const [rest, body, query] of [
      ['recommend', recommend, { recommend }],
      [
        'recommend',
        { ...recommend, strategy: 'best_score' },
        { recommend: { ...recommend, strategy: 'best_score' } },
      ],
      ['discover', discover, { discover }],
      ['discover', { context: discover.context }, { context: discover.context }],
    ] as const) {
      const { points } = await server.ok('POST', `${path}/points/query`, { query, ...more });
      expect(await server.ok('POST', `${path}/points/${rest}`, { ...body, ...more })).toEqual(points);
      const searches = [{ ...body, ...more }];
      expect(await server.ok('POST', `${path}/points/${rest}/batch`, { searches })).toEqual([points]);
    }
  });

  it.each([
    ['recommend', {}, 'body: At least one positive or negative vector/id must be provided'],
    ['recommend', { positive: [[1, 2, 3]] }, 'Wrong input: Vector dimension error: expected dim: 2, got 3'],
    ['recommend', { positive: ['x'] }, /^positive\[0\]: value "x" is not a valid point ID/],
    ['discover', {}, 'body: either target or context must be given'],
    ['discover', { context: [{ positive: 1 }] }, 'Missing required field: context[0].negative'],
    ['recommend/batch', { searches: [{ positive: [1] }, {}] }, /^searches\[1\]: At least one positive/],
  ])('refuses %s %j', async (rest, body, message) => {
    const [status, said] = await server.refused('POST', `${path}/points/${rest}`, body);
    expect(status).toBe(400);
    if (typeof message === 'string') expect(said).toBe(message);
    else expect(said).toMatch(message);
  });

  it('flushes, waits until it is optimised, and gives the status', async () => {
    expect(await server.ok('POST', `${path}/operations/flush`)).toBe(true);
    expect(await server.ok('POST', `${path}/operations/optimize`)).toBe(true);
    expect(await server.ok('POST', `${path}/operations/rebuild_index`)).toBe(true);
    expect(await server.ok('GET', `${path}/status`)).toEqual({
      status: 'green',
      optimizer_status: 'ok',
      points_count: 4,
      indexed_vectors_count: 4,
    });
    expect((await server.refused('POST', '/collections/absent/operations/flush'))[0]).toBe(404);
    expect((await server.refused('POST', '/collections/absent/operations/optimize'))[0]).toBe(404);
    expect((await server.refused('POST', '/collections/absent/operations/rebuild_index'))[0]).toBe(404);
  });

  it('C5 is durable and all or nothing, as the other dialect is', async () => {
    const own = await server.holding([{ id: 1, vector: [1, 4] }]);
    const before = await server.everything(own);
    const points = [
      { id: 7, vector: [1, 1] },
      { id: 8, vector: [1] },
    ];
    expect((await server.refused('PUT', `${own}/points`, { points }))[0]).toBe(400);
    expect(await server.everything(own)).toEqual(before);
    await server.ok('PUT', `${own}/points`, { points: [{ id: 7, vector: [1, 1] }] });
    await server.restart();
    expect((await server.ok('GET', `${own}/points/7`)).id).toBe(7);
  });
});
