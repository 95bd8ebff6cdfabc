/**
 * `npm run bench:recall -- --data LIST …`: how often searches reach the recall that they ask for (C14), and their rate
 * beside that of the least fixed `hnsw_ef` that reaches it, under some filters.
 *
 * A run is a calibration of its own: the folder is opened anew, other queries are searched for, and measured are those that
 * were not. The calibration gets more of the processors than by default, or it would take minutes.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { root } from '../scripts/build/tree.mjs';
import { flagsOf, listOf, whole } from './flags.mjs';
import { untilInterrupted } from './interruption.mjs';
import { ratioInterval } from './interval.mjs';
import { machine } from './machine.mjs';
import { median } from './median.mjs';
import { isKind, recallFilters } from './recall-filters.mjs';
import { isSet, random, readSet } from './recall-sets.mjs';

const USAGE = `npm run bench:recall -- --data LIST [flags]

  --data LIST      sets, separated by commas: folders with meta.json (see data/debian-small/README.md), glove (word
                   vectors, which are installed from npm), normal:ROWSxDIMS (independent normal numbers); required
  --filters KIND   random: none and two that match random points; clusters: points of another cluster than the query's;
                   sections: of another section than that of the row nearest to the query; default: random
  --packages DIR   where glove is, or is installed; default: a temporary folder
  --runs N         calibrations of each set; default: 2
  --rounds N       interleaved pairs for each rate; default: 10
  --queries N      searches that are measured in each run, at most; default: 400
  --percent N      share of the processors that the calibration gets; default: 50
  --out FILE       write everything measured as JSON
`;
const options = {
  data: { type: 'string' },
  filters: { type: 'string', default: 'random' },
  packages: { type: 'string' },
  runs: { type: 'string', default: '2' },
  rounds: { type: 'string', default: '10' },
  queries: { type: 'string', default: '400' },
  percent: { type: 'string', default: '50' },
  out: { type: 'string' },
};

const { open } = createRequire(import.meta.url)(join(root, 'dist', 'index.js'));
const TARGETS = [0.9, 0.95, 0.98, 0.99];
/** What recall may fall short of a target by, and the share of the rate of the best fixed width that is asked for. */
const TOLERANCE = 0.005;
const LEAST_RATE = 0.8;
const WIDTHS = [
  ...[
    10, 12, 14, 17, 20, 24, 28, 34, 40, 48, 56, 68, 80, 96, 112, 136, 160, 192, 224, 272, 320, 384, 448, 544,
  ],
  ...[640, 768, 896, 1088, 1280, 1536, 1792, 2176, 2560, 3072, 4096],
];
const LIMIT = 10;
const UPSERTED = 500;
const BATCH = 50;
/** Searches before a run: the engine keeps as many, and needs so many for a calibration of them. */
const LIVE_QUERIES = 256;
const ENOUGH_QUERIES = 64;
/** The calibration is over when the process uses less of one processor for so long. */
const IDLE = { share: 0.1, ms: 1000 };

const flags = flagsOf(options, USAGE, checked);
// Before the work: the load is that of other programs.
const started = machine('bench:recall');
const folder = mkdtempSync(join(tmpdir(), 'kithdb-bench-recall-'));
const cases = [];
const sets = [];
await untilInterrupted(
  async () => {
    for (const name of flags.data.split(',')) await measureSet(name);
    report();
  },
  () => rmSync(folder, { recursive: true, force: true }),
);

/** The values, if they can be used. */
function checked(values) {
  const numbers = { runs: whole, rounds: whole, queries: whole, percent: whole };
  for (const [name, check] of Object.entries({ data: listOf(isSet), filters: isKind, ...numbers })) {
    const verdict = values[name] === undefined || check(values[name]);
    if (verdict !== true) throw new Error(`--${name} ${values[name]}: ${verdict}`);
  }
  if (Number(values.percent) > 100) throw new Error(`--percent ${values.percent}: at most 100`);
  return values;
}

async function measureSet(name) {
  const set = readSet(name, flags.packages ?? join(folder, 'packages'));
  const { base, queries, distance } = set;
  sets.push({ name: set.name, rows: base.length, dims: base[0].length, distance, queries: queries.length });
  const dataDir = join(folder, 'data');
  const startedAt = performance.now();
  const filters = recallFilters(flags.filters, set);
  await load(set, filters, dataDir);
  process.stderr.write(`${set.name}: ${seconds(startedAt)} s to load and index\n`);
  for (let run = 0; run < Number(flags.runs); run++) {
    const runStartedAt = performance.now();
    const db = await open(dataDir, { calibrationPercent: Number(flags.percent) });
    try {
      cases.push(...(await measureRun(db, set, filters, run)));
    } finally {
      await db.close();
    }
    process.stderr.write(`${set.name}: run ${run + 1} in ${seconds(runStartedAt)} s\n`);
  }
  rmSync(dataDir, { recursive: true, force: true });
}

function seconds(since) {
  return ((performance.now() - since) / 1000).toFixed(0);
}

