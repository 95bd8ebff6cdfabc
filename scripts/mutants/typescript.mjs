/**
 * Mutants of TypeScript: made by Stryker's instrumenter, all at once, each behind a switch that an environment variable
 * sets. Jest is started here and not by Stryker, for tests start servers in processes of their own, which must have
 * the mutant too.
 */
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { BuildError, mustRun, say } from '../build/process.mjs';
import { root } from '../build/tree.mjs';
import { attempt } from './attempt.mjs';
import { copyOf, folder, strykerInstrumenter } from './tree.mjs';

/** What is mutated. */
const SOURCES = ['src/auth', 'src/http'];

/** What must notice it, nearest first. */
const TESTS = [
  ...['test/auth', 'test/http', 'test/contract', 'test/cli/'],
  ...['backup', 'closed', 'control', 'refusals'].map((name) => `test/operations/${name}`),
];

/** What `jest-environment.cjs` prints at the first failure. */
const FAILED = /^FAILED (.*)$/m;
const FAILED_TEST = /^FAILED (\S+): (.*)$/m;
const A_HOOK = 'a hook of the file';

/** The variable that Stryker's switches read. */
const ACTIVE = '__STRYKER_ACTIVE_MUTANT__';

/** How long the tests of a file may take, which without a mutant take less than a minute, and how long all. */
const LIMIT_SECONDS = 600;
const ALL_LIMIT_SECONDS = 7200;

/** An answer that never comes fails a test sooner than in `npm test`, for it is what many mutants do. */
const TEST_TIMEOUT_MS = 60_000;
/** Without a mutant there is time, for a machine that does other things too. */
const MEASURED_TIMEOUT_MS = 600_000;

/** So many tests of a mutant's own folder are run by name at a time. */
const MAX_NAMES = 200;

/** So many tests of other folders are run by name. */
const MAX_FAR_NAMES = 40;

/** So many files of another folder that reach a mutant in no test, only as they start a server. */
const MAX_IN_PASSING = 3;

/** A copy of the commit with all its mutants behind switches, and which tests reach which. */
export async function openTypescript(commit) {
  const copy = await copyOf(commit, 'typescript');
  const kept = join(folder, 'typescript.json');
  if (copy.isNew) {
    const mutants = await instrument(copy.path);
    const tests = await measure(copy.path);
    writeFileSync(kept, JSON.stringify({ mutants, tests }));
    copy.finished();
  }
  const { mutants, tests } = JSON.parse(readFileSync(kept, 'utf8'));
  return { mutants, test: (mutant) => testMutant(copy.path, mutant, tests) };
}

/** Puts the switches into the copy. */
async function instrument(path) {
  const { createInstrumenter } = await import(pathToFileURL(await strykerInstrumenter()).href);
  const names = SOURCES.flatMap((source) =>
    readdirSync(join(path, source), { recursive: true })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => `${source}/${name.replaceAll('\\', '/')}`),
  ).sort();
  const texts = new Map(names.map((name) => [name, readFileSync(join(path, name), 'utf8')]));
  const files = names.map((name) => ({ name, mutate: true, content: texts.get(name) }));
  const options = { plugins: null, excludedMutations: [], ignorers: [] };
  const done = await createInstrumenter(injector()).instrument(files, options);
  for (const { name, content } of done.files) writeFileSync(join(path, name), content);
  // What the tests start with bin/kithdb.js, and the description that they read. The switches have types that do not fit.
  cpSync(join(root, 'dist'), join(path, 'dist'), { recursive: true });
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  await mustRun(
    'mutants-tsc',
    process.execPath,
    [compiler, '--project', 'tsconfig.build.json', '--noCheck'],
    {
      cwd: path,
    },
  );
  return done.mutants.map(({ id, fileName, location: { start, end }, mutatorName, replacement }) => ({
    id,
    file: fileName,
    line: start.line + 1,
    endLine: end.line + 1,
    column: start.column + 1,
    mutant: `${mutatorName}: ${brief(textAt(texts.get(fileName), start, end))} → ${brief(replacement)}`,
  }));
}

