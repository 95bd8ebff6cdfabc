/**
 * `npm run bench:recall -- --data FOLDER …`: how often searches reach the recall that they ask for (C14), and their rate
 * beside that of the least fixed `hnsw_ef` that reaches it, without a filter and with two.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readVectorSet } from '../data/vector-set.mjs';
import { root } from '../scripts/build/tree.mjs';
import { flagsOf, whole } from './flags.mjs';
import { machine } from './machine.mjs';
import { median } from './median.mjs';

const USAGE = `npm run bench:recall -- --data FOLDER [flags]

  --data FOLDER   a folder with meta.json (see data/debian-small/README.md), or normal:ROWSxDIMS for random numbers; required
  --runs N        collections that are made, one after the other; default: 3
  --rounds N      interleaved pairs for each rate; default: 10
  --out FILE      write everything measured as JSON
`;
const options = {
  data: { type: 'string' },
  runs: { type: 'string', default: '3' },
  rounds: { type: 'string', default: '10' },
  out: { type: 'string' },
};

const { open } = createRequire(import.meta.url)(join(root, 'dist', 'index.js'));
const TARGETS = [0.9, 0.95, 0.98, 0.99];
const FIXED = [
  10, 12, 14, 17, 20, 24, 28, 34, 40, 48, 56, 68, 80, 96, 112, 136, 160, 192, 224, 272, 320, 384, 448, 544,
];
const WIDER = [640, 768, 896, 1088, 1280, 1536, 1792, 2176, 2560, 3072, 4096];
const FILTERS = { none: undefined, '40 %': filter(40), '10 %': filter(10) };
const LIMIT = 10;
const BATCH = 500;
const NORMAL_QUERIES = 500;

const flags = flagsOf(options, USAGE, checked);
const set = flags.data.startsWith('normal:') ? normal(flags.data.slice(7)) : readVectorSet(flags.data);
const rounds = Number(flags.rounds);
const results = [];
for (let run = 0; run < Number(flags.runs); run++) results.push(...(await measureRun(run)));
report();

/** The values, if they can be used. */
function checked(values) {
  for (const name of ['runs', 'rounds']) {
    const verdict = whole(values[name]);
    if (verdict !== true) throw new Error(`--${name} ${values[name]}: ${verdict}`);
  }
  if (/^normal:/.test(values.data) && !/^normal:[1-9]\d*x[1-9]\d*$/.test(values.data)) {
    throw new Error(`--data ${values.data}: not of the form normal:ROWSxDIMS`);
  }
  return values;
}

function filter(below) {
  return { must: { key: 'u', range: { lt: below } } };
}

/** Independent normal numbers. */
function normal(shape) {
  const [rows, dims] = shape.split('x').map(Number);
  const number = () => Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());
  const vectors = (count) => Array.from({ length: count }, () => Float32Array.from({ length: dims }, number));
  const [base, query] = [vectors(rows), vectors(NORMAL_QUERIES)];
  return {
    name: `normal-${shape}`,
    rows,
    dims,
    queries: NORMAL_QUERIES,
    distance: 'Euclid',
    base: (row) => base[row],
    query: (row) => query[row],
  };
}

async function measureRun(run) {
  const folder = mkdtempSync(join(tmpdir(), 'kithdb-recall-'));
  const db = await open(folder);
  try {
    await load(db);
    const found = [];
    for (const [name, condition] of Object.entries(FILTERS)) {
      const exact = await answers(db, condition, { exact: true });
      for (const target of TARGETS) found.push(await measure(db, { run, name, condition, exact, target }));
    }
    return found;
  } finally {
    await db.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function load(db) {
  await db.createCollection('c', { vectors: { size: set.dims, distance: set.distance } });
  await db.createPayloadIndex('c', { field_name: 'u', field_schema: 'integer' });
  for (let from = 0; from < set.rows; from += BATCH) {
    const points = Array.from({ length: Math.min(BATCH, set.rows - from) }, (_, at) => ({
      id: from + at,
      vector: Array.from(set.base(from + at)),
      payload: { u: Math.floor(Math.random() * 100) },
    }));
    await db.upsert('c', { points });
  }
  for (;;) {
    const { status, recall_estimate } = await db.getCollection('c');
    if (status === 'green' && recall_estimate?.samples >= 256) return;
    await sleep(1000);
  }
}

/** What every query finds. */
async function answers(db, condition, params) {
  const found = [];
  for (let from = 0; from < set.queries; from += 50) {
    const searches = Array.from({ length: Math.min(50, set.queries - from) }, (_, at) => ({
      query: Array.from(set.query(from + at)),
      limit: LIMIT,
      filter: condition,
      params,
    }));
    for (const { points } of await db.queryBatch('c', { searches })) found.push(points.map(({ id }) => id));
  }
  return found;
}

function recallOf(exact, found) {
  const hits = found.map((ids, at) => ids.filter((id) => exact[at].includes(id)).length);
  return hits.reduce((sum, count) => sum + count, 0) / exact.reduce((sum, ids) => sum + ids.length, 0);
}

async function measure(db, { run, name, condition, exact, target }) {
  const chosen = { target_recall: target };
  const reached = recallOf(exact, await answers(db, condition, chosen));
  let fixed;
  for (const hnsw_ef of [...FIXED, ...WIDER]) {
    if (recallOf(exact, await answers(db, condition, { hnsw_ef })) < target) continue;
    fixed = { hnsw_ef };
    break;
  }
  const timed = async (params) => {
    const start = performance.now();
    await answers(db, condition, params);
    return performance.now() - start;
  };
  const ratios = [];
  for (let round = 0; fixed !== undefined && round < rounds; round++) {
    const order = round % 2 === 0 ? [chosen, fixed] : [fixed, chosen];
    const times = new Map();
    for (const params of order) times.set(params, await timed(params));
    ratios.push(times.get(fixed) / times.get(chosen));
  }
  return {
    run,
    filter: name,
    target,
    recall: reached,
    fixedEf: fixed?.hnsw_ef ?? null,
    rateRatio: ratios.length > 0 ? median(ratios) : null,
  };
}

function report() {
  const reached = results.filter(({ recall, target }) => recall >= target - 0.005).length;
  console.table(results);
  console.log(`${set.name}: ${reached} of ${results.length} reach their target less 0.005`);
  const ratios = results.flatMap(({ rateRatio }) => rateRatio ?? []);
  console.log(
    `rate as a share of the best fixed ef: median ${median(ratios).toFixed(2)}, least ${Math.min(...ratios).toFixed(2)}`,
  );
  const written = { set: basename(set.name), machine: machine('bench:recall'), results };
  if (flags.out) writeFileSync(flags.out, `${JSON.stringify(written, null, 2)}\n`);
}
