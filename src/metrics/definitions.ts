import {
  HEALTH_ISSUE_KINDS,
  type BackgroundPanics,
  type EngineInternals,
  type EngineStatus,
  type ScrubReport,
  type HealthIssue,
} from '../engine/types';
import type { Lifecycle } from '../http/lifecycle';
import type { RequestCounts } from '../http/request-counts';
import { labelled, type Family } from './family';
import { hugePages } from './huge-pages';

/** Metrics of the server that do not need an open engine, except those of requests. */
export function serverFamilies(
  lifecycle: Lifecycle,
  requests: RequestCounts,
  kithdbVersion: string,
): readonly Family[] {
  return [
    {
      type: 'gauge',
      name: 'kithdb_build_info',
      help: 'Always 1; the label says which release this is',
      samples: () => [{ labels: { version: kithdbVersion }, value: 1 }],
    },
    {
      type: 'gauge',
      name: 'kithdb_ready',
      help: 'Whether data endpoints are served: 1, or 0 while the server starts or stops',
      samples: () => [{ value: lifecycle.readiness === 'ready' ? 1 : 0 }],
    },
    {
      type: 'gauge',
      name: 'kithdb_http_requests_in_progress',
      help: 'Requests that have arrived and are not answered whole, this one included',
      samples: () => [{ value: requests.inProgress }],
    },
    {
      type: 'gauge',
      name: 'kithdb_transparent_hugepages_info',
      help: 'Always 1; the label is the setting of this machine: always and madvise are fast, never is not',
      samples: () => [{ labels: { state: hugePages() }, value: 1 }],
    },
  ];
}

/** Metrics of an open engine at one moment: sums over its collections, so that their number does not matter. */
export function engineFamilies(status: EngineStatus): readonly Family[] {
  return [
    {
      type: 'gauge',
      name: 'kithdb_collections',
      help: 'Collections, quarantined ones included',
      samples: () => [{ value: status.collections }],
    },
    {
      type: 'gauge',
      name: 'kithdb_quarantined_collections',
      help: 'Collections that could not be opened or are damaged',
      samples: () => [{ value: status.quarantined }],
    },
    {
      type: 'gauge',
      name: 'kithdb_points',
      help: 'Points of all collections',
      samples: () => [{ value: status.points }],
    },
    ...(status.internals === undefined ? [] : internalFamilies(status.internals)),
  ];
}

/** Metrics of what an operator has to deal with. */
export function healthIssueFamilies(issues: readonly HealthIssue[]): readonly Family[] {
  return [
    {
      type: 'gauge',
      name: 'kithdb_health_issues',
      help: 'What the log of the server complains of at the moment, by kind; any at all is an alert',
      samples: () =>
        labelled(
          'kind',
          Object.fromEntries(
            HEALTH_ISSUE_KINDS.map((kind) => [kind, issues.filter((issue) => issue.kind === kind).length]),
          ),
        ),
    },
  ];
}

/** Metrics of defects of the engine that its threads have survived. */
export function panicFamilies({ counts }: BackgroundPanics): readonly Family[] {
  return [
    {
      type: 'counter',
      name: 'kithdb_background_panics_total',
      help: 'Defects of the engine that its background work has met, by task; any at all is to be reported',
      samples: () => counts.map(({ task, count }) => ({ labels: { task }, value: count })),
    },
    {
      type: 'counter',
      name: 'kithdb_background_restarts_total',
      help: 'Threads of the background that were taken up again after a defect had ended their work, by task',
      samples: () => counts.map(({ task, restarts }) => ({ labels: { task }, value: restarts })),
    },
  ];
}

/** Metrics of the scrub, which reads all files in the background to find damage. */
export function scrubFamilies(report: ScrubReport): readonly Family[] {
  return [
    {
      type: 'counter',
      name: 'kithdb_checksum_failures_total',
      help: 'Pieces of files that were not as they were written, by the kind of file; any at all is an alert',
      samples: () => {
        const { dataFailures, graphFailures, manifestFailures, catalogFailures, logFailures } = report;
        return labelled('file', {
          data: dataFailures,
          graph: graphFailures,
          manifest: manifestFailures,
          catalog: catalogFailures,
          log: logFailures,
        });
      },
    },
    {
      type: 'counter',
      name: 'kithdb_scrub_passes_total',
      help: 'Times that all files were read in the background and compared with their checksums',
      samples: () => [{ value: report.passes }],
    },
    {
      type: 'counter',
      name: 'kithdb_scrub_bytes_total',
      help: 'Bytes that were read in the background and compared with their checksums',
      samples: () => [{ value: report.bytes }],
    },
    {
      type: 'gauge',
      name: 'kithdb_scrub_last_finished_timestamp_seconds',
      help: 'When the last such pass came to its end; 0 when none has since the start',
      samples: () => [{ value: report.finishedAt ?? 0 }],
    },
  ];
}

/** When the last whole backup of the data directory was made, in seconds since 1970. */
export function backupFamily(finishedAt: number | undefined): Family {
  return {
    type: 'gauge',
    name: 'kithdb_last_backup_timestamp_seconds',
    help: 'When kithdb backup last made a whole backup of the data directory; 0 when it never has',
    samples: () => [{ value: finishedAt ?? 0 }],
  };
}

