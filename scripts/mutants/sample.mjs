/** Which mutants a run takes. */
import { createHash } from 'node:crypto';

/**
 * @typedef {object} Mutant
 * @property {string} file from the repository's root, with `/`
 * @property {number} line the first line that it changes, from 1
 * @property {number} endLine the last one
 * @property {number} column from 1
 * @property {string} mutant what it puts in place of what
 */

/**
 * A part of all mutants that a seed decides. Each is drawn by a digest of its own, so that a larger sample begins with
 * the smaller one, and a sample is the same whatever order a tool lists mutants in.
 *
 * @template {Mutant} T
 * @param {T[]} mutants
 * @param {number} seed
 * @param {number} size
 * @returns {T[]}
 */
export function sampleOf(mutants, seed, size) {
  const drawn = mutants.map((mutant) => ({ mutant, draw: digest(`${seed}\0${nameOf(mutant)}`) }));
  drawn.sort((a, b) => (a.draw < b.draw ? -1 : 1));
  return drawn.slice(0, size).map(({ mutant }) => mutant);
}

/** What names a mutant within a commit. */
export function nameOf({ file, line, column, mutant }) {
  return `${file}:${line}:${column}: ${mutant}`;
}

/**
 * Where a mutant that was tested in one commit is in another one, whose lines may have moved: the mutant with the same
 * words at the same place of a line with the same text. Of several such lines it is the one with as many of them above.
 *
 * @template {Mutant} T
 * @param {Pick<Mutant, 'line' | 'column' | 'mutant'>} earlier
 * @param {T[]} mutants those of its file in the other commit
 * @param {string} before the text of its file when it was tested
 * @param {string} now that of the other commit
 * @returns {T | undefined} undefined where the line has changed
 */
export function movedTo(earlier, mutants, before, now) {
  const text = lineOf(before, earlier.line).trim();
  const indent = ({ line, column }, file) => column - lineOf(file, line).search(/\S|$/);
  const above = linesWith(text, before).indexOf(earlier.line);
  const line = linesWith(text, now)[above];
  return mutants.find(
    (mutant) =>
      mutant.line === line &&
      mutant.mutant === earlier.mutant &&
      indent(mutant, now) === indent(earlier, before),
  );
}

function lineOf(file, line) {
  return file.split('\n')[line - 1] ?? '';
}

/** The numbers of the lines that have this text, without what it is indented by. */
function linesWith(text, file) {
  return file.split('\n').flatMap((line, at) => (line.trim() === text ? [at + 1] : []));
}

/**
 * Every `count`-th mutant, from number `shard` on.
 *
 * @template T
 * @param {T[]} mutants
 * @param {{shard: number, count: number}} part `shard` from 1
 * @returns {T[]}
 */
export function shardOf(mutants, { shard, count }) {
  return mutants.filter((_, index) => index % count === shard - 1);
}

/**
 * The mutants that touch a changed line.
 *
 * @template {Mutant} T
 * @param {T[]} mutants
 * @param {string} diff of git, with `--unified=0`
 * @returns {T[]}
 */
export function changedIn(mutants, diff) {
  const changed = changedLines(diff);
  return mutants.filter(({ file, line, endLine }) =>
    (changed.get(file) ?? []).some(({ first, last }) => first <= endLine && line <= last),
  );
}

/** Ranges of lines by the file that has them after the change. */
function changedLines(diff) {
  const changed = new Map();
  let ranges = [];
  for (const text of diff.split('\n')) {
    const file = /^\+\+\+ b\/(.*)$/.exec(text)?.[1];
    if (file !== undefined) changed.set(file, (ranges = []));
    const [, first, count = '1'] = /^@@ -\S+ \+(\d+)(?:,(\d+))? @@/.exec(text) ?? [];
    if (first !== undefined && count !== '0') {
      ranges.push({ first: Number(first), last: Number(first) + Number(count) - 1 });
    }
  }
  return changed;
}

function digest(text) {
  return createHash('sha256').update(text).digest('hex');
}
