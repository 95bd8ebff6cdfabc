/**
 * `npm run bench:disk -- --data FOLDER …`: bytes on the disk after a load, by kind, once the server is green and has
 * nothing left to write: a minute after the last write the log is checkpointed and cut. Bytes of files are their lengths;
 * beside them are the blocks that the file system has given them.
 */
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readVectorSet } from '../data/vector-set.mjs';
import { root } from '../scripts/build/tree.mjs';
import { startServer } from '../scripts/server-process.mjs';
import { readFlags, whole } from './flags.mjs';
import { untilInterrupted } from './interruption.mjs';
import { ask, fill } from './load/calls.mjs';
import { machine } from './machine.mjs';
import { extentBytes } from './manifest.mjs';

const USAGE = `npm run bench:disk -- --data FOLDER [flags]

  --data FOLDER  a folder with meta.json (see data/debian-small/README.md); required
  --rows N       load only the first rows; default: all
  --no-payload   leave the payload out
  --keep FOLDER  the data directory, which stays; default: a temporary one
  --out FILE     write everything measured as JSON
`;

const POLL_MS = 2_000;
/** The files have not changed for this time: longer than a server waits before it shortens the log. */
const QUIET_MS = 75_000;
const TIMEOUT_MS = 15 * 60_000;
/** Bytes of a component of a vector as the server keeps it: `float32`. */
const COMPONENT_BYTES = 4;
/** Bytes of a block of `stat`. */
const BLOCK_BYTES = 512;

const options = {
  data: { type: 'string' },
  rows: { type: 'string' },
  'no-payload': { type: 'boolean', default: false },
  keep: { type: 'string' },
  out: { type: 'string' },
};
const flags = readFlags(options, USAGE, { rows: whole });
const set = readVectorSet(flags.data);
const rows = Math.min(set.rows, Number(flags.rows ?? set.rows));
const payloads = flags['no-payload'] ? null : set.payloads;
const folder = flags.keep ?? mkdtempSync(join(tmpdir(), 'kithdb-bench-disk-'));
let server;

await untilInterrupted(run, async () => {
  await server?.stop();
  if (flags.keep === undefined) rmSync(folder, { recursive: true, force: true });
});

async function run() {
  const origin = machine('bench:disk');
  server = await startServer(join(root, 'bin', 'kithdb.js'), [
    ...['--port', '0'],
    ...['--data-dir', folder],
    ...['--log-level', 'warn'],
  ]);
  const startedAt = performance.now();
  await fill(server, 'bench', set, rows, { payload: payloads !== null });
  const afterLoad = total(listed());
  const settledMs = await untilSettled();
  const { points_count: points } = await ask(server, 'GET', '/collections/bench');
  const raw = {
    vectors: rows * set.dims * COMPONENT_BYTES,
    payloads: payloads === null ? 0 : payloadBytes(),
  };
  const rawBytes = raw.vectors + raw.payloads;
  const files = listed();
  const onDisk = total(files);
  const report = {
    machine: origin,
    set: set.name,
    points,
    dims: set.dims,
    'seconds until nothing changed': Math.round((settledMs - startedAt) / 1000),
    'raw bytes': { ...raw, all: rawBytes },
    'bytes when the load ended': afterLoad.bytes,
    'bytes by kind': byKind(files),
    'bytes on the disk': onDisk.bytes,
    'bytes of their blocks': onDisk.blocks,
    'bytes on the disk by raw bytes': Number((onDisk.bytes / rawBytes).toFixed(3)),
    'bytes of their blocks by raw bytes': Number((onDisk.blocks / rawBytes).toFixed(3)),
  };
  const text = JSON.stringify(report, null, 2);
  console.log(text);
  if (flags.out) writeFileSync(flags.out, `${text}\n`);
}

/** Bytes of the payloads as JSON without white space. */
function payloadBytes() {
  return payloads
    .slice(0, rows)
    .reduce((sum, payload) => sum + Buffer.byteLength(JSON.stringify(payload)), 0);
}

/** Waits until no file has changed for longer than a server waits; the time of the last change. */
async function untilSettled() {
  const startedAt = performance.now();
  let [last, since] = [JSON.stringify(listed()), startedAt];
  while (performance.now() - since < QUIET_MS) {
    if (performance.now() - startedAt > TIMEOUT_MS) throw new Error('the files never stop changing');
    await sleep(POLL_MS);
    const now = JSON.stringify(listed());
    if (now !== last) [last, since] = [now, performance.now()];
  }
  return since;
}

/** Every file of the data directory; a file that goes meanwhile is left out. */
function listed() {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true });
  return names
    .filter((entry) => entry.isFile())
    .flatMap((entry) => {
      const path = join(entry.parentPath, entry.name);
      const found = statSync(path, { throwIfNoEntry: false });
      if (found === undefined) return [];
      return [{ path: relative(folder, path), bytes: found.size, blocks: found.blocks * BLOCK_BYTES }];
    })
    .sort((a, b) => a.path.localeCompare(b.path));
}

function total(files) {
  const sum = (of) => files.reduce((all, file) => all + of(file), 0);
  return { bytes: sum((file) => file.bytes), blocks: sum((file) => file.blocks) };
}

/** Bytes of the files by what they hold. What a data file has beside its extents is slack: headers, alignment, what is dead. */
function byKind(files) {
  const kinds = { log: 0, reserve: 0, manifests: 0, catalog: 0, others: 0 };
  const data = { points: 0, payloads: 0, rows: 0, links: 0, codes: 0 };
  let dataBytes = 0;
  for (const { path, bytes } of files) {
    if (path.endsWith('.data')) dataBytes += bytes;
    else if (path.startsWith('log/')) kinds.log += bytes;
    else if (path.startsWith('catalog/') || path === 'collections/CATALOG') kinds.catalog += bytes;
    else if (path.startsWith('reserve')) kinds.reserve += bytes;
    else if (path.endsWith('/MANIFEST')) {
      kinds.manifests += bytes;
      const found = extentBytes(readFileSync(join(folder, path)));
      for (const kind of Object.keys(data)) data[kind] += found[kind];
    } else kinds.others += bytes;
  }
  const used = Object.values(data).reduce((sum, bytes) => sum + bytes, 0);
  return { ...data, slack: dataBytes - used, ...kinds };
}
