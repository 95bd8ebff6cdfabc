/**
 * `npm run bench:rest -- --data FOLDER …`: loads a vector set over REST and measures ingest, indexing, recall,
 * search throughput and latency, memory and restart. Client and server share the machine, in a closed loop.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { readVectorSet } from '../data/vector-set.mjs';
import { root } from '../scripts/build/tree.mjs';
import { startServer } from '../scripts/server-process.mjs';
import { requestBytes } from './connection.mjs';
import { measureRate, sendAll } from './load.mjs';
import { recall } from './recall.mjs';

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
  --batch N             points in an upsert; default: 256
  --load-connections N  connections that upsert; default: 4
  --no-payload          leave the payload out
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
  batch: { type: 'string', default: '256' },
  'load-connections': { type: 'string', default: '4' },
  'no-payload': { type: 'boolean', default: false },
  'log-level': { type: 'string', default: 'info' },
  out: { type: 'string' },
};

/** An index that is not built after this long is a result too: the run ends with an error. */
const GREEN_TIMEOUT_MS = 60 * 60_000;

const flags = readFlags();
const set = readVectorSet(flags.data);
const collectionPath = `/collections/${encodeURIComponent(flags.collection)}`;
const report = {
  set: set.name,
  rows: set.rows,
  dims: set.dims,
  distance: set.distance,
  cores: cpus().length,
};
const dataDir = flags.url ? null : mkdtempSync(join(tmpdir(), 'kithdb-bench-'));
let server = null;

try {
  server = flags.url ? { url: flags.url, pid: Number(flags.pid) || null } : await start();
  await createCollection();
  await load();
  await waitForGreen();
  await searchAll();
  report.memory = memory(server.pid);
  print('memory', report.memory);
  if (dataDir) await restart();
  if (flags.out) writeFileSync(flags.out, `${JSON.stringify(report, null, 2)}\n`);
} finally {
  await server?.stop?.();
  if (dataDir) rmSync(dataDir, { recursive: true, force: true });
}

function readFlags() {
  try {
    const { values } = parseArgs({ options });
    if (values.data) return values;
  } catch (error) {
    console.error(error.message);
  }
  console.error(USAGE);
  process.exit(2);
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
  await call('PUT', collectionPath, { vectors: { size: set.dims, distance: set.distance } });
}

/** Requests are made before the clock starts: what is measured is the server. */
async function load() {
  const batch = Number(flags.batch);
  const requests = [];
  for (let first = 0; first < set.rows; first += batch) {
    const points = [];
    for (let row = first; row < Math.min(first + batch, set.rows); row++) {
      const payload =
        set.payloads && !flags['no-payload'] ? `,"payload":${JSON.stringify(set.payloads[row])}` : '';
      points.push(`{"id":${row},"vector":${set.baseJson(row)}${payload}}`);
    }
    requests.push(prepare('PUT', `${collectionPath}/points?wait=true`, `{"points":[${points.join(',')}]}`));
  }
  const bytes = requests.reduce((sum, request) => sum + request.length, 0);
  const connections = Number(flags['load-connections']);
  const { seconds, retries } = await sendAll(url(), connections, requests.length, (index) => requests[index]);
  report.ingest = {
    points: set.rows,
    seconds: round(seconds),
    pointsPerSecond: Math.round(set.rows / seconds),
    megabytesPerSecond: round(bytes / 1e6 / seconds),
    connections,
    batch,
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
    if (info.status !== 'green') await new Promise((resolve) => setTimeout(resolve, 200));
  } while (info.status !== 'green');
  report.indexing = {
    secondsUntilGreen: round((performance.now() - startedAt) / 1000),
    indexed: info.indexed_vectors_count,
    points: info.points_count,
    segments: info.segments_count,
  };
  print('indexing', report.indexing);
}

async function searchAll() {
  report.search = [];
  const queries = Math.min(set.queries, Number(flags.queries ?? set.queries));
  for (const ef of flags.ef.split(',')) {
    const params = ef === 'exact' ? '"exact":true' : `"hnsw_ef":${Number(ef)}`;
    const requests = Array.from({ length: queries }, (_, row) =>
      prepare(
        'POST',
        `${collectionPath}/points/search`,
        `{"vector":${set.queryJson(row)},"limit":${Number(flags.limit)},"params":{${params}}}`,
      ),
    );
    const answers = [];
    await sendAll(
      url(),
      4,
      queries,
      (index) => requests[index],
      (index, body) => (answers[index] = JSON.parse(body.toString('utf8')).result.map(({ id }) => id)),
    );
    const found = recall(set, answers, Number(flags.limit));
    for (const connections of flags.connections.split(',').map(Number)) {
      const rate = await measureRate(url(), connections, requests, Number(flags.seconds));
      const line = {
        ef,
        recall: round(found, 4),
        connections,
        perSecond: Math.round(rate.perSecond),
        p50Ms: round(rate.p50Ms, 3),
        p99Ms: round(rate.p99Ms, 3),
      };
      report.search.push(line);
      print('search', line);
    }
  }
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

/** Resident memory of a local process in MB, where /proc tells. */
function memory(pid) {
  if (!pid) return null;
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    const megabytes = (field) =>
      Math.round(Number(new RegExp(`^${field}:\\s+(\\d+)`, 'm').exec(status)[1]) / 1024);
    return { rssMb: megabytes('VmRSS'), peakMb: megabytes('VmHWM'), anonymousMb: megabytes('RssAnon') };
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
