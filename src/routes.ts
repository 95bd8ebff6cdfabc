import type { SettingInForce } from './config';
import { commonRoutes, groupRoutes } from './engine-routes';
import { DIALECTS, type Dialect } from './http/dialect';
import type { Lifecycle } from './http/lifecycle';
import type { RequestCounts } from './http/request-counts';
import type { AuthRoute, HandledRoute, PlainRoute, Route } from './http/route-table';
import type { MetricSources } from './metrics/exposition';
import { metricsRoute } from './metrics/route';
import { clusterRoutes } from './system/cluster-routes';
import { descriptionRoute } from './system/description';
import { snapshotRoutes } from './snapshots/routes';
import type { SnapshotService } from './snapshots/service';
import { plainRoutes } from './system/plain';
import { reportRoutes, settingsRoute } from './system/reports';
import { unimplementedRoutes } from './system/unimplemented';

/** What the routes answer from. */
export interface RouteSources {
  readonly authRoutes: readonly AuthRoute[];
  readonly lifecycle: Lifecycle;
  readonly requests: RequestCounts;
  readonly kithdbVersion: string;
  readonly metrics?: Pick<MetricSources, 'keptMs' | 'lastBackup'>;
  /** The specification's when absent. */
  readonly dialect?: Dialect;
  /** The routes of the console, which the description of the interface leaves out, and `/mcp`. */
  readonly pages?: readonly (PlainRoute | HandledRoute)[];
  /** Without it there are no routes of snapshots. */
  readonly snapshots?: SnapshotService;
  readonly settings?: readonly SettingInForce[];
}

/**
 * The route table: every route of the service, one line each with its permission. Literal paths come before those with
 * parameters.
 */
export function allRoutes({
  authRoutes,
  lifecycle,
  requests,
  kithdbVersion,
  metrics = {},
  dialect = DIALECTS.specification,
  pages = [],
  snapshots,
  settings = [],
}: RouteSources): readonly Route[] {
  const groups = dialect.servesGroups
    ? [...groupRoutes, ...(snapshots === undefined ? [] : snapshotRoutes(snapshots))]
    : [];
  return [
    ...plainRoutes(lifecycle, kithdbVersion, dialect),
    descriptionRoute(),
    ...pages,
    metricsRoute({ lifecycle, requests, kithdbVersion, ...metrics }),
    ...reportRoutes(lifecycle, kithdbVersion),
    settingsRoute(settings),
    ...authRoutes,
    ...commonRoutes,
    ...clusterRoutes,
    ...groups,
    ...unimplementedRoutes(groups),
  ];
}
