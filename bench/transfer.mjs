/**
 * `npm run bench:transfer -- --data FOLDER …`: `kithdb import` beside the same points that a bare client upserts over REST, and
 * `kithdb export` beside the disk. The measurements take turns; client and server share the machine.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readVectorSet } from '../data/vector-set.mjs';
import { root } from '../scripts/build/tree.mjs';
import { startServer } from '../scripts/server-process.mjs';
import { secondsToWrite } from './disk.mjs';
import { readFlags, whole } from './flags.mjs';
import { untilInterrupted } from './interruption.mjs';
import { sendAll } from './load.mjs';
import { machine } from './machine.mjs';
import { median } from './median.mjs';
import { pointsInJson, upsertsOf } from './points.mjs';

const USAGE = `npm run bench:transfer -- --data FOLDER [flags]

  --data FOLDER  a folder with meta.json (see data/debian-small/README.md); required
  --rounds N     how often each is measured; default: 3
  --out FILE     write everything measured as JSON
`;

/** As `bench:rest` ingests. */
const CONNECTIONS = 4;
const BATCH = 256;
/** Milliseconds for the end of work on a deleted collection. */
const SETTLE_MS = 500;

const options = {
  data: { type: 'string' },
  rounds: { type: 'string', default: '3' },
  out: { type: 'string' },
};
const flags = readFlags(options, USAGE, { rounds: whole });
const set = readVectorSet(flags.data);
const launcher = join(root, 'bin', 'kithdb.js');
const folder = mkdtempSync(join(tmpdir(), 'kithdb-bench-transfer-'));
let server;

await untilInterrupted(run, async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function run() {
  const dataDir = join(folder, 'data');
  server = await startServer(launcher, ['--port', '0', '--data-dir', dataDir, '--log-level', 'warn']);
  const lines = pointsInJson(set);
  const file = join(folder, 'points.jsonl');
  writeFileSync(file, `${lines.join('\n')}\n`);
  const requests = upsertsOf(url(), 'raw', lines, BATCH);
  const ways = {
    raw: ['raw', () => sendAll(url(), CONNECTIONS, requests.length, (at) => requests[at])],
    import: ['imported', () => kithdb('import', 'imported', '--file', file)],
    'import, attached': [
      'imported',
      () => kithdb('import', 'imported', '--file', file, '--data-dir', dataDir),
    ],
  };
  const rounds = Object.fromEntries(Object.keys(ways).map((way) => [way, []]));
  for (let turn = 0; turn < Number(flags.rounds); turn++) {
    // Each comes first in some of the rounds.
    const order = Object.keys(ways);
    order.push(...order.splice(0, turn % order.length));
    for (const way of order) rounds[way].push(round(await ingest(...ways[way])));
  }
  const ratio = (way) => round(median(rounds[way].map((seconds, at) => seconds / rounds.raw[at])));
  if (set.rows !== (await count('imported'))) {
    await ingest('imported', () => kithdb('import', 'imported', '--file', file));
  }
  const report = {
    set: set.name,
    points: set.rows,
    dims: set.dims,
    fileBytes: statSync(file).size,
    machine: machine('bench:transfer'),
    'import over --url ÷ raw REST ingest, time': ratio('import'),
    'import, attached to the folder ÷ raw REST ingest, time': ratio('import, attached'),
    'seconds of each round': rounds,
    export: {},
  };
  const exports = {
    'JSONL over --url': ['--url', server.url, 'jsonl'],
    'JSONL, attached to the folder': ['--data-dir', dataDir, 'jsonl'],
    'Parquet over --url': ['--url', server.url, 'parquet'],
  };
  for (const [name, [place, where, format]] of Object.entries(exports)) {
    report.export[name] = await exported([place, where], format);
  }
  console.log(JSON.stringify(report, null, 2));
  if (flags.out) writeFileSync(flags.out, `${JSON.stringify(report, null, 2)}\n`);
}

function url() {
  return new URL(server.url);
}

/** Seconds of work that fills a new collection, which is the only one. */
async function ingest(name, work) {
  await call('DELETE', '/collections/raw');
  await call('DELETE', '/collections/imported');
  await call('PUT', `/collections/${name}`, { vectors: { size: set.dims, distance: set.distance } });
  await sleep(SETTLE_MS);
  const startedAt = performance.now();
  await work();
  const seconds = (performance.now() - startedAt) / 1000;
  const found = await count(name);
  if (found !== set.rows) throw new Error(`${name} has ${found} of ${set.rows} points`);
  return seconds;
}

async function count(name) {
  const { result } = await call('POST', `/collections/${name}/points/count`, {});
  return result?.count ?? 0;
}

async function call(method, path, body) {
  const answer = await fetch(new URL(path, server.url), {
    method,
    ...(body && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
  });
  return answer.json();
}

/** Runs a command of the product to its end. */
function kithdb(verb, collection, ...args) {
  const where = args.includes('--data-dir') || args.includes('--url') ? [] : ['--url', server.url];
  return new Promise((resolve, reject) => {
    const all = [launcher, verb, ...where, '--collection', collection, ...args];
    const child = spawn(process.execPath, all, { stdio: ['ignore', 'ignore', 'inherit'] });
    child.once('close', (code) => (code === 0 ? resolve() : reject(new Error(`${verb} ended with ${code}`))));
  });
}

/** MB/s of exports, and of a file of as many bytes that is written and synced. */
async function exported(place, format) {
  const to = join(folder, `points.${format}`);
  const [rates, disk] = [[], []];
  for (let turn = 0; turn < Number(flags.rounds); turn++) {
    const startedAt = performance.now();
    await kithdb('export', 'imported', ...place, '--to', to);
    const seconds = (performance.now() - startedAt) / 1000;
    const bytes = statSync(to).size;
    rates.push(bytes / 1e6 / seconds);
    disk.push(bytes / 1e6 / secondsToWrite(join(folder, 'bare'), bytes));
  }
  return {
    megabytesPerSecond: round(median(rates)),
    diskMegabytesPerSecond: round(median(disk)),
    bytes: statSync(to).size,
  };
}

function round(number) {
  return Number(number.toPrecision(4));
}
