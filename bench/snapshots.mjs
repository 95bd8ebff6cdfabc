/**
 * `npm run bench:snapshots -- --data FOLDER …`: a clone of a collection, a snapshot of it, its recovery and its upload, beside a
 * file of as many bytes that is written and synced. Client and server share the machine.
 */
import { mkdtempSync, openAsBlob, rmSync, writeFileSync } from 'node:fs';
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

const USAGE = `npm run bench:snapshots -- --data FOLDER [flags]

  --data FOLDER  a folder with meta.json (see data/debian-small/README.md); required
  --rounds N     how often each is measured; default: 3
  --out FILE     write everything measured as JSON
`;

const CONNECTIONS = 4;
const BATCH = 256;
const POLL_MS = 200;

const options = {
  data: { type: 'string' },
  rounds: { type: 'string', default: '3' },
  out: { type: 'string' },
};
const flags = readFlags(options, USAGE, { rounds: whole });
const set = readVectorSet(flags.data);
const folder = mkdtempSync(join(tmpdir(), 'kithdb-bench-snapshots-'));
let server;

await untilInterrupted(run, async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function run() {
  const launcher = join(root, 'bin', 'kithdb.js');
  const dataDir = join(folder, 'data');
  const args = ['--port', '0', '--data-dir', dataDir, '--dialect', 'qdrant', '--log-level', 'warn'];
  server = await startServer(launcher, args);
  await ingest();
  const seconds = { clone: [], snapshot: [], recovery: [], upload: [], disk: [] };
  let size;
  for (let turn = 0; turn < Number(flags.rounds); turn++) {
    seconds.clone.push(await timed(() => call('POST', '/collections/c/clone', { name: 'clone' })));
    await call('DELETE', '/collections/clone');
    let made;
    seconds.snapshot.push(await timed(async () => (made = await call('POST', '/collections/c/snapshots'))));
    size = made.size;
    const location = { location: made.name };
    seconds.recovery.push(
      await timed(() => call('PUT', '/collections/recovered/snapshots/recover', location)),
    );
    const file = join(folder, 'snapshot');
    const answer = await fetch(new URL(`/collections/c/snapshots/${made.name}`, server.url));
    writeFileSync(file, Buffer.from(await answer.arrayBuffer()));
    const form = new globalThis.FormData();
    form.append('snapshot', await openAsBlob(file), 'snapshot');
    seconds.upload.push(await timed(() => send('POST', '/collections/recovered/snapshots/upload', form)));
    seconds.disk.push(rounded(secondsToWrite(join(folder, 'bare'), size)));
    await call('DELETE', `/collections/c/snapshots/${made.name}`);
    const { count } = await call('POST', '/collections/recovered/points/count', {});
    if (count !== set.rows) throw new Error(`the recovered collection has ${count} of ${set.rows} points`);
  }
  const report = {
    set: set.name,
    points: set.rows,
    dims: set.dims,
    snapshotBytes: size,
    machine: machine('bench:snapshots'),
    'median seconds': Object.fromEntries(
      Object.entries(seconds).map(([name, times]) => [name, median(times)]),
    ),
    'seconds of each round': seconds,
  };
  console.log(JSON.stringify(report, null, 2));
  if (flags.out) writeFileSync(flags.out, `${JSON.stringify(report, null, 2)}\n`);
}

async function ingest() {
  await call('PUT', '/collections/c', { vectors: { size: set.dims, distance: set.distance } });
  const url = new URL(server.url);
  const requests = upsertsOf(url, 'c', pointsInJson(set), BATCH);
  await sendAll(url, CONNECTIONS, requests.length, (at) => requests[at]);
  while ((await call('GET', '/collections/c')).status !== 'green') await sleep(POLL_MS);
}

async function timed(work) {
  const startedAt = performance.now();
  await work();
  return rounded((performance.now() - startedAt) / 1000);
}

function rounded(seconds) {
  return Number(seconds.toPrecision(4));
}

function call(method, path, body) {
  return send(method, path, body && JSON.stringify(body), { 'content-type': 'application/json' });
}

async function send(method, path, body, headers) {
  const answer = await fetch(new URL(path, server.url), { method, ...(body && { body }), headers });
  const { status, result } = await answer.json();
  if (answer.status !== 200) throw new Error(`${method} ${path}: ${answer.status} ${status.error}`);
  return result;
}
