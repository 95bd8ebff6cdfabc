import { ContractServer, idsOf, type Json } from './contract-server';

const UUID = '550e8400-e29b-41d4-a716-446655440000';
const CITIES = [
  { id: 1, vector: [1, 0], payload: { name: 'a', n: 3, when: '2024-01-01T00:00:00Z', tags: ['x', 'y'] } },
  {
    id: 2,
    vector: [0, 1],
    payload: { name: 'b', n: 1, when: '2023-01-01', nested: { deep: { v: 1 }, w: 2 } },
  },
  { id: 3, vector: [1, 1], payload: { name: 'c', n: 2.5, list: [{ a: 1, b: 2 }, { a: 3 }] } },
  { id: 4, vector: [2, 2], payload: { name: 'd', n: 'none' } },
  { id: UUID, vector: [3, 3], payload: { name: 'e' } },
];

let server: ContractServer;
let path: string;

beforeAll(async () => {
  server = await ContractServer.start();
  path = await server.collection('cities');
  await server.ok('PUT', `${path}/points`, { points: CITIES });
});
afterAll(() => server.stop());

const search = (json: object): Promise<Json> => server.ok('POST', `${path}/points/search`, json);
const query = async (json: object): Promise<Json> =>
  (await server.ok('POST', `${path}/points/query`, json)).points;
const scroll = (json: object): Promise<Json> => server.ok('POST', `${path}/points/scroll`, json);

describe('C6.1 selectors', () => {
  it('C6.1 the default of with_payload is true for retrieve and scroll, false for search and query', async () => {
    expect((await scroll({ limit: 1 })).points).toEqual([{ id: 1, payload: CITIES[0]?.payload }]);
    expect(await server.ok('POST', `${path}/points`, { ids: [1] })).toEqual([
      { id: 1, payload: CITIES[0]?.payload },
    ]);
    const bare = { id: UUID, version: expect.any(Number), score: 6 };
    expect(await search({ vector: [1, 1], limit: 1 })).toEqual([bare]);
    expect(await query({ query: [1, 1], limit: 1 })).toEqual([bare]);
  });

  it.each<[unknown, object]>([
    [true, CITIES[1]?.payload ?? {}],
    [['name'], { name: 'b' }],
    [['nested.deep', 'n'], { n: 1, nested: { deep: { v: 1 } } }],
    [{ include: ['nested'] }, { nested: { deep: { v: 1 }, w: 2 } }],
    [{ exclude: ['nested.deep', 'when', 'absent'] }, { name: 'b', n: 1, nested: { w: 2 } }],
    [[], {}],
  ])('C6.1 with_payload %j, in every read', async (with_payload, wanted) => {
    const reads = await Promise.all([
      server.ok('POST', `${path}/points`, { ids: [2], with_payload }).then(([point]) => point),
      scroll({ offset: 2, limit: 1, with_payload }).then(({ points }) => points[0]),
      search({ vector: [0, 1], filter: { must: { has_id: [2] } }, with_payload }).then(([hit]) => hit),
      query({ query: [0, 1], filter: { must: { has_id: [2] } }, with_payload }).then(([hit]) => hit),
    ]);
    expect(reads.map(({ payload }) => payload)).toEqual([wanted, wanted, wanted, wanted]);
  });

  it('C6.1 with_payload false leaves it out, and arrays are entered by []', async () => {
    expect((await scroll({ limit: 1, with_payload: false })).points).toEqual([{ id: 1 }]);
    const lists = await server.ok('POST', `${path}/points`, { ids: [3], with_payload: ['list[].a'] });
    expect(lists).toEqual([{ id: 3, payload: { list: [{ a: 1 }, { a: 3 }] } }]);
  });

  it('C6.1 with_vector is a boolean or names, in every read', async () => {
    const vectors = { a: { size: 1, distance: 'Dot' }, b: { size: 1, distance: 'Dot' } };
    const named = await server.collection('named', { vectors });
    await server.ok('PUT', `${named}/points`, { points: [{ id: 1, vector: { a: [1], b: [2] } }] });
    for (const [with_vector, vector] of [
      [true, { a: [1], b: [2] }],
      [['b'], { b: [2] }],
      [[], {}],
    ]) {
      const answers = [
        (await server.ok('POST', `${named}/points`, { ids: [1], with_vector, with_payload: false }))[0],
        (await server.ok('POST', `${named}/points/scroll`, { with_vector, with_payload: false })).points[0],
      ];
      expect(answers).toEqual([
        { id: 1, vector },
        { id: 1, vector },
      ]);
      const [hit] = await server.ok('POST', `${named}/points/search`, {
        vector: { name: 'a', vector: [1] },
        with_vector,
      });
      expect(hit.vector).toEqual(vector);
    }
    for (const rest of ['', '/scroll']) {
      const body = { ...(rest === '' ? { ids: [1] } : {}), with_vector: ['c'] };
      expect(await server.refused('POST', `${named}/points${rest}`, body)).toEqual([
        400,
        'Vector not found: c',
      ]);
    }
  });

  it.each(['yes', 1, {}, { include: ['a'], exclude: ['b'] }, { only: ['a'] }, ['a..b'], [1]])(
    'C6.1 with_payload %j is a 400',
    async (with_payload) => {
      const [status, message] = await server.refused('POST', `${path}/points/scroll`, { with_payload });
      expect([status, message]).toEqual([400, expect.stringContaining('with_payload')]);
    },
  );
});

