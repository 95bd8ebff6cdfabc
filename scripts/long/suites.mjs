/** The suites of `npm run test:long`. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { BuildError, run, say } from '../build/process.mjs';
import { TEST_BUILD } from '../build/tests.mjs';
import { root } from '../build/tree.mjs';
import { runSchemathesis } from '../schemathesis.mjs';
import { checkDeployment } from './deployment.mjs';
import { checkChromaMigration } from './chroma.mjs';
import { checkCluster } from './cluster.mjs';
import { CLUSTER_FAULTS, runClusterFaults } from './cluster-faults.mjs';
import { checkDashboard } from './dashboard/suite.mjs';
import { FAULTS, runFaults } from './faults/suite.mjs';
import { checkImage } from './image/suite.mjs';
import { checkPlatforms } from './platform-engines.mjs';
import { runLocalModels } from './local-models.mjs';
import { runPrograms } from './programs.mjs';
import { checkRegistryInstall } from './registry-install.mjs';
import { checkSite } from './site/suite.mjs';

const FUZZ_SECONDS = 300;

/**
 * @typedef {object} Suite
 * @property {number} full cases of a whole run
 * @property {number} [slice] cases that run at a time, for a minute or two; a suite without runs in full only
 * @property {boolean} isNumbered whether the number of the first case decides what the cases are
 * @property {(first: number, count: number) => Promise<{code: number, log: string, count: number, slowestMs?: number, faults?: import('./record.mjs').FaultCounts}>} run
 *   `slowestMs`: the slowest call, where that is what the suite is about too; `faults`: what happened, where the cases are faults
 */

/** A Rust test whose cases are numbered: the variables say how many to run, and which is the first. */
function numbered(name, args, { count, first }, sizes) {
  return {
    ...sizes,
    isNumbered: true,
    run: (from, most) => runCargo(name, args, { [count]: most, [first]: from }, most),
  };
}

/** A Rust test whose cases are drawn anew each time: the variable says how many. */
function random(name, args, count, sizes) {
  return { ...sizes, isNumbered: false, run: (_, most) => runCargo(name, args, { [count]: most }, most) };
}

/** A Rust test of every case there is. */
function exhaustive(name, args) {
  return { full: 1, isNumbered: false, run: () => runCargo(name, args, { KITHDB_EXHAUSTIVE: 1 }, 1) };
}

async function runCargo(name, args, variables, count) {
  const env = Object.fromEntries(Object.entries(variables).map(([key, value]) => [key, String(value)]));
  return { ...(await run(`long-${name}`, 'cargo', ['test', ...TEST_BUILD, ...args], { env })), count };
}

/** Each eighth call of the disk fails, beginning with number `first`: eight runs are all calls. */
async function runFailingCalls(first, count) {
  const variables = { KITHDB_CALL_STEP: 8, KITHDB_FIRST_CALL: first };
  return runCargo('failing-calls', ['--test', 'power_cut', 'every_nth'], variables, count);
}

/** Jest tests; the variables say how many cases, or which. */
async function runJest(name, tests, variables, count) {
  const args = [join(root, 'node_modules', 'jest', 'bin', 'jest.js'), ...tests];
  const env = Object.fromEntries(Object.entries(variables).map(([key, value]) => [key, String(value)]));
  return { ...(await run(`long-${name}`, process.execPath, args, { env })), count };
}

function runKills(_, count) {
  return runJest('kills', ['test/crash/kill'], { KITHDB_KILLS: count }, count);
}

/** Kills of the owner of a folder that eight processes write into, one every five seconds. */
async function runOwnerKills(_, count) {
  const variables = {
    KITHDB_OWNER_KILLS: count,
    KITHDB_OWNER_KILL_EVERY_MS: 5000,
    KITHDB_OWNER_PROCESSES: 8,
    KITHDB_OWNER_POINTS: 60_000,
    KITHDB_OWNER_PAUSE_MS: 200,
  };
  const tests = ['test/embedded/processes', '-t', 'kills of the owner'];
  const result = await runJest('owner-kills', tests, variables, count);
  const slowest = /slowest call of a surviving process: (\d+) ms/.exec(readFileSync(result.log, 'utf8'));
  return slowest === null ? result : { ...result, slowestMs: Number(slowest[1]) };
}

/** Every release of Qdrant's clients that there is a folder or a package of. */
function runClients() {
  return runJest('clients', ['test/clients/releases'], { TESTED_CLIENTS: 'all' }, 1);
}

