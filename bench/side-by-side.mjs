/**
 * Searches of two checkouts of this project whose servers run at the same time and are searched in turns of a second. What
 * else the machine does then meets both, which runs one after the other do not have: their ratio differs from pair to pair
 * several times as much.
 */
import { median } from './median.mjs';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServer } from '../scripts/server-process.mjs';
import { requestBytes } from './connection.mjs';
import { measureRate, sendAll } from './load.mjs';

const COLLECTION = '/collections/side-by-side';
const BATCH = 256;
const EF = 64;
const WARM_UP_SECONDS = 2;
/** Turns of each server in a pair, and their length. */
const TURNS = 8;
const TURN_SECONDS = 1;
const CONNECTIONS = [1, 16];

/**
 * One pair: both servers started anew, since two starts of one server differ by some percent for as long as they run.
 *
 * @param {Record<'before' | 'after', string>} trees built checkouts
 * @param {ReturnType<typeof import('../data/vector-set.mjs').readVectorSet>} set
 * @param {boolean} afterFirst which of them takes the first turn
 * @returns {Promise<Record<'before' | 'after', Record<string, {value: number, lowerIsBetter?: boolean}>>>} figures by name
 */
export async function searchSideBySide(trees, set, afterFirst) {
  const order = afterFirst ? ['after', 'before'] : ['before', 'after'];
  const servers = {};
  try {
    for (const which of order) servers[which] = await loaded(trees[which], set);
    const figures = { before: {}, after: {} };
    for (const connections of CONNECTIONS) {
      const turns = { before: [], after: [] };
      for (const { url, searches } of Object.values(servers)) {
        await measureRate(url, connections, searches, WARM_UP_SECONDS);
      }
      for (let turn = 0; turn < TURNS; turn += 1) {
        for (const which of turn % 2 === 0 ? order : order.toReversed()) {
          const { url, searches } = servers[which];
          turns[which].push(await measureRate(url, connections, searches, TURN_SECONDS));
        }
      }
      for (const which of order) Object.assign(figures[which], figuresOf(turns[which], connections));
    }
    return figures;
  } finally {
    for (const { server, dataDir } of Object.values(servers)) {
      await server.stop();
      rmSync(dataDir, { recursive: true, force: true });
    }
  }
}

function figuresOf(turns, connections) {
  const where = `ef ${EF}, connections ${connections}`;
  return {
    [`${where}, searches/s`]: { value: median(turns.map(({ perSecond }) => perSecond)) },
    [`${where}, p99 ms`]: { value: median(turns.map(({ p99Ms }) => p99Ms)), lowerIsBetter: true },
  };
}

/** A started server with the whole set, indexed, and the searches for it. */
async function loaded(tree, set) {
  const dataDir = mkdtempSync(join(tmpdir(), 'kithdb-bench-'));
  const flags = ['--port', '0', '--data-dir', dataDir, '--log-level', 'info'];
  const server = await startServer(join(tree, 'bin', 'kithdb.js'), flags);
  const url = new URL(server.url);
  const prepare = (method, path, body = '') => requestBytes(url, method, `${COLLECTION}${path}`, body, '');
  const vectors = { size: set.dims, distance: set.distance };
  await call(url, prepare('PUT', '', JSON.stringify({ vectors })));
  const batches = Math.ceil(set.rows / BATCH);
  await sendAll(url, 4, batches, (batch) => prepare('PUT', '/points?wait=true', points(set, batch * BATCH)));
  while ((await call(url, prepare('GET', ''))).status !== 'green') {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const searches = Array.from({ length: set.queries }, (_, row) => {
    const body = `{"vector":${set.queryJson(row)},"limit":10,"params":{"hnsw_ef":${EF}}}`;
    return prepare('POST', '/points/search', body);
  });
  return { server, dataDir, url, searches };
}

function points(set, first) {
  const rows = Array.from({ length: Math.min(BATCH, set.rows - first) }, (_, at) => first + at);
  return `{"points":[${rows.map((row) => `{"id":${row},"vector":${set.baseJson(row)}}`).join()}]}`;
}

async function call(url, request) {
  let result;
  const take = (_, body) => (result = JSON.parse(body.toString('utf8')).result);
  await sendAll(url, 1, 1, () => request, take);
  return result;
}
