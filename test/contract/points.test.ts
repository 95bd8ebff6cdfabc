import { ContractServer, idsOf, SELECTORS, type Json } from './contract-server';

let server: ContractServer;

beforeAll(async () => {
  server = await ContractServer.start();
});
afterAll(() => server.stop());

/** A new collection of two named vectors that holds these points. */
function named(points: readonly object[]): Promise<string> {
  const vectors = { a: { size: 2, distance: 'Dot' }, b: { size: 1, distance: 'Euclid' } };
  return server.holding(points, { vectors });
}

const payloadOf = async (path: string, id: number | string = 1): Promise<unknown> =>
  (await server.ok('GET', `${path}/points/${id}`)).payload;

/** The versions of all points, by id; only scored hits show them. */
async function versions(path: string): Promise<Record<string, number>> {
  const { points } = await server.ok('POST', `${path}/points/query`, { limit: 1000 });
  return Object.fromEntries(points.map(({ id, version }: Json) => [String(id), version]));
}

const POINT = { id: 1, vector: [1, 2], payload: { a: 1, b: { c: 2 } } };

describe('C5 update results', () => {
  it('C5 operation_id grows with every update, and a version is the one of the last change', async () => {
    const path = await server.holding([]);
    const steps: [string, string, object][] = [
      ['PUT', '/points', { points: [POINT, { ...POINT, id: 2 }] }],
      ['POST', '/points/payload', { points: [1], payload: { x: 1 } }],
      ['PUT', '/points/payload', { points: [2], payload: { x: 1 } }],
      ['POST', '/points/payload/delete', { points: [1], keys: ['x'] }],
      ['POST', '/points/payload/clear', { points: [2] }],
      ['PUT', '/points/vectors', { points: [{ id: 1, vector: [3, 4] }] }],
      ['PUT', '/index', { field_name: 'a', field_schema: 'integer' }],
      ['POST', '/points/delete', { points: [2] }],
    ];
    const ids: number[] = [];
    for (const [method, rest, json] of steps) {
      const { operation_id, ...others } = await server.ok(method, `${path}${rest}`, json);
      expect(others).toEqual({ status: 'completed' });
      ids.push(operation_id);
    }
    expect(ids.toSorted((a, b) => a - b)).toEqual(ids);
    expect(new Set(ids).size).toBe(ids.length);
    expect(await versions(path)).toEqual({ 1: ids[5] });
    await server.restart();
    expect(await versions(path)).toEqual({ 1: ids[5] });
    const next = await server.ok('POST', `${path}/points/payload`, { points: [1], payload: { y: 1 } });
    expect(next.operation_id).toBeGreaterThan(ids.at(-1) ?? 0);
    expect(await versions(path)).toEqual({ 1: next.operation_id });
  });

  it.each(['weak', 'medium', 'strong'])('C5 ordering %s is accepted', async (ordering) => {
    const path = await server.holding([]);
    const done = await server.ok('PUT', `${path}/points?ordering=${ordering}&wait=true`, { points: [POINT] });
    expect(done.status).toBe('completed');
  });

  it('C5 wait=false answers acknowledged, a later write sees it, and it survives a restart', async () => {
    const path = await server.holding([]);
    for (let id = 1; id <= 50; id += 1) {
      const point = { points: [{ ...POINT, id }] };
      const done = await server.ok('PUT', `${path}/points?wait=false`, point);
      expect(done).toEqual({ operation_id: expect.any(Number), status: 'acknowledged' });
      // An absent point would be a 404 here.
      const seen = { points: [id], payload: { seen: true } };
      await server.ok('POST', `${path}/points/payload?wait=false`, seen);
    }
    await server.ok('POST', `${path}/points/payload?wait=true`, { filter: {}, payload: { last: 1 } });
    const filter = {
      must: [
        { key: 'seen', match: { value: true } },
        { key: 'last', match: { value: 1 } },
      ],
    };
    expect(await server.ok('POST', `${path}/points/count`, { filter })).toEqual({ count: 50 });
    await server.restart();
    expect(await server.ok('POST', `${path}/points/count`, { filter })).toEqual({ count: 50 });
  });

  it('C5 with wait, the next read sees the change, also from another connection', async () => {
    const path = await server.holding([POINT]);
    for (let round = 0; round < 50; round += 1) {
      await server.ok('PUT', `${path}/points/payload`, { points: [1], payload: { round } });
      expect(await payloadOf(path)).toEqual({ round });
    }
  });
});

