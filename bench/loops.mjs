/**
 * `npm run bench:loops -- --data FOLDER …`: a server with several event loops beside one with one, in turns: with the real
 * engine, and with one that answers every search at once, so that the loops are all there is. Client and server share the
 * machine, so the second says what a loop costs: of the processor time of each thread, and of how many requests a second that
 * would allow on processors of their own.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { readVectorSet } from '../data/vector-set.mjs';
import { root } from '../scripts/build/tree.mjs';
import { startServer } from '../scripts/server-process.mjs';
import { readFlags, whole } from './flags.mjs';
import { untilInterrupted } from './interruption.mjs';
import { machine } from './machine.mjs';
import { median } from './median.mjs';
import { comparePairs } from './pairs.mjs';
import { memoryOf, threadsOf } from './proc.mjs';
import { searchSideBySide } from './side-by-side.mjs';

const USAGE = `npm run bench:loops -- --data FOLDER [flags]

  --data FOLDER  a folder with meta.json (see data/debian-small/README.md); required
  --loops N      event loops of the second server; default: 2
  --pairs N      pairs of servers, for each of the two engines; default: 10
  --out FILE     write everything measured as JSON

A ratio above 1 says that several event loops are better.
`;

const options = {
  data: { type: 'string' },
  loops: { type: 'string', default: '2' },
  pairs: { type: 'string', default: '10' },
  out: { type: 'string' },
};
const LAUNCHERS = {
  real: join(root, 'bin', 'kithdb.js'),
  instant: join(root, 'bench', 'loops', 'instant-server.cjs'),
};
/** Other threads may have had nothing to do, and a ratio needs a number above 0. */
const LEAST_US = 10_000;
const SETTLED_MS = 3_000;
const MEMORY_ROUNDS = 5;

const flags = readFlags(options, USAGE, { loops: whole, pairs: whole });
const loops = Number(flags.loops);
const pairs = Number(flags.pairs);
if (pairs < 2 || loops < 2) throw new Error('an interval needs two pairs, and a comparison two event loops');
const folder = mkdtempSync(join(tmpdir(), 'kithdb-bench-loops-'));
let server;

await untilInterrupted(run, async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

async function run() {
  const report = { machine: machine('bench:loops'), loops };
  const set = readVectorSet(flags.data);
  for (const engine of Object.keys(LAUNCHERS)) {
    report[engine] = await comparePairs(engine, ['one', 'several'], pairs, (order) =>
      onePair(engine, set, order),
    );
  }
  report.memory = await measureMemory();
  console.log(JSON.stringify(report.memory, null, 2));
  if (flags.out) writeFileSync(flags.out, `${JSON.stringify(report, null, 2)}\n`);
}

async function onePair(engine, set, order) {
  const turns = { one: [], several: [] };
  const figures = await searchSideBySide(
    {
      one: { tree: root, launcher: LAUNCHERS[engine], flags: ['--event-loops', '1'] },
      several: { tree: root, launcher: LAUNCHERS[engine], flags: ['--event-loops', String(loops)] },
    },
    set,
    order,
    {
      suspends: true,
      around: async (which, pid, turn) => {
        const before = threadsOf(pid);
        const result = await turn();
        const threads = usedSince(before, threadsOf(pid), which === 'one' ? 1 : loops);
        turns[which].push({ requests: result.requests, ...threads });
        return result;
      },
    },
  );
  for (const which of order) Object.assign(figures[which], costs(turns[which]));
  return figures;
}

/** What a request costs by thread, over all turns of a server. */
function costs(turns) {
  const sum = (of) => turns.reduce((total, turn) => total + of(turn), 0);
  const requests = sum((turn) => turn.requests);
  const inLoops = sum((turn) => turn.loops.reduce((total, us) => total + us, 0));
  const inAll = sum((turn) => turn.all);
  const count = turns[0].loops.length;
  return {
    'processor time in loops, us a search': { value: inLoops / requests, lowerIsBetter: true },
    'processor time in other threads, us a search': {
      value: Math.max(inAll - inLoops, LEAST_US) / requests,
      lowerIsBetter: true,
    },
    'searches/s that the loops could do, never idle': { value: (count * 1e6 * requests) / inLoops },
  };
}

/** The threads of Node that took most are the event loops. */
function usedSince(before, after, count) {
  const earlier = new Map(before.map(({ id, ms }) => [id, ms]));
  const used = after.map(({ id, name, ms }) => ({ name, us: (ms - (earlier.get(id) ?? 0)) * 1000 }));
  const ofNode = used.filter(({ name }) => !name.startsWith('kith')).map(({ us }) => us);
  return {
    loops: ofNode.toSorted((a, b) => b - a).slice(0, count),
    all: used.reduce((total, { us }) => total + us, 0),
  };
}

/** The memory of an idle server by its number of event loops. */
async function measureMemory() {
  const found = [];
  for (let round = 0; round < MEMORY_ROUNDS; round += 1) {
    const one = await idle(1);
    const several = await idle(loops);
    const perLoop = (several.resident - one.resident) / (loops - 1);
    found.push({ one, several, 'MB of each further loop': perLoop });
  }
  return {
    'median resident MB with one': median(found.map(({ one }) => one.resident)),
    'median MB of each further loop': median(found.map((round) => round['MB of each further loop'])),
    rounds: found,
  };
}

async function idle(count) {
  const data = mkdtempSync(join(folder, 'idle-'));
  const args = ['--port', '0', '--data-dir', data, '--log-level', 'warn', '--event-loops', String(count)];
  server = await startServer(LAUNCHERS.real, args);
  await sleep(SETTLED_MS);
  const { resident, anonymous } = memoryOf(server.pid);
  const memory = { resident: resident / 1e6, anonymous: anonymous / 1e6 };
  await server.stop();
  server = undefined;
  return memory;
}
