/** Reads and writes at a steady rate through one node while another node, or the leader of the log servers, is killed. */
import { setTimeout as sleep } from 'node:timers/promises';
import { fill, makeCollection } from '../load/calls.mjs';
import { atMost, shown } from '../load/verdict.mjs';
import { pointsInJson, upsertsOf } from '../points.mjs';
import { searchesOf } from './searches.mjs';
import { SteadyLoad } from './steady-load.mjs';
import { failedMs, failures, longestPauseMs, slowestMs, timeline } from './timeline.mjs';

/** Of its three shards the node that is asked lacks one, whose two copies are on the others: its reads need one of these. */
const READ = { name: 'read', config: { shard_number: 3, replication_factor: 2 } };
const WRITTEN = { name: 'changed', config: { shard_number: 3, replication_factor: 3 } };
const ROWS = 10_000;
const READS_PER_SECOND = 100;
const WRITES_PER_SECOND = 20;
const BATCH = 10;
const BIN_MS = 250;
const MUST_READS_FAIL_MS = 0;
const MUST_WRITES_PAUSE_MS = 10_000;

/** What dies: kills it, and gives what starts it again. */
const KINDS = {
  'a data node': async (nodes) => {
    const number = await nodes.otherOwner(READ.name);
    return { kill: () => nodes.kill(number), restart: () => nodes.start(number) };
  },
  'the log leader': async (nodes, log) => {
    const leader = await log.leaderOf(await nodes.streamOf(WRITTEN.name));
    return {
      kill: () => leader.kill(),
      restart: async () => {
        leader.start();
        await log.untilHealthy();
      },
    };
  },
};

/**
 * @param {{nodes: import('./nodes.mjs').Nodes, log: import('./log-servers.mjs').LogServers, set: object, rows: number}} bench
 * @param {{kills: number, beforeSeconds: number, afterSeconds: number}} how
 */
export async function measureDeaths({ nodes, log, set, rows }, how) {
  const count = Math.min(rows, ROWS);
  await fill(nodes, READ.name, set, count, { payload: false, config: READ.config });
  await makeCollection(nodes, WRITTEN.name, set, WRITTEN.config);
  const url = new URL(nodes.url);
  const upserts = upsertsOf(url, WRITTEN.name, pointsInJson({ ...set, rows: count }), BATCH);
  const requests = { reads: searchesOf(url, READ.name, set), writes: upserts };
  const results = [];
  for (const [what, choose] of Object.entries(KINDS)) {
    const runs = [];
    for (let kill = 0; kill < how.kills; kill += 1) {
      for (const { name } of [READ, WRITTEN]) await nodes.untilGreen(name);
      const victim = await choose(nodes, log);
      runs.push(await measureDeath(url, requests, victim, how));
      await victim.restart();
      await nodes.untilLive();
      process.stderr.write(`${what} killed: ${kill + 1} of ${how.kills}\n`);
    }
    results.push(report(what, runs));
  }
  return { reads: READS_PER_SECOND, writes: WRITES_PER_SECOND, batch: BATCH, bin_ms: BIN_MS, results };
}

async function measureDeath(url, { reads, writes }, victim, { beforeSeconds, afterSeconds }) {
  const loads = [
    new SteadyLoad(url, reads, READS_PER_SECOND),
    new SteadyLoad(url, writes, WRITES_PER_SECOND),
  ];
  for (const load of loads) load.start();
  await sleep(beforeSeconds * 1000);
  const killedAt = performance.now();
  await victim.kill();
  await sleep(afterSeconds * 1000);
  const [read, written] = await Promise.all(loads.map((load) => load.stop()));
  // Those before say nothing of the death.
  const [readAfter, writtenAfter] = [read, written].map((samples) =>
    samples.filter(({ answeredAt }) => answeredAt > killedAt),
  );
  return {
    reads_failed_ms: failedMs(readAfter),
    read_failures: failures(readAfter),
    slowest_read_ms: slowestMs(readAfter),
    writes_paused_ms: longestPauseMs(written, killedAt),
    write_failures: failures(writtenAfter),
    slowest_write_ms: slowestMs(writtenAfter),
    reads: timeline(read, killedAt, BIN_MS),
    writes: timeline(written, killedAt, BIN_MS),
  };
}

/** The worst of the kills, and the run whose writes paused longest over time. */
function report(what, runs) {
  const worst = (figure) => Math.max(...runs.map((run) => run[figure]).filter((value) => value !== null));
  const failed = (figure) =>
    runs.reduce((sum, run) => sum + Object.values(run[figure]).reduce((a, b) => a + b, 0), 0);
  const figures = [
    atMost(`${what} killed: reads fail for`, worst('reads_failed_ms'), 'ms', { must: MUST_READS_FAIL_MS }),
    shown(`${what} killed: slowest read`, worst('slowest_read_ms'), 'ms'),
    atMost(`${what} killed: writes pause for`, worst('writes_paused_ms'), 'ms', {
      must: MUST_WRITES_PAUSE_MS,
    }),
    shown(`${what} killed: slowest write`, worst('slowest_write_ms'), 'ms'),
    shown(`${what} killed: writes that failed`, failed('write_failures')),
  ];
  const drawn = runs.find((run) => run.writes_paused_ms === worst('writes_paused_ms'));
  const kills = runs.map((run) => ({ ...run, reads: undefined, writes: undefined }));
  return { what, kills, figures, drawn: { reads: drawn.reads, writes: drawn.writes } };
}