describe('C6.2 search', () => {
  it('C6.2 the default of limit is 10; limit and offset page through the same order', async () => {
    const many = await server.collection('many');
    const ids = Array.from({ length: 25 }, (_, id) => id);
    await server.ok('PUT', `${many}/points`, { batch: { ids, vectors: ids.map((id) => [id % 7, 1]) } });
    const at = (json: object): Promise<Json[]> =>
      server.ok('POST', `${many}/points/search`, { vector: [1, 0], ...json });
    const all = idsOf(await at({ limit: 25 }));
    expect(all).toEqual(ids.toSorted((a, b) => (b % 7) - (a % 7) || a - b));
    expect(idsOf(await at({}))).toEqual(all.slice(0, 10));
    expect(idsOf(await at({ limit: 4, offset: 3 }))).toEqual(all.slice(3, 7));
    expect(await at({ limit: 5, offset: 25 })).toEqual([]);
  });

  it('C6.2 a named vector, all params, and a threshold that keeps equals', async () => {
    const params = { hnsw_ef: 16, exact: true, indexed_only: false };
    const quantization = { ignore: true, rescore: true, oversampling: 2 };
    const asked = { vector: { name: '', vector: [1, 1] }, params: { ...params, quantization } };
    expect(idsOf(await search(asked))).toEqual([UUID, 4, 3, 1, 2]);
    expect(idsOf(await search({ vector: [1, 1], score_threshold: 2 }))).toEqual([UUID, 4, 3]);
    expect(idsOf(await search({ vector: [1, 1], top: 1 }))).toEqual([UUID]);
  });

  it('C6.2 a batch answers in its order, each as it would be alone', async () => {
    const searches = [
      { vector: [1, 0], limit: 2 },
      { vector: [0, 1], with_payload: ['name'], filter: { must: { key: 'n', range: { lt: 3 } } } },
      { vector: [1, 1], limit: 1, with_vector: true },
    ];
    const alone = await Promise.all(searches.map(search));
    expect(await server.ok('POST', `${path}/points/search/batch`, { searches })).toEqual(alone);
    expect(await server.ok('POST', `${path}/points/search/batch`, { searches: [] })).toEqual([]);
    const queries = searches.map(({ vector, ...others }) => ({ query: vector, ...others }));
    const batch = await server.ok('POST', `${path}/points/query/batch`, { searches: queries });
    expect(batch).toEqual(alone.map((points) => ({ points })));
  });

  it('C6.2, C6.3 one bad search fails the batch with its index', async () => {
    for (const [rest, good, bad] of [
      ['search', { vector: [1, 0] }, { vector: [1] }],
      ['search', { vector: [1, 0] }, { vector: [1, 0], limit: 0 }],
      ['query', { query: [1, 0] }, { query: [1] }],
      ['query', { query: [1, 0] }, { query: 99 }],
    ] as const) {
      const answer = await server.refused('POST', `${path}/points/${rest}/batch`, {
        searches: [good, good, bad],
      });
      expect(answer).toEqual([expect.any(Number), expect.stringContaining('searches[2]')]);
    }
  });

  it.each<[object, string]>([
    [{ params: { hnsw_ef: 0 } }, 'params.hnsw_ef'],
    [{ params: { quantization: { oversampling: 0.5 } } }, 'params.quantization.oversampling'],
    [{ limit: 1.5 }, 'limit'],
    [{ offset: -1 }, 'offset'],
    [{ score_threshold: 'high' }, 'score_threshold'],
    [{ vector: { name: 'x' } }, 'vector'],
    [{ vector: { text: 'hello', model: 'm' } }, 'vector'],
  ])('C6.2 400 for %j', async (json, place) => {
    const [status, message] = await server.refused('POST', `${path}/points/search`, {
      vector: [1, 1],
      ...json,
    });
    expect([status, message]).toEqual([400, expect.stringContaining(place)]);
  });
});

