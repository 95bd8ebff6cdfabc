/**
 * `npm run bench:index -- --data FOLDER …`: recall, speed, build rate and memory of the index beside other libraries,
 * on the same vectors, with the same graph parameters, on the same core.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { BuildError } from '../scripts/build/process.mjs';
import { flagsOf } from './flags.mjs';
import { filterBars, memoryBars } from './index/bars.mjs';
import { Competition } from './index/competition.mjs';
import { cut, readDataSet } from './index/dataset.mjs';
import { DataError } from './index/elements.mjs';
import { measureFiltered, startOurs } from './index/ours.mjs';
import { PEER_NAMES, startPeers } from './index/peers.mjs';
import { untilInterrupted } from './interruption.mjs';
import { load, machine } from './machine.mjs';
import { picture } from './index/picture.mjs';
import { ratios } from './index/ratios.mjs';
import { printReport } from './index/report.mjs';

const USAGE = `npm run bench:index -- --data FOLDER [flags]

  --data FOLDER         vectors: a folder with meta.json (see data/debian-small/README.md), or with
                        NAME_base.fvecs (or bvecs), NAME_query.fvecs and NAME_groundtruth.ivecs,
                        or with base.npy, query.npy and groundtruth.npy; ground truth is computed
                        when the folder has none; required
  --peers LIST          of ${PEER_NAMES.join(', ')}; "none" for none; default: hnswlib,faiss,usearch
  --metric NAME         euclid, cosine or dot; default: what meta.json says, else euclid
  --rows N              only the first N rows
  --queries N           only the first N queries
  --limit K             neighbours asked for; default: 10
  --m M                 links of a node, twice that in the lowest layer; default: 16
  --ef-construct N      default: 200
  --ef LIST             default: 10,16,24,32,48,64,96,128,192,256,384,512,768
  --threads N           that build, and that search beside the single one; default: all cores
  --rounds N            interleaved rounds, of which the median counts; default: 5
  --build-rounds N      default: 3
  --seconds S           length of a round; default: 0.25
  --clock wall|cpu      time searches on one thread by the processor time that they take, for a machine that
                        does other things too; default: wall
  --config JSON         what our collection is created with besides, such as
                        '{"quantization_config":{"binary":{}}}'
  --no-filtered         leave out filtered searches
  --no-churn            leave out recall after replacing and deleting points
  --memory              only the bytes a row: one build, no searches that are timed; not disturbed by other work
  --quick               a rough answer within a minute: 20,000 rows, few values of ef, short
                        rounds, neither filters nor churn
  --out FILE.json       write everything measured
  --picture FILE.svg    recall and queries per second, or memory with --memory; default: beside --out;
                        FILE-filters.svg is the cost of filters
`;

const options = {
  data: { type: 'string' },
  peers: { type: 'string', default: 'hnswlib,faiss,usearch' },
  metric: { type: 'string' },
  rows: { type: 'string' },
  queries: { type: 'string' },
  limit: { type: 'string', default: '10' },
  m: { type: 'string', default: '16' },
  'ef-construct': { type: 'string', default: '200' },
  ef: { type: 'string' },
  threads: { type: 'string', default: String(cpus().length) },
  rounds: { type: 'string' },
  'build-rounds': { type: 'string' },
  seconds: { type: 'string' },
  clock: { type: 'string', default: 'wall' },
  config: { type: 'string', default: '{}' },
  'no-filtered': { type: 'boolean', default: false },
  'no-churn': { type: 'boolean', default: false },
  memory: { type: 'boolean', default: false },
  quick: { type: 'boolean', default: false },
  out: { type: 'string' },
  picture: { type: 'string' },
};

const FULL = { ef: '10,16,24,32,48,64,96,128,192,256,384,512,768', rounds: 5, buildRounds: 3, seconds: 0.25 };
const QUICK = { ef: '16,32,64,128,256', rounds: 3, buildRounds: 1, seconds: 0.1, rows: 20_000, queries: 500 };

/** The ef at which recall of builds is compared, and those at which several threads are compared with one. */
const BUILD_EF = 64;
const SCALING_EFS = [64, 128];

