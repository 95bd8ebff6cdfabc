import { withPlans } from '../searches';
import { ContractServer, idsOf } from './contract-server';

const GUID = '550e8400-e29b-41d4-a716-446655440000';
const RING = [
  [0, 0],
  [10, 0],
  [10, 10],
  [0, 10],
  [0, 0],
].map(([lon, lat]) => ({ lon, lat }));
const HOLE = [
  [4, 4],
  [6, 4],
  [6, 6],
  [4, 6],
  [4, 4],
].map(([lon, lat]) => ({ lon, lat }));

/** A placeholder for the number `1.0`, which JSON.stringify would write as an integer. */
const FLOAT_ONE = '<1.0>';

/** Payloads by point id: every kind of value under every field of the conditions below. */
const PAYLOADS: Record<number, object> = {
  1: { s: 'red', i: 1, f: 1.5, b: true, d: '2024-01-01T00:00:00Z', u: GUID, place: { lon: 5, lat: 5 } },
  2: { s: 'Red', i: 2, f: 2, b: false, d: '2024-06-01', u: GUID.toUpperCase(), place: { lon: 1, lat: 1 } },
  3: {
    s: ['red', 'green'],
    i: [1, 5],
    f: [0.5, 9.5],
    b: [true, false],
    d: ['2020-01-01', 'never'],
    place: [
      { lon: 1, lat: 1 },
      { lon: 50, lat: 50 },
    ],
  },
  4: { s: null, i: null, f: null, b: null, d: null, u: null },
  5: { s: [], i: [], f: [], b: [] },
  6: { s: [null], i: [null, 7], f: ['text'], b: 'true' },
  7: {},
  8: { s: 1, i: FLOAT_ONE, f: '1.5', b: 1, d: 1_704_067_200, u: GUID.replaceAll('-', '') },
  9: { s: '', i: '1', f: -1e300, d: 'not a date', u: 'not a uuid', place: 'here' },
  10: {
    s: 'deep blue sea',
    d: '9999-12-31T23:59:59Z',
    i: 9_007_199_254_740_992,
    a: {
      b: 1,
      list: [
        { x: 1, y: 'p' },
        { x: 2, y: 'q' },
      ],
    },
    'quo.ted': { b: 2 },
  },
  11: { s: 'DEEP sea, blue!', a: [{ b: 1 }, { b: 3 }], arr: [10, 20, [30]] },
  12: { a: { list: [{ x: 1, y: 'q' }, 5, { x: [2, 3], y: 'p' }] } },
};

