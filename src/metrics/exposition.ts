import { collectDefaultMetrics, Registry } from 'prom-client';
import type { Lifecycle } from '../http/lifecycle';
import type { RequestCounts } from '../http/request-counts';
import type { Report } from '../http/route-table';
import { engineFamilies, healthIssueFamilies, scrubFamilies, serverFamilies } from './definitions';
import { register, type Family } from './family';
import { registerRequests } from './request-metrics';

/** What the metrics are taken from. */
export interface MetricSources {
  readonly lifecycle: Lifecycle;
  readonly requests: RequestCounts;
  readonly kithdbVersion: string;
}

/** Makes the text of the metrics. Those of the engine are in it from ready until the server stops. */
export function metricsReport({ lifecycle, requests, kithdbVersion }: MetricSources): () => Promise<Report> {
  const server = registryOf(serverFamilies(lifecycle, requests, kithdbVersion));
  registerRequests(server, requests);
  const ofProcess = registryOfProcess();
  return async () => {
    const open = lifecycle.engine;
    const families =
      open === undefined
        ? []
        : [
            ...engineFamilies(open.status()),
            ...healthIssueFamilies(open.healthIssues()),
            ...scrubFamilies(open.scrub()),
          ];
    const engine = families.length === 0 ? [] : [registryOf(families)];
    const texts = await Promise.all([ofProcess, server, ...engine].map((registry) => registry.metrics()));
    return { contentType: Registry.PROMETHEUS_CONTENT_TYPE, text: texts.join('\n') };
  };
}

function registryOf(families: readonly Family[]): Registry {
  const registry = new Registry();
  for (const family of families) {
    register(registry, family);
  }
  return registry;
}

/**
 * The metrics of the process: processor time, memory, files, event loop, garbage collection. What observes them runs from
 * here to the end of the process.
 */
function registryOfProcess(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return registry;
}
