/**
 * `npm run bench:embedded -- --data FOLDER …`: the client over a folder in the same process, beside the engine's own rate on
 * one thread and beside a process that is attached to the folder. Each pair is measured in turns.
 */
import { fork, spawn } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { readVectorSet } from '../data/vector-set.mjs';
import { root } from '../scripts/build/tree.mjs';
import { compiled } from './compiled.mjs';
import { positive, readFlags, whole } from './flags.mjs';
import { untilInterrupted } from './interruption.mjs';
import { machine } from './machine.mjs';
import { median } from './median.mjs';

const USAGE = `npm run bench:embedded -- --data FOLDER [flags]

  --data FOLDER   a folder with meta.json (see data/debian-small/README.md); required
  --rounds N      how often each pair is measured; default: 15
  --seconds S     length of one measurement; default: 0.5
  --ef N          hnsw_ef of the queries; default: 64
  --in-flight N   calls that a program has under way at a time, where it does not wait for each; default: 16
  --out FILE      write everything measured as JSON
`;

const options = {
  data: { type: 'string' },
  rounds: { type: 'string', default: '15' },
  seconds: { type: 'string', default: '0.5' },
  ef: { type: 'string', default: '64' },
  'in-flight': { type: 'string', default: '16' },
  out: { type: 'string' },
};

const { open } = createRequire(import.meta.url)(join(root, 'dist', 'index.js'));
const LIMIT = 10;
const BATCH = 500;
/** Milliseconds that caches may take to warm up before the first round. */
const WARM_UP_MS = 500;

if (process.send) {
  await attached();
} else {
  await measureAll();
}

/** The other process: attaches to the folder, and measures on request. */
async function attached() {
  let db;
  let queries;
  process.on('message', async (message) => {
    if (message.folder) {
      queries = queriesOf(readVectorSet(message.data), message.ef, 'float32');
      db = await open(message.folder);
      process.send({ role: db.role });
    } else if (message.seconds) {
      process.send(await oneByOne(db, queries, message.seconds));
    } else {
      await db.close();
      process.disconnect();
    }
  });
}

