/**
 * `npm run bench:versions -- --data FOLDER --before TREE …`: this tree beside another checkout of it, by the benchmarks
 * that both have. The two take turns; each pair of runs gives one ratio a figure.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { root } from '../scripts/build/tree.mjs';
import { flagsOf, listOf, whole } from './flags.mjs';
import { machine } from './machine.mjs';
import { comparePairs } from './pairs.mjs';
import { readVectorSet } from '../data/vector-set.mjs';
import { searchSideBySide } from './side-by-side.mjs';

const USAGE = `npm run bench:versions -- --data FOLDER --before TREE [flags]

  --data FOLDER    a folder with meta.json (see data/debian-small/README.md); required
  --before TREE    another checkout, built (npm run build); required
  --benches LIST   of index, rest, durable, and search: searches over REST of two servers that run at the same
                   time; default: all of them
  --pairs N        pairs of runs of each benchmark; default: 10
  --out FILE       write every run and ratio as JSON

A ratio above 1 says that this tree is better: more per second, or fewer milliseconds.
`;

const options = {
  data: { type: 'string' },
  before: { type: 'string' },
  benches: { type: 'string', default: 'index,rest,durable,search' },
  pairs: { type: 'string', default: '10' },
  out: { type: 'string' },
};

/** @typedef {import('./pairs.mjs').Figures} Figures */

/**
 * Each benchmark: its flags beside `--data` and `--out`, and the figures of its report; or what runs both trees at the same
 * time, and returns the figures of both.
 */
const BENCHES = {
  index: {
    flags: [
      '--peers',
      'none',
      '--ef',
      '16,64,128',
      '--rounds',
      '3',
      '--build-rounds',
      '1',
      '--no-filtered',
      '--no-churn',
      // A search takes the processor time of one thread: what else the machine does counts less.
      ...['--clock', 'cpu'],
    ],
    figures: indexFigures,
  },
  rest: {
    flags: ['--ef', '64', '--connections', '1,16', '--seconds', '3', '--filtered'],
    figures: restFigures,
  },
  durable: { flags: ['--only', 'whole,single', '--rounds', '1'], figures: durableFigures },
  search: { sideBySide: searchSideBySide },
};

const flags = flagsOf(options, USAGE, (values) => {
  const isBench = (name) => name in BENCHES || `of ${Object.keys(BENCHES).join(', ')}`;
  for (const [name, check] of Object.entries({ benches: listOf(isBench), pairs: whole })) {
    const verdict = check(values[name]);
    if (verdict !== true) throw new Error(`--${name} ${values[name]}: ${verdict}`);
  }
  if (Number(values.pairs) < 2) throw new Error(`--pairs ${values.pairs}: an interval needs two`);
  if (!values.before || !existsSync(join(values.before, 'bench', 'rest.mjs'))) {
    throw new Error(`--before ${values.before ?? ''}: expected a checkout of this project`);
  }
  return values;
});

const trees = { before: resolve(flags.before), after: root };
const folder = mkdtempSync(join(tmpdir(), 'kithdb-bench-versions-'));
const origin = { ...machine('bench:versions'), before: commitOf(trees.before) };
try {
  const results = [];
  for (const bench of flags.benches.split(',')) results.push(...(await compare(bench)));
  if (flags.out) {
    const report = { machine: origin, results };
    writeFileSync(flags.out, `${JSON.stringify(report, null, 2)}\n`);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** All pairs of one benchmark. */
async function compare(bench) {
  const found = await comparePairs(bench, ['before', 'after'], Number(flags.pairs), (order) =>
    onePair(bench, order),
  );
  return found.map((figure) => ({ bench, ...figure }));
}

function onePair(bench, order) {
  const { sideBySide } = BENCHES[bench];
  if (sideBySide !== undefined) {
    const starts = Object.fromEntries(order.map((which) => [which, { tree: trees[which] }]));
    return sideBySide(starts, readVectorSet(flags.data), order);
  }
  return Object.fromEntries(order.map((which) => [which, figuresOf(bench, trees[which])]));
}

/** One run of a tree's own benchmark, over that tree's own build. */
function figuresOf(bench, tree) {
  const out = join(folder, `${bench}.json`);
  const script = join(tree, 'bench', `${bench}.mjs`);
  const args = [script, '--data', resolve(flags.data), ...BENCHES[bench].flags, '--out', out];
  const { status, stderr } = spawnSync(process.execPath, args, {
    cwd: tree,
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  });
  if (status !== 0) throw new Error(`${script} failed: ${stderr}`);
  return BENCHES[bench].figures(JSON.parse(readFileSync(out, 'utf8')));
}

/** @returns {Figures} */
function indexFigures({ runs, builds }) {
  const searches = runs.map(({ mode, ef, threads, qps }) => [
    `${mode} ef ${ef}, threads ${threads}, queries/s`,
    { value: qps },
  ]);
  return Object.fromEntries([...searches, ['build, rows/s', { value: builds[0].rows_per_s }]]);
}

/** @returns {Figures} */
function restFigures({ ingest, indexing, search, filtered, restart }) {
  const searches = search.map(({ ef, connections, perSecond }) => [
    `ef ${ef}, connections ${connections}, searches/s`,
    { value: perSecond },
  ]);
  const filters = filtered.map(({ matching, perSecond }) => [
    `${matching} match, searches/s`,
    { value: perSecond },
  ]);
  return {
    'upserts, points/s': { value: ingest.pointsPerSecond },
    'until indexed, points/s': { value: indexing.pointsPerSecondFromFirstUpsert },
    ...Object.fromEntries([...searches, ...filters]),
    'restart, ms': { value: restart.readyMs, lowerIsBetter: true },
  };
}

/** @returns {Figures} */
function durableFigures({ whole: ingest, single }) {
  return {
    'with payload, points/s': { value: ingest.pointsPerSecond },
    'one point a request, median µs': { value: single.server.p50Us, lowerIsBetter: true },
  };
}

function commitOf(tree) {
  return execFileSync('git', ['-C', tree, 'rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();
}
