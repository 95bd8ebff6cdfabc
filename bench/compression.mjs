/**
 * `npm run bench:compression`: whether compressed answers hold up searches. One client searches, one request after the
 * other, while others read pages of a megabyte: not at all, as they are, and compressed. The order alternates, and each
 * round begins with a server that has just done the same.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { root } from '../scripts/build/tree.mjs';
import { startServer } from '../scripts/server-process.mjs';
import { untilInterrupted } from './interruption.mjs';
import { machine } from './machine.mjs';

const { values: flags } = parseArgs({
  options: {
    seconds: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '5' },
    readers: { type: 'string', default: '2' },
    out: { type: 'string' },
  },
});
const [seconds, rounds, readers] = [flags.seconds, flags.rounds, flags.readers].map(Number);
const POINTS = 4000;
const DIM = 64;
const CODINGS = { none: undefined, plain: 'identity', gzip: 'gzip' };

const dataDir = mkdtempSync(join(tmpdir(), 'kithdb-bench-compression-'));
let server;
await untilInterrupted(run, async () => {
  await server?.stop().catch(() => undefined);
  rmSync(dataDir, { recursive: true, force: true });
});

async function run() {
  server = await startServer(join(root, 'bin', 'kithdb.js'), [
    '--port',
    '0',
    '--data-dir',
    dataDir,
    '--log-level',
    'error',
  ]);
  await fill();
  const figures = Object.fromEntries(
    Object.keys(CODINGS).map((name) => [name, { times: [], pages: 0, bytes: 0 }]),
  );
  for (let round = 0; round < rounds; round += 1) {
    const names = Object.keys(CODINGS);
    for (const name of round % 2 === 0 ? names : names.reverse()) await measure(name, figures[name]);
  }
  const report = { machine: machine('bench:compression'), seconds: seconds * rounds, readers };
  for (const [name, { times, pages, bytes }] of Object.entries(figures)) {
    times.sort((a, b) => a - b);
    const at = (part) => Number(times[Math.floor(times.length * part)].toFixed(3));
    report[name] = {
      searches: times.length,
      p50_ms: at(0.5),
      p99_ms: at(0.99),
      pages,
      mib: Number((bytes / 2 ** 20).toFixed(1)),
    };
  }
  console.log(JSON.stringify(report, null, 2));
  if (flags.out !== undefined) writeFileSync(flags.out, `${JSON.stringify(report, null, 2)}\n`);
}

async function fill() {
  await call('PUT', '/collections/c', { vectors: { size: DIM, distance: 'Cosine' } });
  for (let from = 0; from < POINTS; from += 500) {
    const points = Array.from({ length: 500 }, (_, at) => point(from + at));
    await call('PUT', '/collections/c/points', { points });
  }
}

function point(id) {
  return {
    id,
    vector: vector(id),
    payload: { title: `article ${id}`, text: `${id} owls, foxes and hares. `.repeat(8) },
  };
}

/** Numbers of three digits, the same for the same seed. */
function vector(seed) {
  return Array.from({ length: DIM }, (_, at) => (((seed + 1) * (at + 7) * 2_654_435_761) % 1999) / 1000 - 1);
}

/** Searches for some seconds, beside readers of pages that ask for that coding. */
async function measure(name, figure) {
  const until = performance.now() + seconds * 1000;
  const reading =
    name === 'none' ? [] : Array.from({ length: readers }, () => read(CODINGS[name], until, figure));
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  for (let seed = 0; performance.now() < until; seed += 1) {
    const startedAt = performance.now();
    await call('POST', '/collections/c/points/search', { vector: vector(seed), limit: 10 }, {}, agent);
    figure.times.push(performance.now() - startedAt);
  }
  agent.destroy();
  await Promise.all(reading);
}

/** Reads pages of about a megabyte until then. */
async function read(coding, until, figure) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  while (performance.now() < until) {
    const body = { limit: 1200, with_vector: true };
    figure.bytes += await call(
      'POST',
      '/collections/c/points/scroll',
      body,
      { 'accept-encoding': coding },
      agent,
    );
    figure.pages += 1;
  }
  agent.destroy();
}

/** The bytes of an answer, which must be a success. */
function call(method, path, body, headers = {}, agent = undefined) {
  const json = JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const sent = request(
      new URL(path, server.url),
      {
        method,
        agent,
        headers: {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(json),
          ...headers,
        },
      },
      (answer) => {
        let bytes = 0;
        answer.on('data', (chunk) => (bytes += chunk.length));
        answer.on('end', () => {
          if (answer.statusCode === 200) resolve(bytes);
          else reject(new Error(`${method} ${path}: ${answer.statusCode}`));
        });
        answer.on('error', reject);
      },
    );
    sent.on('error', reject);
    sent.end(json);
  });
}
