import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openNativeEngine, type Engine } from '../../src/engine';
import { send, startService, type Service } from '../http/harness';

/** An endpoint of C4 to C6 under a collection, and a body that it takes. */
interface Endpoint {
  readonly method: string;
  readonly path: string;
  readonly body?: Record<string, unknown>;
  /** The prefix of its internal failures (C1.4). */
  readonly failed: string;
  /** Does not answer 404 for a collection that does not exist. */
  readonly needsNoCollection?: true;
  /** Takes a filter here. */
  readonly filterAt?: 'filter' | 'searches[0].filter';
  /** Requires these fields. */
  readonly requires?: readonly string[];
  /** Names points in `points` or `ids`, absent ones being a 404. */
  readonly namesPoints?: 'points' | 'ids';
}

const SEARCH = 'Search failed';
const PAYLOAD = 'Payload operation failed';
const COLLECTION = 'Collection operation failed';
const SELECTED = { points: [1] };

const ENDPOINTS: readonly Endpoint[] = [
  { method: 'GET', path: '', failed: COLLECTION },
  {
    method: 'PUT',
    path: '',
    body: { vectors: { size: 2, distance: 'Dot' } },
    failed: COLLECTION,
    needsNoCollection: true,
  },
  { method: 'PATCH', path: '', body: {}, failed: COLLECTION },
  { method: 'DELETE', path: '', failed: COLLECTION, needsNoCollection: true },
  { method: 'GET', path: '/exists', failed: COLLECTION, needsNoCollection: true },
  { method: 'PUT', path: '/points', body: { points: [{ id: 1, vector: [1, 2] }] }, failed: 'Upsert failed' },
  {
    method: 'POST',
    path: '/points',
    body: { ids: [1] },
    failed: 'Retrieve failed',
    requires: ['ids'],
    namesPoints: 'ids',
  },
  { method: 'GET', path: '/points/1', failed: 'Retrieve failed' },
  { method: 'POST', path: '/points/delete', body: SELECTED, failed: 'Delete failed', filterAt: 'filter' },
  {
    method: 'PUT',
    path: '/points/vectors',
    body: { points: [{ id: 1, vector: [1, 2] }] },
    failed: 'Upsert failed',
    requires: ['points'],
  },
  {
    method: 'POST',
    path: '/points/vectors/delete',
    body: { ...SELECTED, vector: [''] },
    failed: 'Delete failed',
    requires: ['vector'],
    filterAt: 'filter',
    namesPoints: 'points',
  },
  {
    method: 'POST',
    path: '/points/payload',
    body: { ...SELECTED, payload: {} },
    failed: PAYLOAD,
    requires: ['payload'],
    filterAt: 'filter',
    namesPoints: 'points',
  },
  {
    method: 'PUT',
    path: '/points/payload',
    body: { ...SELECTED, payload: {} },
    failed: PAYLOAD,
    requires: ['payload'],
    filterAt: 'filter',
    namesPoints: 'points',
  },
  {
    method: 'POST',
    path: '/points/payload/delete',
    body: { ...SELECTED, keys: ['a'] },
    failed: PAYLOAD,
    requires: ['keys'],
    filterAt: 'filter',
    namesPoints: 'points',
  },
  {
    method: 'POST',
    path: '/points/payload/clear',
    body: SELECTED,
    failed: PAYLOAD,
    filterAt: 'filter',
    namesPoints: 'points',
  },
  {
    method: 'POST',
    path: '/points/batch',
    body: { operations: [{ delete: SELECTED }] },
    failed: 'Upsert failed',
    requires: ['operations'],
  },
  {
    method: 'PUT',
    path: '/index',
    body: { field_name: 'a', field_schema: 'keyword' },
    failed: 'Field index failed',
    requires: ['field_name'],
  },
  { method: 'DELETE', path: '/index/a', failed: 'Field index failed' },
  {
    method: 'POST',
    path: '/points/search',
    body: { vector: [1, 2] },
    failed: SEARCH,
    requires: ['vector'],
    filterAt: 'filter',
  },
  {
    method: 'POST',
    path: '/points/search/batch',
    body: { searches: [{ vector: [1, 2] }] },
    failed: SEARCH,
    requires: ['searches'],
    filterAt: 'searches[0].filter',
  },
  { method: 'POST', path: '/points/query', body: { query: [1, 2] }, failed: SEARCH, filterAt: 'filter' },
  {
    method: 'POST',
    path: '/points/query/batch',
    body: { searches: [{ query: [1, 2] }] },
    failed: SEARCH,
    requires: ['searches'],
    filterAt: 'searches[0].filter',
  },
  { method: 'POST', path: '/points/scroll', body: {}, failed: SEARCH, filterAt: 'filter' },
  { method: 'POST', path: '/points/count', body: {}, failed: SEARCH, filterAt: 'filter' },
];

