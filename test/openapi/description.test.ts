import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { authRoutes } from '../../src/auth';
import { ClientAddresses } from '../../src/http/client-address';
import type { Operation } from '../../src/engine/types';
import { DIALECTS } from '../../src/http/dialect';
import { Lifecycle } from '../../src/http/lifecycle';
import { LocalRequestCounts } from '../../src/http/request-counts';
import type { Route } from '../../src/http/route-table';
import { mcpRoutes } from '../../src/mcp-host/route';
import { allRoutes } from '../../src/routes';
import { SnapshotService } from '../../src/snapshots/service';
import { SnapshotStore } from '../../src/snapshots/store';
import { send, startService, type Service } from '../http/harness';
import { description, mustBeDescribed } from './description';

const [routes, qdrantRoutes] = [DIALECTS.specification, DIALECTS.qdrant].map((dialect) =>
  allRoutes({
    authRoutes: authRoutes(new Promise(() => undefined), new ClientAddresses([]), new LocalRequestCounts()),
    lifecycle: new Lifecycle(),
    requests: new LocalRequestCounts(),
    kithdbVersion: '0.1.0',
    dialect,
    pages: mcpRoutes('read', () => undefined),
    snapshots: new SnapshotService(new SnapshotStore('/nowhere', { maxSnapshots: 1, maxSnapshotBytes: 1 })),
  }),
) as [readonly Route[], readonly Route[]];

/** The endpoints that Qdrant's own description has too, with the operation ids that they have there (1.16 and 1.19). */
const QDRANT_IDS: Readonly<Record<string, string>> = {
  'GET /': 'root',
  'GET /livez': 'livez',
  'GET /readyz': 'readyz',
  'GET /healthz': 'healthz',
  'GET /metrics': 'metrics',
  'GET /cluster': 'cluster_status',
  'GET /cluster/telemetry': 'cluster_telemetry',
  'GET /telemetry': 'telemetry',
  'DELETE /cluster/peer/{peer_id}': 'remove_peer',
  'GET /collections/{collection_name}/cluster': 'collection_cluster_info',
  'POST /collections/{collection_name}/cluster': 'update_collection_cluster',
  'GET /collections/{collection_name}/optimizations': 'get_optimizations',
  'POST /collections/{collection_name}/facet': 'facet',
  'POST /collections/{collection_name}/points/search/matrix/pairs': 'search_matrix_pairs',
  'POST /collections/{collection_name}/points/search/matrix/offsets': 'search_matrix_offsets',
  'GET /collections': 'get_collections',
  'GET /collections/{collection_name}': 'get_collection',
  'PUT /collections/{collection_name}': 'create_collection',
  'PATCH /collections/{collection_name}': 'update_collection',
  'DELETE /collections/{collection_name}': 'delete_collection',
  'GET /collections/{collection_name}/exists': 'collection_exists',
  'PUT /collections/{collection_name}/index': 'create_field_index',
  'DELETE /collections/{collection_name}/index/{field_name}': 'delete_field_index',
  'PUT /collections/{collection_name}/vectors/{vector_name}': 'create_vector_name',
  'DELETE /collections/{collection_name}/vectors/{vector_name}': 'delete_vector_name',
  'PUT /collections/{collection_name}/points': 'upsert_points',
  'POST /collections/{collection_name}/points': 'get_points',
  'GET /collections/{collection_name}/points/{id}': 'get_point',
  'POST /collections/{collection_name}/points/delete': 'delete_points',
  'PUT /collections/{collection_name}/points/vectors': 'update_vectors',
  'POST /collections/{collection_name}/points/vectors/delete': 'delete_vectors',
  'POST /collections/{collection_name}/points/payload': 'set_payload',
  'PUT /collections/{collection_name}/points/payload': 'overwrite_payload',
  'POST /collections/{collection_name}/points/payload/delete': 'delete_payload',
  'POST /collections/{collection_name}/points/payload/clear': 'clear_payload',
  'POST /collections/{collection_name}/points/batch': 'batch_update',
  'POST /collections/{collection_name}/points/search': 'search_points',
  'POST /collections/{collection_name}/points/search/batch': 'search_batch_points',
  'POST /collections/{collection_name}/points/search/groups': 'search_point_groups',
  'POST /collections/{collection_name}/points/query': 'query_points',
  'POST /collections/{collection_name}/points/query/batch': 'query_batch_points',
  'POST /collections/{collection_name}/points/query/groups': 'query_points_groups',
  'POST /collections/{collection_name}/points/recommend': 'recommend_points',
  'POST /collections/{collection_name}/points/recommend/batch': 'recommend_batch_points',
  'POST /collections/{collection_name}/points/recommend/groups': 'recommend_point_groups',
  'POST /collections/{collection_name}/points/discover': 'discover_points',
  'POST /collections/{collection_name}/points/discover/batch': 'discover_batch_points',
  'POST /collections/{collection_name}/points/scroll': 'scroll_points',
  'POST /collections/{collection_name}/points/count': 'count_points',
  'GET /aliases': 'get_collections_aliases',
  'POST /collections/aliases': 'update_aliases',
  'GET /collections/{collection_name}/aliases': 'get_collection_aliases',
  'GET /collections/{collection_name}/snapshots': 'list_snapshots',
  'POST /collections/{collection_name}/snapshots': 'create_snapshot',
  'DELETE /collections/{collection_name}/snapshots/{snapshot_name}': 'delete_snapshot',
  'GET /collections/{collection_name}/snapshots/{snapshot_name}': 'get_snapshot',
  'PUT /collections/{collection_name}/snapshots/recover': 'recover_from_snapshot',
  'POST /collections/{collection_name}/snapshots/upload': 'recover_from_uploaded_snapshot',
  'GET /snapshots': 'list_full_snapshots',
  'POST /snapshots': 'create_full_snapshot',
  'GET /snapshots/{snapshot_name}': 'get_full_snapshot',
  'DELETE /snapshots/{snapshot_name}': 'delete_full_snapshot',
};

