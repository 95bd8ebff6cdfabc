import type { Operation } from '../engine/types';
import type { EngineRoute } from '../http/route-table';

const failed = 'Collection operation failed';

/** The collection endpoints (C4). The engine checks the name of a new collection (C2.2), as it does the body. */
export const collectionRoutes: readonly EngineRoute[] = [
  {
    kind: 'engine',
    method: 'GET',
    path: '/collections',
    permission: 'read',
    operation: 'list_collections',
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
    parameters: 'collection',
    body: true,
    failed,
  },
  about('/cluster', 'collection_cluster_info'),
  about('/optimizations', 'optimizations'),
];

/** Those that answer in the dialect `qdrant` only (C12). */
export const maintenanceRoutes: readonly EngineRoute[] = [
  upkeep('flush', failed),
  upkeep('optimize', 'Optimization failed'),
  upkeep('rebuild_index', 'Index rebuild failed'),
  about('/status', 'collection_status'),
  {
    kind: 'engine',
    method: 'GET',
    path: '/aliases',
    permission: 'read',
    operation: 'list_aliases',
    parameters: 'collection',
    body: false,
    failed,
  },
  about('/aliases', 'collection_aliases'),
  changeOfAliases('/aliases'),
  // The last line of an operation is the one that the client calls.
  changeOfAliases('/collections/aliases'),
];

/** A change of aliases: where Qdrant has it, and where the specification has it. */
function changeOfAliases(path: string): EngineRoute {
  return {
    kind: 'engine',
    method: 'POST',
    path,
    permission: 'write',
    operation: 'change_aliases',
    parameters: 'collection',
    body: true,
    failed,
  };
}

/** A report about one collection. */
function about(rest: string, operation: Operation): EngineRoute {
  return {
    kind: 'engine',
    method: 'GET',
    path: `/collections/:collection_name${rest}`,
    permission: 'read',
    operation,
    parameters: 'collection',
    body: false,
    failed,
  };
}

/** Work on the files or graphs of a collection; a body is not read. */
function upkeep(
  operation: Operation & ('flush' | 'optimize' | 'rebuild_index'),
  prefix: string,
): EngineRoute {
  return {
    kind: 'engine',
    method: 'POST',
    path: `/collections/:collection_name/operations/${operation}`,
    permission: 'write',
    operation,
    parameters: 'collection',
    body: false,
    failed: prefix,
  };
}
