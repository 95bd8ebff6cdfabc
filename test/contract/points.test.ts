import { ContractServer, idsOf } from './contract-server';

let server: ContractServer;
let collections = 0;

beforeAll(async () => {
  server = await ContractServer.start();
});
afterAll(() => server.stop());

/** A new collection of unnamed vectors that holds these points. */
async function holding(points: readonly object[]): Promise<string> {
  const path = await server.collection(`points-${(collections += 1)}`);
  if (points.length > 0) {
    await server.ok('PUT', `${path}/points`, { points });
  }
  return path;
}

/** A new collection of two named vectors that holds these points. */
async function named(points: readonly object[]): Promise<string> {
  const vectors = { a: { size: 2, distance: 'Dot' }, b: { size: 1, distance: 'Euclid' } };
  const path = await server.collection(`named-${(collections += 1)}`, { vectors });
  await server.ok('PUT', `${path}/points`, { points });
  return path;
}

/** Every point by its id, with its vector and payload. */
async function everything(path: string): Promise<Record<string, { vector: unknown; payload: unknown }>> {
  const { points } = await server.ok('POST', `${path}/points/scroll`, { limit: 1000, with_vector: true });
  return Object.fromEntries(
    points.map(({ id, vector, payload }: any) => [String(id), { vector, payload }]),
  );
}

const payloadOf = async (path: string, id: number | string = 1): Promise<unknown> =>
  (await server.ok('GET', `${path}/points/${id}`)).payload;

/** The versions of all points, by id; only scored hits show them. */
async function versions(path: string): Promise<Record<string, number>> {
  const { points } = await server.ok('POST', `${path}/points/query`, { limit: 1000 });
  return Object.fromEntries(points.map(({ id, version }: any) => [String(id), version]));
}

const POINT = { id: 1, vector: [1, 2], payload: { a: 1, b: { c: 2 } } };

/** The two ways to name the points of an update, and what each of them says of all points. */
const SELECTORS: [string, (ids: number[]) => object][] = [
  ['points', (ids) => ({ points: ids })],
  ['filter', (ids) => ({ filter: { must: { has_id: ids } } })],
];

