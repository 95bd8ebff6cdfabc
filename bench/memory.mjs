/**
 * `npm run bench:memory -- --limit-mib 256 …`: upserts that never end, into a server that may hold little memory. It must
 * stay alive, refuse with 507 or 429 what does not fit, and lose nothing. Where it stays full, points are deleted, after
 * which it must take writes again. At the end the process is killed and what was acknowledged is looked for.
 *
 * The limit is that of a control group where one can be made (as root), otherwise `KITHDB_MEMORY_LIMIT`.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { root } from '../scripts/build/tree.mjs';
import { startServer } from '../scripts/server-process.mjs';
import { Cgroup } from './load/cgroup.mjs';
import { untilInterrupted } from './interruption.mjs';
import { machine } from './machine.mjs';

const { values: flags } = parseArgs({
  options: {
    'limit-mib': { type: 'string', default: '256' },
    minutes: { type: 'string', default: '10' },
    dim: { type: 'string', default: '1024' },
    batch: { type: 'string', default: '100' },
    connections: { type: 'string', default: '2' },
    indexes: { type: 'string', default: '0' },
    'pause-ms': { type: 'string', default: '0' },
    setting: { type: 'boolean', default: false },
    out: { type: 'string' },
  },
});
const limitBytes = Number(flags['limit-mib']) * 2 ** 20;
const [dim, batch, indexes] = [flags.dim, flags.batch, flags.indexes].map(Number);
/** A server that refused for so long is given room. */
const FULL_MS = 15_000;
const PAGE = 10_000;
/** A vector has so many pieces, each one of these. */
const PARTS = 4;
const PIECES = Array.from({ length: 2048 }, (_, piece) =>
  Array.from({ length: dim / PARTS }, (_, at) => (hash(piece * 65_536 + at) % 2001) / 1000 - 1)
    .map((component) => component.toFixed(3))
    .join(),
);

const dataDir = mkdtempSync(join(tmpdir(), 'kithdb-bench-memory-'));
const group = flags.setting ? null : Cgroup.make(Number(flags['limit-mib']));
const report = {
  machine: machine('bench:memory'),
  limit_mib: Number(flags['limit-mib']),
  by: group === null ? 'setting' : 'control group',
  statuses: {},
  searches: {},
  deleted_for_room: 0,
  peak_rss_mib: 0,
  most_points: 0,
};
let server;

await untilInterrupted(run, async () => {
  await server?.stop().catch(() => undefined);
  await group?.remove();
  rmSync(dataDir, { recursive: true, force: true });
});

async function run() {
  await start();
  const vectors = { size: dim, distance: 'Cosine' };
  await must('PUT', '/collections/bench', { vectors });
  for (let at = 0; at < indexes; at += 1) {
    const field_schema = at % 2 === 0 ? 'keyword' : 'integer';
    await must('PUT', '/collections/bench/index?wait=true', { field_name: `f${at}`, field_schema });
  }
  const state = { next: 0, batches: [], until: Date.now() + Number(flags.minutes) * 60_000, fullSince: 0 };
  const watch = setInterval(sample, 500);
  const workers = Array.from({ length: Number(flags.connections) }, () => upserts(state));
  await Promise.all([...workers, searches(state), room(state)]);
  clearInterval(watch);
  sample();
  report.points = await count();
  const expected = state.batches.length * batch;
  report.acknowledged = expected;
  report.lost_before_kill = expected - report.points;
  process.kill(server.pid, 'SIGKILL');
  await server.stop();
  await start();
  report.restart_ms = Math.round(server.readyAfterMs);
  report.lost_after_kill = await missing(state.batches);
  report.group = group && { peak_mib: Math.round(group.peakBytes / 2 ** 20), events: group.events };
  const text = JSON.stringify(report, null, 2);
  console.log(text);
  if (flags.out) writeFileSync(flags.out, `${text}\n`);
  if (report.lost_before_kill !== 0 || report.lost_after_kill !== 0) process.exitCode = 1;
}

async function start() {
  const args = ['--port', '0', '--data-dir', dataDir, '--log-level', 'warn'];
  const env = {
    KITHDB_TOKEN_STORE: 'memory',
    ...(group === null && { KITHDB_MEMORY_LIMIT: `${limitBytes}` }),
  };
  server = await startServer(join(root, 'bin', 'kithdb.js'), args, env, group?.prefix);
}

