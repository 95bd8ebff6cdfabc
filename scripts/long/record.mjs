/** docs/soak.json: which long tests ran of which commit, so that the next run continues where the last one ended. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { BuildError, output } from '../build/process.mjs';
import { root } from '../build/tree.mjs';

const RECORD = join(root, 'docs', 'soak.json');

/**
 * @typedef {Record<string, {faults: number, met: number, acknowledged: number, unknown: number, lost: number, doubled: number, others: number, writePauseMs: number, readPauseMs: number}>} FaultCounts
 * by kind of fault: how many there were, how many met work under way, writes that were acknowledged and whose outcome stayed
 * unknown, what the checker found, and the longest times without an acknowledged write and without a read that was answered
 *
 * @typedef {{suite: string, commit: string, first?: number, count: number, seconds?: number, slowestMs?: number, faults?: FaultCounts, failed?: boolean}} Entry
 * `count` cases of one commit, from number `first` on where they are numbered; seconds passed, on a machine that may
 * have done other things
 */

/** The commit that is tested; with a plus where files differ from it. */
export async function testedCommit() {
  const name = await output('git', ['rev-parse', '--short', 'HEAD']);
  const changes = await output('git', ['status', '--porcelain', 'crates', 'src', 'test']);
  if (name === null || changes === null) throw new BuildError('git does not say which commit this is.');
  return changes === '' ? name : `${name}+`;
}

/** @returns {Entry[]} */
export function readRecord() {
  return existsSync(RECORD) ? JSON.parse(readFileSync(RECORD, 'utf8')) : [];
}

/** Adds an entry, to the one that it continues if there is one. */
export function keep(entry) {
  const record = readRecord();
  const before = record.find(
    ({ suite, commit, first, count, failed }) =>
      suite === entry.suite &&
      commit === entry.commit &&
      !failed &&
      !entry.failed &&
      (first === undefined || first + count === entry.first),
  );
  if (before) {
    before.count += entry.count;
    before.seconds = (before.seconds ?? 0) + entry.seconds;
    if (entry.faults !== undefined) before.faults = joinedFaults(before.faults ?? {}, entry.faults);
    if (entry.slowestMs !== undefined) before.slowestMs = Math.max(before.slowestMs ?? 0, entry.slowestMs);
  } else {
    record.push(entry);
  }
  writeFileSync(RECORD, `[\n${record.map((line) => `  ${JSON.stringify(line)}`).join(',\n')}\n]\n`);
}

/** The counts of two runs: sums, and the longer of the pauses. */
export function addFaults(one, other) {
  const sum = Object.fromEntries(Object.entries(one).map(([name, value]) => [name, value + other[name]]));
  return {
    ...sum,
    writePauseMs: Math.max(one.writePauseMs, other.writePauseMs),
    readPauseMs: Math.max(one.readPauseMs, other.readPauseMs),
  };
}

function joinedFaults(before, added) {
  const joined = { ...before };
  for (const [kind, counts] of Object.entries(added)) {
    joined[kind] = kind in joined ? addFaults(joined[kind], counts) : counts;
  }
  return joined;
}

/** The first number of a suite that no run has had. */
export function nextOf(suite) {
  const ends = readRecord().map((entry) => (entry.suite === suite ? (entry.first ?? 0) + entry.count : 0));
  return Math.max(0, ...ends);
}

/** How many cases of a suite passed on a commit. */
export function totalOf(suite, commit) {
  const passed = readRecord().filter(
    (entry) => entry.suite === suite && entry.commit === commit && !entry.failed,
  );
  return passed.reduce((sum, { count }) => sum + count, 0);
}