describe('C5 update results', () => {
  it('C5 operation_id grows with every update, and a version is the one of the last change', async () => {
    const path = await holding([]);
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
    const path = await holding([]);
    const done = await server.ok('PUT', `${path}/points?ordering=${ordering}&wait=true`, { points: [POINT] });
    expect(done.status).toBe('completed');
  });

  it('C5 wait=false answers acknowledged, a later write sees it, and it survives a restart', async () => {
    const path = await holding([]);
    for (let id = 1; id <= 50; id += 1) {
      const point = { points: [{ ...POINT, id }] };
      const done = await server.ok('PUT', `${path}/points?wait=false`, point);
      expect(done).toEqual({ operation_id: expect.any(Number), status: 'acknowledged' });
      // An absent point would be a 404 here.
      const seen = { points: [id], payload: { seen: true } };
      await server.ok('POST', `${path}/points/payload?wait=false`, seen);
    }
    await server.ok('POST', `${path}/points/payload?wait=true`, { filter: {}, payload: { last: 1 } });
    const filter = { must: [{ key: 'seen', match: { value: true } }, { key: 'last', match: { value: 1 } }] };
    expect(await server.ok('POST', `${path}/points/count`, { filter })).toEqual({ count: 50 });
    await server.restart();
    expect(await server.ok('POST', `${path}/points/count`, { filter })).toEqual({ count: 50 });
  });

  it('C5 with wait, the next read sees the change, also from another connection', async () => {
    const path = await holding([POINT]);
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
      { batch: { ids: [1, 2], vectors: [[1, 2], [3, 4]], payloads: [POINT.payload, null] } },
    ],
    [
      'without payloads',
      { points: [{ id: 1, vector: [1, 2] }, { id: 2, vector: [3, 4] }] },
      { batch: { ids: [1, 2], vectors: [[1, 2], [3, 4]] } },
    ],
  ])('C5.1 the list and the columns mean the same: %s', async (_title, list, columns) => {
    const paths = [await holding([]), await holding([])];
    await server.ok('PUT', `${paths[0] ?? ''}/points`, list);
    await server.ok('PUT', `${paths[1] ?? ''}/points`, columns);
    expect(await everything(paths[1] ?? '')).toEqual(await everything(paths[0] ?? ''));
  });

  it('C5.1 named columns', async () => {
    const path = await named([{ id: 9, vector: {} }]);
    const vectors = { a: [[1, 2], [3, 4]], b: [[5], [6]] };
    await server.ok('PUT', `${path}/points`, { batch: { ids: [1, 2], vectors, payloads: [{ n: 1 }, { n: 2 }] } });
    expect(await everything(path)).toEqual({
      1: { vector: { a: [1, 2], b: [5] }, payload: { n: 1 } },
      2: { vector: { a: [3, 4], b: [6] }, payload: { n: 2 } },
      9: { vector: {}, payload: {} },
    });
  });

  it('C5.1 replaces whole points: what is not sent disappears', async () => {
    const path = await named([{ id: 1, vector: { a: [1, 2], b: [3] }, payload: { old: 1 } }]);
    await server.ok('PUT', `${path}/points`, { points: [{ id: 1, vector: { b: [4] } }] });
    expect(await everything(path)).toEqual({ 1: { vector: { b: [4] }, payload: {} } });
  });

  it('C5.1 the last of a repeated id wins, in both forms', async () => {
    const path = await holding([{ ...POINT, payload: { n: 1 } }, { ...POINT, payload: { n: 2 } }]);
    expect(await payloadOf(path)).toEqual({ n: 2 });
    const batch = { ids: [1, 1], vectors: [[1, 2], [7, 8]], payloads: [{ n: 3 }, { n: 4 }] };
    await server.ok('PUT', `${path}/points`, { batch });
    expect(await everything(path)).toEqual({ 1: { vector: [7, 8], payload: { n: 4 } } });
  });

  it.each<[object, string]>([
    [{ points: [] }, 'points'],
    [{ batch: { ids: [], vectors: [] } }, 'batch'],
    [{ points: [POINT], shard_key: 'x' }, 'shard_key'],
    [{ points: [POINT], batch: { ids: [1], vectors: [[1, 2]] } }, 'batch'],
    [{ batch: { ids: [1, 2], vectors: [[1, 2]] } }, 'number of ids and vectors must be equal (2 != 1)'],
    [{ batch: { ids: [1], vectors: [[1, 2]], payloads: [] , } , update_mode: 'replace' }, 'update_mode'],
    [{ batch: { ids: [1, 2], vectors: [[1, 2], [1, 2]], payloads: [{}] } }, 'number of ids and payloads must be equal (2 != 1)'],
    [{ points: [{ ...POINT, payload: [] }] }, 'points[0].payload'],
    [{ points: [{ ...POINT, payload: 'x' }] }, 'points[0].payload'],
  ])('C5.1 400 for %j', async (json, place) => {
    const path = await holding([POINT]);
    const before = await everything(path);
    const [status, message] = await server.refused('PUT', `${path}/points`, json);
    expect([status, message]).toEqual([400, expect.stringContaining(place)]);
    expect(await everything(path)).toEqual(before);
  });

  const old = { id: 1, vector: [1, 2], payload: { n: 'old' } };
  const fresh = (id: number) => ({ id, vector: [9, 9], payload: { n: 'new' } });
  const oldState = { vector: [1, 2], payload: { n: 'old' } };
  const newState = { vector: [9, 9], payload: { n: 'new' } };

  it.each<[string, object, object]>([
    ['upsert', { update_mode: 'upsert' }, { 1: newState, 2: newState }],
    ['insert_only', { update_mode: 'insert_only' }, { 1: oldState, 2: newState }],
    ['update_only', { update_mode: 'update_only' }, { 1: newState }],
    ['a filter that the old point fails', { update_filter: { must: { key: 'n', match: { value: 'new' } } } }, { 1: oldState, 2: newState }],
    ['a filter that it passes', { update_filter: { must: { key: 'n', match: { value: 'old' } } } }, { 1: newState, 2: newState }],
    [
      'update_only with a filter that it fails',
      { update_mode: 'update_only', update_filter: { must: { key: 'n', match: { value: 'new' } } } },
      { 1: oldState },
    ],
  ])('C5.1 mode and filter: %s', async (_title, options, wanted) => {
    const path = await holding([old]);
    const done = await server.ok('PUT', `${path}/points`, { points: [fresh(1), fresh(2)], ...options });
    expect(done.status).toBe('completed');
    expect(await everything(path)).toEqual(wanted);
  });
});

