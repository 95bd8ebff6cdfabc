/**
 * `npm run bench:rest -- --data FOLDER …`: loads a vector set over REST and measures ingest, indexing, recall,
 * search throughput and latency, memory and restart. Client and server share the machine, in a closed loop.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readVectorSet } from '../data/vector-set.mjs';
import { root } from '../scripts/build/tree.mjs';
import { startServer } from '../scripts/server-process.mjs';
import { requestBytes } from './connection.mjs';
import { listOf, mustAnswer, positive, readFlags, whole } from './flags.mjs';
import { startIngest } from './ingest.mjs';
import { untilInterrupted } from './interruption.mjs';
import { measureRate, sendAll } from './load.mjs';
import { machine } from './machine.mjs';
import { memoryOf, processorUsOf } from './proc.mjs';
import { recall, recallByScore } from './recall.mjs';

const USAGE = `npm run bench:rest -- --data FOLDER [flags]

  --data FOLDER         a folder with meta.json (see data/debian-small/README.md); required
  --url URL             measure this server; without it one is started on a temporary folder, and
                        memory and restart are measured too
  --token TOKEN         credential for --url
  --pid PID             process of the server at --url, for its memory
  --collection NAME     default: bench (replaced if it exists)
  --connections LIST    numbers of connections to search on; default: 1,16
  --ef LIST             values of hnsw_ef; "exact" is exact search; default: 64,128,256,exact
  --limit N             neighbours asked for; default: 10
  --queries N           use only the first N queries
  --seconds S           length of each throughput measurement; default: 5
  --full-scan-kb N      size of a set below which no graph is built; default: the server's
  --batch N             points in an upsert; default: 256
  --load-connections N  connections that upsert; default: 4
  --no-payload          leave the payload out
  --filtered            also search with filters that 50, 10, 1 and 0.1 % of the points match
  --search-under-load   also search while points are upserted at full speed, readers on 4 connections and
                        writers on 2
  --log-level LEVEL     of the server that is started; default: info, which logs every request
  --out FILE            write everything measured as JSON
`;

const options = {
  data: { type: 'string' },
  url: { type: 'string' },
  token: { type: 'string', default: '' },
  pid: { type: 'string' },
  collection: { type: 'string', default: 'bench' },
  connections: { type: 'string', default: '1,16' },
  ef: { type: 'string', default: '64,128,256,exact' },
  limit: { type: 'string', default: '10' },
  queries: { type: 'string' },
  seconds: { type: 'string', default: '5' },
  'full-scan-kb': { type: 'string' },
  batch: { type: 'string', default: '256' },
  'load-connections': { type: 'string', default: '4' },
  'no-payload': { type: 'boolean', default: false },
  filtered: { type: 'boolean', default: false },
  'search-under-load': { type: 'boolean', default: false },
  'log-level': { type: 'string', default: 'info' },
  out: { type: 'string' },
};

/** Metrics are made at most once a second. */
const METRICS_MS = 1_100;
/** The run fails when the index is not built after this time. */
const GREEN_TIMEOUT_MS = 60 * 60_000;

/** An integer field that `--filtered` adds to each point: uniform from 0 to 999. */
const FILTER_FIELD = 'bench_permille';

/** Points out of 1,000 that the filters of `--filtered` match. */
const SELECTIVITIES_PERMILLE = [500, 100, 10, 1];

/** Connections of `--search-under-load`. */
const UNDER_LOAD = { readers: 4, writers: 2 };

const flags = readFlags(options, USAGE, {
  pid: whole,
  connections: listOf(whole),
  ef: listOf((text) => text === 'exact' || whole(text)),
  limit: whole,
  queries: whole,
  seconds: positive,
  'full-scan-kb': whole,
  batch: whole,
  'load-connections': whole,
});
if (flags.url !== undefined) await mustAnswer(flags.url);
const set = readVectorSet(flags.data);
const collectionPath = `/collections/${encodeURIComponent(flags.collection)}`;
const report = {
  set: set.name,
  rows: set.rows,
  dims: set.dims,
  distance: set.distance,
  machine: machine('bench:rest'),
};
const dataDir = flags.url ? null : mkdtempSync(join(tmpdir(), 'kithdb-bench-'));
let server = null;
let firstUpsertAt = 0;

await untilInterrupted(run, async () => {
  await server?.stop?.();
  if (dataDir) rmSync(dataDir, { recursive: true, force: true });
});

async function run() {
  server = flags.url ? { url: flags.url, pid: Number(flags.pid) || null } : await start();
  await createCollection();
  await load();
  await waitForGreen();
  await searchAll();
  if (flags.filtered) await searchFiltered();
  if (flags['search-under-load']) await searchUnderLoad();
  report.memory = memory(server.pid);
  print('memory', report.memory);
  if (dataDir) await restart();
  if (flags.out) writeFileSync(flags.out, `${JSON.stringify(report, null, 2)}\n`);
}

