import type { Operation } from '../engine/types';
import { textsOf } from '../http/audit-fields';
import type { EngineRoute } from '../http/route-table';
import { namesInActions } from './alias-names';

const failed = 'Collection operation failed';

/** The collection endpoints (C4). The engine checks the name of a new collection (C2.2), as it does the body. */
export const collectionRoutes: readonly EngineRoute[] = [
  {
    kind: 'engine',
    method: 'GET',
    path: '/collections',
    permission: 'read',
    operation: 'list_collections',
    reach: 'list',
    parameters: 'collection',
    body: false,
    failed,
  },
  {
    kind: 'engine',
    method: 'GET',
    path: '/collections/:collection_name',
    permission: 'read',
    operation: 'collection_info',
    reach: 'description',
    parameters: 'collection',
    body: false,
    failed,
  },
  {
    kind: 'engine',
    method: 'PUT',
    path: '/collections/:collection_name',
    permission: 'write',
    operation: 'create_collection',
    reach: 'collection',
    parameters: 'collection',
    body: true,
    createsCollection: true,
    failed,
  },
  {
    kind: 'engine',
    method: 'PATCH',
    path: '/collections/:collection_name',
    permission: 'write',
    operation: 'update_collection',
    reach: 'collection',
    parameters: 'collection',
    body: true,
    failed,
  },
  {
    kind: 'engine',
    method: 'DELETE',
    path: '/collections/:collection_name',
    permission: 'write',
    operation: 'delete_collection',
    reach: 'collection',
    parameters: 'collection',
    body: false,
    failed,
  },
  {
    kind: 'engine',
    method: 'GET',
    path: '/collections/:collection_name/exists',
    permission: 'read',
    operation: 'collection_exists',
    reach: 'description',
    parameters: 'collection',
    body: false,
    failed,
  },
  {
    kind: 'engine',
    method: 'POST',
    path: '/collections/:collection_name/clone',
    permission: 'write',
    operation: 'clone_collection',
    reach: 'collection',
    namedInBody: 'name',
    audited: (body) => textsOf(body, ['name']),
    parameters: 'collection',
    body: true,
    failed,
  },
  vectorName('PUT', 'create_vector_name'),
  vectorName('DELETE', 'delete_vector_name'),
  { ...reembedding('POST', '', 'reembed_vectors'), success: 202 },
  reembedding('GET', '', 'reembedding'),
  reembedding('POST', '/commit', 'commit_reembedding'),
  reembedding('POST', '/abort', 'abort_reembedding'),
  about('/cluster', 'collection_cluster_info', 'server'),
  about('/optimizations', 'optimizations', 'collection'),
];

/** Those that answer in the dialect `qdrant` only (C12). */
export const maintenanceRoutes: readonly EngineRoute[] = [
  maintenance('flush', failed),
  maintenance('optimize', 'Optimization failed'),
  maintenance('rebuild_index', 'Index rebuild failed'),
  about('/status', 'collection_status', 'collection'),
  {
    kind: 'engine',
    method: 'GET',
    path: '/aliases',
    permission: 'read',
    operation: 'list_aliases',
    reach: 'list',
    parameters: 'collection',
    body: false,
    failed,
  },
  about('/aliases', 'collection_aliases', 'collection'),
  changeOfAliases('/aliases'),
  // The last line of an operation is the one that the client calls.
  changeOfAliases('/collections/aliases'),
];

/** A vector that is added to a collection, or removed from it (C4.8). */
function vectorName(method: 'PUT' | 'DELETE', operation: Operation): EngineRoute {
  return {
    kind: 'engine',
    method,
    path: '/collections/:collection_name/vectors/:vector_name',
    permission: 'write',
    reach: 'collection',
    operation,
    parameters: 'write',
    body: method === 'PUT',
    target: 'vector_name',
    failed,
  };
}

/** The re-embedding of a vector field (C19). */
function reembedding(method: 'GET' | 'POST', rest: string, operation: Operation): EngineRoute {
  return {
    kind: 'engine',
    method,
    path: `/collections/:collection_name/vectors/:vector_name/reembed${rest}`,
    permission: method === 'GET' ? 'read' : 'write',
    reach: 'collection',
    operation,
    parameters: method === 'GET' ? 'collection' : 'write',
    body: operation === 'reembed_vectors' || operation === 'commit_reembedding',
    target: 'vector_name',
    failed: 'Re-embedding failed',
  };
}

/** A change of aliases: where Qdrant has it, and where the specification has it. */
function changeOfAliases(path: string): EngineRoute {
  return {
    kind: 'engine',
    method: 'POST',
    path,
    permission: 'write',
    operation: 'change_aliases',
    // An alias may stand for any collection.
    reach: 'server',
    audited: namesInActions,
    parameters: 'collection',
    body: true,
    failed,
  };
}

/** A report about one collection, with counts of its points. */
function about(rest: string, operation: Operation, reach: EngineRoute['reach']): EngineRoute {
  return {
    kind: 'engine',
    method: 'GET',
    path: `/collections/:collection_name${rest}`,
    permission: 'read',
    operation,
    reach,
    parameters: 'collection',
    body: false,
    failed,
  };
}

/** Work on the files or graphs of a collection; a body is not read. */
function maintenance(
  operation: Operation & ('flush' | 'optimize' | 'rebuild_index'),
  prefix: string,
): EngineRoute {
  return {
    kind: 'engine',
    method: 'POST',
    path: `/collections/:collection_name/operations/${operation}`,
    permission: 'write',
    operation,
    reach: 'collection',
    parameters: 'collection',
    body: false,
    failed: prefix,
  };
}
