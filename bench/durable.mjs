/**
 * `npm run bench:durable -- --data FOLDER …`: what durability costs. Ingest over REST with a sync before each answer, and
 * one point a request beside a bare append and fdatasync of the same bytes on the same disk, and beside a server of
 * Node's that only answers, in turns.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  existsSync,
  fdatasyncSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readVectorSet } from '../data/vector-set.mjs';
import { root } from '../scripts/build/tree.mjs';
import { startServer } from '../scripts/server-process.mjs';
import { Connection, requestBytes } from './connection.mjs';
import { readFlags, whole } from './flags.mjs';
import { untilInterrupted } from './interruption.mjs';
import { sendAll } from './load.mjs';
import { machine } from './machine.mjs';

const USAGE = `npm run bench:durable -- --data FOLDER [flags]

  --data FOLDER         a folder with meta.json (see data/debian-small/README.md); required
  --folder FOLDER       where the server's data go, to choose the disk; default: the system's temporary folder
  --durability LEVEL    always, interval or os; default: always
  --only PARTS          of wide (768 dimensions), whole (the set with its payload), single; default: all of them
  --points N            points of 768 dimensions, each made of two vectors of the set; default: 40000
  --batch N             points in an upsert; default: 256
  --connections N       connections that upsert; default: 4
  --rounds N            how often ingest is measured; the best and the median are shown; default: 3
  --singles N           requests of one point, in turns with bare syncs and with a server that only answers;
                        default: 4000
  --out FILE            write everything measured as JSON
`;

const options = {
  data: { type: 'string' },
  folder: { type: 'string', default: tmpdir() },
  durability: { type: 'string', default: 'always' },
  only: { type: 'string', default: 'wide,whole,single' },
  points: { type: 'string', default: '40000' },
  batch: { type: 'string', default: '256' },
  connections: { type: 'string', default: '4' },
  rounds: { type: 'string', default: '3' },
  singles: { type: 'string', default: '4000' },
  out: { type: 'string' },
};

/** Requests of one kind, or bare appends, in a row. The kinds alternate, so that slow phases of the machine affect all alike. */
const TURN = 100;

const flags = readFlags(options, USAGE, {
  folder: (text) => existsSync(text) || 'a folder that is there',
  points: whole,
  batch: whole,
  connections: whole,
  rounds: whole,
  singles: whole,
});
const set = readVectorSet(flags.data);
const dataDir = mkdtempSync(join(flags.folder, 'kithdb-bench-durable-'));
const report = { set: set.name, machine: machine('bench:durable'), durability: flags.durability };
let server;
let bareServer;

