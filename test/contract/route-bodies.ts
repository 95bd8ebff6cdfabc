import type { Route } from '../../src/http/route-table';
import { ENDPOINTS } from './endpoints';

/** Bodies of endpoints of the dialect beside those of the contract. */
const BODIES: Readonly<Record<string, object>> = {
  facet: { key: 'a' },
  matrix_pairs: {},
  matrix_offsets: {},
  project_points: {},
  recommend: { positive: [1] },
  recommend_batch: { searches: [{ positive: [1] }] },
  discover: { target: 1 },
  discover_batch: { searches: [{ target: 1 }] },
  search_groups: { vector: [1, 0], group_by: 'a' },
  query_groups: { query: [1, 0], group_by: 'a' },
  recommend_groups: { positive: [[1, 0]], group_by: 'a' },
  reembed_vectors: { model: 'letters' },
  commit_reembedding: {},
  create_vector_name: { dense: { size: 2, distance: 'Dot' } },
};

/** A body that the endpoint of a route takes; undefined where it takes none. */
export function bodyOf(route: Route): object | undefined {
  const { method, path } = route;
  const rest = path
    .replace('/collections/:collection_name', '')
    .replace(':field_name', 'a')
    .replace(':id', '1');
  const known = route.kind === 'engine' ? BODIES[route.operation] : undefined;
  return known ?? ENDPOINTS.find((one) => one.method === method && one.path === rest)?.body;
}
