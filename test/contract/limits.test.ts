import { sendRaw } from '../http/harness';
import { ContractServer } from './contract-server';

const DOT = { size: 2, distance: 'Dot' };
const numbers = (count: number): number[] => Array.from({ length: count }, (_, position) => position);

/** A body with `count` of what is limited, and where it goes. */
interface Limited {
  readonly title: string;
  readonly limit: number;
  readonly method: string;
  readonly rest: string;
  readonly body: (count: number) => unknown;
  /** The setting that the message names, by its key in the file. */
  readonly setting: string;
}

const POINTS_LIMITS: readonly Omit<Limited, 'limit' | 'setting'>[] = [
  {
    title: 'points of an upsert',
    method: 'PUT',
    rest: '/points',
    body: (count) => ({ points: numbers(count).map((id) => ({ id, vector: [id, 1] })) }),
  },
  {
    title: 'columns of an upsert',
    method: 'PUT',
    rest: '/points',
    body: (count) => ({ batch: { ids: numbers(count), vectors: numbers(count).map((id) => [id, 1]) } }),
  },
  { title: 'ids of a retrieve', method: 'POST', rest: '/points', body: (count) => ({ ids: numbers(count) }) },
  {
    title: 'points of an update of vectors',
    method: 'PUT',
    rest: '/points/vectors',
    body: (count) => ({ points: numbers(count).map((id) => ({ id, vector: [id, 2] })) }),
  },
  {
    title: 'ids of a set payload',
    method: 'POST',
    rest: '/points/payload',
    body: (count) => ({ points: numbers(count), payload: { a: 1 } }),
  },
  {
    title: 'ids of an overwrite of payload',
    method: 'PUT',
    rest: '/points/payload',
    body: (count) => ({ points: numbers(count), payload: { a: 1 } }),
  },
  {
    title: 'ids of a removal of keys',
    method: 'POST',
    rest: '/points/payload/delete',
    body: (count) => ({ points: numbers(count), keys: ['a'] }),
  },
  {
    title: 'ids of a clear of payload',
    method: 'POST',
    rest: '/points/payload/clear',
    body: (count) => ({ points: numbers(count) }),
  },
  {
    title: 'points and ids of a batch, all operations together',
    method: 'POST',
    rest: '/points/batch',
    body: (count) => ({
      operations: [
        { upsert: { points: [{ id: 0, vector: [0, 1] }] } },
        { clear_payload: { points: numbers(count - 1) } },
      ],
    }),
  },
  {
    title: 'ids of a removal of vectors',
    method: 'POST',
    rest: '/points/vectors/delete',
    body: (count) => ({ points: numbers(count), vector: [''] }),
  },
  {
    title: 'ids of a delete',
    method: 'POST',
    rest: '/points/delete',
    body: (count) => ({ points: numbers(count) }),
  },
];

const conditions = (count: number): unknown[] =>
  numbers(count).map((value) => ({ key: 'a', match: { value } }));

/** Two levels of nesting and every group: each condition counts, at any place. */
function spread(count: number): unknown {
  const [must, should, rest] = [conditions(10), conditions(10), conditions(count - 22)];
  return {
    must: [...must, { must_not: rest }],
    should,
    min_should: { conditions: [{ key: 'b', match: { value: 1 } }], min_count: 1 },
  };
}

const FILTER_LIMITS: readonly Omit<Limited, 'limit' | 'setting'>[] = [
  ...['/points/scroll', '/points/count', '/points/delete', '/points/payload/clear'].map((rest) => ({
    title: `conditions of a filter, ${rest}`,
    method: 'POST',
    rest,
    body: (count: number) => ({ filter: { must: conditions(count) } }),
  })),
  {
    title: 'conditions of a filter in all groups, nested ones included',
    method: 'POST',
    rest: '/points/count',
    body: (count) => ({ filter: spread(count) }),
  },
  {
    title: 'conditions of a filter of a search',
    method: 'POST',
    rest: '/points/search',
    body: (count) => ({ vector: [1, 2], filter: { should: conditions(count) } }),
  },
  {
    title: 'conditions of an update filter',
    method: 'PUT',
    rest: '/points',
    body: (count) => ({ points: [{ id: 1, vector: [1, 2] }], update_filter: { should: conditions(count) } }),
  },
];

