/**
 * `npm test [-- step …]`: the one recipe that checks everything, locally and in CI. Builds what is out of date,
 * then runs the steps below in order and stops at the first that fails. Named steps run alone.
 */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { bindingTypesAreCurrent } from './build/addon.mjs';
import { buildEverything } from './build/everything.mjs';
import { BuildError, mustRun, say } from './build/process.mjs';
import { preparePython } from './build/python.mjs';
import { root } from './build/tree.mjs';
import { runSchemathesis } from './schemathesis.mjs';
import { lintDescription } from './test/openapi-lint.mjs';
import { checkPackedInstall } from './test/packed-install.mjs';

/** Tests that ran, over all runners. */
const tests = { passed: 0, failed: 0, skipped: 0 };

async function node(name, script, ...args) {
  await mustRun(name, process.execPath, [join(root, 'node_modules', script), ...args]);
}

async function cargo(name, ...args) {
  await mustRun(name, 'cargo', args, { env: { CARGO_TERM_COLOR: 'never' } });
}

/** Cheap checks first: what fails in seconds should not wait for what takes minutes. */
const steps = {
  build: () => buildEverything({ updateTypes: false }),
  'cargo-fmt': () => cargo('cargo-fmt', 'fmt', '--all', '--check'),
  'binding-types': checkBindingTypes,
  tsc: () => node('tsc', 'typescript/bin/tsc', '--noEmit', '--project', 'tsconfig.json'),
  prettier: () => node('prettier', 'prettier/bin/prettier.cjs', '--check', '.'),
  eslint: () => node('eslint', 'eslint/bin/eslint.js', '.', '--max-warnings', '0'),
  openapi: lintDescription,
  clippy: () => cargo('clippy', 'clippy', '--workspace', '--all-targets', '--locked', '--', '-D', 'warnings'),
  'cargo-test': cargoTest,
  models,
  python: preparePython,
  jest,
  schemathesis: tryDescription,
  'packed-install': checkPackedInstall,
};

const chosen = process.argv.slice(2);
const unknown = chosen.filter((name) => !(name in steps));
if (unknown.length > 0) {
  say(`No such step: ${unknown.join(', ')}. The steps are: ${Object.keys(steps).join(', ')}`);
  process.exit(2);
}

process.exitCode = await runAll(chosen.length > 0 ? chosen : Object.keys(steps));

async function runAll(names) {
  const startedAt = performance.now();
  for (const name of names) {
    const stepStartedAt = performance.now();
    if (process.stdout.isTTY) process.stdout.write(`…       ${name}\r`);
    try {
      const note = await steps[name]();
      const detail = typeof note === 'string' ? `  ${note}` : '';
      console.log(`ok      ${name.padEnd(16)} ${seconds(stepStartedAt).padStart(8)}${detail}`);
    } catch (error) {
      console.log(error instanceof BuildError ? error.message : error);
      console.log(`FAILED  ${name.padEnd(16)} ${seconds(stepStartedAt).padStart(8)}`);
      closingLine(Math.max(tests.failed, 1));
      return 1;
    }
  }
  console.log(`All steps passed in ${seconds(startedAt)}`);
  closingLine(tests.failed);
  return 0;
}

function closingLine(failed) {
  const skipped = tests.skipped > 0 ? `, ${tests.skipped} skipped` : '';
  console.log(`${tests.passed} passed, ${failed} failed${skipped}`);
}

function seconds(since) {
  return `${((performance.now() - since) / 1000).toFixed(1)} s`;
}

/** The types that TypeScript compiles against must be those that the addon exports. */
function checkBindingTypes() {
  if (bindingTypesAreCurrent()) return;
  throw new BuildError(
    'src/engine/binding.d.ts is not what the addon exports now: run `npm run build` and commit the file.',
  );
}

function cargoTest() {
  return countedCargoTest('cargo-test');
}

/**
 * Orders of threads: the engine built once more, with the locks of a scheduler. Of the workspace, not of the engine's
 * package alone, for which cargo would build the dependencies again.
 */
function models() {
  return countedCargoTest('models', '--features', 'kithdb-engine/shuttle', '--test', 'models');
}

async function countedCargoTest(name, ...args) {
  const before = tests.passed;
  try {
    await cargo(name, 'test', '--workspace', '--locked', ...args);
  } finally {
    countCargoTests(name);
  }
  return `${tests.passed - before} tests`;
}

/** Adds up the closing lines of cargo's test binaries. */
function countCargoTests(name) {
  const log = readFileSync(join(root, '.build', 'logs', `${name}.log`), 'utf8');
  for (const line of log.matchAll(/^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored/gm)) {
    tests.passed += Number(line[1]);
    tests.failed += Number(line[2]);
    tests.skipped += Number(line[3]);
  }
}

/** Few cases, the same each time; the nightly recipe tries many, and others each time. */
function tryDescription() {
  return runSchemathesis({ maxExamples: 8, seed: 1, phases: ['examples', 'fuzzing'] });
}

async function jest() {
  const report = join(root, '.build', 'jest.json');
  rmSync(report, { force: true });
  let failure = null;
  try {
    await node('jest', 'jest/bin/jest.js', '--json', `--outputFile=${report}`);
  } catch (error) {
    failure = error;
  }
  // Without a report jest did not get as far as running a test.
  if (failure && !existsSync(report)) throw failure;
  const { numPassedTests, numFailedTests, numPendingTests, testResults } = JSON.parse(
    readFileSync(report, 'utf8'),
  );
  tests.passed += numPassedTests;
  tests.failed += numFailedTests;
  tests.skipped += numPendingTests;
  if (failure) throw failure;
  return `${numPassedTests} tests in ${testResults.length} files`;
}
