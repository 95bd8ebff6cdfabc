/**
 * `npm run soak [-- suite …] [-- --minutes N]`: the suites of docs/durability.md for as long as there is time, a slice
 * of each in turn. What has run, and of which commit, is kept in docs/soak.json; the next run goes on where this one
 * ends, so that hours add up over days and machines.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { buildEverything } from './build/everything.mjs';
import { BuildError, output, run, say, tail } from './build/process.mjs';
import { root } from './build/tree.mjs';

const USAGE = `npm run soak [-- SUITE …] [-- --minutes N]

  SUITE          power-cuts, damage, kills, fuzz-TARGET (TARGET: a file of fuzz/fuzz_targets), fuzz for all of these;
                 without one: power-cuts, damage and kills
  --minutes N    begin no slice after N minutes (60)

Fuzzing wants a nightly compiler and cargo-fuzz, see fuzz/README.md.`;

const RECORD = join(root, 'docs', 'soak.json');
const TARGETS = readdirSync(join(root, 'fuzz', 'fuzz_targets')).map((file) => basename(file, '.rs'));
const FUZZ_SECONDS = 300;

/**
 * @typedef {{suite: string, commit: string, first?: number, count: number, seconds?: number, failed?: boolean}} Entry
 * `count` programs, damages, kills or executions of one commit, from number `first` on where they are numbered;
 * seconds passed, on a machine that may have done other things
 */

/** Tests of the engine whose cases are numbered: which, how many at a time, and the variables for that and the first. */
const NUMBERED = {
  'power-cuts': {
    test: ['power_cut', 'nothing_'],
    count: 20_000,
    many: 'KITHDB_SEEDS',
    from: 'KITHDB_FIRST_SEED',
  },
  damage: { test: ['damage', 'damage_never'], count: 2_000, many: 'KITHDB_ROT', from: 'KITHDB_FIRST_ROT' },
};

/** @type {Record<string, () => Promise<{code: number, log: string, first?: number, count: number}>>} */
const suites = {
  ...Object.fromEntries(Object.keys(NUMBERED).map((suite) => [suite, () => numbered(suite)])),
  kills,
  ...Object.fromEntries(TARGETS.map((target) => [`fuzz-${target}`, () => fuzz(target)])),
};

/** The next cases, of tests that are built with optimisation and with assertions. */
async function numbered(suite) {
  const { test, count, many, from } = NUMBERED[suite];
  const first = nextOf(suite);
  const args = ['test', '--profile', 'soak', '-p', 'kithdb-engine', '--test', ...test];
  const env = { [many]: String(count), [from]: String(first) };
  return { ...(await run(`soak-${suite}`, 'cargo', args, { env })), first, count };
}

async function kills() {
  const count = 200;
  const args = [join(root, 'node_modules', 'jest', 'bin', 'jest.js'), 'test/crash/kill'];
  const env = { KITHDB_KILLS: String(count) };
  return { ...(await run('soak-kills', process.execPath, args, { env })), count };
}

async function fuzz(target) {
  const limits = ['--', `-max_total_time=${FUZZ_SECONDS}`, '-max_len=16384'];
  const args = ['+nightly', 'fuzz', 'run', '-s', 'none', '--fuzz-dir', 'fuzz', target, ...limits];
  const result = await run(`soak-fuzz-${target}`, 'cargo', args);
  const done = /^Done (\d+) runs/m.exec(readFileSync(result.log, 'utf8'));
  return { ...result, count: Number(done?.[1] ?? 0) };
}

/** The commit that is tested; with a plus where files differ from it. */
async function commit() {
  const name = await output('git', ['rev-parse', '--short', 'HEAD']);
  const changes = await output('git', ['status', '--porcelain', 'crates', 'src', 'test']);
  if (name === null || changes === null) throw new BuildError('git does not say which commit this is.');
  return changes === '' ? name : `${name}+`;
}

/** @returns {Entry[]} */
function readRecord() {
  return existsSync(RECORD) ? JSON.parse(readFileSync(RECORD, 'utf8')) : [];
}

/** Adds an entry, to the one that it continues if there is one. */
function keep(entry) {
  const record = readRecord();
  const before = record.find(
    ({ suite, commit, first, count, failed }) =>
      suite === entry.suite &&
      commit === entry.commit &&
      !failed &&
      !entry.failed &&
      (first === undefined || first + count === entry.first),
  );
  if (before) {
    before.count += entry.count;
    before.seconds = (before.seconds ?? 0) + entry.seconds;
  } else {
    record.push(entry);
  }
  writeFileSync(RECORD, `[\n${record.map((line) => `  ${JSON.stringify(line)}`).join(',\n')}\n]\n`);
}

/** The first number of a suite that no run has had. */
function nextOf(suite) {
  const ends = readRecord().map((entry) => (entry.suite === suite ? (entry.first ?? 0) + entry.count : 0));
  return Math.max(0, ...ends);
}

async function soak(names, minutes) {
  if (names.includes('kills')) await buildEverything({ updateTypes: false });
  const tested = await commit();
  const until = performance.now() + minutes * 60_000;
  for (let turn = 0; performance.now() < until; turn += 1) {
    const suite = names[turn % names.length];
    const startedAt = performance.now();
    const { code, log, ...done } = await suites[suite]();
    if (code === 127) throw new BuildError(`${suite}: a program that it needs was not found, see ${log}`);
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    keep({ suite, commit: tested, ...done, seconds, ...(code === 0 ? {} : { failed: true }) });
    const from = done.first === undefined ? '' : `from ${done.first} on, `;
    say(`${suite}: ${from}${done.count} in ${seconds} s: ${code === 0 ? 'ok' : 'FAILED'}`);
    if (code !== 0) throw new BuildError(`${suite} failed (exit code ${code}).\n${tail(log)}`);
  }
  for (const suite of Object.keys(suites)) {
    const entries = readRecord().filter((entry) => entry.suite === suite && !entry.failed);
    const total = entries.reduce((sum, { count }) => sum + count, 0);
    const commits = new Set(entries.map(({ commit }) => commit)).size;
    if (total > 0) say(`${suite}: ${total} in all, over ${commits} commit${commits > 1 ? 's' : ''}`);
  }
}

/** What is asked for, or undefined when that is only the usage, or wrong. */
function readArguments() {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: { minutes: { type: 'string', default: '60' }, help: { type: 'boolean', short: 'h' } },
    });
    if (values.help) {
      console.log(USAGE);
      return undefined;
    }
    const minutes = Number(values.minutes);
    if (!(minutes > 0)) throw new Error(`--minutes ${values.minutes}: expected a number above 0`);
    const names = positionals.flatMap((name) =>
      name === 'fuzz' ? TARGETS.map((target) => `fuzz-${target}`) : [name],
    );
    const unknown = names.filter((name) => !(name in suites));
    if (unknown.length > 0) throw new Error(`No such suite: ${unknown.join(', ')}`);
    return { names: names.length > 0 ? names : ['power-cuts', 'damage', 'kills'], minutes };
  } catch (error) {
    console.error(`${error.message}\n\n${USAGE}`);
    process.exitCode = 2;
    return undefined;
  }
}

const asked = readArguments();
if (asked !== undefined) {
  try {
    await soak(asked.names, asked.minutes);
  } catch (error) {
    console.log(error instanceof BuildError ? error.message : error);
    process.exitCode = 1;
  }
}
