/**
 * `npm run bench:cluster -- --data FOLDER …`: three nodes and three log servers beside a server by itself, all on this machine.
 * Processor time and rate of searches and of writes as ratios of turns, and what clients of a node have of the death of another
 * one, or of the leader of the log servers.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readVectorSet } from '../data/vector-set.mjs';
import { measureDeaths } from './cluster/deaths.mjs';
import { logServerProgram, LogServers } from './cluster/log-servers.mjs';
import { Alone, Nodes, processorUs } from './cluster/nodes.mjs';
import { picture } from './cluster/picture.mjs';
import { compareSearches } from './cluster/searches.mjs';
import { compareWrites } from './cluster/writes.mjs';
import { listOf, positive, readFlags, whole } from './flags.mjs';
import { untilInterrupted } from './interruption.mjs';
import { figureTable, passes, shown } from './load/verdict.mjs';
import { machine } from './machine.mjs';

const PARTS = ['searches', 'writes', 'deaths'];

const USAGE = `npm run bench:cluster -- --data FOLDER [flags]

  --data FOLDER     a folder with meta.json (see data/debian-small/README.md); required
  --rows N          use only the first N rows; recall is measured with all rows only
  --parts LIST      of ${PARTS.join(', ')}; default: all
  --rounds N        turns of each side, at least two; default: 8
  --seconds S       length of a turn of searches; default: 2
  --kills N         how often each kind of process is killed; default: 3
  --before S        seconds of steady load before a kill; default: 5
  --after S         and after it; default: 15
  --folder FOLDER   where data go, to choose the disk; default: the system's temporary folder
  --out FILE        write everything measured as JSON
  --picture FILE    write the latencies around the deaths as SVG

The log servers are those of KITHDB_NATS_SERVER, or of a program that Go builds.
`;

const options = {
  data: { type: 'string' },
  rows: { type: 'string' },
  parts: { type: 'string', default: PARTS.join(',') },
  rounds: { type: 'string', default: '8' },
  seconds: { type: 'string', default: '2' },
  kills: { type: 'string', default: '3' },
  before: { type: 'string', default: '5' },
  after: { type: 'string', default: '15' },
  folder: { type: 'string', default: tmpdir() },
  out: { type: 'string' },
  picture: { type: 'string' },
};

const flags = readFlags(options, USAGE, {
  rows: whole,
  parts: listOf((part) => PARTS.includes(part) || `of ${PARTS.join(', ')}`),
  rounds: (text) => (whole(text) === true && Number(text) >= 2) || 'a whole number from 2 on',
  seconds: positive,
  kills: whole,
  before: positive,
  after: positive,
});

/** Nothing happens meanwhile: what the processes use then is not for a request. */
const IDLE_SECONDS = 5;

const folder = mkdtempSync(join(flags.folder, 'kithdb-bench-cluster-'));
const origin = machine('bench:cluster');
const running = [];

await untilInterrupted(run, async () => {
  for (const process of running.toReversed()) await process.stop().catch(() => undefined);
  rmSync(folder, { recursive: true, force: true });
});

async function run() {
  const set = readVectorSet(flags.data);
  const rows = Math.min(set.rows, Number(flags.rows ?? set.rows));
  const bench = { set, rows, ...(await startAll()) };
  const report = {
    set: { name: set.name, rows, dims: set.dims, distance: set.distance },
    machine: origin,
    idle: await measureIdle(bench),
  };
  const keep = () => flags.out && writeFileSync(flags.out, `${JSON.stringify(report, null, 2)}\n`);
  const rounds = Number(flags.rounds);
  const parts = flags.parts.split(',');
  if (parts.includes('searches')) {
    report.searches = await compareSearches(bench, { rounds, seconds: Number(flags.seconds) });
    print('searches', report.searches.figures);
    keep();
  }
  if (parts.includes('writes')) {
    report.writes = await compareWrites(bench, { rounds });
    for (const { figures } of report.writes) print('writes', figures);
    keep();
  }
  if (parts.includes('deaths')) {
    report.deaths = await measureDeaths(bench, {
      kills: Number(flags.kills),
      beforeSeconds: Number(flags.before),
      afterSeconds: Number(flags.after),
    });
    for (const { figures } of report.deaths.results) print('deaths', figures);
    keep();
    if (flags.picture) writeFileSync(flags.picture, drawn(report.deaths));
  }
}

async function startAll() {
  const program = await logServerProgram();
  const started = async (name, start) => {
    mkdirSync(join(folder, name));
    const one = await start(join(folder, name));
    running.push(one);
    return one;
  };
  const alone = await started('alone', (place) => Alone.start(place));
  const log = await started('log', (place) => LogServers.start(program, place));
  const nodes = await started('nodes', (place) => Nodes.start(place, log));
  return { alone, log, nodes };
}

/** What the processes use without any request, in milliseconds of processor time a second. */
async function measureIdle({ alone, nodes }) {
  const sides = { alone: alone.pids, cluster: nodes.pids };
  const before = Object.entries(sides).map(([name, pids]) => [name, processorUs(pids)]);
  await sleep(IDLE_SECONDS * 1000);
  const figures = before.map(([name, used]) =>
    shown(
      `${name}, idle: processor time a second`,
      (processorUs(sides[name]) - used) / 1000 / IDLE_SECONDS,
      'ms',
    ),
  );
  print('idle', figures);
  return { figures };
}

function drawn({ results, reads, writes, batch, bin_ms: binMs }) {
  return picture(results, {
    title: 'Reads and writes around the death of a process',
    subtitle: `${reads} searches and ${writes} upserts of ${batch} points a second through a node that stays; of each ${binMs} ms. × marks failures`,
  });
}

function print(what, figures) {
  console.log(`\n${what}${passes(figures) ? '' : ': MISSED'}`);
  console.log(figureTable(figures));
}