function start() {
  const launcher = join(root, 'bin', 'kithdb.js');
  return startServer(launcher, ['--port', '0', '--data-dir', dataDir, '--log-level', flags['log-level']]);
}

function url() {
  return new URL(server.url);
}

function prepare(method, path, body) {
  return requestBytes(url(), method, path, body, flags.token);
}

/** One request outside any measurement. */
async function call(method, path, body) {
  let answer;
  await sendAll(
    url(),
    1,
    1,
    () => prepare(method, path, body ? JSON.stringify(body) : ''),
    (_, bytes) => (answer = JSON.parse(bytes.toString('utf8'))),
  );
  return answer.result;
}

async function createCollection() {
  await call('DELETE', collectionPath);
  const threshold = flags['full-scan-kb'];
  await call('PUT', collectionPath, {
    vectors: { size: set.dims, distance: set.distance },
    ...(threshold && { hnsw_config: { full_scan_threshold: Number(threshold) } }),
  });
}

/** Upserts of all rows, made before any clock starts, so that only the server is measured. */
function upserts(firstId) {
  const batch = Number(flags.batch);
  const requests = [];
  for (let first = 0; first < set.rows; first += batch) {
    const points = [];
    for (let row = first; row < Math.min(first + batch, set.rows); row++) {
      points.push(`{"id":${firstId + row},"vector":${set.baseJson(row)}${payload(row)}}`);
    }
    requests.push(prepare('PUT', `${collectionPath}/points?wait=true`, `{"points":[${points.join(',')}]}`));
  }
  return requests;
}

/** The member of a point that holds its payload, or nothing. */
function payload(row) {
  const fields = set.payloads && !flags['no-payload'] ? set.payloads[row] : null;
  // Multiplied by an odd constant: spread evenly, and not in the order of the rows.
  const added = flags.filtered ? { [FILTER_FIELD]: (Math.imul(row, 0x9e3779b1) >>> 0) % 1000 } : null;
  return fields || added ? `,"payload":${JSON.stringify({ ...fields, ...added })}` : '';
}

async function load() {
  const requests = upserts(0);
  const bytes = requests.reduce((sum, request) => sum + request.length, 0);
  const connections = Number(flags['load-connections']);
  firstUpsertAt = performance.now();
  const { seconds, retries } = await sendAll(url(), connections, requests.length, (index) => requests[index]);
  report.ingest = {
    points: set.rows,
    seconds: round(seconds),
    pointsPerSecond: Math.round(set.rows / seconds),
    megabytesPerSecond: round(bytes / 1e6 / seconds),
    connections,
    batch: Number(flags.batch),
    payload: Boolean(set.payloads) && !flags['no-payload'],
    retriesAfter429: retries,
    memory: memory(server.pid),
  };
  print('ingest', report.ingest);
}

async function waitForGreen() {
  const startedAt = performance.now();
  let info;
  do {
    info = await call('GET', collectionPath);
    if (performance.now() - startedAt > GREEN_TIMEOUT_MS) throw new Error(`still ${info.status}, not green`);
    if (info.status !== 'green') await new Promise((resolve) => setTimeout(resolve, 20));
  } while (info.status !== 'green');
  const sinceFirstUpsert = (performance.now() - firstUpsertAt) / 1000;
  report.indexing = {
    secondsUntilGreen: round((performance.now() - startedAt) / 1000),
    secondsFromFirstUpsert: round(sinceFirstUpsert, 2),
    pointsPerSecondFromFirstUpsert: Math.round(set.rows / sinceFirstUpsert),
    indexed: info.indexed_vectors_count,
    points: info.points_count,
    segments: info.segments_count,
  };
  print('indexing', report.indexing);
}

async function searchAll() {
  report.search = [];
  for (const ef of flags.ef.split(',')) {
    const requests = searches(ef);
    const answers = (await hits(requests)).map((points) => points.map(({ id }) => id));
    const found = recall(set, answers, Number(flags.limit));
    for (const connections of flags.connections.split(',').map(Number)) {
      const usedBefore = processorUs(server.pid);
      const rate = await measureRate(url(), connections, requests, Number(flags.seconds));
      const serverUs = usedBefore && round((processorUs(server.pid) - usedBefore) / rate.requests);
      const clientUs = round(rate.clientUs);
      const line = { ef, recall: round(found, 4), connections, ...shown(rate), serverUs, clientUs };
      report.search.push(line);
      print('search', line);
    }
  }
  report.plans = await searchPlans();
  print('plans', report.plans);
}

/** What searches did since the server was started, as its metrics say; nothing where it has no such metrics. */
async function searchPlans() {
  await sleep(METRICS_MS);
  const headers = flags.token === '' ? {} : { authorization: `Bearer ${flags.token}` };
  const text = await (await fetch(new URL('/metrics', url()), { headers })).text();
  const samples = text.matchAll(/^kithdb_search_(?:plans_total\{plan="(\w+)"\}|(hops)_total) (\d+)$/gm);
  return Object.fromEntries([...samples].map(([, plan, hops, count]) => [plan ?? hops, Number(count)]));
}

