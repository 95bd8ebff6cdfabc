/**
 * `npm run bench:residency -- …`: how long the first search of a collection that sleeps takes, and what a start and the memory
 * of a server with many small collections come to. Client and server share the machine.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { root } from '../scripts/build/tree.mjs';
import { startServer } from '../scripts/server-process.mjs';
import { readFlags, whole } from './flags.mjs';
import { untilInterrupted } from './interruption.mjs';
import { ask } from './load/calls.mjs';
import { machine } from './machine.mjs';
import { median } from './median.mjs';
import { memoryOf } from './proc.mjs';

const USAGE = `npm run bench:residency -- [flags]

  --points N       points of the collection that is woken; default: 60000
  --dim N          components of all vectors; default: 384
  --collections N  collections beside it; default: 10000. One is filled, and the others are its clones, whose files are links:
                   a start and the memory see no difference, and the disk need not hold all of them
  --small N        points of each of them; default: 1000
  --rounds N       wakes, and starts; default: 5
  --out FILE       write everything measured as JSON
`;

const BATCH = 500;
const CLONES_AT_ONCE = 4;
const POLL_MS = 100;
/** The page cache is warm, and the server has nothing left to do from its start. */
const SETTLED_MS = 3_000;

const options = {
  points: { type: 'string', default: '60000' },
  dim: { type: 'string', default: '384' },
  collections: { type: 'string', default: '10000' },
  small: { type: 'string', default: '1000' },
  rounds: { type: 'string', default: '5' },
  out: { type: 'string' },
};
const flags = readFlags(options, USAGE, {
  points: whole,
  dim: whole,
  collections: whole,
  small: whole,
  rounds: whole,
});
const [points, dim, collections, small, rounds] = ['points', 'dim', 'collections', 'small', 'rounds'].map(
  (name) => Number(flags[name]),
);
const folder = mkdtempSync(join(tmpdir(), 'kithdb-bench-residency-'));
let server;

await untilInterrupted(run, async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function run() {
  const origin = machine('bench:residency');
  const wakes = await wake();
  const many = await startMany();
  const report = {
    machine: origin,
    wake: {
      points,
      dim,
      'median ms of the opening': median(wakes.map(({ opened }) => opened)),
      'median ms of the first search': median(wakes.map(({ search }) => search)),
      'median ms of the search after it': median(wakes.map(({ next }) => next)),
      rounds: wakes,
    },
    start: {
      collections,
      'points of each': small,
      dim,
      'median ms until ready, with the start of Node': median(many.map(({ ready }) => ready)),
      'median MiB resident': median(many.map(({ resident }) => resident)),
      rounds: many,
    },
  };
  console.log(JSON.stringify(report, null, 2));
  if (flags.out) writeFileSync(flags.out, `${JSON.stringify(report, null, 2)}\n`);
}

async function start(name, idleSeconds) {
  server = await startServer(
    join(root, 'bin', 'kithdb.js'),
    ['--port', '0', '--data-dir', join(folder, name), '--log-level', 'warn'],
    { KITHDB_RESIDENCY_IDLE_SECONDS: String(idleSeconds) },
  );
}

/** The first search of one collection after each of its sleeps, with its files in the page cache. */
async function wake() {
  await start('wake', 1);
  await fill('large', points);
  const found = [];
  for (let round = 0; round < rounds; round += 1) {
    while ((await call('GET', '/collections/large')).residency.state !== 'asleep') await sleep(POLL_MS);
    const search = await timed(() => call('POST', '/collections/large/points/search', query()));
    const next = await timed(() => call('POST', '/collections/large/points/search', query()));
    const { opened_ms: opened } = (await call('GET', '/collections/large')).residency;
    found.push({ opened: rounded(opened), search, next });
  }
  await server.stop();
  return found;
}

/** Starts over many collections: until the line that says that the server is ready, and its memory a little later. */
async function startMany() {
  await start('many', 1);
  await fill('small-0', small);
  let next = 1;
  const clone = async () => {
    while (next < collections) {
      const name = `small-${next}`;
      next += 1;
      await call('POST', '/collections/small-0/clone', { name });
    }
  };
  await Promise.all(Array.from({ length: CLONES_AT_ONCE }, clone));
  await server.stop();
  const found = [];
  for (let round = 0; round < rounds; round += 1) {
    await start('many', 600);
    await sleep(SETTLED_MS);
    const { resident, anonymous } = memoryOf(server.pid);
    found.push({
      ready: rounded(server.readyAfterMs),
      resident: rounded(resident / 2 ** 20),
      anonymous: rounded(anonymous / 2 ** 20),
    });
    await server.stop();
  }
  return found;
}

async function fill(name, count) {
  await call('PUT', `/collections/${name}`, { vectors: { size: dim, distance: 'Cosine' } });
  for (let from = 0; from < count; from += BATCH) {
    const some = Array.from({ length: Math.min(BATCH, count - from) }, (_, at) => ({
      id: from + at,
      vector: vector(),
      payload: { n: from + at, group: `group ${(from + at) % 100}` },
    }));
    await call('PUT', `/collections/${name}/points`, { points: some });
  }
  while ((await call('GET', `/collections/${name}`)).status !== 'green') await sleep(POLL_MS);
}

function query() {
  return { vector: vector(), limit: 10 };
}

function vector() {
  return Array.from({ length: dim }, () => Math.fround(Math.random() - 0.5));
}

async function timed(work) {
  const startedAt = performance.now();
  await work();
  return rounded(performance.now() - startedAt);
}

function rounded(number) {
  return Number(number.toPrecision(4));
}

function call(method, path, body) {
  return ask(server, method, path, body);
}
