import { randomUUID } from 'node:crypto';
import type { Operation } from '../engine/types';
import type { Call } from './transport';

/**
 * Which operations are writes, that the engine applies at most once for an operation id (C25). The others may be executed
 * twice: reads, and work on files and graphs.
 */
const TAKES_ID: Readonly<Record<Operation, boolean>> = {
  list_collections: false,
  collection_info: false,
  create_collection: true,
  update_collection: true,
  delete_collection: true,
  collection_exists: false,
  upsert_points: true,
  retrieve_points: false,
  get_point: false,
  delete_points: true,
  update_vectors: true,
  delete_vectors: true,
  set_payload: true,
  overwrite_payload: true,
  delete_payload: true,
  clear_payload: true,
  batch_update: true,
  create_field_index: true,
  delete_field_index: true,
  search: false,
  search_batch: false,
  query: false,
  query_batch: false,
  scroll: false,
  count: false,
  recommend: false,
  recommend_batch: false,
  discover: false,
  discover_batch: false,
  collection_status: false,
  flush: false,
  optimize: false,
  collection_cluster_info: false,
  optimizations: false,
  facet: false,
  matrix_pairs: false,
  matrix_offsets: false,
  clone_collection: true,
  create_vector_name: true,
  delete_vector_name: true,
  search_groups: false,
  query_groups: false,
  recommend_groups: false,
  list_aliases: false,
  collection_aliases: false,
  change_aliases: true,
  rebuild_index: false,
  project_points: false,
  sync_points: true,
  plan_sync: false,
  reembed_vectors: true,
  reembedding: false,
  commit_reembedding: true,
  abort_reembedding: true,
  list_reembeddings: false,
  next_texts: false,
  fill_vectors: true,
  link_snapshot: false,
  adopt_folders: true,
  replica_state: false,
  remove_expired: true,
};

/** Whether an operation changes a collection, by a record that every replica applies. */
export function isWrite(operation: Operation): boolean {
  return TAKES_ID[operation];
}

/** The call with an operation id of its own where it is a write that has none, so that it can be repeated. */
export function withOperationId(call: Call): Call {
  return TAKES_ID[call.operation] && call.operationId === undefined
    ? { ...call, operationId: randomUUID() }
    : call;
}
