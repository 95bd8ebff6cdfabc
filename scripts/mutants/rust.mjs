/**
 * Mutants of the engine: cargo-mutants lists them, and they are tested here and not by it, because it knows one command
 * of tests for all and compiles the engine for each. Here those of a sample are compiled together, each behind a switch
 * (switches.mjs), and a mutant runs the tests that reach it (reach.mjs), the quickest first. One that cannot be behind
 * a switch runs all unit tests, and of the tests through the public interface those that are about its folder.
 */
import { createHash } from 'node:crypto';
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BuildError, say } from '../build/process.mjs';
import { attempt } from './attempt.mjs';
import { buildPrograms, checkErrors, listMutants, SOURCES } from './cargo.mjs';
import { measureReach, roundsOf } from './reach.mjs';
import { nameOf } from './sample.mjs';
import { ACTIVE, isAtMutant, MODULE, MODULE_TEXT, mutantAt, replaced, withSwitches } from './switches.mjs';
import { copyOf, folder } from './tree.mjs';

/** What is mutated, and the files of `crates/engine/tests` that run where a mutant is compiled alone, the likeliest first. */
const TESTS = {
  wal: ['durability', 'power_cut', 'damage'],
  storage: ['durability', 'map_faults', 'power_cut'],
  catalog: ['engine', 'durability', 'power_cut'],
  collection: ['engine', 'batches', 'vacuum', 'heavy_writes', 'durability', 'power_cut'],
  index: ['graphs', 'multi_vectors', 'sparse', 'vacuum', 'power_cut'],
  filter: ['engine', 'field_indexes'],
  query: ['engine', 'graphs', 'shapes', 'multi_vectors', 'sparse', 'deadlines'],
};

/** Test programs that need another build, or look at the sources. */
const WITHOUT = ['models', 'floors'];

/** What a test program prints of a test that fails. */
const FAILED = /^test (.*) \.\.\. FAILED$/m;

/** How long tests may take: this, or five times what they take without a mutant. */
const LEAST_LIMIT_SECONDS = 90;
const BASELINE_LIMIT_SECONDS = 3600;

/** More rounds than it takes until all that is left compiles. */
const MAX_CHECKS = 20;

/**
 * A copy of the commit, and how long each part of its tests takes.
 *
 * @param {string} commit
 * @param {string[]} [only] the test programs that run, `lib` for the unit tests; all when absent
 * @returns what has all mutants, what compiles a sample of them, and what tests one of the sample
 */
export async function openRust(commit, only) {
  const copy = await copyOf(commit, 'rust');
  const listed = join(folder, 'rust.json');
  if (copy.isNew) {
    rmSync(samplePath(), { force: true });
    writeFileSync(listed, JSON.stringify(await listMutants(copy.path, Object.keys(TESTS))));
    writeFileSync(baselinePath(), '{}');
    copy.finished();
  }
  const mutants = JSON.parse(readFileSync(listed, 'utf8'));
  let sample;
  return {
    mutants,
    prepare: async (chosen) => (sample = await Sample.build(copy.path, chosen, programsOf(copy.path, only))),
    // It needs a build of its own.
    isSlow: (mutant) => sample.isAlone(mutant),
    test: (mutant) => sample.test(mutant),
  };
}

/** Mutants that are compiled together. */
class Sample {
  #pristine;
  #found;
  #programs;
  #reaches;

  constructor(pristine, found, programs, reaches) {
    this.#pristine = pristine;
    this.#found = found;
    this.#programs = programs;
    this.#reaches = reaches;
  }

  /** Finds what compiles, builds the test programs with it, and finds out which tests reach what. */
  static async build(pristine, mutants, names) {
    const path = join(folder, 'rust-switched');
    const switched = new Set([`${SOURCES}/lib.rs`, ...mutants.map(({ file }) => file)]);
    const isSwitched = (from) => switched.has(from.slice(pristine.length + 1).replaceAll('\\', '/'));
    cpSync(pristine, path, { recursive: true, filter: (from, to) => isOther(from, to) && !isSwitched(from) });
    const tested = [...mutants.map(nameOf), ...names].join('\n');
    const digest = createHash('sha256').update(tested).digest('hex');
    const kept = keptOf(digest);
    const targets = names.flatMap(targetOf);
    const found = await switchAll(pristine, path, mutants, kept, targets);
    keep({ ...kept, digest, unviable: [...found.unviable], alone: [...found.alone] });
    say(
      `${mutants.length} mutants: ${found.unviable.size} do not compile, ${found.alone.size} are tested alone; building …`,
    );
    const { programs } = await buildPrograms(path, targets);
    if (programs === undefined) throw new BuildError('The mutants pass the check and cannot be compiled.');
    const reaches = kept.reaches ?? (await measureReach(programs, testFolder(pristine)));
    keep({ ...keptOf(digest), reaches });
    return new Sample(pristine, found, programs, reaches);
  }