/** The names of the endpoints, for the titles of the tests. */
const ALL = ENDPOINTS.map((endpoint) => [`${endpoint.method} ${endpoint.path}`, endpoint] as const);
const only = (wanted: (endpoint: Endpoint) => boolean) => ALL.filter(([, endpoint]) => wanted(endpoint));

/** Whatever the distance, every vector of these bodies has one number too many for the collection. */
const WRONG_DIMENSION: Readonly<Record<string, unknown>> = {
  'PUT /points': { points: [{ id: 1, vector: [1, 2, 3] }] },
  'PUT /points/vectors': { points: [{ id: 1, vector: [1, 2, 3] }] },
  'POST /points/batch': { operations: [{ upsert: { points: [{ id: 1, vector: [1, 2, 3] }] } }] },
  'POST /points/search': { vector: [1, 2, 3] },
  'POST /points/search/batch': { searches: [{ vector: [1, 2, 3] }] },
  'POST /points/query': { query: [1, 2, 3] },
  'POST /points/query/batch': { searches: [{ query: [1, 2, 3] }] },
};

const UNKNOWN_VECTOR: Readonly<Record<string, unknown>> = {
  'PUT /points': { points: [{ id: 1, vector: { nope: [1, 2] } }] },
  'PUT /points/vectors': { points: [{ id: 1, vector: { nope: [1, 2] } }] },
  'POST /points/vectors/delete': { points: [1], vector: ['nope'] },
  'POST /points/search': { vector: { name: 'nope', vector: [1, 2] } },
  'POST /points/query': { query: [1, 2], using: 'nope' },
};