describe('C5.2, C5.3 retrieve', () => {
  it('C5.2 in the order asked, with payload and without vectors unless told otherwise', async () => {
    const path = await holding([POINT, { id: 3, vector: [3, 4], payload: { x: 3 } }, { id: 2, vector: [5, 6] }]);
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
    const path = await holding([POINT]);
    expect(await server.refused('POST', `${path}/points`, { ids: [5, 1, 4] })).toEqual([404, 'Point not found: 5, 4']);
    expect(await server.refused('GET', `${path}/points/5`)).toEqual([404, 'Point not found: 5']);
    expect(await server.ok('GET', `${path}/points/1`)).toEqual({ id: 1, payload: POINT.payload, vector: [1, 2] });
  });
});

describe('C5.4 delete', () => {
  it('C5.4 by ids, absent ones ignored; by filter; points count when both are given', async () => {
    const path = await holding([1, 2, 3, 4, 5].map((id) => ({ id, vector: [id, 1], payload: { id } })));
    await server.ok('POST', `${path}/points/delete`, { points: [2, 99, 2] });
    expect(Object.keys(await everything(path))).toEqual(['1', '3', '4', '5']);
    const filter = { must: { key: 'id', range: { gte: 4 } } };
    await server.ok('POST', `${path}/points/delete`, { points: [1], filter });
    expect(Object.keys(await everything(path))).toEqual(['3', '4', '5']);
    await server.ok('POST', `${path}/points/delete`, { filter });
    expect(Object.keys(await everything(path))).toEqual(['3']);
    await server.ok('POST', `${path}/points/delete`, { filter: {} });
    await server.restart();
    expect(await everything(path)).toEqual({});
  });

  it.each(['/points/delete', '/points/payload/clear'])('C5.4, C5.9 neither points nor filter is a 400: %s', async (rest) => {
    const path = await holding([POINT]);
    for (const json of [{}, { points: null }, { filter: null }]) {
      const [status, message] = await server.refused('POST', `${path}${rest}`, json);
      expect([status, message]).toEqual([400, expect.stringMatching(/points.*filter/)]);
    }
    expect(Object.keys(await everything(path))).toEqual(['1']);
  });
});

describe('C5.5, C5.10 vectors', () => {
  const whole = { id: 1, vector: { a: [1, 2], b: [3] }, payload: { kept: 1 } };

  it.each(['vector', 'vectors'])('C5.5 %s replaces those given, and keeps the others and the payload', async (field) => {
    const path = await named([whole, { id: 2, vector: {} }]);
    await server.ok('PUT', `${path}/points/vectors`, {
      points: [{ id: 1, [field]: { b: [9] } }, { id: 2, [field]: { a: [4, 5] } }, { id: 2, [field]: { b: [6] } }],
    });
    expect(await everything(path)).toEqual({
      1: { vector: { a: [1, 2], b: [9] }, payload: { kept: 1 } },
      2: { vector: { a: [4, 5], b: [6] }, payload: {} },
    });
  });

  it('C5.5 an absent id is a 404 and nothing changes; a filter leaves out what fails it', async () => {
    const path = await named([whole, { ...whole, id: 2, payload: { kept: 2 } }]);
    const points = [1, 2].map((id) => ({ id, vector: { b: [9] } }));
    const absent = { points: [...points, { id: 7, vector: { b: [9] } }] };
    const before = await everything(path);
    expect(await server.refused('PUT', `${path}/points/vectors`, absent)).toEqual([404, 'Point not found: 7']);
    expect(await everything(path)).toEqual(before);
    const update_filter = { must: { key: 'kept', match: { value: 2 } } };
    await server.ok('PUT', `${path}/points/vectors`, { points, update_filter });
    expect(await everything(path)).toEqual({ ...before, 2: { vector: { a: [1, 2], b: [9] }, payload: { kept: 2 } } });
  });

  it.each(SELECTORS)('C5.10 removes the named vectors, by %s', async (_title, select) => {
    const path = await named([whole, { ...whole, id: 2 }]);
    await server.ok('POST', `${path}/points/vectors/delete`, { vector: ['b'], ...select([1]) });
    expect(await everything(path)).toEqual({
      1: { vector: { a: [1, 2] }, payload: { kept: 1 } },
      2: { vector: whole.vector, payload: { kept: 1 } },
    });
    await server.ok('POST', `${path}/points/vectors/delete`, { vector: ['a', 'b'], ...select([1, 2]) });
    expect((await everything(path))['2']?.vector).toEqual({});
    expect(await server.ok('POST', `${path}/points/search`, { vector: { name: 'a', vector: [1, 1] } })).toEqual([]);
  });
});

