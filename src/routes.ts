import { collectionRoutes } from './collections/routes';
import type { Lifecycle } from './http/lifecycle';
import type { RequestCounts } from './http/request-counts';
import type { AuthRoute, Route } from './http/route-table';
import { metricsRoute } from './metrics/route';
import { changeRoutes, readRoutes } from './points/routes';
import { descriptionRoute } from './system/description';
import { plainRoutes } from './system/plain';
import { unimplementedRoutes } from './system/unimplemented';

/**
 * The route table: every route of the service, one line each with its permission. Literal paths come before those with
 * parameters.
 */
export function allRoutes(
  authRoutes: readonly AuthRoute[],
  lifecycle: Lifecycle,
  requests: RequestCounts,
  kithdbVersion: string,
  metricsKeptMs?: number,
): readonly Route[] {
  return [
    ...plainRoutes(lifecycle, kithdbVersion),
    descriptionRoute(),
    metricsRoute({
      lifecycle,
      requests,
      kithdbVersion,
      ...(metricsKeptMs !== undefined && { keptMs: metricsKeptMs }),
    }),
    ...authRoutes,
    ...collectionRoutes,
    ...changeRoutes,
    ...readRoutes,
    ...unimplementedRoutes,
  ];
}
