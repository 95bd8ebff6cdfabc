// Searches within one tenant of a collection with `m: 0, payload_m: 16`, beside unfiltered searches of a collection that
// has the points of one tenant alone.
//
//   node bench/tenants.mjs [--tenants 1000] [--points 1000] [--dim 128] [--payload-m 16] [--rounds 7] [--out FILE]
//
// The folder is opened in this process. A figure is the microseconds of one search after the other, the median of the rounds,
// each round over the same tenants; `call_us` is that of a search of a collection with one point, which is the cost of a
// call, and `ratio_without_call` is the ratio without it. `without_links` is the same after `payload_m` was changed to 0: then
// there is no graph, and no codes. Points of a tenant are scattered over the collection.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { parseArgs } from 'node:util';
import { open } from '../dist/index.js';
import { machine } from './machine.mjs';

const { values } = parseArgs({
  options: {
    tenants: { type: 'string', default: '1000' },
    points: { type: 'string', default: '1000' },
    dim: { type: 'string', default: '128' },
    'payload-m': { type: 'string', default: '16' },
    rounds: { type: 'string', default: '7' },
    out: { type: 'string' },
  },
});
const tenants = Number(values.tenants);
const points = Number(values.points);
const dim = Number(values.dim);
const payloadM = Number(values['payload-m']);
const rounds = Number(values.rounds);
const SEARCHES = 1000;
const LIMIT = 10;

/** A generator of numbers that are the same in every run. */
function generator(seed) {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Eight bits of precision are enough for a search, and short in JSON. */
function vector(random) {
  return Array.from({ length: dim }, () => (Math.floor(random() * 255) - 127) / 100);
}

const folder = mkdtempSync(join(tmpdir(), 'kithdb-tenants-'));
const client = await open(folder);

async function fill(name, count, hnsw, tenantOf) {
  await client.createCollection(name, { vectors: { size: dim, distance: 'Cosine' }, hnsw_config: hnsw });
  await client.createPayloadIndex(name, {
    field_name: 'tenant',
    field_schema: { type: 'keyword', is_tenant: true },
    wait: true,
  });
  const random = generator(7);
  for (let from = 0; from < count; from += 2000) {
    const batch = Array.from({ length: Math.min(2000, count - from) }, (_, at) => ({
      id: from + at,
      vector: vector(random),
      payload: { tenant: `t${tenantOf(from + at)}` },
    }));
    await client.upsert(name, { points: batch, wait: true });
  }
  await settled(name);
}

async function settled(name) {
  for (;;) {
    const { status } = await client.getCollection(name);
    if (status === 'green') return;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/** Microseconds of a search of a round. */
async function round(name, filterOf) {
  const random = generator(99);
  const searches = Array.from({ length: SEARCHES }, (_, at) => ({
    query: vector(random),
    limit: LIMIT,
    ...filterOf(at),
  }));
  const start = performance.now();
  for (const search of searches) await client.query(name, search);
  return ((performance.now() - start) * 1000) / SEARCHES;
}

const median = (list) => list.toSorted((a, b) => a - b)[list.length >> 1];
const within = (at) => ({
  filter: { must: [{ key: 'tenant', match: { value: `t${(at * 7919) % tenants}` } }] },
});
const unfiltered = () => ({});

const started = performance.now();
await fill('alone', points, { m: 0, payload_m: payloadM }, () => 0);
await fill('one', 1, {}, () => 0);
await fill('graph', points, { m: 16, full_scan_threshold: 10 }, () => 0);
await fill('all', tenants * points, { m: 0, payload_m: payloadM }, (id) => (id * 31) % tenants);
const filled = (performance.now() - started) / 1000;

const times = { one: [], alone: [], graph: [], within: [], unfiltered: [] };
for (let at = 0; at <= rounds; at++) {
  const of = {
    one: await round('one', within),
    alone: await round('alone', unfiltered),
    graph: await round('graph', unfiltered),
    within: await round('all', within),
  };
  // The first round warms caches up.
  if (at > 0) for (const [what, time] of Object.entries(of)) times[what].push(time);
}
times.unfiltered.push(await round('all', unfiltered));

/** The times of searches without links, once the graphs are gone. */
async function withoutLinks() {
  for (const name of ['alone', 'all']) await client.updateCollection(name, { hnsw_config: { payload_m: 0 } });
  await settled('all');
  const times = { alone: [], within: [] };
  for (let at = 0; at <= rounds; at++) {
    const of = { alone: await round('alone', unfiltered), within: await round('all', within) };
    if (at > 0) for (const [what, time] of Object.entries(of)) times[what].push(time);
  }
  return { alone_us: median(times.alone), within_us: median(times.within) };
}

/** The share of the exact ten nearest of a tenant that searches find. */
async function recall() {
  const random = generator(5);
  let hits = 0;
  for (let at = 0; at < 100; at++) {
    const search = { query: vector(random), limit: LIMIT, ...within(at) };
    const found = await client.query('all', search);
    const exact = await client.query('all', { ...search, params: { exact: true } });
    const ids = new Set(exact.points.map((point) => point.id));
    hits += found.points.filter((point) => ids.has(point.id)).length;
  }
  return hits / (100 * LIMIT);
}

const report = {
  machine: machine('bench:tenants'),
  tenants,
  points,
  dim,
  payload_m: payloadM,
  filled_s: Math.round(filled),
  call_us: median(times.one),
  alone_us: median(times.alone),
  alone_with_graph_us: median(times.graph),
  within_us: median(times.within),
  unfiltered_us: times.unfiltered[0],
  ratio: median(times.within) / median(times.alone),
  ratio_without_call: (median(times.within) - median(times.one)) / (median(times.alone) - median(times.one)),
  recall: await recall(),
  without_links: await withoutLinks(),
};
console.log(JSON.stringify(report, null, 2));
if (values.out !== undefined) writeFileSync(values.out, `${JSON.stringify(report, null, 2)}\n`);
await client.close();
rmSync(folder, { recursive: true, force: true });