/** A condition and the points that satisfy it. */
const CONDITIONS: [condition: object, ids: number[]][] = [
  // match
  [{ key: 's', match: { value: 'red' } }, [1, 3]],
  [{ key: 's', match: { value: '' } }, [9]],
  [{ key: 's', match: { value: 1 } }, [8]],
  [{ key: 'i', match: { value: 1 } }, [1, 3]],
  [{ key: 'i', match: { value: '1' } }, [9]],
  [{ key: 'i', match: { value: 7 } }, [6]],
  [{ key: 'i', match: { value: 9_007_199_254_740_992 } }, [10]],
  [{ key: 'b', match: { value: true } }, [1, 3]],
  [{ key: 'b', match: { value: 'true' } }, [6]],
  [{ key: 'u', match: { value: GUID } }, [1, 2, 8]],
  [{ key: 'u', match: { value: `urn:uuid:${GUID}` } }, [1, 2, 8]],
  [{ key: 'u', match: { value: 'not a uuid' } }, [9]],
  [{ key: 's', match: { any: ['green', 'Red', 'absent'] } }, [2, 3]],
  [{ key: 'i', match: { any: [2, 5] } }, [2, 3]],
  [{ key: 's', match: { any: [] } }, []],
  [{ key: 's', match: { except: ['red'] } }, [2, 3, 8, 9, 10, 11]],
  [{ key: 's', match: { except: [] } }, [1, 2, 3, 8, 9, 10, 11]],
  [{ key: 'i', match: { except: [1] } }, [2, 3, 6, 8, 9, 10]],
  [{ key: 'u', match: { any: [GUID] } }, [1, 2, 8]],
  [{ key: 's', match: { prefix: 're' } }, [1, 3]],
  [{ key: 's', match: { prefix: '' } }, [1, 2, 3, 9, 10, 11]],
  [{ key: 's', match: { text: 'sea BLUE' } }, [10, 11]],
  [{ key: 's', match: { text: 'blue whale' } }, []],
  [{ key: 's', match: { text: '' } }, []],
  [{ key: 's', match: { text_any: 'blue RED' } }, [1, 2, 3, 10, 11]],
  [{ key: 's', match: { phrase: 'deep blue' } }, [10]],
  [{ key: 's', match: { phrase: 'sea blue' } }, [11]],
  // range
  [{ key: 'f', range: { gt: 1.5 } }, [2, 3]],
  [{ key: 'f', range: { gte: 1.5 } }, [1, 2, 3]],
  [{ key: 'f', range: { lt: 0 } }, [9]],
  [{ key: 'f', range: { gt: 0.5, lt: 9.5 } }, [1, 2]],
  [{ key: 'f', range: {} }, [1, 2, 3, 9]],
  [{ key: 'i', range: { gte: 1, lte: 1 } }, [1, 3, 8]],
  [{ key: 'd', range: { gte: '2024-01-01T00:00:00Z' } }, [1, 2, 10]],
  [{ key: 'd', range: { gt: '2024-06-01', lte: '9999-12-31T23:59:59.999Z' } }, [10]],
  [{ key: 'd', range: { lt: '2024-01-01T01:00:00+01:00' } }, [3]],
  [{ key: 'd', range: { lte: '2024-01-01 00:00' } }, [1, 3]],
  [{ key: 'd', range: { gt: 0 } }, [8]],
  // geo
  [
    { key: 'place', geo_bounding_box: { top_left: { lon: 0, lat: 10 }, bottom_right: { lon: 10, lat: 0 } } },
    [1, 2, 3],
  ],
  [
    { key: 'place', geo_bounding_box: { top_left: { lon: 1, lat: 10 }, bottom_right: { lon: 10, lat: 0 } } },
    [1],
  ],
  [
    {
      key: 'place',
      geo_bounding_box: { top_left: { lon: 45, lat: 60 }, bottom_right: { lon: -170, lat: 40 } },
    },
    [3],
  ],
  [{ key: 'place', geo_radius: { center: { lon: 1, lat: 1 }, radius: 1 } }, [2, 3]],
  [{ key: 'place', geo_radius: { center: { lon: 5, lat: 5.001 }, radius: 111 } }, []],
  [{ key: 'place', geo_radius: { center: { lon: 5, lat: 5.001 }, radius: 112 } }, [1]],
  [{ key: 'place', geo_polygon: { exterior: { points: RING } } }, [1, 2, 3]],
  [{ key: 'place', geo_polygon: { exterior: { points: RING }, interiors: [{ points: HOLE }] } }, [2, 3]],
  // counts and absences
  [{ key: 's', values_count: { gte: 2 } }, [3]],
  [{ key: 's', values_count: { lt: 1 } }, [4, 5, 7, 12]],
  [{ key: 's', values_count: { gt: 0, lte: 1 } }, [1, 2, 6, 8, 9, 10, 11]],
  [{ is_empty: { key: 's' } }, [4, 5, 7, 12]],
  [{ key: 's', is_empty: true }, [4, 5, 7, 12]],
  [{ key: 's', is_empty: false }, [1, 2, 3, 6, 8, 9, 10, 11]],
  [{ is_null: { key: 's' } }, [4, 6]],
  [{ key: 's', is_null: true }, [4, 6]],
  [{ key: 's', is_null: false }, [1, 2, 3, 5, 7, 8, 9, 10, 11, 12]],
  [{ is_empty: { key: 'absent' } }, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]],
  // ids and vectors
  [{ has_id: [3, 1, 99, GUID] }, [1, 3]],
  [{ has_id: [] }, []],
  [{ has_vector: '' }, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]],
  [{ has_vector: 'undeclared' }, []],
  // paths
  [{ key: 'a.b', match: { value: 1 } }, [10]],
  [{ key: 'a[].b', match: { value: 1 } }, [11]],
  [{ key: 'a[1].b', match: { value: 3 } }, [11]],
  [{ key: 'a[0].b', match: { value: 3 } }, []],
  [{ key: '"quo.ted".b', match: { value: 2 } }, [10]],
  [{ key: 'arr', match: { value: 20 } }, [11]],
  [{ key: 'arr', match: { value: 30 } }, []],
  [{ key: 'arr[1]', match: { value: 20 } }, [11]],
  [{ key: 'arr', values_count: { gte: 3, lte: 3 } }, [11]],
  // nested
  [
    {
      nested: {
        key: 'a.list',
        filter: {
          must: [
            { key: 'x', match: { value: 1 } },
            { key: 'y', match: { value: 'p' } },
          ],
        },
      },
    },
    [10],
  ],
  [
    {
      nested: {
        key: 'a.list[]',
        filter: {
          must: [
            { key: 'x', match: { value: 1 } },
            { key: 'y', match: { value: 'q' } },
          ],
        },
      },
    },
    [12],
  ],
  [
    {
      nested: {
        key: 'a.list',
        filter: { must: { key: 'x', match: { value: 3 } }, must_not: { key: 'y', match: { value: 'q' } } },
      },
    },
    [12],
  ],
  [{ nested: { key: 'a.list', filter: { must: { has_id: [10] } } } }, []],
  // several clauses on one key are alternatives
  [{ key: 'f', match: { value: 'text' }, range: { gt: 9 } }, [3, 6]],
];

