/** The TypeScript tests, counted and timed from jest's report. */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { BuildError, mustRun } from '../build/process.mjs';
import { root } from '../build/tree.mjs';

const MESSAGE_LINES = 20;

/** @param {import('./tally.mjs').Tally} tally */
export async function runJest(tally) {
  const report = join(root, '.build', 'jest.json');
  rmSync(report, { force: true });
  const script = join(root, 'node_modules', 'jest', 'bin', 'jest.js');
  let failure = null;
  try {
    await mustRun('jest', process.execPath, [script, '--json', `--outputFile=${report}`]);
  } catch (error) {
    failure = error;
  }
  // Without a report jest did not get as far as running a test.
  if (failure && !existsSync(report)) throw failure;
  const { numPassedTests, numFailedTests, testResults } = JSON.parse(readFileSync(report, 'utf8'));
  tally.add({ passed: numPassedTests, failed: numFailedTests });
  const unexplained = [];
  for (const { name, assertionResults } of testResults) {
    for (const { fullName, duration, status, failureMessages } of assertionResults) {
      const test = `${relative(root, name)} ${fullName}`;
      tally.time(test, (duration ?? 0) / 1000);
      if (status === 'failed') tally.fail(test, firstLinesOf(failureMessages));
      if (status === 'passed' || status === 'failed') continue;
      // test/missing.ts puts it into the name.
      const [reason, why] = / \(skipped: (.*?)\)/.exec(test) ?? [];
      if (why === undefined) unexplained.push(test);
      else tally.skip(test.replace(reason, ''), why);
    }
  }
  if (failure) throw failure;
  if (unexplained.length > 0)
    throw new BuildError(`Skipped without a reason (see test/missing.ts):\n${unexplained.join('\n')}`);
  return `${numPassedTests} tests in ${testResults.length} files`;
}

/** What a failed test said, without the stack. */
function firstLinesOf(messages) {
  const lines = stripVTControlCharacters(messages.join('\n'))
    .split('\n')
    .filter((line) => line.trim() !== '' && !/^\s+at /.test(line));
  return lines.slice(0, MESSAGE_LINES).join('\n');
}