const WINDOW_LIMITS: readonly Omit<Limited, 'limit' | 'setting'>[] = [
  {
    title: 'limit of a search',
    method: 'POST',
    rest: '/points/search',
    body: (count) => ({ vector: [1, 2], limit: count }),
  },
  {
    title: 'limit + offset of a search',
    method: 'POST',
    rest: '/points/search',
    body: (count) => ({ vector: [1, 2], limit: 1, offset: count - 1 }),
  },
  {
    title: 'limit + offset of a query',
    method: 'POST',
    rest: '/points/query',
    body: (count) => ({ query: [1, 2], limit: 5, offset: count - 5 }),
  },
  {
    title: 'limit + offset of one search of a batch',
    method: 'POST',
    rest: '/points/search/batch',
    body: (count) => ({
      searches: [
        { vector: [1, 2], limit: 3 },
        { vector: [1, 2], limit: 2, offset: count - 2 },
      ],
    }),
  },
  {
    title: 'limit of a scroll with order_by',
    method: 'POST',
    rest: '/points/scroll',
    body: (count) => ({ limit: count, order_by: 'n' }),
  },
];

const of = (limit: number, setting: string, rows: readonly Omit<Limited, 'limit' | 'setting'>[]): Limited[] =>
  rows.map((row) => ({ ...row, limit, setting }));

/** The limits of one request, where a server allows `points`, `conditions` and `window` of them. */
function limitsOf(points: number, conditionCount: number, window: number): [string, Limited][] {
  return [
    ...of(points, 'max_points_per_request', POINTS_LIMITS),
    ...of(conditionCount, 'max_filter_conditions', FILTER_LIMITS),
    ...of(window, 'max_result_window', WINDOW_LIMITS),
  ].map((row) => [row.title, row]);
}

async function hold(server: ContractServer, { limit, method, rest, body, setting }: Limited): Promise<void> {
  const path = '/collections/c';
  if (setting === 'max_points_per_request') {
    // An update needs its points, which an earlier line may have deleted.
    const batch = { ids: numbers(limit), vectors: numbers(limit).map((id) => [id, 1]) };
    await server.ok('PUT', `${path}/points`, { batch });
  }
  const [status, message] = await server.refused(method, `${path}${rest}`, body(limit + 1));
  expect([status, message]).toEqual([400, expect.stringContaining(String(limit))]);
  expect(message).toContain(setting);
  await server.ok(method, `${path}${rest}`, body(limit));
}

/** A query over `count` prefetches, beside each other. */
const beside = (count: number): unknown => ({
  prefetch: numbers(count).map((id) => ({ query: [id, 1], limit: 1 })),
  query: { fusion: 'rrf' },
});

/** A query over nested prefetches, `depth` levels deep, each by itself or as a list of one. */
const within = (depth: number, asList = false): unknown => {
  const filter = { must: [{ should: [{ key: 'a', match: { value: 1 } }] }] };
  const leaf: unknown = { query: [1, 2], limit: 1, filter };
  return numbers(depth).reduce<unknown>(
    (inner) => ({ query: [1, 2], prefetch: asList ? [inner] : inner, limit: 1 }),
    leaf,
  );
};

async function holdPrefetches(server: ContractServer, inAll: number, depth: number): Promise<void> {
  const path = '/collections/c/points/query';
  expect(await server.refused('POST', path, beside(inAll + 1))).toEqual([
    400,
    expect.stringContaining(`at most ${inAll} prefetches a query (max_prefetches)`),
  ]);
  await server.ok('POST', path, beside(inAll));
  expect(await server.refused('POST', path, within(depth + 1))).toEqual([
    400,
    expect.stringContaining(`exceeds max depth ${depth}`),
  ]);
  await server.ok('POST', path, within(depth));
}

