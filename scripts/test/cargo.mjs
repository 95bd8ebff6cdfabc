/** Rust tests: built by `build-tests`, counted and timed from what their runner prints. */
import { readFileSync } from 'node:fs';
import { BuildError, run, tail } from '../build/process.mjs';
import { MODELS_BUILD, TEST_BUILD } from '../build/tests.mjs';

/**
 * Rust's test runner times tests only where unstable options are allowed. This allows them to the test programs alone:
 * as a variable of cargo's own environment it would compile some dependencies again.
 */
const TIMED = [
  ...['--config', `target.'cfg(unix)'.runner = ["env", "RUSTC_BOOTSTRAP=1"]`],
  ...['--', ...(process.platform === 'win32' ? [] : ['-Z', 'unstable-options', '--report-time'])],
];

/** How many lines of a failed test's output the summary repeats. */
const SHOWN_OUTPUT_LINES = 12;

/** @param {import('./tally.mjs').Tally} tally */
export async function runCargoTests(tally) {
  const tests = await runAndCount(tally, 'cargo-test', [
    ...TEST_BUILD,
    '--lib',
    '--tests',
    '--no-fail-fast',
    ...TIMED,
  ]);
  // The runner of these is a part of rustdoc, where nothing allows the option.
  const examples = await runAndCount(tally, 'cargo-doc-test', [...TEST_BUILD, '--doc']);
  return `${tests + examples} tests`;
}

/**
 * Orders of threads.
 *
 * @param {import('./tally.mjs').Tally} tally
 */
export async function runModels(tally) {
  return `${await runAndCount(tally, 'models', [...MODELS_BUILD, ...TIMED])} tests`;
}

/** Runs `cargo test`; how many tests passed. */
async function runAndCount(tally, name, args) {
  const { code, log } = await run(name, 'cargo', ['test', ...args], {
    env: { CARGO_TERM_COLOR: 'never' },
  });
  const passed = countTests(tally, readFileSync(log, 'utf8'));
  if (code !== 0) throw new BuildError(`${name} failed (exit code ${code}).\n${tail(log)}`);
  return passed;
}

/**
 * Reads the closing line of each test program, the time behind each test, and what each failed test said; how many
 * tests passed.
 */
export function countTests(tally, log) {
  let program = '';
  let allPassed = 0;
  const lines = log.split('\n');
  for (const [index, line] of lines.entries()) {
    program = /^\s+Running (?:unittests )?(\S+)/.exec(line)?.[1] ?? program;
    const timed = /^test (\S+).* <([\d.]+)s>$/.exec(line);
    if (timed) tally.time(`${program} ${timed[1]}`, Number(timed[2]));
    const ignored = /^test (\S+).* ignored(?:, (.*?))?(?: <[\d.]+s>)?$/.exec(line);
    if (ignored) tally.skip(`${program} ${ignored[1]}`, ignored[2] ?? 'no reason is given');
    const failed = /^---- (\S+) stdout ----$/.exec(line)?.[1];
    if (failed) tally.fail(`${program} ${failed}`, outputOf(failed, lines, index));
    const result = /^test result: \w+\. (\d+) passed; (\d+) failed/.exec(line);
    if (result) {
      const [passed, failed] = result.slice(1).map(Number);
      tally.add({ passed, failed });
      allPassed += passed;
    }
  }
  return allPassed;
}

/**
 * The lines after the one at `index`, which a failed test printed: from the panic of its own thread on, where there is
 * one, because threads that it started may have panicked before.
 */
function outputOf(test, lines, index) {
  const after = lines.slice(index + 1);
  const end = after.findIndex((line) => /^(---- \S+ stdout ----|failures:)$/.test(line));
  const printed = (end < 0 ? after : after.slice(0, end)).filter((line) => line.trim() !== '');
  const own = printed.findIndex(
    (line) => line.startsWith(`thread '${test}' `) && line.includes(' panicked at '),
  );
  return printed.slice(Math.max(own, 0)).slice(0, SHOWN_OUTPUT_LINES).join('\n');
}
