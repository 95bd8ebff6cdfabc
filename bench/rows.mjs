/**
 * `npm run bench:rows -- --data FOLDER …`: how ingest, building, recall, memory, disk, stops, starts and searches grow
 * with the number of rows. The first rows of a set are loaded into a server of their own for each number.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readVectorSet } from '../data/vector-set.mjs';
import { root } from '../scripts/build/tree.mjs';
import { startServer } from '../scripts/server-process.mjs';
import { requestBytes } from './connection.mjs';
import { listOf, positive, readFlags, whole } from './flags.mjs';
import { table } from './index/table.mjs';
import { untilInterrupted } from './interruption.mjs';
import { measureRate, sendAll } from './load.mjs';
import { ask, makeCollection, untilGreen, upsertRows } from './load/calls.mjs';
import { Cgroup } from './load/cgroup.mjs';
import { machine } from './machine.mjs';
import { median } from './median.mjs';
import { majorFaultsOf, memoryOf } from './proc.mjs';
import { recallByScore } from './recall.mjs';

const USAGE = `npm run bench:rows -- --data FOLDER [flags]

  --data FOLDER  a folder with meta.json (see data/debian-small/README.md); required
  --rows LIST    numbers of rows, each with a server of its own; default: 10000,100000,1000000, as
                 far as the set has them
  --no-payload   leave out the payload of about 200 bytes and the two field indexes on it
  --queries N    use only the first N queries; default: 200
  --ef N         hnsw_ef of the searches; default: 64
  --seconds S    length of each measurement of searches; default: 5
  --cold         also start with an empty page cache, which needs root
  --starts N     how many starts are measured one after the other; default: 1
  --rest S       seconds between two starts, in which the host of a VM may take free memory back; default: 0
  --keep FOLDER  a data directory that is kept, for one number of rows. Where it has them already, they are
                 not loaded again, and only starts, searches and the bytes on the disk are measured
  --limits LIST  with the most rows also start with an empty page cache in a control group of so little
                 memory, in MiB or in % of the bytes on the disk, and search there; needs root
  --out FILE     write everything measured as JSON
`;

const options = {
  data: { type: 'string' },
  rows: { type: 'string', default: '10000,100000,1000000' },
  'no-payload': { type: 'boolean', default: false },
  queries: { type: 'string', default: '200' },
  ef: { type: 'string', default: '64' },
  seconds: { type: 'string', default: '5' },
  cold: { type: 'boolean', default: false },
  starts: { type: 'string', default: '1' },
  rest: { type: 'string', default: '0' },
  keep: { type: 'string' },
  limits: { type: 'string', default: '' },
  out: { type: 'string' },
};

/** Points in an upsert, and neighbours asked for. */
const BATCH = 512;
const LIMIT = 10;

/** Connections of the second measurement of searches. */
const CONNECTIONS = 16;

const GROUPS = 100;
const TEXT_BYTES = 150;

/** Longer than the server waits after the last write until it has shortened the log and given memory back. */
const SETTLE_MS = 15_000;

const COLLECTION = 'rows';
const POINTS = `/collections/${COLLECTION}/points`;

/** What grows with the rows: the heading, and the key of its values. */
const GROWING = {
  'load, s': 'loadSeconds',
  'until indexed, s': 'indexedSeconds',
  'resident, MiB': 'residentMib',
  'anonymous, MiB': 'anonymousMib',
  'disk, MiB': 'diskMib',
  'stop, ms': 'stopMs',
  'start, ms': 'startMs',
  'cold start, ms': 'coldStartMs',
  'p50, ms': 'p50Ms',
  'p99, ms': 'p99Ms',
};

const flags = readFlags(options, USAGE, {
  rows: listOf(whole),
  queries: whole,
  ef: whole,
  seconds: positive,
  starts: whole,
  rest: wholeSeconds,
  limits: (text) => text === '' || listOf(limit)(text),
});
const set = readVectorSet(flags.data);
const sizes = [...new Set(flags.rows.split(',').map(Number))]
  .filter((rows) => rows <= set.rows)
  .sort((a, b) => a - b);
const queries = Math.min(set.queries, Number(flags.queries));
let server;
let folder;
let group;

await untilInterrupted(run, cleanUp);

