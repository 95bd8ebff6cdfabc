/**
 * Mutants of the engine: cargo-mutants lists them, and they are tested here and not by it, because it knows one command
 * of tests for all. The engine is compiled anew for each, so the unit tests come first, those of the mutant's folder
 * before the others, and of the tests through the public interface only those that are about that folder are compiled.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BuildError, output, say } from '../build/process.mjs';
import { attempt } from './attempt.mjs';
import { cargoMutants, copyOf, folder } from './tree.mjs';

const PACKAGE = 'kithdb-engine';
const SOURCES = 'crates/engine/src';

/** What is mutated, and the files of `crates/engine/tests` that must notice it, the likeliest first. */
const TESTS = {
  wal: ['durability', 'power_cut', 'damage'],
  storage: ['durability', 'map_faults', 'power_cut'],
  catalog: ['engine', 'durability', 'power_cut'],
  collection: ['engine', 'batches', 'vacuum', 'heavy_writes', 'durability', 'power_cut'],
  index: ['graphs', 'multi_vectors', 'sparse', 'vacuum', 'power_cut'],
  filter: ['engine', 'field_indexes'],
  query: ['engine', 'graphs', 'shapes', 'multi_vectors', 'sparse', 'deadlines'],
};

/** What only tests have, and the tests themselves. */
const LEFT_OUT = ['**/tests/**', '**/tests.rs', '**/sim/**', '**/crash_points.rs', '**/wal/fuzzing.rs'];

/** Compiles fast, and only what changed; what has no mutants stays fast. */
const PROFILE = [
  'profile.mutants.inherits="dev"',
  'profile.mutants.opt-level=1',
  'profile.mutants.debug=false',
  'profile.mutants.incremental=true',
  'profile.mutants.package.kithdb-kernels.opt-level=3',
  'profile.mutants.package."*".opt-level=2',
].flatMap((line) => ['--config', line]);

/** What a test program prints of a test that fails. */
const FAILED = /^test (.*) \.\.\. FAILED$/m;

const BUILD_LIMIT_SECONDS = 3600;

/** How long tests may take: this, or five times what they take without a mutant. */
const LEAST_LIMIT_SECONDS = 180;

/** A copy of the commit, and how long each part of its tests takes. */
export async function openRust(commit) {
  const copy = await copyOf(commit, 'rust');
  const listed = join(folder, 'rust.json');
  if (copy.isNew) {
    writeFileSync(listed, JSON.stringify(await list(copy.path)));
    writeFileSync(baselinePath(), '{}');
    copy.finished();
  }
  const mutants = JSON.parse(readFileSync(listed, 'utf8'));
  return { mutants, test: (mutant) => testMutant(copy.path, mutant) };
}

async function list(path) {
  const args = ['mutants', '--list', '--json', '--no-config', '--dir', path, '--package', PACKAGE];
  for (const name of Object.keys(TESTS)) args.push('--file', `${SOURCES}/${name}/**`);
  for (const pattern of LEFT_OUT) args.push('--exclude', pattern);
  const text = await output(await cargoMutants(), args, { cwd: path });
  if (text === null) throw new BuildError('cargo-mutants does not list mutants.');
  return JSON.parse(text).map(({ file, name, replacement, span }) => ({
    ...{ file, line: span.start.line, endLine: span.end.line, column: span.start.column },
    ...{ mutant: name.replace(/^\S+ /, ''), replacement, span },
  }));
}

/** Puts a mutant into its file, tests it, and puts back what was there. */
async function testMutant(path, mutant) {
  const parts = partsOf(mutant);
  for (const part of parts) await measure(path, part);
  const file = join(path, mutant.file);
  const text = readFileSync(file, 'utf8');
  writeFileSync(file, replaced(text, mutant));
  try {
    let seconds = 0;
    for (const part of parts) {
      const ran = await runPart(path, part);
      seconds += ran.seconds;
      if (ran.outcome !== 'survived') return { ...ran, seconds };
    }
    return { outcome: 'survived', seconds };
  } finally {
    writeFileSync(file, text);
  }
}

/** The text with the mutant in it. Places are lines and columns from 1, in characters. */
function replaced(text, { span: { start, end }, replacement }) {
  const lines = text.split('\n');
  const before = [...lines.slice(0, start.line - 1), prefix(lines[start.line - 1], start.column)];
  const last = lines[end.line - 1];
  const after = [last.slice(prefix(last, end.column).length), ...lines.slice(end.line)];
  return `${before.join('\n')}${replacement} ${after.join('\n')}`;
}

