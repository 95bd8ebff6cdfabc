import type { EngineErrorCode, EngineErrorDetails } from '../../src/engine/types';
import { DIALECTS } from '../../src/http/dialect';
import { concretePath, send, startService, type Service } from './harness';

const ROWS: readonly (readonly [EngineErrorCode, EngineErrorDetails, number, string])[] = [
  ['bad_request', { message: 'points[1].vector: expected' }, 400, 'points[1].vector: expected'],
  ['vectors_config_required', {}, 400, 'vectors_config is required'],
  ['missing_field', { field: 'vector' }, 400, 'Missing required field: vector'],
  ['filter_parse', { message: 'filter.must[0]: why' }, 400, 'Filter parse error: filter.must[0]: why'],
  [
    'dimension_mismatch',
    { name: '', expected: 4, got: 3 },
    400,
    "Dimension mismatch for vector '': expected 4, got 3",
  ],
  [
    'dimension_mismatch',
    { name: 'text', expected: 768, got: 0 },
    400,
    "Dimension mismatch for vector 'text': expected 768, got 0",
  ],
  ['vector_not_found', { name: 'image' }, 400, 'Vector not found: image'],
  ['collection_not_found', { name: 'c' }, 404, 'Collection not found: c'],
  ['collection_exists', { name: 'c' }, 409, 'Collection already exists: c'],
  ['collection_deleted', { name: 'c' }, 412, 'Collection deleted: c'],
  [
    'alias_exists',
    { name: 'a' },
    400,
    "Can't create collection with name a. Alias with the same name already exists",
  ],
  ['alias_not_found', { name: 'a' }, 404, 'Alias not found: a'],
  ['cursor_not_found', {}, 404, 'Cursor not found: it is unknown or has expired'],
  ['point_not_found', { ids: ['7'], total: 1 }, 404, 'Point not found: 7'],
  ['point_not_found', { ids: ['7', '8'], total: 14 }, 404, 'Point not found: 7, 8, and 12 more'],
  ['point_without_vector', { id: '7', name: 'v' }, 404, "Vector with name 'v' for point 7 not found"],
  [
    'version_conflict',
    {
      conflicts: [
        { id: '7', expected: '3', found: '5' },
        { id: '8', expected: '1', found: '0' },
      ],
      total: 3,
    },
    409,
    'Version conflict: 7 (version 5, expected version 3), 8 (absent, expected version 1), and 1 more',
  ],
  [
    'sync_conflict',
    { message: 'points: 7 are stored outside the scope' },
    409,
    'Sync conflict: points: 7 are stored outside the scope',
  ],
  ['not_ready', {}, 412, 'Engine not initialized'],
  [
    'timeout',
    { message: 'the search took longer than 1 s' },
    408,
    'Timeout: the search took longer than 1 s',
  ],
  ['cancelled', {}, 408, 'Timeout: the client has disconnected'],
  ['overloaded', { message: 'the write queue is full' }, 429, 'the write queue is full'],
  ['rate_limited', { message: 'the rate is used up', retryAfterSeconds: 7 }, 429, 'the rate is used up'],
  ['rate_limited', { message: 'for half a minute', retryAfterSeconds: 30 }, 429, 'for half a minute'],
  ['needs_json', {}, 500, 'A packed body that cannot be read'],
  ['shutting_down', {}, 503, 'Server is shutting down'],
];

/** The header `Retry-After` of those that say when to try again. */
const RETRY_AFTER: Record<string, string> = {
  not_ready: '1',
  overloaded: '1',
  shutting_down: '1',
  rate_limited: '7',
};

/** Failures whose message starts with what the operation is called in the route table. */
const PREFIXED: readonly (readonly [EngineErrorCode, EngineErrorDetails, number, string])[] = [
  ['storage_full', {}, 507, 'storage full'],
  ['memory_limit', {}, 507, 'memory limit'],
  ['collection_fault', { message: 'checksum of a chunk' }, 500, 'checksum of a chunk'],
  ['internal', { message: 'log append' }, 500, 'log append'],
  ['internal_panic', { message: '/a/path: index out of bounds' }, 500, 'internal error'],
];