async function run() {
  if (sizes.length === 0) throw new Error(`${set.name} has ${set.rows} rows, fewer than any of --rows`);
  if (flags.keep !== undefined && sizes.length > 1) throw new Error('--keep: one number of --rows');
  if (flags.limits !== '') await makeGroup(1024).remove();
  const origin = machine('bench:rows');
  const measured = [];
  for (const rows of sizes) {
    measured.push(await measure(rows));
    await cleanUp();
  }
  const exponents = Object.fromEntries(
    Object.entries(GROWING).map(([heading, key]) => [heading, exponentsOf(measured, key)]),
  );
  const lines = Object.entries(GROWING).map(([heading, key]) => ({ heading, key }));
  const columns = Object.fromEntries(
    measured.map((figures) => [figures.rows.toLocaleString('en'), ({ key }) => figures[key]]),
  );
  console.log(`${set.name}, ${set.dims} components, ef ${flags.ef}, ${queries} queries, ${LIMIT} neighbours`);
  console.log(
    table([...lines, { heading: `recall at ef ${flags.ef}`, key: 'recall' }], {
      '': ({ heading }) => heading,
      ...columns,
      exponents: ({ heading }) => exponents[heading]?.join(', ') ?? null,
    }),
  );
  const report = {
    machine: origin,
    set: set.name,
    dims: set.dims,
    ef: Number(flags.ef),
    measured,
    exponents,
  };
  if (flags.out) writeFileSync(flags.out, `${JSON.stringify(report, null, 1)}\n`);
}

async function cleanUp() {
  await server?.kill();
  server = undefined;
  await group?.remove();
  group = undefined;
  if (folder !== undefined && flags.keep === undefined) rmSync(folder, { recursive: true, force: true });
  folder = undefined;
}

function start() {
  const launcher = join(root, 'bin', 'kithdb.js');
  const args = ['--port', '0', '--data-dir', folder, '--log-level', 'warn'];
  return startServer(launcher, args, {}, group?.prefix);
}

/** All figures of so many rows. */
async function measure(rows) {
  folder = flags.keep ?? mkdtempSync(join(tmpdir(), 'kithdb-bench-rows-'));
  const isLoaded = existsSync(join(folder, 'collections'));
  server = await start();
  const times = isLoaded ? await checkRows(rows) : await load(rows);
  await sleep(SETTLE_MS);
  const exact = await hits(searchesWith({ exact: true }));
  const searches = await search(exact);
  const { resident, anonymous } = memoryOf(server.pid);
  const stoppedAt = performance.now();
  await server.stop();
  const stopMs = Math.round(performance.now() - stoppedAt);
  const diskMib = mib(bytesIn(folder));
  const startsMs = [];
  for (let left = Number(flags.starts); left > 0; left -= 1) {
    await sleep(1000 * Number(flags.rest));
    startsMs.push(await startUntilAnswer());
  }
  const startMs = median(startsMs);
  const coldStartMs = flags.cold ? await coldStart() : undefined;
  const measured = {
    rows,
    ...times,
    ...searches,
    ...{ residentMib: mib(resident), anonymousMib: mib(anonymous), diskMib, stopMs, startMs, coldStartMs },
    ...(startsMs.length > 1 && { startsMs, restSeconds: Number(flags.rest) }),
  };
  console.error(JSON.stringify(measured));
  const limited = [];
  for (const text of flags.limits === '' || rows !== sizes.at(-1) ? [] : flags.limits.split(',')) {
    const limitMib = text.endsWith('%') ? Math.ceil((diskMib * parseFloat(text)) / 100) : Number(text);
    limited.push(await withLimit(limitMib, exact));
  }
  if (limited.length > 0) console.error(JSON.stringify(limited));
  return { ...measured, ...(limited.length > 0 && { limited }) };
}

/** The figures of a server that may hold so much memory, the page cache of its files included. */
async function withLimit(limitMib, exact) {
  group = makeGroup(limitMib);
  dropCaches();
  const startedAt = performance.now();
  server = await start();
  // Too little memory to open the collection is an answer.
  const refused = await firstAnswer().then(
    () => undefined,
    (error) => error.message,
  );
  const startMs = Math.round(performance.now() - startedAt);
  const figures = { limitMib, ...(refused === undefined ? await searchWithin(startMs, exact) : { refused }) };
  await server.stop();
  server = undefined;
  await group.remove();
  group = undefined;
  return figures;
}

function makeGroup(limitMib) {
  const made = Cgroup.make(limitMib);
  if (made === null) throw new Error('--limits: this process may not make a control group');
  return made;
}

/** Searches with pages of the disk alone at first, and again with what stayed in memory. */
async function searchWithin(startMs, exact) {
  const faults = majorFaultsOf(server.pid);
  const first = await search(exact);
  const then = await search(exact);
  const { anonymous } = memoryOf(server.pid);
  return {
    startMs,
    first,
    then,
    anonymousMib: mib(anonymous),
    majorFaults: majorFaultsOf(server.pid) - faults,
  };
}