describe('C5.6 to C5.9 payload', () => {
  const path: { current: string } = { current: '' };
  const payload = { k: { s: 1, list: [{ a: { x: 1 } }, { b: 2 }] }, top: 't' };
  beforeEach(async () => {
    path.current = await holding([{ id: 1, vector: [1, 2], payload }, { id: 2, vector: [3, 4], payload }]);
  });

  /** What a payload operation makes of point 1; point 2 and the vectors must stay as they are. */
  async function after(method: string, rest: string, json: object): Promise<unknown> {
    await server.ok(method, `${path.current}/points/payload${rest}`, json);
    const points = await everything(path.current);
    expect(points['2']).toEqual({ vector: [3, 4], payload });
    expect(points['1']?.vector).toEqual([1, 2]);
    return points['1']?.payload;
  }

  describe.each(SELECTORS)('selected by %s', (_selector, select) => {
    it.each<[string, object, object]>([
      ['at the top, shallow', { payload: { s: 2, k: { t: 1 } } }, { ...payload, s: 2, k: { t: 1 } }],
      ['a null removes that key', { payload: { top: null, gone: null } }, { k: payload.k }],
      ['at a key', { payload: { s: 2 }, key: 'k' }, { ...payload, k: { ...payload.k, s: 2 } }],
      ['a null at a key', { payload: { s: null }, key: 'k' }, { ...payload, k: { list: payload.k.list } }],
      ['in an element', { payload: { x: 9 }, key: 'k.list[0].a' }, { ...payload, k: { s: 1, list: [{ a: { x: 9 } }, { b: 2 }] } }],
      ['in every element', { payload: { y: 1 }, key: 'k.list[].a' }, { ...payload, k: { s: 1, list: [{ a: { x: 1, y: 1 } }, { b: 2, a: { y: 1 } }] } }],
      ['past the end', { payload: { y: 1 }, key: 'k.list[7].a' }, payload],
      ['over a number', { payload: { y: 1 }, key: 'k.s' }, { ...payload, k: { s: { y: 1 }, list: payload.k.list } }],
      ['on a new path', { payload: { y: null, z: 1 }, key: 'new.path' }, { ...payload, new: { path: { z: 1 } } }],
    ])('C5.6 set merges %s', async (_title, json, wanted) => {
      expect(await after('POST', '', { ...json, ...select([1]) })).toEqual(wanted);
    });

    it.each<[string, object, object]>([
      ['the whole payload, nulls stored', { payload: { n: null, m: 1 } }, { n: null, m: 1 }],
      ['with nothing', { payload: {} }, {}],
      ['what is at a key', { payload: { n: null }, key: 'k' }, { ...payload, k: { n: null } }],
      ['in an element', { payload: { y: 1 }, key: 'k.list[0]' }, { ...payload, k: { s: 1, list: [{ y: 1 }, { b: 2 }] } }],
    ])('C5.7 overwrite replaces %s', async (_title, json, wanted) => {
      expect(await after('PUT', '', { ...json, ...select([1]) })).toEqual(wanted);
    });

    it.each<[string, string[], object]>([
      ['keys', ['top', 'absent'], { k: payload.k }],
      ['nested paths', ['k.s', 'k.list[].a'], { ...payload, k: { list: [{}, { b: 2 }] } }],
      ['an array by []', ['k.list[]'], { ...payload, k: { s: 1, list: [] } }],
      ['nothing by an index', ['k.list[0]'], payload],
      ['everything', ['k', 'top'], {}],
    ])('C5.8 delete removes %s', async (_title, keys, wanted) => {
      expect(await after('POST', '/delete', { keys, ...select([1]) })).toEqual(wanted);
    });

    it('C5.9 clear leaves {}', async () => {
      expect(await after('POST', '/clear', select([1]))).toEqual({});
    });
  });

  it.each<[string, string, string, object]>([
    ['C5.6', 'POST', '', { payload: { x: 1 } }],
    ['C5.7', 'PUT', '', { payload: { x: 1 } }],
    ['C5.8', 'POST', '/delete', { keys: ['top'] }],
    ['C5.9', 'POST', '/clear', {}],
  ])('%s absent ids are a 404 and nothing changes; a filter that matches nothing succeeds; points count before a filter', async (_rule, method, rest, json) => {
    const before = await everything(path.current);
    const target = `${path.current}/points/payload${rest}`;
    const absent = await server.refused(method, target, { ...json, points: [1, 8, 9] });
    expect(absent).toEqual([404, 'Point not found: 8, 9']);
    expect(await everything(path.current)).toEqual(before);
    await server.ok(method, target, { ...json, filter: { must: { key: 'top', match: { value: 'no' } } } });
    expect(await everything(path.current)).toEqual(before);
    await server.ok(method, target, { ...json, points: [1], filter: { must: { has_id: [2] } } });
    const changed = await everything(path.current);
    expect(changed['1']).not.toEqual(before['1']);
    expect(changed['2']).toEqual(before['2']);
  });

  it.each(['', 'a..b', '[0]', 'a.[0]', 'a[-1]', 'a.', 'a b', '"open'])('C5.6, C5.8 %j is no path', async (key) => {
    for (const [rest, json] of [['', { payload: {}, key }], ['/delete', { keys: ['top', key] }]] as const) {
      const target = `${path.current}/points/payload${rest}`;
      const [status, message] = await server.refused('POST', target, { ...json, points: [1] });
      expect([status, message]).toEqual([400, expect.stringMatching(/^(key|keys\[1\]): /)]);
    }
  });
});