describe('C2.7 the limits as they are without settings', () => {
  let server: ContractServer;
  beforeAll(async () => {
    server = await ContractServer.start();
    await server.collection('c');
  });
  afterAll(() => server.stop());

  it.each(limitsOf(10_000, 1024, 100_000))(
    'C2.7 %s: the limit passes, one more is a 400',
    (_title, limited) => hold(server, limited),
  );

  it('C2.7 64 prefetches pass, beside and within each other, 65 do not', () =>
    holdPrefetches(server, 64, 64));

  it('C2.7 64 named vectors pass, 65 do not', async () => {
    const vectors = (count: number): unknown =>
      Object.fromEntries(numbers(count).map((position) => [`v${position}`, DOT]));
    const [status, message] = await server.refused('PUT', '/collections/many', { vectors: vectors(65) });
    expect([status, message]).toEqual([400, expect.stringMatching(/vectors.*\b64\b.*max_named_vectors/)]);
    await server.ok('PUT', '/collections/many', { vectors: vectors(64) });
  });

  it('C2.7 256 field indexes pass, 257 do not, and a removed one makes room', async () => {
    const path = await server.collection('indexed');
    const index = (field: number): unknown => ({ field_name: `f${field}`, field_schema: 'keyword' });
    for (const field of numbers(256)) {
      await server.ok('PUT', `${path}/index?wait=false`, index(field));
    }
    const [status, message] = await server.refused('PUT', `${path}/index`, index(256));
    expect([status, message]).toEqual([400, expect.stringMatching(/\b256\b.*max_field_indexes/)]);
    // The same definition again is no new index (C5.12).
    await server.ok('PUT', `${path}/index`, index(255));
    await server.ok('DELETE', `${path}/index/f3`);
    await server.ok('PUT', `${path}/index`, index(256));
  });

  it('C2.7 a body over 64 MiB is a 413, answered before it is read', async () => {
    const head =
      'PUT /collections/c/points HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n';
    const answer = await sendRaw(server, `${head}Content-Length: ${64 * 1024 * 1024 + 1}\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 413 /);
    expect(answer).toContain('Request body too large: limit 67108864 bytes');
  });
});

describe('C2.7 each limit is a setting', () => {
  let server: ContractServer;
  beforeAll(async () => {
    server = await ContractServer.start(
      ['--max-points-per-request', '7', '--max-filter-conditions', '30', '--max-result-window', '50'],
      {
        KITHDB_MAX_NAMED_VECTORS: '2',
        KITHDB_MAX_FIELD_INDEXES: '1',
        KITHDB_MAX_COLLECTIONS: '3',
        KITHDB_MAX_PREFETCHES: '5',
        KITHDB_MAX_PREFETCH_DEPTH: '2',
      },
    );
    await server.collection('c');
  });
  afterAll(() => server.stop());

  it.each(limitsOf(7, 30, 50))('C2.7 %s: the setting passes, one more is a 400', (_title, limited) =>
    hold(server, limited),
  );

  it('C2.7 prefetches', () => holdPrefetches(server, 5, 2));

  it('C2.7 prefetches as deep as the setting goes, each by itself or, as clients send them, in a list', async () => {
    const settings = (depth: number) => ({
      KITHDB_MAX_PREFETCH_DEPTH: String(depth),
      KITHDB_MAX_PREFETCHES: '2000',
    });
    await expect(ContractServer.start([], settings(71))).rejects.toThrow('a whole number from 1 to 70');
    const deepest = await ContractServer.start([], settings(70));
    try {
      await deepest.collection('c');
      for (const asList of [false, true]) {
        await deepest.ok('POST', '/collections/c/points/query', within(70, asList));
      }
    } finally {
      await deepest.stop();
    }
  });

  it('C2.7 a scroll by id beyond the window is a page of its size, with the offset of the next one', async () => {
    const path = await server.collection('paged');
    const upTo = (from: number, to: number) =>
      numbers(to - from).map((number) => ({ id: from + number, vector: [1, 1] }));
    for (let id = 0; id < 60; id += 6) {
      await server.ok('PUT', `${path}/points`, { points: upTo(id, id + 6) });
    }
    const first = await server.ok('POST', `${path}/points/scroll`, { limit: 999_999_999 });
    expect([first.points.length, first.next_page_offset]).toEqual([50, 50]);
    const rest = { limit: 51, offset: first.next_page_offset };
    const second = await server.ok('POST', `${path}/points/scroll`, rest);
    expect([second.points.length, second.next_page_offset]).toEqual([10, null]);
    await server.ok('DELETE', path);
  });

  it('C2.7 collections, named vectors and field indexes', async () => {
    const three = { vectors: { a: DOT, b: DOT, c: DOT } };
    expect(await server.refused('PUT', '/collections/d', three)).toEqual([
      400,
      expect.stringMatching(/\b2\b.*max_named_vectors/),
    ]);
    await server.collection('d', { vectors: { a: DOT, b: DOT } });
    await server.ok('PUT', '/collections/c/index', { field_name: 'a', field_schema: 'keyword' });
    const second = { field_name: 'b', field_schema: 'keyword' };
    expect(await server.refused('PUT', '/collections/c/index', second)).toEqual([
      400,
      expect.stringMatching(/\b1\b.*max_field_indexes/),
    ]);
    await server.collection('e');
    expect(await server.refused('PUT', '/collections/f', { vectors: DOT })).toEqual([
      400,
      expect.stringMatching(/\b3\b.*max_collections/),
    ]);
    expect(await server.ok('DELETE', '/collections/e')).toBe(true);
    await server.collection('f');
  });
});