describe('C6.3 query', () => {
  it('C6.3 a vector, spelled out or not', async () => {
    const wanted = [UUID, 4, 3, 1, 2];
    for (const asked of [[1, 1], { nearest: [1, 1] }]) {
      expect(idsOf(await query({ query: asked }))).toEqual(wanted);
      expect(idsOf(await query({ query: asked, using: '', limit: 2, offset: 1 }))).toEqual([4, 3]);
    }
  });

  it('C6.3 an id is an example and left out of its own result; an absent one is a 404', async () => {
    for (const asked of [3, { nearest: 3 }]) {
      expect(idsOf(await query({ query: asked }))).toEqual([UUID, 4, 1, 2]);
    }
    expect(idsOf(await query({ query: UUID.toUpperCase(), limit: 1 }))).toEqual([4]);
    expect(await server.refused('POST', `${path}/points/query`, { query: 99 })).toEqual([
      404,
      'Point not found: 99',
    ]);
  });

  it('C6.3 the example may come from another collection, by another vector', async () => {
    const other = await server.collection('other', {
      vectors: { v: { size: 2, distance: 'Euclid' }, long: { size: 3, distance: 'Dot' } },
    });
    await server.ok('PUT', `${other}/points`, {
      points: [
        { id: 1, vector: { v: [0, 1], long: [1, 2, 3] } },
        { id: 2, vector: {} },
      ],
    });
    const lookup = { collection: 'other', vector: 'v' };
    // Point 1 of this collection is not the example, so it stays.
    expect(idsOf(await query({ query: 1, lookup_from: lookup, limit: 5 }))).toEqual([UUID, 4, 2, 3, 1]);
    const refusals: [object, number, string][] = [
      [{ query: 7, lookup_from: lookup }, 404, 'Point not found: 7'],
      [{ query: 1, lookup_from: { collection: 'absent' } }, 404, 'Collection not found: absent'],
      [{ query: 1, lookup_from: { collection: 'other', vector: 'x' } }, 400, 'Vector not found: x'],
      [{ query: 1, lookup_from: { collection: 'other', vector: 'long' } }, 400, 'expected 2, got 3'],
      [{ query: 2, lookup_from: lookup }, 404, "query: Vector with name 'v' for point 2 not found"],
    ];
    for (const [json, status, message] of refusals) {
      const answer = await server.refused('POST', `${path}/points/query`, json);
      expect(answer).toEqual([status, expect.stringContaining(message)]);
    }
  });

  it('C1.11 an example of the wrong kind is named by its place', async () => {
    const named = await server.collection('examples', {
      vectors: { v: { size: 2, distance: 'Euclid' } },
    });
    const sparse = { indices: [1], values: [1] };
    const refusals: [string, string, object, string][] = [
      [named, 'search', { vector: { name: 'v', vector: sparse } }, 'vector.vector'],
      [
        named,
        'search/batch',
        { searches: [{ vector: { name: 'v', vector: sparse } }] },
        'searches[0].vector.vector',
      ],
      [path, 'query', { query: sparse }, 'query'],
      [
        path,
        'query',
        { query: { recommend: { positive: [1], negative: [[1, 0], sparse] } } },
        'query.recommend.negative[1]',
      ],
      [path, 'query', { query: { discover: { target: sparse, context: [] } } }, 'query.discover.target'],
      [
        path,
        'query',
        { query: { context: [{ positive: 1, negative: sparse }] } },
        'query.context[0].negative',
      ],
    ];
    for (const [collection, operation, json, place] of refusals) {
      const [status, message] = await server.refused('POST', `${collection}/points/${operation}`, json);
      expect([status, message.split(': vector ')[0]]).toEqual([400, place]);
    }
  });

  it('C6.3, C6.7 no query scrolls by id, sample and order_by score 1.0', async () => {
    expect(await query({ limit: 2, offset: 1 })).toEqual([
      { id: 2, version: expect.any(Number), score: 1 },
      { id: 3, version: expect.any(Number), score: 1 },
    ]);
    const sample = await query({ query: { sample: 'random' }, limit: 5 });
    expect(idsOf(sample).map(String).toSorted()).toEqual(CITIES.map(({ id }) => String(id)).toSorted());
    const few = await query({
      query: { sample: 'random' },
      limit: 2,
      filter: { must: { has_id: [1, 2, 3] } },
    });
    expect(few).toHaveLength(2);
    const ordered = await query({ query: { order_by: 'n' }, with_payload: ['name'] });
    expect(ordered.map(({ id, score, order_value }: Json) => [id, score, order_value])).toEqual([
      [2, 1, 1],
      [3, 1, 2.5],
      [1, 1, 3],
    ]);
    for (const hit of [...sample, ...few, ...ordered]) {
      expect(hit).toMatchObject({ score: 1, version: expect.any(Number) });
    }
  });

  it.each<[object, string]>([
    [{ query: {} }, 'query'],
    [{ query: { closest: [1, 1] } }, 'closest'],
    [{ query: { nearest: [1, 1], sample: 'random' } }, 'query'],
    [{ query: { sample: 'best' } }, 'query.sample'],
    [{ query: true }, 'query'],
    [{ query: 'not a uuid' }, 'query'],
    [{ query: -1 }, 'query'],
    [{ query: { order_by: 'n' }, score_threshold: 1 }, 'score_threshold'],
    [{ score_threshold: 1 }, 'score_threshold'],
  ])('C6.3 400 for %j', async (json, place) => {
    const [status, message] = await server.refused('POST', `${path}/points/query`, json);
    expect([status, message]).toEqual([400, expect.stringContaining(place)]);
  });
});

