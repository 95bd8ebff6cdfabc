import { collectionRoutes } from '../collections/routes';
import { changeRoutes, readRoutes } from '../points/routes';
import { plainRoutes } from '../system/plain';
import { unimplementedRoutes } from '../system/unimplemented';
import type { Lifecycle } from './lifecycle';
import type { AuthRoute, Route } from './route-table';

/** Every route of the service, one line each with its permission. Literal paths stand before parameters. */
export function allRoutes(
  authRoutes: readonly AuthRoute[],
  lifecycle: Lifecycle,
  kithdbVersion: string,
): readonly Route[] {
  return [
    ...plainRoutes(lifecycle, kithdbVersion),
    ...authRoutes,
    ...collectionRoutes,
    ...changeRoutes,
    ...readRoutes,
    ...unimplementedRoutes,
  ];
}
