import type { Method } from '../http/route';
import type { UnimplementedRoute } from '../http/route-table';

/** The groups of C8 by their names there, each with its endpoints. */
const GROUPS: Readonly<Record<string, readonly (readonly [Method, string])[]>> = {
  aliases: [
    ['GET', '/aliases'],
    ['POST', '/aliases'],
    ['GET', '/collections/:collection/aliases'],
    // Where Qdrant's clients send a change of aliases (C9.1): a clearer answer than 405.
    ['POST', '/collections/aliases'],
  ],
  snapshots: [
    ['POST', '/collections/:collection/snapshots'],
    ['GET', '/collections/:collection/snapshots'],
    ['DELETE', '/collections/:collection/snapshots/:snapshot'],
  ],
  'snapshot recovery': [['PUT', '/collections/:collection/snapshots/:snapshot/recover']],
  maintenance: [
    ['POST', '/collections/:collection/operations/flush'],
    ['POST', '/collections/:collection/operations/optimize'],
    ['POST', '/collections/:collection/operations/rebuild_index'],
  ],
  'collection status': [['GET', '/collections/:collection/status']],
  'grouped search': [
    ['POST', '/collections/:collection/points/search/groups'],
    ['POST', '/collections/:collection/points/query/groups'],
  ],
  recommendations: [
    ['POST', '/collections/:collection/points/recommend'],
    ['POST', '/collections/:collection/points/recommend/batch'],
    ['POST', '/collections/:collection/points/recommend/groups'],
  ],
  discovery: [
    ['POST', '/collections/:collection/points/discover'],
    ['POST', '/collections/:collection/points/discover/batch'],
  ],
};

/** The endpoints that answer 501 to any valid credential, whether or not the collection exists (C8). */
export const unimplementedRoutes: readonly UnimplementedRoute[] = Object.entries(GROUPS).flatMap(
  ([group, endpoints]) =>
    endpoints.map(([method, path]) => ({ kind: 'unimplemented', method, path, permission: 'any', group })),
);