const PREFIX_OF: Readonly<Record<string, string>> = {
  list_collections: 'Collection operation failed',
  collection_info: 'Collection operation failed',
  create_collection: 'Collection operation failed',
  update_collection: 'Collection operation failed',
  delete_collection: 'Collection operation failed',
  clone_collection: 'Collection operation failed',
  collection_exists: 'Collection operation failed',
  upsert_points: 'Upsert failed',
  batch_update: 'Upsert failed',
  update_vectors: 'Upsert failed',
  delete_points: 'Delete failed',
  delete_vectors: 'Delete failed',
  retrieve_points: 'Retrieve failed',
  get_point: 'Retrieve failed',
  set_payload: 'Payload operation failed',
  overwrite_payload: 'Payload operation failed',
  delete_payload: 'Payload operation failed',
  clear_payload: 'Payload operation failed',
  create_field_index: 'Field index failed',
  delete_field_index: 'Field index failed',
  search: 'Search failed',
  search_batch: 'Search failed',
  query: 'Search failed',
  query_batch: 'Search failed',
  scroll: 'Search failed',
  count: 'Search failed',
  facet: 'Search failed',
  matrix_pairs: 'Search failed',
  matrix_offsets: 'Search failed',
  project_points: 'Search failed',
  sync_points: 'Sync failed',
  plan_sync: 'Sync failed',
  reembed_vectors: 'Re-embedding failed',
  reembedding: 'Re-embedding failed',
  commit_reembedding: 'Re-embedding failed',
  abort_reembedding: 'Re-embedding failed',
  recommend: 'Search failed',
  recommend_batch: 'Search failed',
  discover: 'Search failed',
  discover_batch: 'Search failed',
  search_groups: 'Search failed',
  query_groups: 'Search failed',
  recommend_groups: 'Search failed',
  list_aliases: 'Collection operation failed',
  collection_aliases: 'Collection operation failed',
  change_aliases: 'Collection operation failed',
  collection_status: 'Collection operation failed',
  collection_cluster_info: 'Collection operation failed',
  optimizations: 'Collection operation failed',
  create_vector_name: 'Collection operation failed',
  delete_vector_name: 'Collection operation failed',
  flush: 'Collection operation failed',
  optimize: 'Optimization failed',
  rebuild_index: 'Index rebuild failed',
};

describe.each([
  ['hot lane', true],
  ['Express', false],
])('the error table, %s', (_name, hotLane) => {
  let service: Service;
  beforeAll(async () => {
    // All routes; sentences of 404s are those of the specification.
    const dialect = { ...DIALECTS.qdrant, sentences: {} };
    service = await startService({ hotLane, dialect });
  });
  afterAll(() => service.close());
  beforeEach(() => {
    service.engine.reset();
  });

  it.each(ROWS)('C1.2, C1.4, C1.5 %s %j is a %i', async (code, details, status, message) => {
    service.engine.failWith(code, details);
    for (const route of service.routes) {
      if (route.kind === 'engine') {
        const answer = await send(service, route.method, concretePath(route));
        expect([route.path, answer.status, answer.body]).toEqual([
          route.path,
          status,
          { time: expect.any(Number), status: { error: message } },
        ]);
        const seconds = details.retryAfterSeconds ?? 0;
        expect(answer.headers['retry-after']).toBe(seconds > 9 ? '9' : RETRY_AFTER[code]);
      }
    }
  });

  it.each(PREFIXED)(
    'C1.4, C1.5 %s %j is a %i with the prefix of the operation',
    async (code, details, status, cause) => {
      service.engine.failWith(code, details);
      for (const route of service.routes) {
        if (route.kind === 'engine') {
          const answer = await send(service, route.method, concretePath(route));
          const prefix = PREFIX_OF[route.operation];
          expect([answer.status, answer.body.status.error]).toEqual([status, `${prefix ?? ''}: ${cause}`]);
          expect(answer.headers['retry-after']).toBe(status === 507 ? '5' : undefined);
        }
      }
    },
  );

  it('C1.4 answers no details of an unexpected error, and logs its cause', async () => {
    service.engine.failure = new TypeError('/home/secret is undefined');
    const answer = await send(service, 'POST', '/collections/c/points/search', {
      headers: { 'x-request-id': 'unexpected' },
    });
    expect(answer.status).toBe(500);
    expect(answer.body.status.error).toBe('Internal server error');
    expect(service.logged).toContainEqual(
      expect.objectContaining({
        requestId: 'unexpected',
        err: expect.objectContaining({ message: '/home/secret is undefined' }),
      }),
    );
  });

  it.each(['new_code', 'toString', '__proto__'])(
    'C1.4 takes the code %s for an internal failure',
    async (code) => {
      service.engine.failWith(code as EngineErrorCode, { message: 'of a later engine' });
      const answer = await send(service, 'POST', '/collections/c/points/search');
      expect([answer.status, answer.body.status.error]).toEqual([500, 'Search failed: internal error']);
    },
  );

  it('C1.4 survives an answer that cannot be written', async () => {
    jest.spyOn(service.engine, 'execute').mockResolvedValueOnce(undefined as unknown as Buffer);
    const answer = await send(service, 'POST', '/collections/c/points/search');
    expect(answer.status).toBe(500);
    expect((await send(service, 'GET', '/livez')).status).toBe(200);
  });

  it('C1.3 does so under /auth in the envelope of /auth', async () => {
    const answer = await send(service, 'POST', '/auth/broken', { json: {} });
    expect(answer.status).toBe(500);
    expect(answer.body).toEqual({ status: 'error', message: 'Internal server error' });
  });

  it('C1.3 refuses a malformed body under /auth in the envelope of /auth', async () => {
    const answer = await send(service, 'POST', '/auth/admin/login', { body: '{"password":' });
    expect(answer.status).toBe(400);
    expect(answer.body).toEqual({ status: 'error', message: 'The body is not valid JSON' });
  });
});