describe('C5.11 batch', () => {
  it('C5.11 in order, a later operation sees the earlier, and each has its result', async () => {
    const path = await holding([POINT]);
    const operations = [
      { upsert: { points: [{ id: 2, vector: [5, 5], payload: { n: 1 } }] } },
      { set_payload: { payload: { seen: true }, filter: { must: { key: 'n', match: { value: 1 } } } } },
      { overwrite_payload: { payload: { a: 5, z: 1 }, points: [1] } },
      { delete_payload: { keys: ['z'], points: [1] } },
      { update_vectors: { points: [{ id: 2, vector: [6, 6] }] } },
      { upsert: { batch: { ids: [3, 4], vectors: [[1, 1], [2, 2]] } } },
      { delete_vectors: { points: [4], vector: [''] } },
      { clear_payload: { points: [3] } },
      { delete: { filter: { must: { has_id: [3] } } } },
    ];
    const results: { operation_id: number; status: string }[] = await server.ok('POST', `${path}/points/batch`, {
      operations,
    });
    expect(results).toHaveLength(operations.length);
    for (const result of results) {
      expect(result).toEqual({ operation_id: expect.any(Number), status: 'completed' });
    }
    const wanted = {
      1: { vector: [1, 2], payload: { a: 5 } },
      2: { vector: [6, 6], payload: { n: 1, seen: true } },
      4: { vector: {}, payload: {} },
    };
    expect(await everything(path)).toEqual(wanted);
    await server.restart();
    expect(await everything(path)).toEqual(wanted);
  });

  it('C5.11 one bad operation undoes all, and an unknown or empty one is a 400', async () => {
    const path = await holding([POINT]);
    const before = await everything(path);
    const upsert = { upsert: { points: [{ id: 2, vector: [5, 5] }] } };
    const refusals: [unknown, number, RegExp][] = [
      [[upsert, { clear_payload: { points: [77] } }], 404, /Point not found: 77/],
      [[upsert, { upsert: { points: [{ id: 3, vector: [1] }] } }], 400, /Dimension mismatch/],
      [[upsert, { drop: {} }], 400, /operations\[1\]/],
      [[upsert, {}], 400, /operations\[1\]/],
      [[{ ...upsert, delete: { points: [1] } }], 400, /operations\[0\]/],
      [[], 400, /operations/],
      [{}, 400, /operations/],
    ];
    for (const [operations, wanted, message] of refusals) {
      const [status, text] = await server.refused('POST', `${path}/points/batch`, { operations });
      expect([status, text]).toEqual([wanted, expect.stringMatching(message)]);
      expect(await everything(path)).toEqual(before);
    }
  });
});