/** Waits until rows that were loaded by an earlier run are served, and checks their number. Nothing is known of their loading. */
async function checkRows(rows) {
  await untilGreen(server, COLLECTION);
  const { points_count } = await ask(server, 'GET', `/collections/${COLLECTION}`);
  if (points_count === rows) return {};
  throw new Error(`--keep: ${folder} has ${points_count} points, not ${rows}`);
}

/** Loads the rows and waits for the graph. */
async function load(rows) {
  await makeCollection(server, COLLECTION, set);
  if (!flags['no-payload']) {
    const index = (field_name, field_schema) =>
      ask(server, 'PUT', `/collections/${COLLECTION}/index?wait=true`, { field_name, field_schema });
    await index('group', 'keyword');
    await index('number', 'integer');
  }
  const startedAt = performance.now();
  const seconds = () => round((performance.now() - startedAt) / 1000, 2);
  const payloadOf = flags['no-payload'] ? () => null : payloadOfRow;
  await upsertRows(server, COLLECTION, set, rows, { payloadOf, batch: BATCH });
  const loadSeconds = seconds();
  await untilGreen(server, COLLECTION);
  return { loadSeconds, indexedSeconds: seconds() };
}

/** About 200 bytes as JSON; numbers that are multiplied by an odd constant are spread evenly. */
function payloadOfRow(row) {
  const number = Math.imul(row, 0x9e3779b1) >>> 0;
  const text = Array.from({ length: Math.ceil(TEXT_BYTES / 8) }, (_, word) =>
    (Math.imul(number + word, 0x85ebca6b) >>> 0).toString(36).padStart(7, '0'),
  ).join(' ');
  return { group: `group-${number % GROUPS}`, number: number % 1_000_000, text };
}

/** Recall against exact searches, latency on one connection, and the rate on several. */
async function search(exact) {
  const requests = searchesWith({ hnsw_ef: Number(flags.ef) });
  const found = await hits(requests);
  const seconds = Number(flags.seconds);
  const one = await measureRate(new URL(server.url), 1, requests, seconds);
  const many = await measureRate(new URL(server.url), CONNECTIONS, requests, seconds);
  return {
    recall: round(recallByScore(set.distance, found, exact), 4),
    p50Ms: round(one.p50Ms, 3),
    p99Ms: round(one.p99Ms, 3),
    searchesPerSecond: Math.round(many.perSecond),
    p99OfManyMs: round(many.p99Ms, 3),
  };
}

function searchesWith(params) {
  const url = new URL(server.url);
  const rest = `"limit":${LIMIT},"params":${JSON.stringify(params)}`;
  return Array.from({ length: queries }, (_, query) =>
    requestBytes(url, 'POST', `${POINTS}/search`, `{"vector":${set.queryJson(query)},${rest}}`, ''),
  );
}

async function hits(requests) {
  const found = [];
  const take = (index, body) => (found[index] = JSON.parse(body.toString('utf8')).result);
  await sendAll(new URL(server.url), 2, requests.length, (index) => requests[index], take);
  return found;
}

/** The time from the start of the process until a search has its right answer, in milliseconds. */
async function startUntilAnswer() {
  const startedAt = performance.now();
  server = await start();
  await firstAnswer();
  const tookMs = performance.now() - startedAt;
  await server.stop();
  server = undefined;
  return Math.round(tookMs);
}

async function firstAnswer() {
  const [[first]] = await hits(searchesWith({ hnsw_ef: Number(flags.ef) }).slice(0, 1));
  if (first === undefined) throw new Error('a search after the start found nothing');
}

function coldStart() {
  dropCaches();
  return startUntilAnswer();
}

function dropCaches() {
  execFileSync('sync');
  writeFileSync('/proc/sys/vm/drop_caches', '3');
}

/** True for a number of seconds, otherwise what it should be. */
function wholeSeconds(text) {
  return /^\d{1,4}$/.test(text) || 'seconds';
}

/** True for a limit of memory, otherwise what it should be. */
function limit(text) {
  return /^[1-9]\d{0,6}%?$/.test(text) || 'MiB, or % of the bytes on the disk';
}

/** The exponents between neighbouring sizes: 1 is linear. */
function exponentsOf(measured, key) {
  return measured.slice(1).map((figures, at) => {
    const before = measured[at];
    const grown = Math.log(figures[key] / before[key]) / Math.log(figures.rows / before.rows);
    return Number.isFinite(grown) ? round(grown, 2) : null;
  });
}

function bytesIn(path) {
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}

function mib(bytes) {
  return round(bytes / 2 ** 20, 1);
}

function round(value, digits) {
  return Number(value.toFixed(digits));
}