const RED = { key: 's', match: { value: 'red' } };
const GREEN = { key: 's', match: { value: 'green' } };
const ONE = { key: 'i', match: { value: 1 } };
const ALL = Object.keys(PAYLOADS).map(Number);

/** Groups of conditions, and the points that satisfy them. */
const GROUPS: [filter: object, ids: number[]][] = [
  [{}, ALL],
  [{ must: [], should: [], must_not: [] }, ALL],
  [{ must: null, should: null, must_not: null, min_should: null }, ALL],
  [{ must: RED }, [1, 3]],
  [{ must: [RED, GREEN] }, [3]],
  [{ should: [RED, GREEN] }, [1, 3]],
  [{ should: RED }, [1, 3]],
  [{ must_not: [RED] }, ALL.filter((id) => id !== 1 && id !== 3)],
  [{ must: ONE, must_not: GREEN }, [1]],
  [{ must: RED, should: [GREEN, { has_id: [1] }] }, [1, 3]],
  [{ min_should: { conditions: [RED, GREEN, ONE], min_count: 2 } }, [1, 3]],
  [{ min_should: { conditions: [RED, GREEN, ONE], min_count: 3 } }, [3]],
  [{ min_should: { conditions: [RED, GREEN, ONE], min_count: 4 } }, []],
  [{ must: { should: [{ has_id: [7] }, { must: [RED, { must_not: GREEN }] }] } }, [1, 7]],
  [{ must_not: { must: [{ key: 'i', range: { gt: 0 } }] } }, [4, 5, 7, 9, 11, 12]],
  [{ must_not: { key: 'absent', match: { value: 1 } } }, ALL],
];

/** Indexes that cover the fields above, also of types that many of the values do not have. */
const INDEXES: Record<string, Record<string, unknown>> = {
  'no index': {},
  'the index that fits': {
    s: 'keyword',
    i: 'integer',
    f: 'float',
    b: 'bool',
    d: 'datetime',
    u: 'uuid',
    'a.b': 'integer',
    'a[].b': 'integer',
    'a.list[].x': 'integer',
    'a.list[].y': 'keyword',
    arr: 'integer',
    place: 'geo',
  },
  'an index of another type': {
    s: 'uuid',
    i: 'float',
    f: 'integer',
    b: 'keyword',
    d: 'keyword',
    u: 'keyword',
    arr: 'geo',
    place: 'keyword',
    'a.list[].x': 'float',
  },
  'text indexes': {
    s: 'text',
    i: 'text',
    f: 'text',
    d: { type: 'text', phrase_matching: true },
    u: 'text',
    arr: 'text',
    'a.list[].y': 'text',
  },
};