describe('C6.4 scroll', () => {
  it('C6.4 pages by id, integers before UUIDs, offset inclusive, and a next offset until the end', async () => {
    const ids = [1, 2, 3, 4, UUID];
    expect(await scroll({ limit: 2, with_payload: false })).toEqual({
      points: [{ id: 1 }, { id: 2 }],
      next_page_offset: 3,
    });
    const seen: unknown[] = [];
    let offset: unknown;
    do {
      const page = await scroll({ limit: 2, offset });
      seen.push(...idsOf(page.points));
      offset = page.next_page_offset ?? undefined;
    } while (offset !== undefined);
    expect(seen).toEqual(ids);
    expect((await scroll({ offset: 4 })).points.map(({ id }: Json) => id)).toEqual([4, UUID]);
    expect((await scroll({ offset: 5, limit: 1 })).next_page_offset).toBeNull();
    expect((await scroll({ filter: { must: { has_id: [4, 2] } }, limit: 1 })).next_page_offset).toBe(4);
  });

  it('C6.4 the default of limit is 10', async () => {
    const path = await server.holding(Array.from({ length: 11 }, (_, id) => ({ id, vector: [id, 1] })));
    const { points, next_page_offset } = await server.ok('POST', `${path}/points/scroll`, {});
    expect([points.length, next_page_offset]).toEqual([10, 10]);
  });

  it('C6.4, C6.7 order_by: both directions, start_from inclusive, no offset', async () => {
    const order = async (order_by: unknown): Promise<unknown[]> => idsOf((await scroll({ order_by })).points);
    expect(await order('n')).toEqual([2, 3, 1]);
    expect(await order({ key: 'n', direction: 'desc' })).toEqual([1, 3, 2]);
    expect(await order({ key: 'n', start_from: 2.5 })).toEqual([3, 1]);
    expect(await order({ key: 'n', direction: 'desc', start_from: 2 })).toEqual([2]);
    expect(await order({ key: 'when', start_from: '2023-06-01T00:00:00Z' })).toEqual([1]);
    expect((await scroll({ order_by: 'n', limit: 1 })).next_page_offset).toBeNull();
    const [status, message] = await server.refused('POST', `${path}/points/scroll`, {
      order_by: 'n',
      offset: 2,
    });
    expect([status, message]).toEqual([400, expect.stringMatching(/offset.*order_by/)]);
    for (const order_by of [
      { direction: 'asc' },
      { key: 'n', direction: 'up' },
      { key: 'n', start_from: 'soon' },
      'a..b',
    ]) {
      expect((await server.refused('POST', `${path}/points/scroll`, { order_by }))[0]).toBe(400);
    }
  });
});

describe('C6.5 count', () => {
  it('C6.5 with a filter, exact or not, and without any body', async () => {
    const count = async (json?: unknown): Promise<number> =>
      (await server.ok('POST', `${path}/points/count`, json)).count;
    expect(await count()).toBe(5);
    expect(await count({})).toBe(5);
    expect(await count({ filter: { must: { key: 'n', range: { gte: 2 } } }, exact: true })).toBe(2);
    expect(await count({ exact: false })).toBe(5);
    expect((await server.refused('POST', `${path}/points/count`, { exact: 'yes' }))[0]).toBe(400);
  });
});

