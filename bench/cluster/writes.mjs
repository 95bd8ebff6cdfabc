/** Upserts into new collections of a cluster beside those of a server by itself, in turns. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ratioInterval } from '../interval.mjs';
import { makeCollection } from '../load/calls.mjs';
import { atLeast, atMost, shown } from '../load/verdict.mjs';
import { sendAll } from '../load.mjs';
import { pointsInJson, upsertsOf } from '../points.mjs';
import { processorUs } from './nodes.mjs';

const COLLECTION = 'written';
const CONNECTIONS = 16;
const COPIES = 3;
const MUST_PROCESSOR = 6;
const MUST_RATE = 0.1;
/** Within this time the nodes have told one another how far their replicas are. */
const HEARTBEATS_MS = 1_200;

/** What is written in each turn; points are those of the first rows of the set. */
const CASES = [
  { shards: 1, batch: 100, points: 10_000 },
  { shards: 3, batch: 100, points: 10_000 },
  { shards: 1, batch: 1, points: 1_500 },
];

/**
 * @param {{nodes: import('./nodes.mjs').Nodes, alone: import('./nodes.mjs').Alone, set: object, rows: number}} bench
 * @param {{rounds: number}} how
 */
export async function compareWrites({ nodes, alone, set, rows }, { rounds }) {
  const points = pointsInJson({ ...set, rows: Math.min(rows, 10_000) });
  const results = [];
  for (const { shards, batch, points: count } of CASES) {
    const written = points.slice(0, count);
    const found = [];
    for (let round = 0; round < rounds; round += 1) {
      const sides = [
        ['alone', () => write(alone, set, written, batch, {})],
        [
          'cluster',
          () => write(nodes, set, written, batch, { shard_number: shards, replication_factor: COPIES }),
        ],
      ];
      const turn = {};
      for (const [name, run] of round % 2 === 0 ? sides : sides.toReversed()) turn[name] = await run();
      found.push(turn);
      process.stderr.write(`writes, ${shards} shards, batch ${batch}: round ${round + 1} of ${rounds}\n`);
    }
    results.push({
      shards,
      copies: COPIES,
      batch,
      points: written.length,
      connections: CONNECTIONS,
      ...report(shards, batch, found),
    });
  }
  return results;
}

/** Writes into a new collection. The processor time is that until its graphs are built and all replicas have every point. */
async function write(server, set, points, batch, config) {
  await makeCollection(server, COLLECTION, set, config);
  const url = new URL(server.url);
  const requests = upsertsOf(url, COLLECTION, points, batch);
  const before = usedBy(server);
  const { seconds } = await sendAll(url, CONNECTIONS, requests.length, (index) => requests[index]);
  // A replica that is behind is known as such only with the next heartbeat. The server by itself waits as long.
  await sleep(HEARTBEATS_MS);
  await server.untilGreen(COLLECTION);
  const after = usedBy(server);
  const ofPoint = (which) => (after[which] - before[which]) / points.length;
  return { perSecond: points.length / seconds, processorUs: ofPoint('all'), logUs: ofPoint('log') };
}

function usedBy({ pids, logPids }) {
  return { all: processorUs(pids), log: processorUs(logPids) };
}

function report(shards, batch, rounds) {
  const what = `${shards === 1 ? 'one shard' : `${shards} shards`}, ${batch === 1 ? 'one point' : `${batch} points`} a request`;
  const processor = ratioInterval(
    rounds.map(({ cluster, alone }) => cluster.processorUs / alone.processorUs),
  );
  const rate = ratioInterval(rounds.map(({ cluster, alone }) => cluster.perSecond / alone.perSecond));
  const mean = (side, figure) => rounds.reduce((sum, round) => sum + round[side][figure], 0) / rounds.length;
  const figures = [
    {
      ...atMost(`${what}: processor time a point ÷ alone`, processor.ratio, '', { must: MUST_PROCESSOR }),
      ...bounds(processor),
    },
    { ...atLeast(`${what}: points a second ÷ alone`, rate.ratio, '', { must: MUST_RATE }), ...bounds(rate) },
    shown(`${what}: processor time a point`, mean('cluster', 'processorUs'), 'µs'),
    shown(`${what}: of which log servers`, mean('cluster', 'logUs'), 'µs'),
    shown(`${what}: points a second`, mean('cluster', 'perSecond')),
    shown(`${what}: the same, alone`, mean('alone', 'perSecond')),
  ];
  return { figures, rounds };
}

function bounds({ low, high }) {
  return { low, high };
}
