/** Runs one test, with a fault or without, and says how it ended. */
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { BuildError, output, run } from '../../build/process.mjs';
import { TEST_BUILD } from '../../build/tests.mjs';
import { root } from '../../build/tree.mjs';

/** A test that detects a fault does so within a minute; a busy machine gets more. */
const LIMIT_MS = 600_000;
const TIMED_OUT = 124;
/** How Rust's test runner ends after a failed test; a process that was killed or aborted ends otherwise. */
const TESTS_FAILED = 101;

/**
 * @typedef {'passed' | 'failed' | 'not run' | 'hung' | 'died'} Ending `failed` is an assertion of the test, `not run` that
 *   there was no such test or that it was skipped, `died` any other end of the process
 */

/** The programs of the Rust tests by name, as cargo has built them. */
export async function rustPrograms() {
  const args = ['test', ...TEST_BUILD, '--lib', '--tests', '--no-run', '--message-format', 'json'];
  const printed = await output('cargo', args);
  if (printed === null) throw new BuildError('cargo does not say where the tests are.');
  const programs = new Map();
  for (const line of printed.split('\n')) {
    const { reason, target, executable, manifest_path: manifest } = JSON.parse(line);
    if (reason !== 'compiler-artifact' || !executable || !manifest.includes(join('crates', 'engine')))
      continue;
    programs.set(target.kind.includes('lib') ? 'lib' : target.name, executable);
  }
  return programs;
}

/**
 * @param {import('./table.mjs').Test} test
 * @param {string} [fault] the name of the one that is planted
 * @returns {Promise<{ending: Ending, seconds: number, log: string}>}
 */
export async function runTest(test, programs, fault) {
  const startedAt = performance.now();
  const env = { PLANTED_FAULT: fault ?? '' };
  const name = `fault-${fault ?? 'none'}`;
  const { ending, log } = await (test.kind === 'rust'
    ? runRust(name, test, programs, env)
    : runJest(name, test, env));
  return { ending, log, seconds: (performance.now() - startedAt) / 1000 };
}

async function runRust(name, test, programs, env) {
  const program = programs.get(test.program);
  if (program === undefined) throw new BuildError(`There is no test program ${test.program}.`);
  const options = { cwd: join(root, 'crates', 'engine'), env, limitMs: LIMIT_MS };
  const { code, log } = await run(name, program, [test.name, '--exact'], options);
  const said = readFileSync(log, 'utf8');
  if (code === TIMED_OUT) return { ending: 'hung', log };
  if (code === 0) return { ending: / 1 passed; 0 failed;/.test(said) ? 'passed' : 'not run', log };
  const hasFailed = code === TESTS_FAILED && said.includes(`\nfailures:\n    ${test.name}\n`);
  return { ending: hasFailed && / panicked at /.test(said) ? 'failed' : 'died', log };
}

async function runJest(name, test, env) {
  const report = join(root, '.build', 'fault.json');
  rmSync(report, { force: true });
  const pattern = test.name.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const jest = join(root, 'node_modules', 'jest', 'bin', 'jest.js');
  const args = [jest, test.file, '-t', pattern, '--runInBand', '--json', `--outputFile=${report}`];
  const { code, log } = await run(name, process.execPath, args, { env, limitMs: LIMIT_MS });
  if (code === TIMED_OUT) return { ending: 'hung', log };
  return { ending: endingOf(JSON.parse(readFileSync(report, 'utf8')), test), log };
}

/** How a test ended by the report of Jest. One that waited in vain until Jest gave it up has asserted nothing. */
function endingOf({ testResults }, { name }) {
  const ran = testResults
    .flatMap(({ assertionResults }) => assertionResults)
    .filter(({ fullName, status }) => fullName.includes(name) && status !== 'pending');
  const failed = ran.filter(({ status }) => status === 'failed');
  if (ran.length === 0) return 'not run';
  if (failed.length === 0) return 'passed';
  const gaveUp = ({ failureMessages }) =>
    failureMessages.some((text) => text.includes('Exceeded timeout of'));
  return failed.every(gaveUp) ? 'hung' : 'failed';
}
