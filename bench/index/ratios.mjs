/** Ratios between the figures of one run. */
import { qpsAt } from './curve.mjs';

/** The system that the others are compared with. */
export const OURS = 'kithdb';

/** Sets of fewer bytes are scanned in the caches, not in memory. */
const CACHED_BYTES = 64 << 20;

/** The recalls at which the curves are compared. */
export const RECALLS = [0.9, 0.95, 0.98, 0.99];

/**
 * @param {{runs: object[], builds: object[], scaling: object[], exact: object | null}} measured
 * @returns {{search: object[], build: object[], threads: object[], exact: object | null}}
 */
export function ratios({ runs, builds, scaling, exact }) {
  return {
    search: searchRatios(runs),
    build: buildRatios(builds),
    threads: threadRatios(runs, scaling),
    exact: exact ? exactShares(exact) : null,
  };
}

/** The runs of each contender, in order of appearance: `[system, mode, runs]`. */
export function curves(runs) {
  const groups = new Map();
  for (const run of runs) {
    const key = `${run.system} ${run.mode}`;
    if (!groups.has(key)) groups.set(key, [run.system, run.mode, []]);
    groups.get(key)[2].push(run);
  }
  return [...groups.values()];
}

function searchRatios(runs) {
  const all = curves(runs);
  const peers = all.filter(([system]) => system !== OURS);
  const rows = [];
  for (const [, mode, ours] of all.filter(([system]) => system === OURS)) {
    for (const recall of RECALLS) {
      const own = qpsAt(ours, recall);
      for (const [against, , theirs] of peers) {
        const other = qpsAt(theirs, recall);
        const ratio = own.qps && other.qps ? round(own.qps / other.qps, 2) : null;
        rows.push({
          mode,
          recall,
          against,
          qps: own.qps && Math.round(own.qps),
          their_qps: other.qps && Math.round(other.qps),
          ratio,
          ...(ratio === null
            ? { why: own.qps ? `their recall: ${other.why}` : `our recall: ${own.why}` }
            : {}),
        });
      }
    }
  }
  return rows;
}

function buildRatios(builds) {
  const own = builds.find(({ system }) => system === OURS);
  return builds
    .filter(({ system }) => system !== OURS)
    .map((build) => ({
      against: build.system,
      threads: build.threads,
      ratio: round(own.rows_per_s / build.rows_per_s, 2),
      recall_at_64: own.recall_at_64 ?? null,
      their_recall_at_64: build.recall_at_64 ?? null,
    }));
}

/** Several threads against one, at the same ef. */
function threadRatios(runs, scaling) {
  return scaling.flatMap((many) => {
    const one = runs.find(
      (run) => run.system === many.system && run.mode === many.mode && run.ef === many.ef,
    );
    if (!one) return [];
    const { system, mode, ef, threads } = many;
    return [{ system, mode, ef, threads, ratio: round(many.qps / one.qps, 2) }];
  });
}

function exactShares(exact) {
  return {
    scan_of_stream:
      exact.scanned_bytes > CACHED_BYTES ? round(exact.scan_bytes_per_s / exact.stream_bytes_per_s, 3) : null,
    batch_of_peak: exact.peak_flops ? round(exact.batch_flops / exact.peak_flops, 3) : null,
    batch: exact.batch,
  };
}

function round(value, digits) {
  return Number(value.toFixed(digits));
}