/** One search for each query; an `ef` of "exact" is an exact one. */
function searches(ef, filter = '') {
  const params = ef === 'exact' ? '"exact":true' : `"hnsw_ef":${Number(ef)}`;
  const queries = Math.min(set.queries, Number(flags.queries ?? set.queries));
  return Array.from({ length: queries }, (_, row) =>
    prepare(
      'POST',
      `${collectionPath}/points/search`,
      `{"vector":${set.queryJson(row)},"limit":${Number(flags.limit)},"params":{${params}}${filter}}`,
    ),
  );
}

/** The points that each search finds. */
async function hits(requests) {
  const answers = [];
  const take = (index, body) => (answers[index] = JSON.parse(body.toString('utf8')).result);
  await sendAll(url(), 4, requests.length, (index) => requests[index], take);
  return answers;
}

function shown(rate) {
  return {
    perSecond: Math.round(rate.perSecond),
    p50Ms: round(rate.p50Ms, 3),
    p99Ms: round(rate.p99Ms, 3),
  };
}

/** Latency with a filter beside that without, on one connection; recall against the server's own exact search. */
async function searchFiltered() {
  await call('PUT', `${collectionPath}/index?wait=true`, {
    field_name: FILTER_FIELD,
    field_schema: 'integer',
  });
  report.filtered = [];
  for (const ef of flags.ef.split(',').filter((ef) => ef !== 'exact')) {
    const seconds = Number(flags.seconds);
    const unfiltered = await measureRate(url(), 1, searches(ef), seconds);
    for (const permille of SELECTIVITIES_PERMILLE) {
      const filter = `,"filter":{"must":[{"key":"${FILTER_FIELD}","range":{"lt":${permille}}}]}`;
      const requests = searches(ef, filter);
      const found = recallByScore(set.distance, await hits(requests), await hits(searches('exact', filter)));
      const rate = await measureRate(url(), 1, requests, seconds);
      const line = {
        ef,
        matching: `${permille / 10} %`,
        recall: round(found, 4),
        ...shown(rate),
        latencyToUnfiltered: round(unfiltered.perSecond / rate.perSecond, 2),
      };
      report.filtered.push(line);
      print('filtered', line);
    }
  }
}

/** Readers alone, and beside writers that upsert new points into the same collection as fast as they are answered. */
async function searchUnderLoad() {
  const ef = flags.ef.split(',').find((ef) => ef !== 'exact') ?? '128';
  const requests = searches(ef);
  const seconds = Number(flags.seconds);
  const ingest = upserts(set.rows);
  const idle = await measureRate(url(), UNDER_LOAD.readers, requests, seconds);
  const stop = await startIngest(url(), UNDER_LOAD.writers, ingest);
  const busy = await measureRate(url(), UNDER_LOAD.readers, requests, seconds);
  const written = await stop();
  report.underLoad = {
    ef,
    readers: UNDER_LOAD.readers,
    writers: UNDER_LOAD.writers,
    idle: shown(idle),
    busy: shown(busy),
    p50Ratio: round(busy.p50Ms / idle.p50Ms, 2),
    p99Ratio: round(busy.p99Ms / idle.p99Ms, 2),
    upsertedPointsPerSecond: Math.round((written.requests * Number(flags.batch)) / written.seconds),
    upsertsRefused: written.refused,
  };
  print('load', report.underLoad);
}

/** A clean stop, and a start until the first search is answered. */
async function restart() {
  const stoppedAt = performance.now();
  const exitCode = await server.stop();
  const stopMs = performance.now() - stoppedAt;
  server = null;
  const startedAt = performance.now();
  server = await start();
  await call('POST', `${collectionPath}/points/search`, { vector: Array.from(set.query(0)), limit: 1 });
  report.restart = {
    exitCode,
    stopMs: Math.round(stopMs),
    readyMs: Math.round(server.readyAfterMs),
    firstSearchMs: Math.round(performance.now() - startedAt),
    memory: memory(server.pid),
  };
  print('restart', report.restart);
}

/** Processor time that the server has used, in microseconds, where /proc tells. */
function processorUs(pid) {
  try {
    return processorUsOf(pid);
  } catch {
    return null;
  }
}

/** Resident memory of a local process in MB, where /proc tells. */
function memory(pid) {
  if (!pid) return null;
  try {
    const { resident, peak, anonymous } = memoryOf(pid);
    const megabytes = (bytes) => Math.round(bytes / 2 ** 20);
    return { rssMb: megabytes(resident), peakMb: megabytes(peak), anonymousMb: megabytes(anonymous) };
  } catch {
    return null;
  }
}

function round(value, digits = 1) {
  return Number(value.toFixed(digits));
}

function print(what, line) {
  const text = Object.entries(line ?? {})
    .map(([key, value]) => `${key} ${typeof value === 'object' ? JSON.stringify(value) : value}`)
    .join('  ');
  console.log(`${what.padEnd(9)} ${text || 'not known'}`);
}