let server: ContractServer;
const paths: Record<string, string> = {};

beforeAll(async () => {
  server = await ContractServer.start();
  for (const [position, [title, indexes]] of Object.entries(INDEXES).entries()) {
    const path = await server.collection(`filtered-${position}`);
    paths[title] = path;
    const points = Object.entries(PAYLOADS).map(([id, payload]) => ({
      id: Number(id),
      vector: id === '12' ? {} : [1, 2],
      payload,
    }));
    // One half is there before its index is made, the other comes after.
    const body = (some: object[]): string =>
      JSON.stringify({ points: some }).replaceAll(JSON.stringify(FLOAT_ONE), '1.0');
    await server.ok('PUT', `${path}/points`, body(points.slice(0, 6)));
    for (const [field_name, field_schema] of Object.entries(indexes)) {
      await server.ok('PUT', `${path}/index`, { field_name, field_schema });
    }
    await server.ok('PUT', `${path}/points`, body(points.slice(6)));
  }
});
afterAll(() => server.stop());

/** A filter matches the same points in every request that takes one. */
async function expectMatches(path: string, filter: object, ids: number[]): Promise<void> {
  const [page, { count }, hits] = await Promise.all([
    server.ok('POST', `${path}/points/scroll`, { filter, limit: 100 }),
    server.ok('POST', `${path}/points/count`, { filter }),
    server.ok('POST', `${path}/points/search`, { vector: [1, 1], filter, limit: 100 }),
  ]);
  expect(idsOf(page.points)).toEqual(ids);
  expect(count).toBe(ids.length);
  expect(idsOf(hits)).toEqual(ids.filter((id) => id !== 12));
}

describe.each(Object.keys(INDEXES))('C7 with %s', (title) => {
  it.each(CONDITIONS.map(([condition, ids]) => [JSON.stringify(condition), condition, ids] as const))(
    'C7 %s',
    async (_text, condition, ids) => {
      const path = paths[title] ?? '';
      await expectMatches(path, { must: [condition] }, ids);
      await expectMatches(
        path,
        { must_not: condition },
        ALL.filter((id) => !ids.includes(id)),
      );
    },
  );

  it.each(GROUPS.map(([filter, ids]) => [JSON.stringify(filter), filter, ids] as const))(
    'C7 %s',
    (_text, filter, ids) => expectMatches(paths[title] ?? '', filter, ids),
  );
});