async function measureAll() {
  const flags = readFlags(options, USAGE, {
    rounds: whole,
    seconds: positive,
    ef: whole,
    'in-flight': whole,
  });
  const set = readVectorSet(flags.data);
  const folder = mkdtempSync(join(tmpdir(), 'kithdb-bench-embedded-'));
  const processes = [];
  await untilInterrupted(
    async () => {
      const rate = await compiled('kithdb-bench', 'query_rate');
      const report = await measure(flags, set, folder, rate, processes);
      console.log(JSON.stringify(report, null, 2));
      if (flags.out) writeFileSync(flags.out, `${JSON.stringify(report, null, 2)}\n`);
    },
    async () => {
      for (const child of processes) child.kill('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    },
  );
}

async function measure(flags, set, folder, rate, processes) {
  const [rounds, seconds, ef] = [Number(flags.rounds), Number(flags.seconds), Number(flags.ef)];
  const dataDir = join(folder, 'data');
  const ingest = await load(set, dataDir);
  const copy = join(folder, 'copy');
  cpSync(dataDir, copy, { recursive: true });
  const engine = await startEngine(rate, copy, queriesOf(set, ef, 'text'), folder, processes);
  const db = await open(dataDir, { searchThreads: 1 });
  const other = await startAttached(flags, ef, dataDir, processes);
  const kinds = {
    'Float32Array, several under way': () =>
      several(db, queriesOf(set, ef, 'float32'), seconds, Number(flags['in-flight'])),
    'Float32Array, one by one': () => oneByOne(db, queriesOf(set, ef, 'float32'), seconds),
    'array of numbers, several under way': () =>
      several(db, queriesOf(set, ef, 'numbers'), seconds, Number(flags['in-flight'])),
  };
  await sleep(WARM_UP_MS);
  const rates = {};
  for (const [name, run] of Object.entries(kinds)) {
    rates[name] = await pairs(
      rounds,
      () => engine(seconds),
      run,
      (own, embedded) => embedded.rate / own.rate,
    );
  }
  const latency = await pairs(
    rounds,
    kinds['Float32Array, one by one'],
    () => other(seconds),
    (inProcess, attachedOne) => attachedOne.medianUs / inProcess.medianUs,
  );
  await db.close();
  return {
    set: set.name,
    rows: set.rows,
    dims: set.dims,
    limit: LIMIT,
    ef,
    machine: machine('bench:embedded'),
    ingest,
    'embedded ÷ engine, one thread': rates,
    'attached ÷ in process, median latency': latency,
  };
}

/** Fills a folder and builds its graph. Points per second with vectors as `Float32Array`s, and as arrays of numbers. */
async function load(set, dataDir) {
  const db = await open(dataDir);
  const result = {};
  const forms = { numbers: (row) => Array.from(set.base(row)), float32: (row) => set.base(row) };
  for (const [form, vector] of Object.entries(forms)) {
    await db.recreateCollection('bench', { vectors: { size: set.dims, distance: set.distance } });
    let took = 0;
    for (let first = 0; first < set.rows; first += BATCH) {
      const count = Math.min(BATCH, set.rows - first);
      const points = Array.from({ length: count }, (_, at) => ({
        id: first + at,
        vector: vector(first + at),
      }));
      const startedAt = performance.now();
      await db.upsert('bench', { points });
      took += performance.now() - startedAt;
    }
    result[`${form}: points/s, one request of ${BATCH} at a time`] = Math.round(set.rows / (took / 1000));
  }
  while ((await db.getCollection('bench')).status !== 'green') await sleep(100);
  await db.close();
  return result;
}

function queriesOf(set, ef, form) {
  const body = (query) => ({ query, limit: LIMIT, params: { hnsw_ef: ef } });
  const rows = Array.from({ length: set.queries }, (_, row) => row);
  if (form === 'text') {
    return rows.map((row) => `{"query":${set.queryJson(row)},"limit":${LIMIT},"params":{"hnsw_ef":${ef}}}`);
  }
  return rows.map((row) => body(form === 'float32' ? set.query(row) : Array.from(set.query(row))));
}

/** Queries one after the other, each when the one before is answered. */
async function oneByOne(db, queries, seconds) {
  const times = [];
  const startedAt = performance.now();
  const endsAt = startedAt + seconds * 1000;
  for (let at = 0, before = startedAt; before < endsAt; at++) {
    await db.query('bench', queries[at % queries.length]);
    const now = performance.now();
    times.push((now - before) * 1000);
    before = now;
  }
  const took = performance.now() - startedAt;
  times.sort((a, b) => a - b);
  return { rate: (times.length / took) * 1000, medianUs: times[times.length >> 1] };
}

/** So many queries under way all the time. */
async function several(db, queries, seconds, inFlight) {
  const startedAt = performance.now();
  const endsAt = startedAt + seconds * 1000;
  let next = 0;
  let done = 0;
  const run = async () => {
    while (performance.now() < endsAt) {
      await db.query('bench', queries[next++ % queries.length]);
      done++;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, run));
  return { rate: (done / (performance.now() - startedAt)) * 1000 };
}

/** Measures two things in turns; the median of what `compare` gives, and the medians of both. */
async function pairs(rounds, one, two, compare) {
  const [ones, twos, ratios] = [[], [], []];
  for (let round = 0; round < rounds; round++) {
    const first = await one();
    const second = await two();
    ones.push(first);
    twos.push(second);
    ratios.push(compare(first, second));
  }
  const medians = (results) =>
    Object.fromEntries(
      Object.keys(results[0]).map((key) => [key, round(median(results.map((result) => result[key])))]),
    );
  return {
    ratio: round(median(ratios)),
    lowest: round(Math.min(...ratios)),
    highest: round(Math.max(...ratios)),
    first: medians(ones),
    second: medians(twos),
  };
}

async function startEngine(binary, folder, queries, scratch, processes) {
  const file = join(scratch, 'queries.jsonl');
  writeFileSync(file, queries.join('\n'));
  const child = spawn(binary, ['--folder', folder, '--queries', file], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  processes.push(child);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  await lines.next();
  return async (seconds) => {
    child.stdin.write(`${seconds}\n`);
    const [done, took] = (await lines.next()).value.split(' ').map(Number);
    return { rate: done / took };
  };
}

async function startAttached(flags, ef, folder, processes) {
  const child = fork(fileURLToPath(import.meta.url), { stdio: 'inherit' });
  processes.push(child);
  const answer = () => new Promise((resolve) => child.once('message', resolve));
  const opened = answer();
  child.send({ folder, data: flags.data, ef });
  const { role } = await opened;
  if (!role.startsWith('attached')) throw new Error(`the other process is ${role}`);
  return (seconds) => {
    const measured = answer();
    child.send({ seconds });
    return measured;
  };
}

function round(number) {
  return Number(number.toPrecision(4));
}