describe('C5.12 field indexes', () => {
  it.each(['keyword', 'integer', 'float', 'bool', 'datetime', 'uuid'])('C5.12 %s, as a name and as an object', async (type) => {
    const path = await holding([{ id: 1, vector: [1, 2], payload: { f: 1 } }]);
    const made = await server.ok('PUT', `${path}/index`, { field_name: 'f', field_schema: type });
    expect(made).toEqual({ operation_id: expect.any(Number), status: 'completed' });
    const info = async (): Promise<unknown> => (await server.ok('GET', path)).payload_schema;
    expect(await info()).toMatchObject({ f: { data_type: type, params: null } });
    // The same again is a no-op, however it is spelled.
    await server.ok('PUT', `${path}/index`, { field_name: 'f', field_schema: { type } });
    await server.ok('PUT', `${path}/index`, { field_name: 'f', field_type: type });
    await server.ok('PUT', `${path}/index`, { field_name: 'g', field_schema: { type } });
    expect(await info()).toMatchObject({ g: { data_type: type, params: { type } } });
    await server.restart();
    expect(Object.keys((await info()) as object)).toEqual(['f', 'g']);
    await server.ok('DELETE', `${path}/index/f?wait=true`);
    await server.ok('DELETE', `${path}/index/f`);
    expect(Object.keys((await info()) as object)).toEqual(['g']);
  });

  it('C5.12 another definition replaces the index, and a path names the field', async () => {
    const path = await holding([{ id: 1, vector: [1, 2], payload: { 'a b': [{ c: 7 }] } }]);
    const field = '"a b"[].c';
    await server.ok('PUT', `${path}/index`, { field_name: field, field_schema: 'keyword' });
    await server.ok('PUT', `${path}/index`, { field_name: field, field_schema: 'integer' });
    const schema = (await server.ok('GET', path)).payload_schema;
    expect(schema).toEqual({ [field]: { data_type: 'integer', params: null, points: 1 } });
    const filter = { must: { key: field, match: { value: 7 } } };
    expect(await server.ok('POST', `${path}/points/count`, { filter })).toEqual({ count: 1 });
    await server.ok('DELETE', `${path}/index/${encodeURIComponent(field)}`);
    expect((await server.ok('GET', path)).payload_schema).toEqual({});
  });

  it.each<[object, string]>([
    [{ field_name: 'a', field_schema: 'number' }, 'field_schema'],
    [{ field_name: 'a', field_schema: {} }, 'field_schema'],
    [{ field_name: 'a', field_schema: { type: 'integer', lookup: false, range: false } }, 'field_schema'],
    [{ field_name: 'a', field_schema: { type: 'keyword', lookup: true } }, 'field_schema'],
    [{ field_name: 'a..b', field_schema: 'keyword' }, 'field_name'],
    [{ field_name: 3, field_schema: 'keyword' }, 'field_name'],
    [{ field_name: 'a', field_schema: 'text' }, 'text indexes are not available in this release'],
    [{ field_name: 'a', field_schema: 'geo' }, 'geo indexes are not available in this release'],
  ])('C5.12 400 for %j', async (json, place) => {
    const path = await holding([]);
    const [status, message] = await server.refused('PUT', `${path}/index`, json);
    expect([status, message]).toEqual([400, expect.stringContaining(place)]);
    expect((await server.ok('GET', path)).payload_schema).toEqual({});
  });
});