await untilInterrupted(run, async () => {
  bareServer?.stop();
  await server?.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

async function run() {
  server = await startServer(join(root, 'bin', 'kithdb.js'), [
    '--port',
    '0',
    '--data-dir',
    join(dataDir, 'server'),
    '--log-level',
    'warn',
  ]);
  const url = new URL(server.url);
  const parts = flags.only.split(',');
  if (parts.includes('wide')) report.wide = await ingest(url, 'wide', 2 * set.dims, wideUpserts(url));
  if (parts.includes('whole')) report.whole = await ingest(url, 'whole', set.dims, setUpserts(url));
  if (parts.includes('single')) report.single = await singles(url);
  if (flags.out) writeFileSync(flags.out, `${JSON.stringify(report, null, 2)}\n`);
}

/** Upserts of points whose vector is that of two rows, one after the other, without a payload. */
function wideUpserts(url) {
  const vector = (row) => {
    const [first, second] = [set.baseJson(row % set.rows), set.baseJson((row * 7 + 1) % set.rows)];
    return `${first.slice(0, -1)},${second.slice(1)}`;
  };
  return upserts(url, 'wide', Number(flags.points), (row) => `{"id":${row},"vector":${vector(row)}}`);
}

/** Upserts of the set as it is, payload included. */
function setUpserts(url) {
  return upserts(url, 'whole', set.rows, (row) => {
    const payload = set.payloads ? `,"payload":${JSON.stringify(set.payloads[row])}` : '';
    return `{"id":${row},"vector":${set.baseJson(row)}${payload}}`;
  });
}

/** Requests, made before any clock starts, so that only the server is measured. */
function upserts(url, name, rows, point) {
  const batch = Number(flags.batch);
  const requests = [];
  for (let first = 0; first < rows; first += batch) {
    const points = Array.from({ length: Math.min(batch, rows - first) }, (_, at) => point(first + at));
    requests.push(put(url, name, points));
  }
  return { rows, requests };
}

function put(url, name, points) {
  const path = `/collections/${name}/points?wait=true`;
  return requestBytes(url, 'PUT', path, `{"points":[${points.join(',')}]}`, '');
}

async function call(url, method, path, body) {
  const bytes = requestBytes(url, method, path, body ? JSON.stringify(body) : '', '');
  let result;
  await sendAll(
    url,
    1,
    1,
    () => bytes,
    (_, answer) => (result = JSON.parse(answer.toString('utf8')).result),
  );
  return result;
}

async function create(url, name, size) {
  await call(url, 'DELETE', `/collections/${name}`);
  await call(url, 'PUT', `/collections/${name}`, {
    vectors: { size, distance: set.distance },
    wal_config: { durability: flags.durability },
  });
}

async function ingest(url, name, size, { rows, requests }) {
  const bytes = requests.reduce((sum, request) => sum + request.length, 0);
  const rates = [];
  let retries = 0;
  for (let round = 0; round < Number(flags.rounds); round++) {
    await create(url, name, size);
    const took = await sendAll(url, Number(flags.connections), requests.length, (index) => requests[index]);
    rates.push(rows / took.seconds);
    retries += took.retries;
    const { count } = await call(url, 'POST', `/collections/${name}/points/count`, {});
    if (count !== rows) throw new Error(`${count} of ${rows} points were counted`);
    await isGreen(url, name);
  }
  await call(url, 'DELETE', `/collections/${name}`);
  rates.sort((a, b) => a - b);
  const [best, median] = [rates.at(-1), rates[Math.floor(rates.length / 2)]];
  const line = {
    dims: size,
    points: rows,
    pointsPerSecond: Math.round(median),
    bestPointsPerSecond: Math.round(best),
    megabytesPerSecond: round1((median / rows) * (bytes / 1e6)),
    connections: Number(flags.connections),
    batch: Number(flags.batch),
    retriesAfter429: retries,
  };
  print(name, line);
  return line;
}

/** The next round must not be measured beside the indexing of this one. */
async function isGreen(url, name) {
  while ((await call(url, 'GET', `/collections/${name}`)).status !== 'green') {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/**
 * One connection, one point a request, in turns with bare appends and syncs of as many bytes as the log has got, and
 * with the same requests to a server that only answers: the cost of the round trip alone.
 */
async function singles(url) {
  await create(url, 'single', set.dims);
  const count = Number(flags.singles);
  const requests = Array.from({ length: count }, (_, row) =>
    put(url, 'single', [`{"id":${row},"vector":${set.baseJson(row % set.rows)}}`]),
  );
  const connection = await Connection.open(url);
  const bare = openSync(join(dataDir, 'bare'), 'a');
  bareServer = await startBareServer();
  const bareConnection = await Connection.open(bareServer.url);
  const times = { server: [], bareServer: [], bare: [] };
  let recordBytes = 0;
  for (let first = 0; first < count; first += TURN) {
    const logBefore = logBytes();
    const turn = requests.slice(first, first + TURN);
    for (const request of turn) times.server.push(await timed(connection, request));
    for (const request of turn) times.bareServer.push(await timed(bareConnection, request));
    const grown = logBytes() - logBefore;
    // Where a new segment was begun the difference is not the length of the records.
    if (grown > 0) recordBytes = Math.round(grown / turn.length);
    const record = Buffer.alloc(recordBytes, 7);
    for (let at = 0; at < turn.length; at++) {
      const startedAt = performance.now();
      writeSync(bare, record);
      fdatasyncSync(bare);
      times.bare.push(performance.now() - startedAt);
    }
  }
  closeSync(bare);
  connection.close();
  bareConnection.close();
  const [ours, theirs, way] = [shown(times.server), shown(times.bare), shown(times.bareServer)];
  const line = {
    dims: set.dims,
    recordBytes,
    requests: count,
    server: ours,
    bareAppendAndSync: theirs,
    bareServer: way,
    ratioOfMedians: round2(ours.p50Us / theirs.p50Us),
    ratioOfMeans: round2(ours.meanUs / theirs.meanUs),
    // Of a server that syncs before it answers.
    ...(flags.durability === 'always' && { leastRatio: round2((theirs.p50Us + way.p50Us) / theirs.p50Us) }),
  };
  print('single', line);
  return line;
}

/** Node's own HTTP server with no work to do, in a process of its own. */
async function startBareServer() {
  const child = spawn(process.execPath, [join(root, 'bench', 'bare-server.mjs')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit').then(() => {
    throw new Error('the bare server ended before it was ready');
  });
  const [port] = await Promise.race([once(child.stdout, 'data'), ended]);
  return { url: new URL(`http://127.0.0.1:${String(port).trim()}`), stop: () => child.stdin.end() };
}

/** Milliseconds until a request is answered. */
async function timed(connection, request) {
  const sentAt = performance.now();
  const { status } = await connection.send(request);
  const took = performance.now() - sentAt;
  if (status !== 200) throw new Error(`the server answered ${status}`);
  return took;
}

/** Bytes of the records in the newest segment of the log, behind which there may be zeros. */
function logBytes() {
  const folder = join(dataDir, 'server', 'log');
  const names = readdirSync(folder).filter((name) => name.endsWith('.log'));
  const bytes = readFileSync(join(folder, names.sort().at(-1)));
  return bytes.findLastIndex((byte) => byte !== 0) + 1;
}

function shown(times) {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (share) => Math.round(1000 * sorted[Math.floor(sorted.length * share)]);
  const mean = sorted.reduce((sum, time) => sum + time, 0) / sorted.length;
  return { p50Us: at(0.5), p90Us: at(0.9), p99Us: at(0.99), meanUs: Math.round(1000 * mean) };
}

function round1(value) {
  return Number(value.toFixed(1));
}

function round2(value) {
  return Number(value.toFixed(2));
}

function print(what, line) {
  const text = Object.entries(line).map(
    ([key, value]) => `${key} ${typeof value === 'object' ? JSON.stringify(value) : value}`,
  );
  console.log(`${what.padEnd(7)} ${text.join('  ')}`);
}
