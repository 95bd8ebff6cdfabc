import type { SettingInForce } from './config';
import { commonRoutes, groupRoutes } from './engine-routes';
import { DIALECTS, type Dialect } from './http/dialect';
import type { Lifecycle } from './http/lifecycle';
import type { RequestCounts } from './http/request-counts';
import type { AuthRoute, HandledRoute, PlainRoute, Route } from './http/route-table';
import type { MetricSources } from './metrics/exposition';
import { metricsRoute } from './metrics/route';
import { descriptionRoute } from './system/description';
import { snapshotRoutes } from './snapshots/routes';
import type { SnapshotService } from './snapshots/service';
import { plainRoutes } from './system/plain';
import { reportRoutes, settingsRoute } from './system/reports';
import { unimplementedRoutes } from './system/unimplemented';

/**
 * The route table: every route of the service, one line each with its permission. Literal paths come before those with
 * parameters. `pages` are those of the console,
 * which the description of the interface leaves out, and `/mcp`.
 */
export function allRoutes(
  authRoutes: readonly AuthRoute[],
  lifecycle: Lifecycle,
  requests: RequestCounts,
  kithdbVersion: string,
  metrics: Pick<MetricSources, 'keptMs' | 'lastBackup'> = {},
  dialect: Dialect = DIALECTS.specification,
  pages: readonly (PlainRoute | HandledRoute)[] = [],
  snapshots?: SnapshotService,
  settings: readonly SettingInForce[] = [],
): readonly Route[] {
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
    ...groups,
    ...unimplementedRoutes(groups),
  ];
}