/** Upserts batch after batch of new points, each again until it is taken. */
async function upserts(state) {
  while (Date.now() < state.until) {
    const from = state.next;
    state.next += batch;
    const body = `{"points":[${Array.from({ length: batch }, (_, at) => point(from + at)).join()}]}`;
    while (Date.now() < state.until) {
      const { status, retryAfter } = await send('PUT', '/collections/bench/points?wait=true', body);
      tally(report.statuses, status);
      if (status === 200) {
        state.batches.push(from);
        state.fullSince = 0;
        await sleep(Number(flags['pause-ms']));
        break;
      }
      if (status !== 507 && status !== 429) throw new Error(`an upsert was answered with ${status}`);
      state.fullSince ||= Date.now();
      await sleep(Math.min(retryAfter, 1) * 1000);
    }
  }
}

async function searches(state) {
  while (Date.now() < state.until) {
    const { vector } = JSON.parse(point(7));
    const body = JSON.stringify({ vector, limit: 10, with_payload: true });
    tally(report.searches, (await send('POST', '/collections/bench/points/search', body)).status);
    await sleep(100);
  }
}

/** Deletes a quarter of the points when nothing was taken for a while. */
async function room(state) {
  while (Date.now() < state.until) {
    await sleep(500);
    report.most_points = Math.max(report.most_points, state.batches.length * batch);
    if (state.fullSince === 0 || Date.now() - state.fullSince < FULL_MS) continue;
    const gone = state.batches.splice(0, Math.ceil(state.batches.length / 4));
    for (const from of gone) {
      const points = Array.from({ length: batch }, (_, at) => from + at);
      await must('POST', '/collections/bench/points/delete?wait=true', { points });
    }
    report.deleted_for_room += gone.length * batch;
    state.fullSince = Date.now();
  }
}

/** A point as JSON. Its vector is made of random pieces, which costs the load less than numbers would. */
function point(id) {
  const vector = Array.from({ length: PARTS }, (_, at) => PIECES[hash(id * PARTS + at) % PIECES.length]);
  const payload = Array.from({ length: indexes }, (_, at) =>
    at % 2 === 0 ? `"f${at}":"word ${hash(id + at) % 5000}"` : `"f${at}":${hash(id - at)}`,
  );
  return `{"id":${id},"vector":[${vector.join()}],"payload":{${payload.join()}}}`;
}

/** Mixes all bits of a number (SplitMix32). */
function hash(number) {
  let value = Math.imul(number ^ (number >>> 16), 0x21f0aaad);
  value = Math.imul(value ^ (value >>> 15), 0x735a2d97);
  return (value ^ (value >>> 15)) >>> 0;
}

async function count() {
  return (await must('POST', '/collections/bench/points/count', { exact: true })).count;
}

/** Points of acknowledged batches that a scroll through the collection does not meet, and points of no such batch. */
async function missing(batches) {
  const wanted = new Set(batches);
  const met = new Map();
  let offset;
  do {
    const body = { limit: PAGE, with_payload: false, ...(offset !== undefined && { offset }) };
    const page = await must('POST', '/collections/bench/points/scroll', body);
    for (const { id } of page.points) tally(met, id - (id % batch));
    offset = page.next_page_offset ?? undefined;
  } while (offset !== undefined);
  return [...wanted].reduce((sum, from) => sum + batch - (met.get(from) ?? 0), 0);
}

function tally(counts, key) {
  if (counts instanceof Map) counts.set(key, (counts.get(key) ?? 0) + 1);
  else counts[key] = (counts[key] ?? 0) + 1;
}

async function send(method, path, body) {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(`${server.url}${path}`, { method, headers, body });
  const text = await response.text();
  return { status: response.status, text, retryAfter: Number(response.headers.get('retry-after') ?? 1) };
}

async function must(method, path, body) {
  const { status, text } = await send(method, path, JSON.stringify(body));
  if (status !== 200) throw new Error(`${method} ${path}: ${status} ${text}`);
  return JSON.parse(text).result;
}

function sample() {
  const rss = /RssAnon:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))?.[1];
  report.peak_rss_mib = Math.max(report.peak_rss_mib, Math.round(Number(rss ?? 0) / 1024));
}
