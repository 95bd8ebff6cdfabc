import { setImmediate as nextRound } from 'node:timers/promises';
import { collectDefaultMetrics, Registry } from 'prom-client';
import type { Engine } from '../engine/types';
import type { Lifecycle, Phase } from '../http/lifecycle';
import type { RequestCounts } from '../http/request-counts';
import type { Report } from '../http/route-table';
import { clusterFamilies } from './cluster-metrics';
import { collectionFamilies } from './collection-metrics';
import {
  backupFamily,
  engineFamilies,
  healthIssueFamilies,
  panicFamilies,
  scrubFamilies,
  serverFamilies,
} from './definitions';
import { registryOf, type Family } from './family';
import { loopFamilies, requestFamilies } from './request-metrics';

/** What the metrics are taken from. */
export interface MetricSources {
  readonly lifecycle: Lifecycle;
  readonly requests: RequestCounts;
  readonly kithdbVersion: string;
  /** For so long a text is the answer to every request; a second when absent. */
  readonly keptMs?: number;
  /** When the last whole backup of the data directory was made, in seconds since 1970. */
  readonly lastBackup?: () => number | undefined;
}

/** How long a text is kept: making it costs milliseconds of the event loop, and scrapers may be many. */
const KEPT_MS = 1000;

/**
 * Gives the text of the metrics, made at most once in the time for which it is kept, and anew when the server has become
 * ready or stops. Those of the engine are in it from ready until the server stops.
 */
export function metricsReport(sources: MetricSources): () => Promise<Report> {
  const make = reportMaker(sources);
  const { lifecycle, keptMs = KEPT_MS } = sources;
  let kept: { readonly report: Promise<Report>; readonly until: number; readonly phase: Phase } | undefined;
  return () => {
    const now = performance.now();
    if (kept === undefined || now >= kept.until || kept.phase !== lifecycle.phase) {
      kept = { report: make(), until: now + keptMs, phase: lifecycle.phase };
    }
    return kept.report;
  };
}

function reportMaker(sources: MetricSources): () => Promise<Report> {
  const { lifecycle, requests, kithdbVersion, lastBackup = () => undefined } = sources;
  const ofProcess = registryOfProcess();
  return async () => {
    const open = lifecycle.engine;
    await Promise.all([open?.refresh(), requests.refresh?.()]);
    const server = [
      ...serverFamilies(lifecycle, requests, kithdbVersion),
      ...requestFamilies(requests),
      ...loopFamilies(requests.loops),
    ];
    const families = [...server, ...(open === undefined ? [] : familiesOf(open, lastBackup()))];
    const texts = [await ofProcess.metrics(), await registryOf(families).metrics()];
    for (const family of collectionFamilies(open?.status().internals?.collections ?? [])) {
      // Each may have a thousand collections: other requests take their turn in between.
      await nextRound();
      texts.push(await registryOf([family]).metrics());
    }
    return { contentType: Registry.PROMETHEUS_CONTENT_TYPE, text: texts.join('\n') };
  };
}

function familiesOf(engine: Engine, lastBackup: number | undefined): readonly Family[] {
  const cluster = engine.clusterReport?.();
  return [
    ...engineFamilies(engine.status()),
    ...healthIssueFamilies(engine.healthIssues()),
    ...panicFamilies(engine.panics()),
    ...scrubFamilies(engine.scrub()),
    ...(cluster === undefined ? [] : clusterFamilies(cluster)),
    backupFamily(lastBackup),
  ];
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