/** Whether texts and models may be in the body: C16 and C19. The groups of C8 are described as they answer: 501. */
function takesVectors(operation: Operation): boolean {
  const taking: readonly Operation[] = ['upsert_points', 'update_vectors', 'batch_update', 'sync_points'];
  return (
    taking.includes(operation) || /^(?:search|query|recommend|discover)(?:_batch|_groups)?$/.test(operation)
  );
}

/** Endpoints as the description writes them. */
const described = description().operations.map(({ method, path }) => `${method} ${path}`);

/** What fails where something exists, or has another version than is expected (C25). */
const CONFLICTING: ReadonlySet<string> = new Set([
  'create_collection',
  'clone_collection',
  'update_collection',
  'reembed_vectors',
  'commit_reembedding',
  'change_aliases',
  'plan_sync',
  'upsert_points',
  'update_vectors',
  'set_payload',
  'overwrite_payload',
  'delete_payload',
  'clear_payload',
  'batch_update',
]);

describe('the description of the HTTP interface', () => {
  it('has every route of the table, and nothing else', () => {
    for (const table of [routes, qdrantRoutes]) {
      const served = table.map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`);
      expect([...described].sort()).toEqual([...served].sort());
    }
  });

  it("C9.3 has Qdrant's operation ids and names of path parameters, so that generated clients can be exchanged", () => {
    const ids = new Map(description().operations.map(({ method, path, id }) => [`${method} ${path}`, id]));
    const here = Object.keys(QDRANT_IDS).map((endpoint) => [endpoint, ids.get(endpoint)]);
    expect(here).toEqual(Object.entries(QDRANT_IDS));
    expect(new Set(ids.values()).size).toBe(ids.size);
  });

  it('says of each route which credentials it needs, and of the groups of C8 that they answer 501', () => {
    for (const route of routes) {
      const path = route.path.replaceAll(/:(\w+)/g, '{$1}');
      const operation = description().document.paths[path][route.method.toLowerCase()];
      const open = route.permission === 'none' || route.permission === 'local';
      expect([path, operation.security?.length === 0]).toEqual([path, open]);
      expect([path, '401' in operation.responses]).toEqual([path, !open || path === '/auth/admin/login']);
      expect([path, '501' in operation.responses]).toEqual([
        path,
        route.kind === 'unimplemented' || route.kind === 'handled',
      ]);
    }
  });

  it('names each error of C1.4 and C1.5 that an endpoint of the engine can answer', () => {
    for (const route of qdrantRoutes) {
      if (route.kind !== 'engine') continue;
      const operation = description().find(route.method, route.path.replaceAll(/:\w+/g, 'x'))!;
      const statuses = Object.keys(operation.responses).map(Number);
      const always = [route.success ?? 200, 400, 401, 403, 408, 412, 413, 429, 500, 503, 507];
      expect(statuses).toEqual(expect.arrayContaining(always));
      expect([operation.id, statuses.includes(415)]).toEqual([operation.id, route.body]);
      // A full disk and the memory budget refuse writes alone; the system may refuse memory to any request.
      const refusal = route.permission === 'write' ? 'Full' : 'NoMemory';
      expect([operation.id, operation.responses['507'].schemaAt]).toEqual([
        operation.id,
        expect.stringContaining(`/responses/${refusal}/`),
      ]);
      expect([operation.id, statuses.includes(409)]).toEqual([
        operation.id,
        CONFLICTING.has(route.operation) || takesVectors(route.operation),
      ]);
      expect([operation.id, statuses.includes(502)]).toEqual([
        operation.id,
        // A re-embedding begins with a text that tries the model.
        takesVectors(route.operation) || route.operation === 'reembed_vectors',
      ]);
    }
  });

  it('has an example for every endpoint that takes a body, and each agrees with its schema', () => {
    for (const operation of description().operations) {
      if (operation.body === undefined) continue;
      expect([operation.id, operation.examples.length > 0]).toEqual([operation.id, true]);
      for (const { name, value } of operation.examples) {
        expect([operation.id, name, description().bodyFault(operation, value)]).toEqual([
          operation.id,
          name,
          undefined,
        ]);
      }
    }
  });

  it('refuses unknown fields in every body of a data endpoint (C1.10)', () => {
    for (const operation of description().operations) {
      if (operation.body === undefined || operation.path.startsWith('/auth')) continue;
      for (const { value } of operation.examples) {
        const fault = description().bodyFault(operation, { ...value, nonsense: 1 });
        expect([operation.id, fault]).toEqual([operation.id, expect.stringContaining('nonsense')]);
      }
    }
  });
});

describe('GET /openapi.json', () => {
  let service: Service;
  beforeAll(async () => {
    service = await startService({ starting: true });
    service.auth.enabled = true;
  });
  afterAll(() => service.close());

  it('gives the description with the version of the package, in every state and without credentials (C3.16)', async () => {
    const answer = await send(service, 'GET', '/openapi.json');
    expect([answer.status, answer.headers['content-type']]).toEqual([200, 'application/json; charset=utf-8']);
    const { version } = JSON.parse(readFileSync(join(__dirname, '..', '..', 'package.json'), 'utf8'));
    expect(answer.body.info.version).toBe(version);
    expect(answer.body).toEqual(description().document);
  });

  it('keeps integers beyond 2^53 exact, and leaves out what only its source needs', async () => {
    const { text, body } = await send(service, 'GET', '/openapi.json');
    expect(text).toContain('"maximum":18446744073709551615');
    expect(Object.keys(body).filter((key) => key.startsWith('x-'))).toEqual([]);
  });
});

describe('an answer that departs from the description', () => {
  const headers = { 'x-request-id': 'r', 'content-type': 'application/json; charset=utf-8' };
  const answered = (changes: object) => () => {
    const text = '{"time":0.1,"status":"ok","result":{"count":1}}';
    const method = 'POST';
    mustBeDescribed({
      method,
      path: '/collections/c/points/count?timeout=1',
      status: 200,
      headers,
      text,
      ...changes,
    });
  };

  it('passes when it does not', () => {
    expect(answered({})).not.toThrow();
    expect(
      answered({ method: 'GET', path: '/nowhere', status: 404, text: '{"time":0,"status":{"error":"no"}}' }),
    ).not.toThrow();
  });

  it.each([
    ['another status', { status: 201 }, '201 is not described'],
    ['an endpoint that is not there', { path: '/collections/c/points/counts' }, '200 is not described'],
    [
      'another media type',
      { headers: { ...headers, 'content-type': 'text/html' } },
      'text/html is not described',
    ],
    [
      'a header that is missing',
      { headers: { 'content-type': 'application/json' } },
      'X-Request-Id is missing',
    ],
    [
      'a field of another type',
      { text: '{"time":0,"status":"ok","result":{"count":"1"}}' },
      'result.count must be integer',
    ],
    [
      'a field too many',
      { text: '{"time":0,"status":"ok","result":{"count":1,"more":1}}' },
      'result must NOT have additional properties {"additionalProperty":"more"}',
    ],
    [
      'the wrong envelope',
      { path: '/auth/x', status: 404, text: '{"time":0,"status":{"error":""}}' },
      'must',
    ],
  ])('fails for %s, and names the place', (_title, changes, place) => {
    expect(answered(changes)).toThrow(place);
  });
});
