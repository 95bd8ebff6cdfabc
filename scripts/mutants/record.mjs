/** docs/mutants.json: what became of each mutant that was tested, a mutant a line. */
import { existsSync, mkdirSync, readFileSync, renameSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../build/tree.mjs';
import { nameOf } from './sample.mjs';

const RECORD = join(root, 'docs', 'mutants.json');

/**
 * @typedef {object} Entry
 * @property {'rust' | 'typescript'} language
 * @property {string} commit whose code was mutated
 * @property {string} date of the test
 * @property {string} file
 * @property {number} line
 * @property {number} column
 * @property {string} mutant
 * @property {'killed' | 'timeout' | 'survived' | 'unviable'} outcome a timeout is counted apart; what does not
 *   compile is unviable, and counts for nothing
 * @property {number} seconds that passed, on a machine that may have done other things
 * @property {string} [by] the test that failed
 * @property {string} [since] the commit whose tests killed what had survived
 * @property {string} [why] written by hand: why it does no harm that it survived
 */

/** @returns {Entry[]} */
export function readRecord() {
  return existsSync(RECORD) ? JSON.parse(readFileSync(RECORD, 'utf8')) : [];
}

/** Adds an entry, in place of the one of the same mutant if there is one, and keeps what is written by hand. */
export function keep(entry) {
  exclusively(() => {
    const record = readRecord();
    const at = record.findIndex((other) => keyOf(other) === keyOf(entry));
    const why = at >= 0 && entry.outcome === 'survived' ? record[at].why : undefined;
    const kept = why === undefined ? entry : { ...entry, why };
    record.splice(at < 0 ? record.length : at, 1, kept);
    const text = `[\n${record.map((line) => `  ${JSON.stringify(line)}`).join(',\n')}\n]\n`;
    // A run that is stopped between two writes must not lose what others have found.
    writeFileSync(`${RECORD}.tmp`, text);
    renameSync(`${RECORD}.tmp`, RECORD);
  });
}

/** While shards run side by side, one at a time. */
function exclusively(work) {
  const lock = join(root, '.build', 'mutants', 'record.lock');
  for (let waits = 0; ; waits += 1) {
    try {
      mkdirSync(lock);
      break;
    } catch (error) {
      // The process that took it was killed: to write the record takes milliseconds.
      if (error.code !== 'EEXIST') throw error;
      if (waits > 500) rmdirSync(lock);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
    }
  }
  try {
    work();
  } finally {
    rmdirSync(lock);
  }
}

/** What names a mutant in the record. */
export function keyOf(entry) {
  return `${entry.language} ${entry.commit} ${nameOf(entry)}`;
}

/**
 * How many mutants had which outcome, and the share of the killed among those that compile, without and with timeouts.
 *
 * @param {Entry[]} entries
 */
export function summaryOf(entries) {
  const count = (outcome) => entries.filter((entry) => entry.outcome === outcome).length;
  const [killed, timeout, survived, unviable] = ['killed', 'timeout', 'survived', 'unviable'].map(count);
  const viable = killed + timeout + survived;
  const shareOf = (part) => `${((100 * part) / viable).toFixed(1)} %`;
  const share =
    viable === 0 ? '' : `: ${shareOf(killed)} killed, ${shareOf(killed + timeout)} with those that timed out`;
  return `${entries.length} tested, ${killed} killed, ${timeout} timed out, ${survived} survived, ${unviable} unviable${share}`;
}