/** What Stryker passes to its classes, without its container: a logger that says nothing, and the parts themselves. */
function injector() {
  const silent = () => undefined;
  const isOff = () => false;
  const logger = {
    ...{ trace: silent, debug: silent, info: silent, warn: silent, error: silent, fatal: silent },
    ...{ isDebugEnabled: isOff, isTraceEnabled: isOff, isInfoEnabled: isOff },
  };
  const values = { logger };
  const self = {
    provideValue: (token, value) => {
      values[token] = value;
      return self;
    },
    injectClass: (made) => new made(...made.inject.map((token) => values[token])),
  };
  return self;
}

function textAt(text, start, end) {
  const lines = text.split('\n').slice(start.line, end.line + 1);
  lines[lines.length - 1] = lines.at(-1).slice(0, end.column);
  lines[0] = lines[0].slice(start.column);
  return lines.join('\n');
}

/** One line, with its beginning and its end. */
function brief(text) {
  const line = text.replaceAll(/\s+/g, ' ');
  return line.length > 80 ? `${line.slice(0, 50)} … ${line.slice(-27)}` : line;
}

/** Runs all tests without a mutant: they must pass, and say which switches each passes by. */
async function measure(path) {
  say(`Tests without a mutant …`);
  const reached = join(folder, 'reached');
  rmSync(reached, { recursive: true, force: true });
  mkdirSync(reached);
  const report = join(reached, 'report');
  const args = [...TESTS, '--json', `--outputFile=${report}`];
  const { passed, text } = await runJest(
    path,
    args,
    { MUTANTS_REACHED: reached },
    { limitSeconds: ALL_LIMIT_SECONDS, testTimeoutMs: MEASURED_TIMEOUT_MS },
  );
  if (!passed) throw new BuildError(`The tests fail without a mutant.\n${text.slice(-10_000)}`);
  const { testResults } = JSON.parse(readFileSync(report, 'utf8'));
  return testResults.map(({ name, startTime, endTime }) => {
    const file = name.slice(path.length + 1).replaceAll('\\', '/');
    const { static: always, perTest } = JSON.parse(
      readFileSync(join(reached, `${file.replaceAll('/', '~')}.json`), 'utf8'),
    );
    return {
      file,
      seconds: (endTime - startTime) / 1000,
      startsProcesses: startsProcesses(join(path, file)),
      always: Object.keys(always),
      named: Object.fromEntries(Object.entries(perTest).map(([test, ids]) => [test, Object.keys(ids)])),
    };
  });
}