describe('C5.1 upsert', () => {
  it.each<[string, object, object]>([
    [
      'unnamed vectors',
      { points: [POINT, { id: 2, vector: [3, 4] }] },
      {
        batch: {
          ids: [1, 2],
          vectors: [
            [1, 2],
            [3, 4],
          ],
          payloads: [POINT.payload, null],
        },
      },
    ],
    [
      'without payloads',
      {
        points: [
          { id: 1, vector: [1, 2] },
          { id: 2, vector: [3, 4] },
        ],
      },
      {
        batch: {
          ids: [1, 2],
          vectors: [
            [1, 2],
            [3, 4],
          ],
        },
      },
    ],
  ])('C5.1 the list and the columns mean the same: %s', async (_title, list, columns) => {
    const paths = [await server.holding([]), await server.holding([])];
    await server.ok('PUT', `${paths[0] ?? ''}/points`, list);
    await server.ok('PUT', `${paths[1] ?? ''}/points`, columns);
    expect(await server.pointsOf(paths[1] ?? '')).toEqual(await server.pointsOf(paths[0] ?? ''));
  });

  it('C5.1 named columns', async () => {
    const path = await named([{ id: 9, vector: {} }]);
    const vectors = {
      a: [
        [1, 2],
        [3, 4],
      ],
      b: [[5], [6]],
    };
    await server.ok('PUT', `${path}/points`, {
      batch: { ids: [1, 2], vectors, payloads: [{ n: 1 }, { n: 2 }] },
    });
    expect(await server.pointsOf(path)).toEqual({
      1: { vector: { a: [1, 2], b: [5] }, payload: { n: 1 } },
      2: { vector: { a: [3, 4], b: [6] }, payload: { n: 2 } },
      9: { vector: {}, payload: {} },
    });
  });

  it('C5.1 replaces whole points: what is not sent disappears', async () => {
    const path = await named([{ id: 1, vector: { a: [1, 2], b: [3] }, payload: { old: 1 } }]);
    await server.ok('PUT', `${path}/points`, { points: [{ id: 1, vector: { b: [4] } }] });
    expect(await server.pointsOf(path)).toEqual({ 1: { vector: { b: [4] }, payload: {} } });
  });

  it('C5.1 the last of a repeated id wins, in both forms', async () => {
    const path = await server.holding([
      { ...POINT, payload: { n: 1 } },
      { ...POINT, payload: { n: 2 } },
    ]);
    expect(await payloadOf(path)).toEqual({ n: 2 });
    const batch = {
      ids: [1, 1],
      vectors: [
        [1, 2],
        [7, 8],
      ],
      payloads: [{ n: 3 }, { n: 4 }],
    };
    await server.ok('PUT', `${path}/points`, { batch });
    expect(await server.pointsOf(path)).toEqual({ 1: { vector: [7, 8], payload: { n: 4 } } });
  });

  it.each<[object, string]>([
    [{ points: [] }, 'points'],
    [{ batch: { ids: [], vectors: [] } }, 'batch'],
    [{ points: [POINT], shard_key: 'x' }, 'shard_key'],
    [{ points: [POINT], batch: { ids: [1], vectors: [[1, 2]] } }, 'batch'],
    [{ batch: { ids: [1, 2], vectors: [[1, 2]] } }, 'number of ids and vectors must be equal (2 != 1)'],
    [{ batch: { ids: [1], vectors: [[1, 2]] }, update_mode: 'replace' }, 'update_mode'],
    [
      {
        batch: {
          ids: [1, 2],
          vectors: [
            [1, 2],
            [1, 2],
          ],
          payloads: [{}],
        },
      },
      'number of ids and payloads must be equal (2 != 1)',
    ],
    [{ points: [{ ...POINT, payload: [] }] }, 'points[0].payload'],
    [{ points: [{ ...POINT, payload: 'x' }] }, 'points[0].payload'],
  ])('C5.1 400 for %j', async (json, place) => {
    const path = await server.holding([POINT]);
    const before = await server.pointsOf(path);
    const [status, message] = await server.refused('PUT', `${path}/points`, json);
    expect([status, message]).toEqual([400, expect.stringContaining(place)]);
    expect(await server.pointsOf(path)).toEqual(before);
  });

  const old = { id: 1, vector: [1, 2], payload: { n: 'old' } };
  const fresh = (id: number) => ({ id, vector: [9, 9], payload: { n: 'new' } });
  const oldState = { vector: [1, 2], payload: { n: 'old' } };
  const newState = { vector: [9, 9], payload: { n: 'new' } };

  it.each<[string, object, object]>([
    ['upsert', { update_mode: 'upsert' }, { 1: newState, 2: newState }],
    ['insert_only', { update_mode: 'insert_only' }, { 1: oldState, 2: newState }],
    ['update_only', { update_mode: 'update_only' }, { 1: newState }],
    [
      'a filter that the old point fails',
      { update_filter: { must: { key: 'n', match: { value: 'new' } } } },
      { 1: oldState, 2: newState },
    ],
    [
      'a filter that it passes',
      { update_filter: { must: { key: 'n', match: { value: 'old' } } } },
      { 1: newState, 2: newState },
    ],
    [
      'update_only with a filter that it fails',
      { update_mode: 'update_only', update_filter: { must: { key: 'n', match: { value: 'new' } } } },
      { 1: oldState },
    ],
  ])('C5.1 mode and filter: %s', async (_title, options, wanted) => {
    const path = await server.holding([old]);
    const done = await server.ok('PUT', `${path}/points`, { points: [fresh(1), fresh(2)], ...options });
    expect(done.status).toBe('completed');
    expect(await server.pointsOf(path)).toEqual(wanted);
  });
});

