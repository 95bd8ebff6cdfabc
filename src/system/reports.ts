import { randomUUID } from 'node:crypto';
import type { SettingInForce } from '../config';
import type { ClusterReport } from '../engine/types';
import { clusterStatus, clusterTelemetry, NOT_JOINED } from './cluster-status';
import type { Lifecycle } from '../http/lifecycle';
import type { ReportRoute } from '../http/route-table';

/** What a cluster, or a server by itself, answers, and telemetry (C4.7): answered in every state of the engine. */
export function reportRoutes(
  lifecycle: Lifecycle,
  kithdbVersion: string,
  isClustered = false,
): readonly ReportRoute[] {
  const id = randomUUID();
  const startup = new Date(Date.now() - performance.now()).toISOString();
  const cluster = (): ClusterReport | undefined =>
    lifecycle.engine?.clusterReport?.() ?? (isClustered ? NOT_JOINED : undefined);
  const telemetry = async () => {
    const { engine } = lifecycle;
    await engine?.refresh();
    return {
      id,
      app: { name: 'kithdb', version: kithdbVersion, startup },
      collections: { number_of_collections: engine?.status().collections ?? 0 },
      cluster: { enabled: cluster() !== undefined },
    };
  };
  return [
    report('/cluster', () => clusterStatus(cluster())),
    report('/cluster/telemetry', () => clusterTelemetry(cluster())),
    report('/telemetry', telemetry),
  ];
}

/** The settings in force (C9.5). They name files and addresses of the machine, so they are for the admin alone. */
export function settingsRoute(settings: readonly SettingInForce[]): ReportRoute {
  return report('/settings', () => ({ settings }), 'admin-jwt');
}

/** A route that answers the envelope of a value. */
function report(
  path: string,
  value: () => object | Promise<object>,
  permission: ReportRoute['permission'] = 'read',
): ReportRoute {
  return {
    kind: 'report',
    method: 'GET',
    path,
    permission,
    reach: 'server',
    report: async () => {
      const startedAt = performance.now();
      const result = await value();
      const time = (performance.now() - startedAt) / 1000;
      return {
        contentType: 'application/json; charset=utf-8',
        text: JSON.stringify({ time, status: 'ok', result }),
      };
    },
  };
}
