import type { Method } from '../http/route';
import { COLLECTION_PARAMETER, type Route, type UnimplementedRoute } from '../http/route-table';

/** The groups of C8 by their names there, each with its endpoints. */
const GROUPS: Readonly<Record<string, readonly (readonly [Method, string])[]>> = {
  aliases: [
    ['GET', '/aliases'],
    ['POST', '/aliases'],
    ['GET', '/collections/:collection_name/aliases'],
    // Where Qdrant's clients send a change of aliases (C9.1): a clearer answer than 405.
    ['POST', '/collections/aliases'],
  ],
  snapshots: [
    ['POST', '/collections/:collection_name/snapshots'],
    ['GET', '/collections/:collection_name/snapshots'],
    ['GET', '/collections/:collection_name/snapshots/:snapshot_name'],
    ['DELETE', '/collections/:collection_name/snapshots/:snapshot_name'],
    ['POST', '/snapshots'],
    ['GET', '/snapshots'],
    ['GET', '/snapshots/:snapshot_name'],
    ['DELETE', '/snapshots/:snapshot_name'],
  ],
  'snapshot recovery': [
    ['PUT', '/collections/:collection_name/snapshots/recover'],
    ['POST', '/collections/:collection_name/snapshots/upload'],
    ['PUT', '/collections/:collection_name/snapshots/:snapshot_name/recover'],
    ['PUT', '/snapshots/recover'],
  ],
  maintenance: [
    ['POST', '/collections/:collection_name/operations/flush'],
    ['POST', '/collections/:collection_name/operations/optimize'],
    ['POST', '/collections/:collection_name/operations/rebuild_index'],
  ],
  'collection status': [['GET', '/collections/:collection_name/status']],
  'grouped search': [
    ['POST', '/collections/:collection_name/points/search/groups'],
    ['POST', '/collections/:collection_name/points/query/groups'],
  ],
  recommendations: [
    ['POST', '/collections/:collection_name/points/recommend'],
    ['POST', '/collections/:collection_name/points/recommend/batch'],
    ['POST', '/collections/:collection_name/points/recommend/groups'],
  ],
  discovery: [
    ['POST', '/collections/:collection_name/points/discover'],
    ['POST', '/collections/:collection_name/points/discover/batch'],
  ],
};

/**
 * The endpoints that answer 501 to any valid credential, whether or not the collection exists (C8), but for those that
 * are `served` (C12).
 */
export function unimplementedRoutes(served: readonly Route[] = []): readonly UnimplementedRoute[] {
  const lines = new Set(served.map(({ method, path }) => `${method} ${path}`));
  return Object.entries(GROUPS).flatMap(([group, endpoints]) =>
    endpoints
      .filter(([method, path]) => !lines.has(`${method} ${path}`))
      .map(([method, path]) => ({
        kind: 'unimplemented',
        method,
        path,
        permission: 'any',
        group,
        // Nothing is reached, but whether a collection exists that a token does not allow is not said either.
        reach: path.includes(`:${COLLECTION_PARAMETER}`) ? 'description' : 'nothing',
      })),
  );
}
