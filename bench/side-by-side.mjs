/**
 * Searches of two servers that run at the same time and are searched in turns of a second. What else the machine does then
 * meets both, which runs one after the other do not have: their ratio differs from pair to pair several times as much.
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
 * @param {Record<string, {tree: string, launcher?: string, flags?: string[]}>} starts two servers by name: a built checkout,
 *   what starts the server where that is not its command, and flags
 * @param {ReturnType<typeof import('../data/vector-set.mjs').readVectorSet>} set
 * @param {string[]} order their names, that of the first turn first
 * @param {object} [how]
 * @param {boolean} [how.suspends] whether the server that is not searched is suspended meanwhile
 * @param {boolean} [how.isOne] whether one server is started for both names, and `around` makes the difference
 * @param {(which: string, pid: number, turn: () => Promise<any>) => Promise<any>} [how.around] does a turn of a server
 * @returns {Promise<Record<string, Record<string, {value: number, lowerIsBetter?: boolean}>>>} figures by server
 */
export async function searchSideBySide(starts, set, order, how = {}) {
  const { suspends = false, isOne = false, around = (_which, _pid, turn) => turn() } = how;
  const servers = {};
  const search = async (which, connections, seconds) => {
    const { server, url, searches } = servers[which];
    const others = suspends ? order.filter((other) => other !== which) : [];
    const signal = (name) => others.forEach((other) => process.kill(servers[other].server.pid, name));
    signal('SIGSTOP');
    try {
      return await around(which, server.pid, () => measureRate(url, connections, searches, seconds));
    } finally {
      signal('SIGCONT');
    }
  };
  try {
    for (const which of order) {
      servers[which] = (isOne && Object.values(servers)[0]) || (await loaded(starts[which], set));
    }
    const figures = Object.fromEntries(order.map((which) => [which, {}]));
    for (const connections of CONNECTIONS) {
      const turns = Object.fromEntries(order.map((which) => [which, []]));
      for (const which of order) await search(which, connections, WARM_UP_SECONDS);
      for (let turn = 0; turn < TURNS; turn += 1) {
        for (const which of turn % 2 === 0 ? order : order.toReversed()) {
          turns[which].push(await search(which, connections, TURN_SECONDS));
        }
      }
      for (const which of order) Object.assign(figures[which], figuresOf(turns[which], connections));
    }
    return figures;
  } finally {
    for (const { server, dataDir } of new Set(Object.values(servers))) {
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
async function loaded({ tree, launcher = join(tree, 'bin', 'kithdb.js'), flags: more = [] }, set) {
  const dataDir = mkdtempSync(join(tmpdir(), 'kithdb-bench-'));
  const flags = ['--port', '0', '--data-dir', dataDir, '--log-level', 'info', ...more];
  const server = await startServer(launcher, flags);
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
