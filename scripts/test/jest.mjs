/** The TypeScript tests, counted and timed from jest's report. */
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { mustRun } from '../build/process.mjs';
import { root } from '../build/tree.mjs';

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
  const { numPassedTests, numFailedTests, numPendingTests, testResults } = JSON.parse(
    readFileSync(report, 'utf8'),
  );
  tally.add({ passed: numPassedTests, failed: numFailedTests, skipped: numPendingTests });
  for (const { name, assertionResults } of testResults) {
    for (const { fullName, duration } of assertionResults) {
      tally.time(`${relative(root, name)} ${fullName}`, (duration ?? 0) / 1000);
    }
  }
  if (failure) throw failure;
  return `${numPassedTests} tests in ${testResults.length} files`;
}