/** Flips of bits in the store of authentication and its journal. */
function runAuthFlips(first, count) {
  const variables = { KITHDB_AUTH_FLIPS: count, KITHDB_FIRST_AUTH_FLIP: first };
  return runJest('auth-flips', ['test/auth/store-damage', '-t', 'any flip of a bit'], variables, count);
}

/** Tests of which `npm test` takes a share (test/sample.ts). */
const SAMPLED_TESTS = [
  'clients/python-client',
  'contract/mutations',
  'crash/disk-full',
  'operations/backup.test',
  'bench/load',
  'docs/snippets',
];

/** Every case of `count` of these files, from number `first` on. */
function runCases(first, count) {
  const files = Array.from({ length: count }, (_, at) => SAMPLED_TESTS[(first + at) % SAMPLED_TESTS.length]);
  return runJest(
    'cases',
    files.map((file) => `test/${file}`),
    { ALL_CASES: 1 },
    count,
  );
}

/** Every page of the console in both schemes, wide and narrow; the pictures are in `.build/console-pictures`. */
function runConsole() {
  return runJest('console', ['test/console'], { CONSOLE_WALK: 'all' }, 1);
}

/** The contract over HTTP, through several event loops. */
function runLoops(_, loops) {
  return runJest('loops', ['test/contract', 'test/event-loops'], { TEST_EVENT_LOOPS: loops }, loops);
}

/** Every change of the store of authentication, killed before every call of the disk. */
function runAuthKills() {
  const variables = { KITHDB_AUTH_KILL_STEP: 1 };
  return runJest('auth-kills', ['test/auth/store-change', '-t', 'killed at any call'], variables, 1);
}

/** All that pages say to run, what takes long included. */
function runSnippets() {
  return runJest('snippets', ['test/docs/snippets'], { SLOW_SNIPPETS: 1 }, 1);
}

/** Upserts that never end in 256 MiB, for that many minutes: in a control group where one can be made. */
async function runMemory(_, minutes) {
  const args = [join(root, 'bench', 'memory.mjs'), '--limit-mib', '256', '--minutes', String(minutes)];
  return { ...(await run('long-memory', process.execPath, args)), count: minutes };
}

/** Requests that are generated from the description of the HTTP interface: `count` for each operation and phase. */
async function runRequests(seed, count) {
  const log = join(root, '.build', 'logs', 'long-requests.log');
  try {
    const note = await runSchemathesis({
      maxExamples: count,
      seed,
      phases: ['examples', 'coverage', 'fuzzing'],
    });
    writeFileSync(log, `${note ?? 'no findings'}\n`);
    return { code: 0, log, count: note === undefined ? count : 0 };
  } catch (error) {
    if (!(error instanceof BuildError)) throw error;
    writeFileSync(log, `${error.message}\n`);
    return { code: 1, log, count };
  }
}

/**
 * A check that answers lines on what it found, or why it cannot be made here (`skipped`), and fails with a BuildError.
 *
 * @param {() => Promise<string | {skipped: string}>} work
 */
function check(name, work) {
  return async () => {
    const log = join(root, '.build', 'logs', `long-${name}.log`);
    try {
      const found = await work();
      const skipped = found.skipped;
      writeFileSync(log, `${skipped ?? found}\n`);
      if (skipped !== undefined) say(`${name}: ${skipped}`);
      return { code: 0, log, count: skipped === undefined ? 1 : 0 };
    } catch (error) {
      if (!(error instanceof BuildError)) throw error;
      writeFileSync(log, `${error.message}\n`);
      return { code: 1, log, count: 1 };
    }
  };
}

function fuzz(target) {
  return {
    full: 1,
    slice: 1,
    isNumbered: false,
    run: async () => {
      const limits = ['--', `-max_total_time=${FUZZ_SECONDS}`, '-max_len=16384'];
      const args = ['+nightly', 'fuzz', 'run', '-s', 'none', '--fuzz-dir', 'fuzz', target, ...limits];
      const result = await run(`long-fuzz-${target}`, 'cargo', args);
      const done = /^Done (\d+) runs/m.exec(readFileSync(result.log, 'utf8'));
      return { ...result, count: Number(done?.[1] ?? 0) };
    },
  };
}

const targets = readdirSync(join(root, 'fuzz', 'fuzz_targets')).map((file) => basename(file, '.rs'));

