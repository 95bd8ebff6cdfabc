import type { Operation } from '../engine/types';

/**
 * Whether an operation that was executed and is executed again leaves the state, and gives the answer, of once. Only these
 * are repeated when it is not known whether they were executed.
 *
 * A batch of updates is not: a later one of it may change which points an earlier one finds. Of making, cloning and deleting
 * a collection the answer differs, and a repeated deletion could meet a collection that was made again meanwhile.
 */
const REPEATABLE: Readonly<Record<Operation, boolean>> = {
  list_collections: true,
  collection_info: true,
  create_collection: false,
  update_collection: true,
  delete_collection: false,
  collection_exists: true,
  upsert_points: true,
  retrieve_points: true,
  get_point: true,
  delete_points: true,
  update_vectors: true,
  delete_vectors: true,
  set_payload: true,
  overwrite_payload: true,
  delete_payload: true,
  clear_payload: true,
  batch_update: false,
  create_field_index: true,
  delete_field_index: true,
  search: true,
  search_batch: true,
  query: true,
  query_batch: true,
  scroll: true,
  count: true,
  recommend: true,
  recommend_batch: true,
  discover: true,
  discover_batch: true,
  collection_status: true,
  flush: true,
  optimize: true,
  collection_cluster_info: true,
  optimizations: true,
  facet: true,
  matrix_pairs: true,
  matrix_offsets: true,
  clone_collection: false,
  create_vector_name: true,
  // A repeat could meet a vector that was created again meanwhile.
  delete_vector_name: false,
  search_groups: true,
  query_groups: true,
  recommend_groups: true,
  list_aliases: true,
  collection_aliases: true,
  // A renaming that is repeated does not find the alias.
  change_aliases: false,
  rebuild_index: true,
  project_points: true,
  // A repeat would answer that nothing changed.
  sync_points: false,
  plan_sync: true,
  link_snapshot: true,
  // A repeat would undo what was written meanwhile.
  adopt_folders: false,
};

export function isRepeatable(operation: Operation): boolean {
  return REPEATABLE[operation];
}