/** Whether a test, or what it imports beside it, runs code in a process of its own, where nothing counts switches. */
function startsProcesses(file) {
  const text = readFileSync(file, 'utf8');
  if (/child_process|\.cjs'/.test(text)) return true;
  const imported = [...text.matchAll(/from '(\.\/[\w-]+)'/g)].map(([, name]) =>
    join(file, '..', `${name}.ts`),
  );
  return imported.some((name) => existsSync(name) && /child_process|\.cjs'/.test(readFileSync(name, 'utf8')));
}

/** Runs the tests that reach a mutant until one fails. */
async function testMutant(path, mutant, tests) {
  let seconds = 0;
  for (const { files, names } of roundsOf(mutant, tests)) {
    const ran = await runTwice((...chosen) => runChosen(path, mutant, ...chosen), files, names);
    seconds += ran.seconds;
    if (ran.isLate) return { outcome: 'timeout', by: files.join(' '), seconds };
    if (!ran.passed) {
      // A file that cannot even be loaded has no test that fails.
      const by = FAILED.exec(ran.text)?.[1] ?? `the process ends with ${ran.end}`;
      return { outcome: 'killed', by, seconds };
    }
  }
  return { outcome: 'survived', seconds };
}

function runChosen(path, mutant, files, names) {
  const filter = names === undefined ? [] : ['-t', `^(${names.map(escaped).join('|')})$`];
  const args = ['--runInBand', '--forceExit', '--bail=1', '--runTestsByPath', ...files, ...filter];
  return runJest(path, args, { [ACTIVE]: mutant.id });
}

/** A test that failed and then passes alone has not failed by the mutant: all run again, and that counts. */
async function runTwice(run, files, names) {
  const first = await run(files, names);
  const [, file, name] = FAILED_TEST.exec(first.text) ?? [];
  if (first.isLate || file === undefined) return first;
  const alone = await run([file], name === A_HOOK ? undefined : [name]);
  if (!alone.passed) return { ...first, seconds: first.seconds + alone.seconds };
  say(`Passes alone: ${name}`);
  const again = await run(files, names);
  return { ...again, seconds: first.seconds + alone.seconds + again.seconds };
}

/**
 * What is run for a mutant, in this order: of its own folder the first tests of each file that reach it, the files that
 * reach it before or between tests, those that start processes, and the further tests that reach it; then, of other
 * folders, so many tests that reach it from as many files as possible, a few files that do so in passing, as every test
 * that starts a server does, and those that start processes.
 *
 * @returns {{files: string[], names?: string[]}[]}
 */
function roundsOf({ id, file }, tests) {
  const own = `${file.replace(/^src/, 'test').split('/').slice(0, 2).join('/')}/`;
  const found = [...tests]
    .sort((a, b) => a.seconds - b.seconds)
    .map(({ named, always, ...test }) => ({
      ...test,
      names: Object.keys(named).filter((name) => named[name].includes(id)),
      isReached: always.includes(id),
    }));
  const [near, far] = [true, false].map((isOwn) =>
    found.filter((test) => test.file.startsWith(own) === isOwn),
  );
  const whole = near.filter(({ isReached }) => isReached);
  const rest = near.filter(({ isReached }) => !isReached);
  const passing = far.filter(({ isReached, names }) => isReached && names.length === 0);
  const named = namedRounds(rest, MAX_NAMES);
  return [
    ...named.slice(0, 1),
    { files: filesOf(whole) },
    { files: filesOf(rest.filter(({ startsProcesses }) => startsProcesses)) },
    ...named.slice(1),
    ...namedRounds(far, MAX_FAR_NAMES).slice(0, 1),
    { files: filesOf(passing.slice(0, MAX_IN_PASSING)) },
    { files: filesOf(far.filter(({ startsProcesses }) => startsProcesses)) },
  ].filter(({ files }) => files.length > 0);
}

/** Tests by name, so many at a time: the first of each file, then the second of each, and so on. */
function namedRounds(tests, most) {
  const ranked = tests.flatMap(({ file, names }) => names.map((name, rank) => ({ file, name, rank })));
  ranked.sort((a, b) => a.rank - b.rank);
  const rounds = [];
  for (let from = 0; from < ranked.length; from += most) {
    const chosen = ranked.slice(from, from + most);
    const files = [...new Set(chosen.map(({ file }) => file))];
    rounds.push({ files, names: chosen.map(({ name }) => name) });
  }
  return rounds;
}

function filesOf(tests) {
  return tests.map(({ file }) => file);
}

function escaped(name) {
  return name.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}

function runJest(
  path,
  args,
  env,
  { limitSeconds, testTimeoutMs } = { limitSeconds: LIMIT_SECONDS, testTimeoutMs: TEST_TIMEOUT_MS },
) {
  const script = join(root, 'node_modules', 'jest', 'bin', 'jest.js');
  const environment = join(root, 'scripts', 'mutants', 'jest-environment.cjs');
  return attempt(
    process.execPath,
    [script, '--env', environment, '--testTimeout', String(testTimeoutMs), ...args],
    {
      cwd: path,
      env: { FORCE_COLOR: '0', ...env },
      limitSeconds,
      failed: FAILED,
    },
  );
}