describe('C6.6 snapshots', () => {
  it.each<[string, object]>([
    ['search', { vector: [1, 1], limit: 0 }],
    ['query', { query: [1, 1], limit: 0 }],
    ['query', { limit: 0 }],
    ['scroll', { limit: 0 }],
    ['search/batch', { searches: [{ vector: [1, 1], limit: 0 }] }],
  ])('C6.6 a limit of 0 is a 400: %s', async (rest, json) => {
    const [status, message] = await server.refused('POST', `${path}/points/${rest}`, json);
    expect([status, message]).toEqual([400, expect.stringContaining('limit')]);
  });

  it('C6.6 under concurrent writes no point is half-updated, and a deleted one never appears', async () => {
    const busy = await server.collection('busy');
    const ids = Array.from({ length: 20 }, (_, id) => id);
    const write = (round: number): Promise<unknown> =>
      server.ok('PUT', `${busy}/points`, {
        points: ids.map((id) => ({ id, vector: [round, id], payload: { round } })),
      });
    await write(0);
    const writeOn = async (): Promise<void> => {
      for (let round = 1; round <= 60; round += 1) {
        await write(round);
      }
    };
    const readOn = async (rest: string, json: object): Promise<void> => {
      for (let time = 0; time < 60; time += 1) {
        const body = { ...json, limit: 100, with_payload: true, with_vector: true };
        const result: Json = await server.ok('POST', `${busy}/points/${rest}`, body);
        const points: Json[] = result.points ?? result;
        expect(points).toHaveLength(ids.length);
        // One request is one change: all points are of the same round, and so is every part of each.
        const rounds = new Set(points.flatMap(({ vector, payload }: Json) => [vector[0], payload.round]));
        expect(rounds.size).toBe(1);
      }
    };
    await Promise.all([writeOn(), readOn('search', { vector: [0, 1] }), readOn('scroll', {})]);
    for (const id of ids) {
      await server.ok('POST', `${busy}/points/delete`, { points: [id] });
      const hits = await server.ok('POST', `${busy}/points/search`, { vector: [0, 1], limit: 100 });
      expect(idsOf(hits)).not.toContain(id);
    }
  });
});

describe('C6.7 scores and orders', () => {
  it('C6.7 every hit of search and query has a numeric score and version', async () => {
    const hits = [
      ...(await search({ vector: [1, 0] })),
      ...(await query({ query: [1, 0] })),
      ...(await query({})),
    ];
    expect(hits).toHaveLength(15);
    for (const { score, version } of hits) {
      expect([typeof score, typeof version]).toEqual(['number', 'number']);
    }
  });

  it.each([false, true])(
    'C6.7 order_by: order_value, ties by id, date-times as integer microseconds; with an index: %s',
    async (indexed) => {
      const ordered = await server.collection(`ordered-${indexed}`);
      const payloads = [
        { n: 5, t: '2024-01-01T00:00:00Z' },
        { n: 5, t: '2024-01-01T00:00:00.000001Z' },
        { n: [1, 9], t: ['1969-12-31', 'not a date'] },
        { n: 'x', t: 7 },
        { n: null },
        {},
        { n: 5.5, t: '2024-01-01T01:00:00+01:00' },
      ];
      await server.ok('PUT', `${ordered}/points`, {
        points: payloads.map((payload, id) => ({ id, vector: [1, 2], payload })),
      });
      if (indexed) {
        await server.ok('PUT', `${ordered}/index`, { field_name: 'n', field_schema: 'float' });
        await server.ok('PUT', `${ordered}/index`, { field_name: 't', field_schema: 'datetime' });
      }
      const rows = async (order_by: unknown): Promise<unknown[]> => {
        const { points } = await server.ok('POST', `${ordered}/points/scroll`, {
          order_by,
          with_payload: false,
        });
        return points.map(({ id, order_value }: Json) => [id, order_value]);
      };
      expect(await rows('n')).toEqual([
        [2, 1],
        [0, 5],
        [1, 5],
        [6, 5.5],
        [2, 9],
      ]);
      expect(await rows({ key: 'n', direction: 'desc' })).toEqual([
        [2, 9],
        [6, 5.5],
        [0, 5],
        [1, 5],
        [2, 1],
      ]);
      const newYear = 1_704_067_200_000_000;
      // A number among dates orders as a number, index or not (C7).
      expect(await rows('t')).toEqual([
        [2, -86_400_000_000],
        [3, 7],
        [0, newYear],
        [6, newYear],
        [1, newYear + 1],
      ]);
    },
  );
});