/** A collection of the set, indexed. Nothing is calibrated meanwhile. */
async function load({ base, distance }, { indexes, payload }, dataDir) {
  const db = await open(dataDir, { calibrationPercent: 0 });
  // Small sets have a graph too.
  const hnsw_config = { full_scan_threshold: 10 };
  await db.createCollection('c', { vectors: { size: base[0].length, distance }, hnsw_config });
  for (const [field_name, field_schema] of Object.entries(indexes)) {
    await db.createPayloadIndex('c', { field_name, field_schema });
  }
  for (let from = 0; from < base.length; from += UPSERTED) {
    const points = base.slice(from, from + UPSERTED).map((vector, at) => ({
      id: from + at,
      vector,
      payload: payload(from + at),
    }));
    await db.upsert('c', { points });
  }
  while ((await db.getCollection('c')).status !== 'green') await sleep(100);
  // Writes the graph, which the runs open.
  await db.close();
}

async function measureRun(db, set, { conditions }, run) {
  // Each run has other queries to be calibrated with, and they are like those that are measured: a set may have its queries in
  // an order, as GloVe has the frequent words first.
  const live = Math.min(LIVE_QUERIES, set.queries.length >> 1);
  const queries = shuffled(set.queries, random(3 + run));
  await answers(db, queries.slice(0, live), () => undefined, { hnsw_ef: 64 });
  await untilCalibrated(db);
  const measured = queries.slice(live, live + Number(flags.queries));
  const found = [];
  for (const [filter, condition] of Object.entries(conditions)) {
    found.push(
      ...(await measureFilter(db, measured, condition)).map((one) => ({
        set: set.name,
        run,
        filter,
        ...one,
      })),
    );
  }
  return found;
}

/** The same in another order. */
function shuffled(list, uniform) {
  return list
    .map((item) => ({ item, key: uniform() }))
    .sort((a, b) => a.key - b.key)
    .map(({ item }) => item);
}

/** A calibration with queries of searches is there, and no other one is being made. It may have begun before all were sent. */
async function untilCalibrated(db) {
  for (;;) {
    const before = process.cpuUsage();
    await sleep(IDLE.ms);
    const { user, system } = process.cpuUsage(before);
    const isIdle = (user + system) / 1000 < IDLE.share * IDLE.ms;
    const { recall_estimate } = await db.getCollection('c');
    if (isIdle && (recall_estimate?.samples ?? 0) >= ENOUGH_QUERIES) return;
  }
}

/** What every query finds under its filter. */
async function answers(db, queries, condition, params) {
  const found = [];
  for (let from = 0; from < queries.length; from += BATCH) {
    const searches = queries
      .slice(from, from + BATCH)
      .map((query) => ({ query, limit: LIMIT, filter: condition(query), params }));
    for (const { points } of await db.queryBatch('c', { searches })) found.push(points.map(({ id }) => id));
  }
  return found;
}

function recallOf(exact, found) {
  const hits = found.map((ids, at) => ids.filter((id) => exact[at].includes(id)).length);
  return hits.reduce((sum, count) => sum + count, 0) / exact.reduce((sum, ids) => sum + ids.length, 0);
}

async function measureFilter(db, queries, condition) {
  const exact = await answers(db, queries, condition, { exact: true });
  const reached = async (params) => recallOf(exact, await answers(db, queries, condition, params));
  const fixed = await fixedWidths(reached);
  const found = [];
  for (const target of TARGETS) {
    const chosen = { target_recall: target };
    const best = fixed.find(({ recall }) => recall >= target);
    const timed = async (params) => {
      const start = performance.now();
      await answers(db, queries, condition, params);
      return performance.now() - start;
    };
    const ratios = best === undefined ? [] : await ratesOf(timed, chosen, { hnsw_ef: best.ef });
    found.push({
      target,
      recall: await reached(chosen),
      fixedEf: best?.ef ?? null,
      fixedRecall: best?.recall ?? null,
      rateRatio: ratios.length > 0 ? median(ratios) : null,
    });
  }
  return found;
}

/** The recall of each width, up to the first that reaches all targets. */
async function fixedWidths(reached) {
  const fixed = [];
  for (const ef of WIDTHS) {
    const recall = await reached({ hnsw_ef: ef });
    fixed.push({ ef, recall });
    if (recall >= Math.max(...TARGETS)) break;
  }
  return fixed;
}

/** The rate of one as a share of that of the other, in pairs. */
async function ratesOf(timed, chosen, fixed) {
  const ratios = [];
  for (let round = 0; round < Number(flags.rounds); round++) {
    const order = round % 2 === 0 ? [chosen, fixed] : [fixed, chosen];
    const times = new Map();
    for (const params of order) times.set(params, await timed(params));
    ratios.push(times.get(fixed) / times.get(chosen));
  }
  return ratios;
}

function report() {
  console.table(cases);
  const reached = cases.filter(({ recall, target }) => recall >= target - TOLERANCE).length;
  const ratios = cases.flatMap(({ rateRatio }) => rateRatio ?? []);
  const fast = ratios.filter((ratio) => ratio >= LEAST_RATE).length;
  const summary = {
    reached,
    of: cases.length,
    reachedShare: reached / cases.length,
    rate: ratios.length > 1 ? ratioInterval(ratios) : null,
    rateAtLeast80Percent: fast,
    rateOf: ratios.length,
    leastRate: Math.min(...ratios),
  };
  console.log(summary);
  const written = {
    machine: started,
    calibrationPercent: Number(flags.percent),
    filters: flags.filters,
    tolerance: TOLERANCE,
    sets,
    summary,
    cases,
  };
  if (flags.out) writeFileSync(flags.out, `${JSON.stringify(written, null, 2)}\n`);
}