function prefix(line, column) {
  return [...line].slice(0, column - 1).join('');
}

/** What is run for a mutant, in this order: a test program, and which of its tests. */
function partsOf({ file }) {
  const name = file.slice(SOURCES.length + 1).split('/')[0];
  return [
    { target: ['--lib'], tests: [`${name}::`] },
    { target: ['--lib'], tests: ['--skip', `${name}::`] },
    ...TESTS[name].map((test) => ({ target: ['--test', test], tests: [] })),
  ];
}

/** Runs a part without a mutant, once for a commit: it must pass, and its time decides what is too long. */
async function measure(path, part) {
  const baseline = JSON.parse(readFileSync(baselinePath(), 'utf8'));
  const key = keyOf(part);
  if (key in baseline) return;
  say(`Without a mutant: ${key} …`);
  const { outcome, by, testSeconds, seconds } = await runPart(path, part, BUILD_LIMIT_SECONDS);
  if (outcome !== 'survived') throw new BuildError(`${key} fails without a mutant: ${outcome}, ${by}`);
  baseline[key] = testSeconds;
  writeFileSync(baselinePath(), JSON.stringify(baseline));
  say(`Without a mutant: ${key}: ${testSeconds.toFixed(0)} s of ${seconds.toFixed(0)} s`);
}

function baselinePath() {
  return join(folder, 'rust-baseline.json');
}

function keyOf({ target, tests }) {
  return [...target, ...tests].join(' ');
}

/** Compiles a test program and runs the tests of a part until one fails. */
async function runPart(path, part, limit) {
  const built = await build(path, part.target);
  if (built.program === undefined) return { outcome: 'unviable', seconds: built.seconds };
  const baseline = existsSync(baselinePath()) ? JSON.parse(readFileSync(baselinePath(), 'utf8')) : {};
  const limitSeconds = limit ?? Math.max(LEAST_LIMIT_SECONDS, 5 * (baseline[keyOf(part)] ?? 0));
  const cwd = join(path, 'crates', 'engine');
  const ran = await runTwice(
    (tests) => attempt(built.program, tests, { cwd, limitSeconds, failed: FAILED }),
    part.tests,
  );
  const spent = { seconds: built.seconds + ran.seconds, testSeconds: ran.seconds };
  if (ran.passed) return { outcome: 'survived', ...spent };
  const program = part.target.at(-1).replace('--', '');
  if (ran.isLate) return { outcome: 'timeout', by: program, ...spent };
  const by = FAILED.exec(ran.text)?.[1] ?? `the process ends with ${ran.end}`;
  return { outcome: 'killed', by: `${program}: ${by}`, ...spent };
}

/** A test that failed and then passes alone has not failed by the mutant: all run again, and that counts. */
async function runTwice(run, tests) {
  const first = await run(tests);
  const failed = first.isLate ? undefined : FAILED.exec(first.text)?.[1];
  if (failed === undefined) return first;
  const alone = await run([failed, '--exact']);
  if (!alone.passed) return { ...first, seconds: first.seconds + alone.seconds };
  say(`Passes alone: ${failed}`);
  const again = await run(tests);
  return { ...again, seconds: first.seconds + alone.seconds + again.seconds };
}

/** Compiles a test program; none where the compiler refuses the mutant. */
async function build(path, target) {
  const args = ['test', ...PROFILE, '--profile', 'mutants', '--package', PACKAGE, '--locked', '--no-run'];
  const { passed, text, seconds } = await attempt('cargo', [...args, ...target, '--message-format=json'], {
    cwd: path,
    env: { CARGO_TARGET_DIR: join(folder, 'target'), CARGO_TERM_COLOR: 'never' },
    limitSeconds: BUILD_LIMIT_SECONDS,
  });
  if (passed) {
    const program = /"executable":"((?:[^"\\]|\\.)*)"/.exec(text)?.[1];
    if (program === undefined) throw new BuildError('cargo does not say where the tests are.');
    return { program: JSON.parse(`"${program}"`), seconds };
  }
  if (!text.includes(`could not compile \`${PACKAGE}\``)) {
    throw new BuildError(`The tests cannot be compiled.\n${text.slice(-4000)}`);
  }
  return { seconds };
}
