import type { ReportRoute } from '../http/route-table';
import type { MetricSources } from './exposition';

/**
 * `GET /metrics` in Prometheus' text format (C3.16). It answers before the engine is ready too: why a start takes
 * long shows in the process.
 */
export function metricsRoute(sources: MetricSources): ReportRoute {
  let report: ReportRoute['report'] | undefined;
  return {
    kind: 'report',
    method: 'GET',
    path: '/metrics',
    permission: 'read',
    // Counts of all collections together.
    reach: 'server',
    // Loaded at the first request: a server whose metrics are never read neither loads the library nor observes itself.
    report: async () => {
      const { metricsReport } = await import('./exposition.js');
      report ??= metricsReport(sources);
      return report();
    },
  };
}
