import type { Operation } from '../engine/types';
import { textsOf } from '../http/audit-fields';
import type { Method } from '../http/route';
import type { EngineRoute } from '../http/route-table';

/** A change of points (C5): needs `write`, takes `wait`, `ordering` and `timeout`, reads a body. */
function change(method: Method, rest: string, operation: Operation, failed: string): EngineRoute {
  return {
    kind: 'engine',
    method,
    path: `/collections/:collection_name${rest}`,
    permission: 'write',
    operation,
    reach: 'points',
    parameters: 'write',
    body: true,
    failed,
  };
}

/** A read of points (C5, C6): needs `read`, takes `consistency` and `timeout`, reads a body. */
function read(rest: string, operation: Operation, failed: string): EngineRoute {
  return {
    kind: 'engine',
    method: 'POST',
    path: `/collections/:collection_name${rest}`,
    permission: 'read',
    operation,
    reach: 'points',
    parameters: 'read',
    body: true,
    failed,
  };
}

/** A read whose body may name another collection to look vectors up in. */
function withLookup(route: EngineRoute): EngineRoute {
  return { ...route, namedInBody: 'lookup_from' };
}

const UPSERT = 'Upsert failed';
const DELETE = 'Delete failed';
const PAYLOAD = 'Payload operation failed';
const INDEX = 'Field index failed';
const SYNC = 'Sync failed';
const RETRIEVE = 'Retrieve failed';
const SEARCH = 'Search failed';

/** The endpoints that change points and their field indexes (C5). */
export const changeRoutes: readonly EngineRoute[] = [
  { ...change('PUT', '/points', 'upsert_points', UPSERT), takesRows: true },
  change('POST', '/points/delete', 'delete_points', DELETE),
  change('PUT', '/points/vectors', 'update_vectors', UPSERT),
  change('POST', '/points/vectors/delete', 'delete_vectors', DELETE),
  change('POST', '/points/payload', 'set_payload', PAYLOAD),
  change('PUT', '/points/payload', 'overwrite_payload', PAYLOAD),
  change('POST', '/points/payload/delete', 'delete_payload', PAYLOAD),
  change('POST', '/points/payload/clear', 'clear_payload', PAYLOAD),
  change('POST', '/points/batch', 'batch_update', UPSERT),
  change('PUT', '/points/sync', 'sync_points', SYNC),
  {
    ...change('PUT', '/index', 'create_field_index', INDEX),
    reach: 'collection',
    audited: (body) => textsOf(body, ['field_name']),
  },
  {
    ...change('DELETE', '/index/:field_name', 'delete_field_index', INDEX),
    reach: 'collection',
    body: false,
    target: 'field_name',
  },
];

/** The endpoints that read points (C5.2, C5.3, C6). */
export const readRoutes: readonly EngineRoute[] = [
  read('/points', 'retrieve_points', RETRIEVE),
  { ...read('/points/:id', 'get_point', RETRIEVE), method: 'GET', body: false, target: 'id' },
  read('/points/search', 'search', SEARCH),
  read('/points/search/batch', 'search_batch', SEARCH),
  withLookup(read('/points/query', 'query', SEARCH)),
  withLookup(read('/points/query/batch', 'query_batch', SEARCH)),
  read('/points/scroll', 'scroll', SEARCH),
  read('/points/count', 'count', SEARCH),
  read('/facet', 'facet', SEARCH),
  read('/points/search/matrix/pairs', 'matrix_pairs', SEARCH),
  read('/points/search/matrix/offsets', 'matrix_offsets', SEARCH),
  read('/points/projection', 'project_points', SEARCH),
  read('/points/sync/plan', 'plan_sync', SYNC),
];

/** Those that read points and answer in the dialect `qdrant` only (C12). */
export const recommendRoutes: readonly EngineRoute[] = [
  withLookup(read('/points/recommend', 'recommend', SEARCH)),
  withLookup(read('/points/recommend/batch', 'recommend_batch', SEARCH)),
  withLookup(read('/points/discover', 'discover', SEARCH)),
  withLookup(read('/points/discover/batch', 'discover_batch', SEARCH)),
  withLookup(read('/points/search/groups', 'search_groups', SEARCH)),
  withLookup(read('/points/query/groups', 'query_groups', SEARCH)),
  withLookup(read('/points/recommend/groups', 'recommend_groups', SEARCH)),
];