/** @type {Record<string, Suite>} */
const standard = {
  'power-cuts': numbered(
    'power-cuts',
    ['--test', 'power_cut', 'nothing_'],
    { count: 'KITHDB_SEEDS', first: 'KITHDB_FIRST_SEED' },
    { full: 40_000, slice: 4_000 },
  ),
  faults: { full: FAULTS.length, slice: 8, isNumbered: true, run: runFaults },
  kills: { full: 400, slice: 100, isNumbered: false, run: runKills },
  'owner-kills': { full: 120, slice: 12, isNumbered: false, run: runOwnerKills },
  'auth-flips': { full: 10_000, slice: 2_000, isNumbered: true, run: runAuthFlips },
  'auth-kills': { full: 1, isNumbered: false, run: runAuthKills },
  // One server takes some minutes to meet its limit again and again: in full only.
  memory: { full: 10, isNumbered: false, run: runMemory },
  damage: numbered(
    'damage',
    ['--test', 'damage', 'damage_never'],
    { count: 'KITHDB_ROT', first: 'KITHDB_FIRST_ROT' },
    { full: 4_000, slice: 500 },
  ),
  models: random('models', ['--features', 'kithdb-engine/shuttle', '--test', 'models'], 'KITHDB_SCHEDULES', {
    full: 40_000,
    slice: 10_000,
  }),
  repairs: numbered(
    'repairs',
    ['--test', 'repair', 'a_repair_keeps'],
    { count: 'KITHDB_DAMAGES', first: 'KITHDB_FIRST_DAMAGE' },
    { full: 1_000, slice: 250 },
  ),
  filters: random('filters', ['--lib', 'filter::tests::properties'], 'KITHDB_CASES', {
    full: 20_000,
    slice: 5_000,
  }),
  inputs: numbered(
    'inputs',
    ['--test', 'corpus'],
    { count: 'KITHDB_FUZZ', first: 'KITHDB_FUZZ_SEED' },
    { full: 40_000, slice: 10_000 },
  ),
  // Of all phases, which take longer than a slice may: in full only.
  requests: { full: 200, isNumbered: true, run: runRequests },
  'short-programs': numbered(
    'short-programs',
    ['--test', 'power_cut', 'no_crash'],
    { count: 'KITHDB_PROGRAMS', first: 'KITHDB_FIRST_PROGRAM' },
    { full: 1_024, slice: 128 },
  ),
  'failing-calls': { full: 8, slice: 1, isNumbered: true, run: runFailingCalls },
  cases: { full: SAMPLED_TESTS.length, slice: 1, isNumbered: true, run: runCases },
  // Three minutes on two cores: in full only.
  loops: { full: 3, isNumbered: false, run: runLoops },
  clients: { full: 1, slice: 1, isNumbered: false, run: runClients },
  // Eight environments are installed, which takes minutes: in full only.
  programs: { full: 1, isNumbered: false, run: check('programs-suite', runPrograms) },
  // Libraries of 200 MB are installed: in full only.
  'local-models': { full: 1, isNumbered: false, run: check('local-models-suite', runLocalModels) },
  console: { full: 1, slice: 1, isNumbered: false, run: runConsole },
  registry: { full: 1, slice: 1, isNumbered: false, run: check('registry', checkRegistryInstall) },
  site: { full: 1, slice: 1, isNumbered: false, run: check('site', checkSite) },
  snippets: { full: 1, isNumbered: false, run: runSnippets },
  // Two programs of Go are built, which takes minutes: in full only.
  deployment: { full: 1, isNumbered: false, run: check('deployment', checkDeployment) },
  // A program of Go is built: in full only.
  cluster: { full: 1, isNumbered: false, run: check('cluster', checkCluster) },
  'cluster-faults': { full: CLUSTER_FAULTS, slice: 2, isNumbered: true, run: runClusterFaults },
  // The engine is built for the image: in full only.
  image: { full: 1, isNumbered: false, run: check('image', checkImage) },
  chroma: { full: 1, slice: 1, isNumbered: false, run: check('chroma', checkChromaMigration) },
  dashboard: { full: 1, slice: 1, isNumbered: false, run: check('dashboard', checkDashboard) },
  // Four engines are built: in full only.
  platforms: { full: 1, isNumbered: false, run: check('platforms', checkPlatforms) },
  'every-call': exhaustive('every-call', ['--test', 'power_cut', 'every_nth']),
  'every-program': exhaustive('every-program', ['--test', 'power_cut', 'no_crash']),
};

export const DEFAULT_SUITES = Object.keys(standard);
export const FUZZ_SUITES = targets.map((target) => `fuzz-${target}`);

export const suites = {
  ...standard,
  ...Object.fromEntries(targets.map((target) => [`fuzz-${target}`, fuzz(target)])),
};