/** The result of a run that times nothing. */
const UNTIMED = { pinned: null, runs: [], scaling: [], exact: null };

/** How searches with filters are measured. */
const FILTERED = { ef: 128, queries: 200 };

/** Values of ef at which recall is compared before and after replacing and deleting points. */
const CHURN_EFS = [64, 128];

const flags = flagsOf(options, USAGE, measured);
// Before the work: the commit of the tree may change meanwhile.
const started = machine('bench:index');
const folder = mkdtempSync(join(tmpdir(), 'kithdb-bench-index-'));
const workers = [];
try {
  await untilInterrupted(run, async () => {
    await Promise.all(workers.map((worker) => worker.stop()));
    rmSync(folder, { recursive: true, force: true });
  });
} catch (error) {
  if (!(error instanceof DataError) && !(error instanceof BuildError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}

/** The parsed command line. */
function measured(values) {
  const preset = values.quick ? QUICK : FULL;
  const flags = {
    ...values,
    peers: values.peers === 'none' ? [] : values.peers.split(','),
    efs: (values.ef ?? preset.ef).split(',').map((ef) => count('ef', ef)),
    rows: values.rows ? count('rows', values.rows) : (preset.rows ?? Infinity),
    queries: values.queries ? count('queries', values.queries) : (preset.queries ?? Infinity),
    k: count('limit', values.limit),
    m: count('m', values.m),
    efConstruction: count('ef-construct', values['ef-construct']),
    threads: count('threads', values.threads),
    rounds: count('rounds', values.rounds ?? preset.rounds),
    buildRounds: count('build-rounds', values['build-rounds'] ?? preset.buildRounds),
    seconds: Number(values.seconds ?? preset.seconds),
    config: JSON.parse(values.config),
    filtered: !values['no-filtered'] && !values.quick && !values.memory,
    churn: !values['no-churn'] && !values.quick,
  };
  const unknown = flags.peers.filter((name) => !PEER_NAMES.includes(name));
  if (unknown.length) throw new Error(`unknown peer ${unknown.join(', ')}`);
  if (!['wall', 'cpu'].includes(flags.clock)) throw new Error(`--clock ${flags.clock}: wall or cpu`);
  if (!(flags.seconds > 0)) throw new Error(`--seconds ${values.seconds}`);
  // Fewer candidates than neighbours asked for cannot be answered by every system.
  flags.efs = [...new Set(flags.efs.filter((ef) => ef >= flags.k))].sort((a, b) => a - b);
  if (flags.efs.length === 0) throw new Error('every --ef is below --limit');
  return flags;
}

function count(flag, text) {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 1) throw new Error(`--${flag} ${text}: a whole number from 1 on`);
  return number;
}

async function run() {
  const set = cut(readDataSet(flags.data, flags.metric), flags.rows, flags.queries);
  if (set.rows < flags.k) throw new DataError(`${set.rows} rows are fewer than the ${flags.k} asked for`);
  const competition = new Competition(set, folder, flags.k);
  const ours = await startOurs();
  workers.push(ours);
  workers.push(...(await startPeers(flags.peers)));
  await competition.enter(workers, flags);

  if (load() > cpus().length / 2) {
    say(`Something else keeps this machine busy (load ${load().toFixed(1)}): expect noise.`);
  }
  say(`${set.name}: ${set.rows} × ${set.dims}, ${set.metric}, ${set.queries} queries`);
  await competition.prepareTruth(ours);

  const figures = await measureAll(set, competition, ours);
  const report = reportOf(set, figures);
  printReport(report);
  if (flags.out) writeFileSync(flags.out, `${JSON.stringify(report, null, 1)}\n`);
  const path = flags.picture ?? flags.out?.replace(/(\.json)?$/, '.svg');
  if (path) writePictures(path, report, figures.runs);
}

/** Builds, then measures what the flags ask for, one after the other. */
async function measureAll(set, competition, ours) {
  const builds = await competition.build(flags.threads, flags.memory ? 1 : flags.buildRounds, (build) =>
    say(`build   ${build.system}: ${build.rows_per_s} rows/s on ${build.threads} threads`),
  );
  const memory = await competition.memory();
  const timed = flags.memory ? UNTIMED : await searchAll(competition, ours);
  for (const build of builds) {
    build.recall_at_64 =
      timed.runs.find(({ system, ef }) => system === build.system && ef === BUILD_EF)?.recall ?? null;
  }
  if (flags.filtered) say('filter  searches with filters …');
  const filtered = flags.filtered ? await measureFiltered(folder, set, FILTERED) : null;
  const churn = flags.churn ? await measureChurn(ours) : null;
  return { ...timed, builds, memory, filtered, churn };
}

/** Everything that is timed: searches on one core and on several, and the limits of the machine. */
async function searchAll(competition, ours) {
  const how = {
    everyEfTo: Math.max(BUILD_EF, ...SCALING_EFS),
    rounds: flags.rounds,
    seconds: flags.seconds,
  };
  const pinned = pin([cpus().length - 1]);
  if (!pinned) say('no taskset here: nothing is bound to a core');
  const runs = await competition.search({ ...how, efs: flags.efs, threads: 1, clock: flags.clock }, sayRun);
  const exact = await ours.ask({ command: 'machine' });
  pin(cpus().map((_, core) => core));
  const efs = SCALING_EFS.filter((ef) => flags.efs.includes(ef));
  const several = { ...how, efs, threads: flags.threads, clock: 'wall' };
  const scaling = flags.threads > 1 ? await competition.search(several, sayRun) : [];
  return { pinned, runs, exact, scaling };
}

/** What a result file has. */
function reportOf(set, { pinned, runs, scaling, exact, builds, memory, filtered, churn }) {
  return {
    set: { name: set.name, rows: set.rows, dims: set.dims, metric: set.metric, queries: set.queries },
    parameters: {
      k: flags.k,
      m: flags.m,
      ef_construct: flags.efConstruction,
      rounds: flags.rounds,
      round_s: flags.seconds,
      clock: flags.clock,
      config: flags.config,
    },
    machine: origin(pinned),
    runs: [...runs, ...scaling],
    builds: flags.memory ? [] : builds,
    memory,
    exact,
    filtered,
    churn,
    ratios: flags.memory ? null : ratios({ runs, builds, scaling, exact }),
  };
}

function say(line) {
  process.stderr.write(`${line}\n`);
}

function sayRun({ system, mode, ef, threads, recall, qps }) {
  const who = mode ? `${system} ${mode}` : system;
  say(
    `search  ${who}: ef ${ef}, ${threads} thread${threads > 1 ? 's' : ''}: recall ${recall}, ${qps} a second`,
  );
}

/** Binds every system to some cores; returns whether that is possible here. */
function pin(cores) {
  return workers.map((worker) => worker.pin(cores)).every(Boolean);
}

async function measureChurn(ours) {
  say('churn   replacing every point, deleting half …');
  const { phases } = await ours.ask({
    command: 'churn',
    folder: join(folder, 'churn'),
    efs: CHURN_EFS,
    m: flags.m,
    ef_construct: flags.efConstruction,
  });
  return phases;
}

/** Where the figures come from: the versions of the systems beside what every benchmark records. */
function origin(pinned) {
  const { versions, ...rest } = started;
  const systems = Object.fromEntries(workers.map((worker) => [worker.name, worker.version]));
  return { ...rest, search_bound_to_one_core: pinned, versions: { ...systems, ...versions } };
}

/** The curves at `path`, and bars beside it: of what was measured. */
function writePictures(path, report, runs) {
  const beside = (part) => path.replace(/(\.svg)?$/, `-${part}.svg`);
  if (runs.length > 0) writeFileSync(path, draw(report, runs));
  if (report.filtered) writeFileSync(beside('filters'), filterBars(report));
  if (runs.length === 0) writeFileSync(path, memoryBars(report));
}

function draw({ set, parameters, machine: { cpu } }, runs) {
  return picture(runs, {
    title: `${set.name}: recall and queries per second`,
    subtitle:
      `${set.rows.toLocaleString('en')} × ${set.dims}, ${set.metric}, k = ${parameters.k}, M = ${parameters.m}, ` +
      `efConstruction = ${parameters.ef_construct}; ${cpu.replace(/\s+/g, ' ').trim()}, one core`,
  });
}
