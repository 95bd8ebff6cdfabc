/** Searches of collections of a cluster beside those of a server by itself: processor time a query, in turns. */
import { ratioInterval } from '../interval.mjs';
import { requestBytes } from '../connection.mjs';
import { fill } from '../load/calls.mjs';
import { atMost, shown } from '../load/verdict.mjs';
import { measureRate, sendAll } from '../load.mjs';
import { recall } from '../recall.mjs';
import { processorUs } from './nodes.mjs';

const LIMIT = 10;
const EF = 64;
const CONNECTIONS = 4;
const COLLECTION = 'searched';
const MUST_RATIO = 1.5;

/** Collections of the cluster. Only the last one has to ask other nodes. */
const CASES = [
  { name: 'one shard, a copy on each node', collection: 'one', shards: 1, copies: 3 },
  { name: 'three shards, a copy of each on each node', collection: 'copied', shards: 3, copies: 3 },
  { name: 'three shards, one on each node', collection: 'spread', shards: 3, copies: 1, must: MUST_RATIO },
];

/**
 * @param {{nodes: import('./nodes.mjs').Nodes, alone: import('./nodes.mjs').Alone, set: object, rows: number}} bench
 * @param {{rounds: number, seconds: number}} how
 */
export async function compareSearches({ nodes, alone, set, rows }, { rounds, seconds }) {
  const sides = [{ name: 'alone', server: alone, collection: COLLECTION }];
  await fill(alone, COLLECTION, set, rows, { payload: false });
  for (const { shards, copies, ...side } of CASES) {
    const config = { shard_number: shards, replication_factor: copies };
    await fill(nodes, side.collection, set, rows, { payload: false, config });
    await nodes.untilGreen(side.collection);
    sides.push({ ...side, server: nodes });
  }
  for (const side of sides) {
    side.requests = searchesOf(side.server.url, side.collection, set);
    side.recall = rows === set.rows ? await recallOf(side, set) : null;
    await measureRate(new URL(side.server.url), CONNECTIONS, side.requests, seconds);
  }
  const found = [];
  for (let round = 0; round < rounds; round += 1) {
    const turn = {};
    for (const side of round % 2 === 0 ? sides : sides.toReversed())
      turn[side.name] = await measure(side, seconds);
    found.push(turn);
    process.stderr.write(`searches: round ${round + 1} of ${rounds}\n`);
  }
  return report(sides, found);
}

/** Searches for all queries of a set. */
export function searchesOf(url, collection, set) {
  return Array.from({ length: set.queries }, (_, row) => {
    const body = `{"vector":${set.queryJson(row)},"limit":${LIMIT},"params":{"hnsw_ef":${EF}}}`;
    return requestBytes(new URL(url), 'POST', `/collections/${collection}/points/search`, body, '');
  });
}

async function measure({ server, requests }, seconds) {
  const before = processorUs(server.pids);
  const rate = await measureRate(new URL(server.url), CONNECTIONS, requests, seconds);
  const used = processorUs(server.pids) - before;
  return {
    processorUs: used / rate.requests,
    perSecond: rate.perSecond,
    p50Ms: rate.p50Ms,
    p99Ms: rate.p99Ms,
  };
}

async function recallOf({ server, requests }, set) {
  const answers = [];
  const take = (index, body) =>
    (answers[index] = JSON.parse(body.toString('utf8')).result.map(({ id }) => id));
  await sendAll(new URL(server.url), CONNECTIONS, requests.length, (index) => requests[index], take);
  return recall(set, answers, LIMIT);
}

function report(sides, rounds) {
  const figures = [];
  for (const { name, must, recall: share } of sides) {
    if (name !== 'alone') {
      const ratio = ratioInterval(rounds.map((round) => round[name].processorUs / round.alone.processorUs));
      figures.push({
        ...atMost(`${name}: processor time a query ÷ alone`, ratio.ratio, '', must && { must }),
        low: ratio.low,
        high: ratio.high,
      });
      const rate = ratioInterval(rounds.map((round) => round[name].perSecond / round.alone.perSecond));
      figures.push(shown(`${name}: queries a second ÷ alone`, rate.ratio));
    }
    figures.push(shown(`${name}: processor time a query`, meanOf(rounds, name, 'processorUs'), 'µs'));
    figures.push(shown(`${name}: p50`, meanOf(rounds, name, 'p50Ms'), 'ms'));
    if (share !== null) figures.push(shown(`${name}: recall@${LIMIT}`, share));
  }
  return { connections: CONNECTIONS, ef: EF, limit: LIMIT, figures, rounds };
}

function meanOf(rounds, name, figure) {
  return rounds.reduce((sum, round) => sum + round[name][figure], 0) / rounds.length;
}