describe('C7 after changes and restarts', () => {
  it('C7 indexed answers follow every kind of change, now and after a restart', async () => {
    const path = await server.collection('changing');
    await server.ok('PUT', `${path}/index`, { field_name: 'n', field_schema: 'integer' });
    const ids = Array.from({ length: 10 }, (_, id) => id);
    await server.ok('PUT', `${path}/points`, {
      points: ids.map((id) => ({ id, vector: [1, 2], payload: { n: id } })),
    });
    await server.ok('POST', `${path}/points/payload`, { payload: { n: 100 }, points: [0, 1] });
    await server.ok('POST', `${path}/points/payload/delete`, { keys: ['n'], points: [2] });
    await server.ok('PUT', `${path}/points/payload`, { payload: { n: [3, 100] }, points: [3] });
    await server.ok('POST', `${path}/points/payload/clear`, { points: [4] });
    await server.ok('POST', `${path}/points/delete`, { points: [5] });
    await server.ok('PUT', `${path}/points`, { points: [{ id: 6, vector: [1, 2], payload: { n: 100.0 } }] });
    const expectations: [object, number[]][] = [
      [{ must: { key: 'n', match: { value: 100 } } }, [0, 1, 3, 6]],
      [{ must: { key: 'n', range: { lt: 10 } } }, [3, 7, 8, 9]],
      [{ must: { is_empty: { key: 'n' } } }, [2, 4]],
    ];
    for (const restarted of [false, true]) {
      if (restarted) {
        await server.restart();
      }
      for (const [filter, wanted] of expectations) {
        expect(idsOf((await server.ok('POST', `${path}/points/scroll`, { filter })).points)).toEqual(wanted);
        expect((await server.ok('POST', `${path}/points/count`, { filter })).count).toBe(wanted.length);
      }
    }
  });

  it('C7, C6.7 integers above 2^53 are distinguished, with and without an index', async () => {
    const path = await server.collection('large');
    const values = ['9007199254740992', '9007199254740993', '9223372036854775807', '9223372036854775808'];
    const points = values.map((value, id) => `{"id":${id},"vector":[1,2],"payload":{"n":${value}}}`);
    await server.ok('PUT', `${path}/points`, `{"points":[${points.join()}]}`);
    for (const indexed of [false, true]) {
      if (indexed) {
        await server.ok('PUT', `${path}/index`, { field_name: 'n', field_schema: 'integer' });
      }
      for (const [id, value] of values.slice(0, 3).entries()) {
        const filter = `{"filter":{"must":{"key":"n","match":{"value":${value}}}}}`;
        expect(idsOf((await server.ok('POST', `${path}/points/scroll`, filter)).points)).toEqual([id]);
      }
      const ordered = await server.raw('POST', `${path}/points/scroll`, '{"order_by":"n"}');
      const orders = [...ordered.text.matchAll(/"order_value":([\d.e]+)/g)].map(([, order]) => order);
      expect(orders).toEqual([...values.slice(0, 3), expect.any(String)]);
      const beyond = `{"filter":{"must":{"key":"n","match":{"value":${values[3] ?? ''}}}}}`;
      const [status, message] = await server.refused('POST', `${path}/points/count`, beyond);
      expect([status, message]).toEqual([
        400,
        expect.stringMatching(/^Filter parse error: filter\.must\.match/),
      ]);
    }
  });

  it('C7 the size of the collection and the index in use do not matter', async () => {
    const big = await server.collection('big', {
      vectors: { size: 4, distance: 'Euclid' },
      hnsw_config: { full_scan_threshold: 10 },
      optimizers_config: { indexing_threshold: 10 },
    });
    const ids = Array.from({ length: 4000 }, (_, id) => id);
    const vectorAt = (id: number): number[] => [Math.sin(id), Math.cos(id), Math.sin(2 * id), id / 4000];
    const points = ids.map((id) => ({
      id,
      vector: vectorAt(id),
      payload: { mod: id % 10, rare: id % 400 === 0 ? 'yes' : 'no' },
    }));
    await server.ok('PUT', `${big}/points`, { points });
    while ((await server.ok('GET', big)).status !== 'green') {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    const filters = [
      { must: { key: 'rare', match: { value: 'yes' } } },
      { must_not: { key: 'mod', range: { gt: 4 } } },
    ];
    const compare = async (): Promise<void> => {
      for (const filter of filters) {
        const body = { vector: vectorAt(1500.3), filter, limit: 10 };
        const exact = await server.ok('POST', `${big}/points/search`, { ...body, params: { exact: true } });
        const found = await server.ok('POST', `${big}/points/search`, { ...body, params: { hnsw_ef: 64 } });
        expect(idsOf(found)).toEqual(idsOf(exact));
        expect(found).toHaveLength(10);
      }
    };
    for (const indexed of [false, true]) {
      if (indexed) {
        await server.ok('PUT', `${big}/index`, { field_name: 'rare', field_schema: 'keyword' });
        await server.ok('PUT', `${big}/index`, { field_name: 'mod', field_schema: 'integer' });
      }
      // An index says that ten match the one, which are scanned; without it they would cost a look at every document.
      const plans = indexed ? { walks: 1, scans: 1 } : { walks: 2, scans: 0 };
      await withPlans(server.searches, plans, compare);
      expect((await server.ok('POST', `${big}/points/count`, { filter: filters[0] })).count).toBe(10);
      expect((await server.ok('POST', `${big}/points/count`, { filter: filters[1] })).count).toBe(2000);
    }
  });
});

describe('C7 what is no filter', () => {
  it.each<[filter: unknown, place: string]>([
    [3, 'filter'],
    ['a', 'filter'],
    [{ musts: [] }, 'filter.musts'],
    [{ must: 3 }, 'filter.must'],
    [{ must: [3] }, 'filter.must[0]'],
    [{ must: [{ key: 'a' }] }, 'filter.must[0]'],
    [{ must: [{ key: 'a', matches: { value: 1 } }] }, 'filter.must[0].matches'],
    [{ must: [{ match: { value: 1 } }] }, 'filter.must[0]'],
    [{ must: [{ key: 'a', match: {} }] }, 'filter.must[0].match'],
    [{ must: [{ key: 'a', match: { value: 1.5 } }] }, 'filter.must[0].match.value'],
    [{ must: [{ key: 'a', match: { value: null } }] }, 'filter.must[0].match'],
    [{ must: [{ key: 'a', match: { any: [1, 'a'] } }] }, 'filter.must[0].match.any'],
    [{ must: [{ key: 'a', match: { any: [true] } }] }, 'filter.must[0].match.any'],
    [{ must: [{ key: 'a', match: { substring: 1 } }] }, 'filter.must[0].match.substring'],
    [{ must: [{ slice: { total: 2, index: 2 } }] }, 'filter.must[0].slice'],
    [{ must: [{ slice: { total: 0, index: 0 } }] }, 'filter.must[0].slice.total'],
    [{ must: [{ slice: { index: 0 } }] }, 'filter.must[0].slice'],
    [{ must: [{ key: 'a..b', match: { value: 1 } }] }, 'filter.must[0].key'],
    [{ must: [{ key: 'a', range: { gtr: 1 } }] }, 'filter.must[0].range.gtr'],
    [{ must: [{ key: 'a', range: { gt: 'soon' } }] }, 'filter.must[0].range.gt'],
    [{ must: [{ key: 'a', range: { gt: 1, lt: '2024-01-01' } }] }, 'filter.must[0].range'],
    [
      { must: [{ key: 'a', geo_radius: { center: { lon: 181, lat: 0 }, radius: 1 } }] },
      'filter.must[0].geo_radius.center',
    ],
    [{ must: [{ key: 'a', geo_radius: { center: { lon: 0, lat: 0 } } }] }, 'filter.must[0].geo_radius'],
    [
      {
        must: [
          { key: 'a', geo_bounding_box: { top_left: { lon: 0, lat: 91 }, bottom_right: { lon: 0, lat: 0 } } },
        ],
      },
      'filter.must[0].geo_bounding_box',
    ],
    [
      { must: [{ key: 'a', geo_polygon: { exterior: { points: RING.slice(0, 3) } } }] },
      'filter.must[0].geo_polygon',
    ],
    [{ must: [{ key: 'a', values_count: { gt: -1 } }] }, 'filter.must[0].values_count.gt'],
    [{ must: [{ is_empty: 'a' }] }, 'filter.must[0].is_empty'],
    [{ must: [{ key: 'a', is_null: 'yes' }] }, 'filter.must[0].is_null'],
    [{ must: [{ has_id: 3 }] }, 'filter.must[0].has_id'],
    [{ must: [{ has_id: ['x'] }] }, 'filter.must[0].has_id[0]'],
    [{ must: [{ has_vector: 3 }] }, 'filter.must[0].has_vector'],
    [{ must: [{ nested: { key: 'a' } }] }, 'filter.must[0].nested'],
    [
      { must: [{ nested: { key: 'a', filter: { must: [{ key: 'b' }] } } }] },
      'filter.must[0].nested.filter.must[0]',
    ],
    [{ min_should: { conditions: [] } }, 'filter.min_should'],
    [{ min_should: { min_count: 1 } }, 'filter.min_should'],
    [
      { should: [{ must: [{ must_not: [{ key: 'a', match: { value: [] } }] }] }] },
      'filter.should[0].must[0].must_not[0].match.value',
    ],
  ])('C7 %j is a parse error that names the place', async (filter, place) => {
    const path = paths['no index'] ?? '';
    for (const [rest, more] of [
      ['count', {}],
      ['search', { vector: [1, 2] }],
      ['delete', {}],
    ] as const) {
      const [status, message] = await server.refused('POST', `${path}/points/${rest}`, { ...more, filter });
      expect([status, message]).toEqual([400, expect.stringMatching(/^Filter parse error: /)]);
      expect(message).toContain(place);
    }
    expect((await server.ok('POST', `${path}/points/count`)).count).toBe(ALL.length);
  });
});