  /** Whether a mutant is compiled by itself. */
  isAlone(mutant) {
    return this.#found.alone.has(this.#found.numbers.get(nameOf(mutant)));
  }

  /** Runs the tests of a mutant until one fails. */
  async test(mutant) {
    const { numbers, unviable, alone } = this.#found;
    const number = numbers.get(nameOf(mutant));
    if (unviable.has(number)) return { outcome: 'unviable', seconds: 0 };
    const cwd = testFolder(this.#pristine);
    if (alone.has(number)) {
      const parts = partsOf(mutant).filter(({ program }) => this.#programs.has(program));
      for (const part of parts) await measure(this.#programs, cwd, part);
      return testAlone(this.#pristine, mutant, parts);
    }
    const env = { [ACTIVE]: String(number) };
    return runParts(roundsOf(this.#reaches, number), ({ program, tests, seconds }) =>
      runPart(
        this.#programs.get(program),
        { program, tests: [...tests, '--exact'] },
        { cwd, env, limitSeconds: Math.max(LEAST_LIMIT_SECONDS, 5 * seconds) },
      ),
    );
  }
}

function testFolder(path) {
  return join(path, 'crates', 'engine');
}

/** The names of the test programs of a copy that are wanted. */
function programsOf(path, only) {
  const entries = readdirSync(join(testFolder(path), 'tests'), { withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && entry.name.endsWith('.rs'));
  const folders = entries.filter((entry) =>
    existsSync(join(testFolder(path), 'tests', entry.name, 'main.rs')),
  );
  const names = [...files.map(({ name }) => name.slice(0, -3)), ...folders.map(({ name }) => name)];
  const all = ['lib', ...names.filter((name) => !WITHOUT.includes(name)).sort()];
  const unknown = only?.find((name) => !all.includes(name));
  if (unknown !== undefined)
    throw new BuildError(`There is no test program ${unknown}: there are ${all.join(', ')}.`);
  return only ?? all;
}

/** What is known of a sample from an earlier sitting: which of its mutants cannot be compiled, or only alone, and its reaches. */
function keptOf(digest) {
  const kept = existsSync(samplePath()) ? JSON.parse(readFileSync(samplePath(), 'utf8')) : undefined;
  return kept?.digest === digest ? kept : { digest };
}

function keep(known) {
  writeFileSync(samplePath(), JSON.stringify(known));
}

function samplePath() {
  return join(folder, 'rust-sample.json');
}

/** Whether a file has to be copied: what did not change keeps its time, and is not compiled again. */
function isOther(from, to) {
  return statSync(from).isDirectory() || !existsSync(to) || !readFileSync(from).equals(readFileSync(to));
}

/** Writes the files with switches, without those that do not compile; `known` has what an earlier sitting has found out. */
async function switchAll(pristine, path, mutants, known, targets) {
  const numbers = new Map(mutants.map((mutant, index) => [nameOf(mutant), index + 1]));
  const [unviable, alone] = [new Set(known.unviable), new Set(known.alone)];
  const byFile = new Map();
  for (const [index, mutant] of mutants.entries()) {
    byFile.set(mutant.file, [...(byFile.get(mutant.file) ?? []), { ...mutant, number: index + 1 }]);
  }
  const library = readFileSync(join(pristine, SOURCES, 'lib.rs'), 'utf8');
  const declaration = `#[doc(hidden)]\npub mod ${MODULE};\n`;
  writeChanged(
    join(path, SOURCES, 'lib.rs'),
    library.replace('#[doc(hidden)]\n', `${declaration}#[doc(hidden)]\n`),
  );
  writeChanged(join(path, SOURCES, `${MODULE}.rs`), MODULE_TEXT);
  for (let round = 0; round < MAX_CHECKS; round += 1) {
    for (const [file, its] of byFile) {
      const left = its.filter(({ number }) => !unviable.has(number) && !alone.has(number));
      const switched = withSwitches(readFileSync(join(pristine, file), 'utf8'), left);
      for (const number of switched.alone) alone.add(number);
      writeChanged(join(path, file), switched.text);
    }
    const errors = await checkErrors(path, targets);
    if (errors.length === 0) return { numbers, unviable, alone };
    for (const error of errors) {
      const text = readFileSync(join(path, error.file), 'utf8');
      const number = mutantAt(text, error.firstLine);
      if (number === undefined) throw new BuildError(`${error.file}:${error.firstLine}: ${error.message}`);
      // Where the copy itself is refused and not what the mutant has put into it, another build decides.
      const isOfMutant = isAtMutant(text, { ...mutants[number - 1], number }, error);
      (isOfMutant ? unviable : alone).add(number);
    }
  }
  throw new BuildError(`After ${MAX_CHECKS} rounds there are mutants that do not compile.`);
}

function writeChanged(file, text) {
  if (!existsSync(file) || readFileSync(file, 'utf8') !== text) writeFileSync(file, text);
}

/** Puts a mutant into its file, compiles that alone, tests it, and puts back what was there. */
async function testAlone(path, mutant, parts) {
  const file = join(path, mutant.file);
  const text = readFileSync(file, 'utf8');
  writeFileSync(file, replaced(text, mutant));
  try {
    return await runParts(parts, async (part) => {
      const built = await buildPrograms(path, targetOf(part.program));
      if (built.programs === undefined) return { outcome: 'unviable', seconds: built.seconds };
      return runPart(built.programs.get(part.program), part, { cwd: testFolder(path) });
    });
  } finally {
    writeFileSync(file, text);
  }
}

/** What is run for a mutant, in this order: a test program, and which of its tests. */
function partsOf({ file }) {
  const name = file.slice(SOURCES.length + 1).split('/')[0];
  return [
    { program: 'lib', tests: [`${name}::`] },
    { program: 'lib', tests: ['--skip', `${name}::`] },
    ...TESTS[name].map((program) => ({ program, tests: [] })),
  ];
}

function targetOf(program) {
  return program === 'lib' ? ['--lib'] : ['--test', program];
}

/** Runs parts until one has a test that fails. */
async function runParts(parts, run) {
  let seconds = 0;
  for (const part of parts) {
    const ran = await run(part);
    seconds += ran.seconds;
    if (ran.outcome !== 'survived') return { ...ran, seconds };
  }
  return { outcome: 'survived', seconds };
}

/** Runs a part without a mutant, once for a commit: it must pass, and its time decides what is too long. */
async function measure(programs, cwd, part) {
  const baseline = JSON.parse(readFileSync(baselinePath(), 'utf8'));
  const key = keyOf(part);
  if (key in baseline) return;
  const ran = await runPart(programs.get(part.program), part, { cwd, limitSeconds: BASELINE_LIMIT_SECONDS });
  if (ran.outcome !== 'survived')
    throw new BuildError(`${key} fails without a mutant: ${ran.outcome}, ${ran.by}`);
  baseline[key] = ran.seconds;
  writeFileSync(baselinePath(), JSON.stringify(baseline));
  say(`Without a mutant: ${key}: ${ran.seconds.toFixed(0)} s`);
}

function baselinePath() {
  return join(folder, 'rust-baseline.json');
}

function keyOf({ program, tests }) {
  return [program, ...tests].join(' ');
}

/** Runs the tests of a part until one fails. */
async function runPart(program, part, { cwd, env, limitSeconds }) {
  const baseline = JSON.parse(readFileSync(baselinePath(), 'utf8'));
  const limit = limitSeconds ?? Math.max(LEAST_LIMIT_SECONDS, 5 * (baseline[keyOf(part)] ?? 0));
  const run = (tests) => attempt(program, tests, { cwd, env, limitSeconds: limit, failed: FAILED });
  const { passed, isLate, text, end, seconds } = await runTwice(run, part.tests);
  if (passed) return { outcome: 'survived', seconds };
  if (isLate) return { outcome: 'timeout', by: part.program, seconds };
  const by = FAILED.exec(text)?.[1] ?? `the process ends with ${end}`;
  return { outcome: 'killed', by: `${part.program}: ${by}`, seconds };
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
