import { collectionRoutes, maintenanceRoutes } from './collections/routes';
import type { EngineRoute } from './http/route-table';
import { changeRoutes, readRoutes, recommendRoutes } from './points/routes';

/** The routes of the engine in every dialect. */
export const commonRoutes: readonly EngineRoute[] = [...collectionRoutes, ...changeRoutes, ...readRoutes];

/** The routes of groups of C8 that are built, and answer in the dialect `qdrant` (C12). */
export const groupRoutes: readonly EngineRoute[] = [...maintenanceRoutes, ...recommendRoutes];

/** All: of each operation its line. */
export const engineRoutes: readonly EngineRoute[] = [...commonRoutes, ...groupRoutes];
