/**
 * `npm run bench:calibration -- --data FOLDER`: searches over REST while the recall of searches is measured in the background
 * (C14), beside searches while it is not. Two servers take turns; while one is searched the other is suspended, or its
 * measurements would slow both. With `--freezer` it is one server, whose measuring thread is frozen every other turn: two
 * servers of one kind differ by more than what is looked for.
 */
import { writeFileSync } from 'node:fs';
import { readVectorSet } from '../data/vector-set.mjs';
import { root } from '../scripts/build/tree.mjs';
import { readFlags, whole } from './flags.mjs';
import { FrozenThread } from './frozen-thread.mjs';
import { untilInterrupted } from './interruption.mjs';
import { machine } from './machine.mjs';
import { comparePairs } from './pairs.mjs';
import { threadsOf } from './proc.mjs';
import { searchSideBySide } from './side-by-side.mjs';

const USAGE = `npm run bench:calibration -- --data FOLDER [flags]

  --data FOLDER   a folder with meta.json (see data/debian-small/README.md); required. Large enough for the calibration
                  to last longer than a pair: some 50,000 rows
  --pairs N       pairs of servers; default: 10
  --percent N     share of the processors that the calibration gets; default: 1, as in a server
  --freezer DIR   one server for each pair; DIR is where the freezer of control groups (version 1) is mounted, as
                  /sys/fs/cgroup/freezer; needs root
  --out FILE      write every pair and ratio as JSON

A ratio is that with calibration to that without: above 1 it is better with.
`;
const options = {
  data: { type: 'string' },
  pairs: { type: 'string', default: '10' },
  percent: { type: 'string', default: '1' },
  freezer: { type: 'string' },
  out: { type: 'string' },
};
/** The name of the thread that calibrates, as the system has it. */
const THREAD = 'kith-recall';

if (process.platform !== 'linux') {
  console.error('bench:calibration suspends servers and reads /proc: it needs Linux');
  process.exit(2);
}
const flags = readFlags(options, USAGE, {
  pairs: (text) => (whole(text) === true && Number(text) >= 2) || 'a whole number from 2 on',
  percent: (text) => (whole(text) === true && Number(text) <= 100) || 'a whole number from 1 to 100',
});
const starts = {
  with: { tree: root, flags: ['--calibration-percent', flags.percent] },
  without: { tree: root, flags: ['--calibration-percent', '0'] },
};
const origin = machine('bench:calibration');
const set = readVectorSet(flags.data);
/** Of each pair, the processor time of the calibration during the searches of the server that has it. */
const calibrationMs = [];
await untilInterrupted(
  async () => report(await comparePairs('search', ['without', 'with'], Number(flags.pairs), measurePair)),
  // The servers end with this process.
  () => Promise.resolve(),
);

async function measurePair(order) {
  const worked = { with: 0, without: 0 };
  let thread;
  const around = async (which, pid, turn) => {
    if (flags.freezer) thread ??= new FrozenThread(flags.freezer, pid, THREAD);
    if (which === 'without') await thread?.freeze();
    const before = calibratedMs(pid);
    const measured = await turn();
    worked[which] += calibratedMs(pid) - before;
    await thread?.thaw();
    return measured;
  };
  const isOne = Boolean(flags.freezer);
  try {
    const servers = isOne ? { with: starts.with, without: starts.with } : starts;
    const how = { suspends: !isOne, isOne, around };
    const figures = await searchSideBySide(servers, set, order, how);
    calibrationMs.push(worked.with);
    return figures;
  } finally {
    thread?.remove();
  }
}

/** Processor time that a server's thread has used; 0 where it has none. */
function calibratedMs(pid) {
  return threadsOf(pid).find(({ name }) => name === THREAD)?.ms ?? 0;
}

function report(results) {
  console.log(
    `processor time of the calibration during the searches of each pair: ${calibrationMs.map((ms) => ms.toFixed(1)).join(', ')} ms`,
  );
  if (calibrationMs.some((ms) => ms === 0))
    console.log('it was over before the searches were: take more rows');
  const method = flags.freezer ? 'one server, its thread frozen in turns' : 'two servers in turns';
  const written = {
    machine: origin,
    method,
    set: set.name,
    percent: Number(flags.percent),
    calibration_ms: calibrationMs,
    results,
  };
  if (flags.out) writeFileSync(flags.out, `${JSON.stringify(written, null, 2)}\n`);
}
