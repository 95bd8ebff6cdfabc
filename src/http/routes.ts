import { collectionRoutes } from '../collections/routes';
import { metricsRoute } from '../metrics/route';
import { changeRoutes, readRoutes } from '../points/routes';
import { descriptionRoute } from '../system/description';
import { plainRoutes } from '../system/plain';
import { unimplementedRoutes } from '../system/unimplemented';
import type { Lifecycle } from './lifecycle';
import type { RequestCounts } from './request-counts';
import type { AuthRoute, Route } from './route-table';

/** Every route of the service, one line each with its permission. Literal paths stand before parameters. */
export function allRoutes(
  authRoutes: readonly AuthRoute[],
  lifecycle: Lifecycle,
  requests: RequestCounts,
  kithdbVersion: string,
): readonly Route[] {
  return [
    ...plainRoutes(lifecycle, kithdbVersion),
    descriptionRoute(),
    metricsRoute({ lifecycle, requests, kithdbVersion }),
    ...authRoutes,
    ...collectionRoutes,
    ...changeRoutes,
    ...readRoutes,
    ...unimplementedRoutes,
  ];
}