describe.each([
  ['hot lane', true],
  ['Express', false],
])('the errors of every endpoint over the engine, %s', (_name, hotLane) => {
  const folder = mkdtempSync(join(tmpdir(), 'kithdb-errors-'));
  let engine: Engine;
  let service: Service;

  beforeAll(async () => {
    engine = openNativeEngine({ dataDir: folder, searchThreads: 1, panicForTests: true });
    await engine.open();
    service = await startService({ hotLane, realEngine: engine });
    await send(service, 'PUT', '/collections/c', { json: { vectors: { size: 2, distance: 'Dot' } } });
    await send(service, 'PUT', '/collections/c/points', { json: { points: [{ id: 1, vector: [1, 2] }] } });
  });
  afterAll(async () => {
    await service.close();
    await engine.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const call = (endpoint: Endpoint, collection: string, json: unknown = endpoint.body) =>
    send(
      service,
      endpoint.method,
      `/collections/${collection}${endpoint.path}`,
      json === undefined ? {} : { json },
    );

  it.each(only((endpoint) => endpoint.needsNoCollection !== true))(
    'C1.4 404 for a collection that does not exist: %s',
    async (_title, endpoint) => {
      const answer = await call(endpoint, 'absent');
      expect([answer.status, answer.body]).toEqual([
        404,
        { time: expect.any(Number), status: { error: 'Collection not found: absent' } },
      ]);
    },
  );

  it.each(ALL)(
    'C1.4 500 with the prefix of the operation, and the process lives: %s',
    async (_title, endpoint) => {
      const answer = await call(endpoint, '__panic__');
      expect([answer.status, answer.body.status.error]).toEqual([500, `${endpoint.failed}: internal error`]);
    },
  );

  it.each(only(({ body }) => body !== undefined))(
    'C1.4 400 for a body that is no JSON: %s',
    async (_title, endpoint) => {
      const path = `/collections/c${endpoint.path}`;
      for (const body of ['{', '[]', 'null', '{"a":}', '{} {}']) {
        const answer = await send(service, endpoint.method, path, { body });
        expect([body, answer.status]).toEqual([body, 400]);
        expect(answer.body.status.error).not.toBe('');
      }
    },
  );

  it.each(only(({ body }) => body !== undefined))(
    'C1.10 400 for an unknown field: %s',
    async (_title, endpoint) => {
      const answer = await call(endpoint, 'c', { ...endpoint.body, no_such_field: 1 });
      expect([answer.status, answer.body.status.error]).toEqual([
        400,
        expect.stringContaining('no_such_field'),
      ]);
    },
  );

  it.each(only(({ requires }) => requires !== undefined))(
    'C1.4 400 for a missing field, whether or not the collection exists: %s',
    async (_title, endpoint) => {
      for (const field of endpoint.requires ?? []) {
        for (const collection of ['c', 'absent']) {
          const answer = await call(endpoint, collection, { ...endpoint.body, [field]: undefined });
          expect([answer.status, answer.body.status.error]).toEqual([
            400,
            `Missing required field: ${field}`,
          ]);
        }
      }
    },
  );

  it.each(only(({ filterAt }) => filterAt !== undefined))(
    'C1.4, C7 400 for a filter that cannot be parsed: %s',
    async (_title, endpoint) => {
      const filter = { must: [{ key: 'a', match: { valeu: 1 } }] };
      const { searches, ...rest } = endpoint.body ?? {};
      const [search] = Array.isArray(searches) ? (searches as object[]) : [];
      // `points` would count in place of the filter.
      const json =
        search === undefined ? { ...rest, points: undefined, filter } : { searches: [{ ...search, filter }] };
      const answer = await call(endpoint, 'c', json);
      expect([answer.status, answer.body.status.error]).toEqual([
        400,
        expect.stringMatching(/^Filter parse error: .*must\[0\]/),
      ]);
    },
  );

  it.each(Object.entries(WRONG_DIMENSION))('C1.4 400 for another dimension: %s', async (title, json) => {
    const [method = '', path = ''] = title.split(' ');
    const answer = await send(service, method, `/collections/c${path}`, { json });
    expect([answer.status, answer.body.status.error]).toEqual([
      400,
      expect.stringContaining("Dimension mismatch for vector '': expected 2, got 3"),
    ]);
  });

  it.each(Object.entries(UNKNOWN_VECTOR))(
    'C1.4 400 for a vector that is not declared: %s',
    async (title, json) => {
      const [method = '', path = ''] = title.split(' ');
      const answer = await send(service, method, `/collections/c${path}`, { json });
      expect([answer.status, answer.body.status.error]).toEqual([400, 'Vector not found: nope']);
    },
  );

  it.each(only(({ namesPoints }) => namesPoints !== undefined))(
    'C1.4 404 for points that do not exist: %s',
    async (_title, endpoint) => {
      const ids = Array.from({ length: 12 }, (_, position) => 100 + position);
      const answer = await call(endpoint, 'c', { ...endpoint.body, [endpoint.namesPoints ?? '']: ids });
      expect([answer.status, answer.body.status.error]).toEqual([
        404,
        `Point not found: ${ids.slice(0, 10).join(', ')}, and 2 more`,
      ]);
    },
  );

  it('C1.4 404 for one point, and for one whose vectors are updated', async () => {
    const one = await send(service, 'GET', '/collections/c/points/18446744073709551615');
    expect([one.status, one.body.status.error]).toEqual([404, 'Point not found: 18446744073709551615']);
    const json = { points: [{ id: 77, vector: [1, 2] }] };
    const update = await send(service, 'PUT', '/collections/c/points/vectors', { json });
    expect([update.status, update.body.status.error]).toEqual([404, 'Point not found: 77']);
  });

  it('C1.4 400 without a vectors configuration, 409 for a collection that exists', async () => {
    for (const json of [{}, { vectors: {} }, { vectors: null }]) {
      const answer = await send(service, 'PUT', '/collections/new', { json });
      expect([answer.status, answer.body.status.error]).toEqual([400, 'vectors_config is required']);
    }
    const again = await send(service, 'PUT', '/collections/c', {
      json: { vectors: { size: 2, distance: 'Dot' } },
    });
    expect([again.status, again.body.status.error]).toEqual([409, 'Collection already exists: c']);
  });

  it('C4.5, C4.6 no 404 from delete and exists', async () => {
    expect((await send(service, 'DELETE', '/collections/absent')).body.result).toBe(false);
    expect((await send(service, 'GET', '/collections/absent/exists')).body.result).toEqual({ exists: false });
    expect((await send(service, 'DELETE', '/collections/..%2F')).body.result).toBe(false);
  });
});
