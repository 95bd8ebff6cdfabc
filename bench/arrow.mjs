/**
 * `npm run bench:arrow -- --data FOLDER …`: points that are acknowledged in a second, sent as Arrow IPC streams and as JSON, in
 * pairs that take turns. All requests are made before a clock starts, so that only the server is measured. With `--copy-beside`
 * the same points go by `COPY` to a PostgreSQL server with pgvector, in turns with the others; that clock includes the start
 * of `psql`, some hundredths of a second.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  Data,
  Field,
  FixedSizeList,
  Float32,
  makeData,
  Table,
  tableToIPC,
  Uint32,
  Utf8,
  Vector,
  vectorFromArray,
} from 'apache-arrow';
import { readVectorSet } from '../data/vector-set.mjs';
import { root } from '../scripts/build/tree.mjs';
import { startServer } from '../scripts/server-process.mjs';
import { requestBytes } from './connection.mjs';
import { copySide } from './copy.mjs';
import { readFlags, whole } from './flags.mjs';
import { untilInterrupted } from './interruption.mjs';
import { ratioInterval } from './interval.mjs';
import { sendAll } from './load.mjs';
import { machine } from './machine.mjs';
import { median } from './median.mjs';
import { pointsInJson, upsertsOf } from './points.mjs';

const USAGE = `npm run bench:arrow -- --data FOLDER [flags]

  --data FOLDER      a folder with meta.json (see data/debian-small/README.md); required
  --rounds N         pairs; default: 6
  --batch N          points in an upsert; default: 1024
  --connections N    connections that upsert; default: 4
  --copy-beside URL  also a database of PostgreSQL with pgvector that runs, by psql: COPY, the points of an upsert in a
                     transaction, and all of a connection in one; a password is read from PGPASSWORD
  --out FILE         write everything measured as JSON
`;

const ARROW = 'application/vnd.apache.arrow.stream';
/** Milliseconds for the end of work on a deleted collection. */
const SETTLE_MS = 500;

const options = {
  data: { type: 'string' },
  rounds: { type: 'string', default: '6' },
  batch: { type: 'string', default: '1024' },
  connections: { type: 'string', default: '4' },
  'copy-beside': { type: 'string' },
  out: { type: 'string' },
};
const flags = readFlags(options, USAGE, { rounds: whole, batch: whole, connections: whole });
const [rounds, batch, connections] = [flags.rounds, flags.batch, flags.connections].map(Number);
const set = readVectorSet(flags.data);
const folder = mkdtempSync(join(tmpdir(), 'kithdb-bench-arrow-'));
let server;

await untilInterrupted(run, async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function run() {
  server = await startServer(join(root, 'bin', 'kithdb.js'), [
    ...['--port', '0', '--data-dir', join(folder, 'data'), '--log-level', 'warn'],
    ...['--max-points-per-request', String(Math.max(batch, 10_000))],
  ]);
  const url = new URL(server.url);
  const requests = { arrow: streams(url), json: upsertsOf(url, 'c', pointsInJson(set), batch) };
  const copies = copiesBeside();
  const sides = {
    arrow: () => rateOf(url, requests.arrow),
    json: () => rateOf(url, requests.json),
    ...Object.fromEntries(Object.entries(copies).map(([name, copy]) => [name, copy.rate])),
  };
  const names = Object.keys(sides);
  const rates = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) rates[name].push(await sides[name]());
  }
  const beside = (name) => ratioInterval(rates.arrow.map((rate, round) => rate / rates[name][round]));
  const [copy] = Object.values(copies);
  const report = {
    machine: machine('bench:arrow'),
    set: { name: set.name, rows: set.rows, dims: set.dims, payloads: set.payloads !== null },
    batch,
    connections,
    points_per_second: Object.fromEntries(names.map((name) => [name, Math.round(median(rates[name]))])),
    bytes: {
      arrow: bytesOf(requests.arrow),
      json: bytesOf(requests.json),
      ...(copy && { copy: copy.bytes }),
    },
    ...(copy && { beside: copy.version }),
    ratio: beside('json'),
    ...Object.fromEntries(Object.keys(copies).map((name) => [`ratio_${name}`, beside(name)])),
    rates,
  };
  console.log(JSON.stringify(report, null, 2));
  if (flags.out !== undefined) writeFileSync(flags.out, `${JSON.stringify(report, null, 2)}\n`);
}

/** Points by COPY: as many in a transaction as in an upsert, and all that a connection sends in one. */
function copiesBeside() {
  const database = flags['copy-beside'];
  if (database === undefined) return {};
  const most = Math.ceil(set.rows / connections);
  return {
    copy: copySide(database, set, { batch, connections, folder }),
    copy_whole: copySide(database, set, { batch: most, connections, folder }),
  };
}

/** The upserts of the set as streams: ids, vectors, and the payloads as one column of JSON. */
function streams(url) {
  const requests = [];
  for (let first = 0; first < set.rows; first += batch) {
    const rows = Array.from({ length: Math.min(batch, set.rows - first) }, (_, at) => first + at);
    const columns = {
      id: vectorFromArray(rows, new Uint32()),
      vector: vectors(rows),
      ...(set.payloads && {
        payload: vectorFromArray(
          rows.map((row) => JSON.stringify(set.payloads[row])),
          new Utf8(),
        ),
      }),
    };
    const body = tableToIPC(new Table(columns), 'stream');
    requests.push(requestBytes(url, 'PUT', '/collections/c/points?wait=true', body, '', ARROW));
  }
  return requests;
}

function vectors(rows) {
  const numbers = new Float32Array(rows.length * set.dims);
  rows.forEach((row, at) => numbers.set(set.base(row), at * set.dims));
  const item = makeData({ type: new Float32(), data: numbers });
  const type = new FixedSizeList(set.dims, new Field('item', new Float32(), false));
  return new Vector([new Data(type, 0, rows.length, 0, [], [item])]);
}

/** Points that are acknowledged in a second, in a new collection. */
async function rateOf(url, requests) {
  await call(url, 'PUT', { vectors: { size: set.dims, distance: set.distance } });
  const { seconds } = await sendAll(url, connections, requests.length, (at) => requests[at]);
  const { result } = await call(url, 'GET');
  if (result.points_count !== set.rows) throw new Error(`${result.points_count} points of ${set.rows}`);
  await call(url, 'DELETE');
  await sleep(SETTLE_MS);
  return set.rows / seconds;
}

async function call(url, method, body) {
  const answer = await fetch(new URL('/collections/c', url), {
    method,
    headers: { 'content-type': 'application/json' },
    body: body === undefined ? undefined : JSON.stringify(body),
  });
  if (!answer.ok) throw new Error(`${method}: ${answer.status} ${await answer.text()}`);
  return answer.json();
}

function bytesOf(requests) {
  return requests.reduce((sum, request) => sum + request.length, 0);
}
