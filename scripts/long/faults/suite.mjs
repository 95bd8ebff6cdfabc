/**
 * The suite `faults`: each fault of the table is planted, and the test that is named for it must fail. It runs without a
 * fault first and must pass. See docs/faults.md.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { say } from '../../build/process.mjs';
import { root } from '../../build/tree.mjs';
import { noteDetected } from './page.mjs';
import { DETECTED_BY } from './table.mjs';
import { rustPrograms, runTest } from './tests.mjs';

/** The faults, by their numbers as cases. */
export const FAULTS = Object.keys(DETECTED_BY);

/**
 * Plants `count` faults from number `first` on; a number beyond the last is that of another round.
 *
 * @returns {Promise<{code: number, log: string, count: number}>}
 */
export async function runFaults(first, count) {
  const faults = Array.from({ length: count }, (_, at) => FAULTS[(first + at) % FAULTS.length]);
  const programs = await rustPrograms();
  const lines = [...(await withoutFault(faults, programs)), ...(await withFaults(faults, programs))];
  const wrong = lines.filter((line) => line.startsWith('WRONG'));
  const log = join(root, '.build', 'logs', 'long-faults.log');
  mkdirSync(join(root, '.build', 'logs'), { recursive: true });
  writeFileSync(log, `${lines.join('\n')}\n`);
  return { code: wrong.length === 0 ? 0 : 1, log, count };
}

/** The tests of these faults, once each: all must pass. */
async function withoutFault(faults, programs) {
  const tests = new Map(faults.map((fault) => [JSON.stringify(DETECTED_BY[fault]), DETECTED_BY[fault]]));
  const lines = [];
  for (const test of tests.values()) {
    const { ending, seconds, log } = await runTest(test, programs);
    lines.push(line(ending === 'passed', `without a fault: ${test.name}: ${ending}`, seconds, log));
  }
  return lines;
}

/** Each of these faults: its test must fail. What was detected is noted in the page. */
async function withFaults(faults, programs) {
  const lines = [];
  const detected = new Map();
  for (const fault of faults) {
    const { ending, seconds, log } = await runTest(DETECTED_BY[fault], programs, fault);
    lines.push(line(ending === 'failed', `${fault}: ${DETECTED_BY[fault].name}: ${ending}`, seconds, log));
    if (ending === 'failed') detected.set(fault, Math.round(seconds * 10) / 10);
  }
  await noteDetected(detected);
  return lines;
}

function line(isRight, what, seconds, log) {
  const text = `${isRight ? 'ok   ' : 'WRONG'} ${what} (${seconds.toFixed(1)} s)${isRight ? '' : `, see ${log}`}`;
  say(`  ${text}`);
  return text;
}