describe('C5.2, C5.3 retrieve', () => {
  it('C5.2 in the order asked, by default with payload and without vectors', async () => {
    const path = await server.holding([
      POINT,
      { id: 3, vector: [3, 4], payload: { x: 3 } },
      { id: 2, vector: [5, 6] },
    ]);
    expect(await server.ok('POST', `${path}/points`, { ids: [3, 1, 2] })).toEqual([
      { id: 3, payload: { x: 3 } },
      { id: 1, payload: POINT.payload },
      { id: 2, payload: {} },
    ]);
    for (const field of ['with_vector', 'with_vectors']) {
      const asked = { ids: [2, 3], with_payload: false, [field]: true };
      expect(await server.ok('POST', `${path}/points`, asked)).toEqual([
        { id: 2, vector: [5, 6] },
        { id: 3, vector: [3, 4] },
      ]);
    }
    expect(idsOf(await server.ok('POST', `${path}/points`, { ids: [1, 3, 1] }))).toEqual([1, 3]);
    expect(await server.ok('POST', `${path}/points`, { ids: [] })).toEqual([]);
  });

  it('C5.2, C5.3 absent ids are a 404 that names them', async () => {
    const path = await server.holding([POINT]);
    expect(await server.refused('POST', `${path}/points`, { ids: [5, 1, 4] })).toEqual([
      404,
      'Point not found: 5, 4',
    ]);
    expect(await server.refused('GET', `${path}/points/5`)).toEqual([404, 'Point not found: 5']);
    expect(await server.ok('GET', `${path}/points/1`)).toEqual({
      id: 1,
      payload: POINT.payload,
      vector: [1, 2],
    });
  });
});

describe('C5.4 delete', () => {
  it('C5.4 by ids, absent ones ignored; by filter; points count when both are given', async () => {
    const path = await server.holding(
      [1, 2, 3, 4, 5].map((id) => ({ id, vector: [id, 1], payload: { id } })),
    );
    await server.ok('POST', `${path}/points/delete`, { points: [2, 99, 2] });
    expect(Object.keys(await server.pointsOf(path))).toEqual(['1', '3', '4', '5']);
    const filter = { must: { key: 'id', range: { gte: 4 } } };
    await server.ok('POST', `${path}/points/delete`, { points: [1], filter });
    expect(Object.keys(await server.pointsOf(path))).toEqual(['3', '4', '5']);
    await server.ok('POST', `${path}/points/delete`, { filter });
    expect(Object.keys(await server.pointsOf(path))).toEqual(['3']);
    await server.ok('POST', `${path}/points/delete`, { filter: {} });
    await server.restart();
    expect(await server.pointsOf(path)).toEqual({});
  });

  it.each([100, 99, 101])('C5.4 the ids below a deleted one are found when %d is written', async (id) => {
    const points = (ids: number[]): object => ({ points: ids.map((id) => ({ id, vector: [1, 1] })) });
    const below = Array.from({ length: 63 }, (_, at) => at + 1);
    const path = await server.holding([]);
    await server.ok('PUT', `${path}/points`, points([100]));
    await server.ok('PUT', `${path}/points`, points(below));
    await server.ok('POST', `${path}/points/delete`, { points: [100] });
    await server.ok('PUT', `${path}/points`, points([64]));
    await server.ok('PUT', `${path}/points`, points([id]));
    const all = [...below, 64, id];
    const { points: page } = await server.ok('POST', `${path}/points/scroll`, { limit: 100 });
    expect(idsOf(page)).toEqual(all);
    expect(idsOf(await server.ok('POST', `${path}/points`, { ids: all }))).toEqual(all);
  });

  it.each(['/points/delete', '/points/payload/clear'])(
    'C5.4, C5.9 neither points nor filter is a 400: %s',
    async (rest) => {
      const path = await server.holding([POINT]);
      for (const json of [{}, { points: null }, { filter: null }]) {
        const [status, message] = await server.refused('POST', `${path}${rest}`, json);
        expect([status, message]).toEqual([400, expect.stringMatching(/points.*filter/)]);
      }
      expect(Object.keys(await server.pointsOf(path))).toEqual(['1']);
    },
  );
});

