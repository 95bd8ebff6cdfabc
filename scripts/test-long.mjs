/**
 * `npm run test:long [-- suite …] [-- --minutes N] [--seed S]`: the heavy suites, with many cases, and other cases in
 * every run. What has run, and of which commit, is kept in docs/soak.json.
 */
import { parseArgs } from 'node:util';
import { buildEverything } from './build/everything.mjs';
import { BuildError, say, tail } from './build/process.mjs';
import { preparePython } from './build/python.mjs';
import { buildTests } from './build/tests.mjs';
import { keep, nextOf, readRecord, testedCommit, totalOf } from './long/record.mjs';
import { rotation } from './long/rotation.mjs';
import { DEFAULT_SUITES, FUZZ_SUITES, suites } from './long/suites.mjs';
import { numberOf } from './number-flag.mjs';

const USAGE = `npm run test:long [-- SUITE …] [-- --minutes N] [-- --seed S]

  SUITE          ${Object.keys(suites)
    .filter((name) => !FUZZ_SUITES.includes(name))
    .join(', ')},
                 fuzz-TARGET (TARGET: a file of fuzz/fuzz_targets), fuzz for all of these;
                 without one: all but the fuzzers
  --minutes N    a slice of each suite in turn, and none that begins after N minutes;
                 without it: each suite in full, from where the last run of this commit stopped
  --seed S       the number of the first case of each suite, a whole number, and with --minutes which suite is the
                 first; such a run is not recorded;
                 without it: the first case that no run before has had

Fuzzing wants a nightly compiler and cargo-fuzz, see fuzz/README.md.`;

/**
 * @typedef {object} Request
 * @property {string[]} names of suites
 * @property {number} [minutes]
 * @property {number} [seed]
 */

const request = readArguments();
if (request !== undefined) {
  try {
    await runLong(request);
  } catch (error) {
    console.log(error instanceof BuildError ? error.message : error);
    process.exitCode = 1;
  }
}

/** @param {Request} request */
async function runLong({ names, minutes, seed }) {
  await buildEverything({ updateTypes: false });
  await buildTests();
  await preparePython();
  const commit = await testedCommit();
  const recorded = seed === undefined;
  const from = seed === undefined ? 'the first cases that are not recorded' : `seed ${seed}`;
  say(`Long tests of ${commit}, from ${from} on`);
  const next = Object.fromEntries(names.map((name) => [name, seed ?? nextOf(name)]));
  const runSlice = async (name, most) => {
    const done = await timedSlice(name, next[name], most);
    next[name] += done.count;
    if (recorded) keep({ suite: name, commit, ...done.entry });
    if (done.failure !== undefined) throw new BuildError(done.failure);
    return done.count;
  };
  if (minutes === undefined) await runInFull(names, commit, runSlice);
  else await runForMinutes(names, minutes, seed, runSlice);
  if (recorded) printTotals();
}

/** A slice of each suite in turn, until the time is over. Suites that have no slices are left out. */
async function runForMinutes(names, minutes, seed, runSlice) {
  const rotating = names.filter((name) => suites[name].slice !== undefined);
  if (rotating.length === 0) throw new BuildError(`--minutes: ${names.join(', ')} only run in full`);
  const until = performance.now() + minutes * 60_000;
  for (const name of rotation(rotating, seed)) {
    if (performance.now() >= until) return;
    await runSlice(name);
  }
}

/** Each suite until this commit has had all its cases, and once more when it has had them. */
async function runInFull(names, commit, runSlice) {
  const isDone = (name, rounds) => totalOf(name, commit) >= rounds * suites[name].full;
  const finished = names.every((name) => isDone(name, 1));
  const rounds = finished ? Math.min(...names.map((name) => roundsOf(name, commit))) + 1 : 1;
  for (const name of names) {
    const full = rounds * suites[name].full;
    let done = totalOf(name, commit);
    while (done < full) {
      const ran = await runSlice(name, full - done);
      // Without Python there are no generated requests.
      if (ran === 0) break;
      done += ran;
    }
    say(`${name}: ${done < full ? 'skipped' : 'finished'}, ${done} cases of ${commit}`);
  }
}

function roundsOf(name, commit) {
  return Math.floor(totalOf(name, commit) / suites[name].full);
}

/** Runs the next cases of a suite and says how it went. */
async function timedSlice(name, first, most = Infinity) {
  const { slice, full, isNumbered, run } = suites[name];
  const startedAt = performance.now();
  const { code, log, count, slowestMs, faults } = await run(first, Math.min(slice ?? full, most));
  if (code === 127) throw new BuildError(`${name}: a program that it needs was not found, see ${log}`);
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  const from = isNumbered ? `from ${first} on, ` : '';
  const slowest = slowestMs === undefined ? '' : `, the slowest call ${slowestMs} ms`;
  say(`${name}: ${from}${count} in ${seconds} s${slowest}: ${code === 0 ? 'ok' : 'FAILED'}`);
  return {
    count,
    entry: {
      ...(isNumbered ? { first } : {}),
      ...{ count, seconds },
      ...(slowestMs === undefined ? {} : { slowestMs }),
      ...(faults === undefined ? {} : { faults }),
      ...(code === 0 ? {} : { failed: true }),
    },
    failure: code === 0 ? undefined : `${name} failed (exit code ${code}).\n${tail(log)}`,
  };
}

function printTotals() {
  for (const suite of Object.keys(suites)) {
    const entries = readRecord().filter((entry) => entry.suite === suite && !entry.failed);
    const total = entries.reduce((sum, { count }) => sum + count, 0);
    const commits = new Set(entries.map(({ commit }) => commit)).size;
    if (total > 0) say(`${suite}: ${total} in all, over ${commits} commit${commits > 1 ? 's' : ''}`);
  }
}

/** The request of the command line. Undefined when it asks for the usage, or is wrong. */
function readArguments() {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        minutes: { type: 'string' },
        seed: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    });
    if (values.help) {
      console.log(USAGE);
      return undefined;
    }
    const names = positionals.flatMap((name) => (name === 'fuzz' ? FUZZ_SUITES : [name]));
    const unknown = names.filter((name) => !(name in suites));
    if (unknown.length > 0) throw new Error(`No such suite: ${unknown.join(', ')}`);
    return {
      names: names.length > 0 ? names : DEFAULT_SUITES,
      minutes: numberOf('minutes', values.minutes, (minutes) => minutes > 0),
      seed: numberOf('seed', values.seed, (seed) => Number.isSafeInteger(seed) && seed >= 0),
    };
  } catch (error) {
    console.error(`${error.message}\n\n${USAGE}`);
    process.exitCode = 2;
    return undefined;
  }
}