function internalFamilies(internals: EngineInternals): readonly Family[] {
  const { memory, memoryUse, expiredPoints, cursors, cursorBytes, searches, recall, reads, kernels } =
    internals;
  return [
    ...memoryFamilies(memory),
    ...memoryUseFamilies(memoryUse),
    ...storageFamilies(internals),
    ...searchFamilies(searches),
    {
      type: 'gauge',
      name: 'kithdb_recall_estimate',
      help: 'Measured recall of searches with default parameters, of the collection where it is least, with its interval of 95 %; no sample where none is measured',
      samples: () =>
        recall === undefined
          ? []
          : labelled('value', { estimate: recall.recall, low: recall.low, high: recall.high }),
    },
    {
      type: 'counter',
      name: 'kithdb_expired_points_total',
      help: 'Points that were removed because their time had come',
      samples: () => [{ value: expiredPoints }],
    },
    {
      type: 'gauge',
      name: 'kithdb_cursors',
      help: 'Cursors that are open',
      samples: () => [{ value: cursors }],
    },
    {
      type: 'gauge',
      name: 'kithdb_cursor_bytes',
      help: 'Bytes that open cursors hold at most: hits, and what their views keep from being freed',
      samples: () => [{ value: cursorBytes }],
    },
    {
      type: 'gauge',
      name: 'kithdb_reads',
      help: 'Reads that wait for a thread, and threads that run light and heavy reads',
      samples: () => labelled('state', { ...reads }),
    },
    {
      type: 'gauge',
      name: 'kithdb_kernels_info',
      help: 'Always 1; the labels are the instruction sets in use for original vectors and for codes',
      samples: () => [{ labels: { ...kernels }, value: 1 }],
    },
  ];
}

function memoryFamilies(memory: EngineInternals['memory']): readonly Family[] {
  return [
    {
      type: 'gauge',
      name: 'kithdb_memory_bytes',
      help: 'Memory that collections hold, by component; field indexes are measured every ten seconds at most',
      samples: () => {
        const { originals, codes, links, points, payloads, fieldIndexes } = memory;
        const components = { originals, codes, links, points, payloads, field_indexes: fieldIndexes };
        return labelled('component', components);
      },
    },
    {
      type: 'gauge',
      name: 'kithdb_mapped_bytes',
      help: 'Files mapped for reading, by component: the system keeps of them what it has room for',
      samples: () => labelled('component', { originals: memory.originalsMapped }),
    },
  ];
}

function memoryUseFamilies(use: EngineInternals['memoryUse']): readonly Family[] {
  return [
    {
      type: 'gauge',
      name: 'kithdb_memory_limit_bytes',
      help: 'Memory that may be held, by the whole process and by the engine in it; 0 without a limit',
      samples: () => labelled('of', { process: use.limit, engine: use.engineLimit }),
    },
    {
      type: 'gauge',
      name: 'kithdb_memory_held_bytes',
      help: 'Memory that counts against the limits, page cache left out; charged is growth accepted lately, for both',
      samples: () => labelled('of', { process: use.process, engine: use.engine, charged: use.charged }),
    },
  ];
}

function storageFamilies({
  disk,
  indexBacklog,
  autoIndexes,
  logSyncs,
  checkpoints,
  asleep,
  wakes,
}: EngineInternals): readonly Family[] {
  return [
    {
      type: 'gauge',
      name: 'kithdb_disk_bytes',
      help: 'Files on the disk, by component: the log, and the data of all collections that are served',
      samples: () => labelled('component', { ...disk }),
    },
    {
      type: 'gauge',
      name: 'kithdb_index_backlog',
      help: 'What is to be indexed, by kind: rows of dense and sparse vectors, and points for each field index that is built; also what only the successor of a graph lacks',
      samples: () => labelled('kind', { ...indexBacklog }),
    },
    {
      type: 'gauge',
      name: 'kithdb_auto_indexes',
      help: 'Field indexes that the engine made by itself',
      samples: () => [{ value: autoIndexes }],
    },
    {
      type: 'histogram',
      name: 'kithdb_log_sync_duration_seconds',
      help: 'How long the syncs of the log took; writes wait for them',
      durations: () => [logSyncs],
    },
    {
      type: 'histogram',
      name: 'kithdb_checkpoint_duration_seconds',
      help: 'How long the checkpoints of collections took that were written',
      durations: () => [checkpoints],
    },
    {
      type: 'gauge',
      name: 'kithdb_asleep_collections',
      help: 'Collections that are not in memory, because they were not used',
      samples: () => [{ value: asleep }],
    },
    {
      type: 'histogram',
      name: 'kithdb_wake_duration_seconds',
      help: 'How long collections took to open that slept',
      durations: () => [wakes],
    },
  ];
}

function searchFamilies(searches: EngineInternals['searches']): readonly Family[] {
  return [
    {
      type: 'counter',
      name: 'kithdb_search_plans_total',
      help: 'Searches for the nearest, by the plan that they began with',
      samples: () => {
        const { exactScans, scans, wideWalks, twoHopWalks } = searches;
        return labelled('plan', {
          exact_scan: exactScans,
          scan: scans,
          wide_walk: wideWalks,
          two_hop_walk: twoHopWalks,
        });
      },
    },
    {
      type: 'counter',
      name: 'kithdb_search_fallbacks_total',
      help: 'Plans given up for the next one because they had met too few matches',
      samples: () => [{ value: searches.fallbacks }],
    },
    {
      type: 'counter',
      name: 'kithdb_search_hops_total',
      help: 'Nodes of graphs that walks expanded',
      samples: () => [{ value: searches.hops }],
    },
    {
      type: 'counter',
      name: 'kithdb_search_distances_total',
      help: 'Vectors compared: by walks, by exact searches, by scans of codes, and again by their originals',
      samples: () => {
        const { distances, compared, scanned, reranked } = searches;
        return labelled('stage', { walk: distances, exact: compared, scan: scanned, rerank: reranked });
      },
    },
  ];
}