describe('C5.5, C5.10 vectors', () => {
  const whole = { id: 1, vector: { a: [1, 2], b: [3] }, payload: { kept: 1 } };

  it.each(['vector', 'vectors'])(
    'C5.5 %s replaces those given, and keeps the others and the payload',
    async (field) => {
      const path = await named([whole, { id: 2, vector: {} }]);
      await server.ok('PUT', `${path}/points/vectors`, {
        points: [
          { id: 1, [field]: { b: [9] } },
          { id: 2, [field]: { a: [4, 5] } },
          { id: 2, [field]: { b: [6] } },
        ],
      });
      expect(await server.pointsOf(path)).toEqual({
        1: { vector: { a: [1, 2], b: [9] }, payload: { kept: 1 } },
        2: { vector: { a: [4, 5], b: [6] }, payload: {} },
      });
    },
  );

  it('C5.5 `vectors` is the same as `points`, by itself and in a batch', async () => {
    const path = await named([whole]);
    await server.ok('PUT', `${path}/points/vectors`, { vectors: [{ id: 1, vector: { b: [8] } }] });
    expect((await server.pointsOf(path))['1']?.vector).toEqual({ a: [1, 2], b: [8] });
    const update_vectors = { vectors: [{ id: 1, vector: { a: [5, 5] } }] };
    await server.ok('POST', `${path}/points/batch`, { operations: [{ update_vectors }] });
    expect((await server.pointsOf(path))['1']?.vector).toEqual({ a: [5, 5], b: [8] });
  });

  it('C5.5 an absent id is a 404 and nothing changes; a filter leaves out what fails it', async () => {
    const path = await named([whole, { ...whole, id: 2, payload: { kept: 2 } }]);
    const points = [1, 2].map((id) => ({ id, vector: { b: [9] } }));
    const absent = { points: [...points, { id: 7, vector: { b: [9] } }] };
    const before = await server.pointsOf(path);
    expect(await server.refused('PUT', `${path}/points/vectors`, absent)).toEqual([
      404,
      'Point not found: 7',
    ]);
    expect(await server.pointsOf(path)).toEqual(before);
    const update_filter = { must: { key: 'kept', match: { value: 2 } } };
    await server.ok('PUT', `${path}/points/vectors`, { points, update_filter });
    expect(await server.pointsOf(path)).toEqual({
      ...before,
      2: { vector: { a: [1, 2], b: [9] }, payload: { kept: 2 } },
    });
  });

  it.each(SELECTORS)('C5.10 removes the named vectors, by %s', async (_title, select) => {
    const path = await named([whole, { ...whole, id: 2 }]);
    await server.ok('POST', `${path}/points/vectors/delete`, { vector: ['b'], ...select([1]) });
    expect(await server.pointsOf(path)).toEqual({
      1: { vector: { a: [1, 2] }, payload: { kept: 1 } },
      2: { vector: whole.vector, payload: { kept: 1 } },
    });
    await server.ok('POST', `${path}/points/vectors/delete`, { vector: ['a', 'b'], ...select([1, 2]) });
    expect((await server.pointsOf(path))['2']?.vector).toEqual({});
    expect(
      await server.ok('POST', `${path}/points/search`, { vector: { name: 'a', vector: [1, 1] } }),
    ).toEqual([]);
  });
});
