/**
 * Which tests of Rust reach which mutants. Each test runs in a process of its own, without a mutant, and the switches
 * that it passes by write their numbers to a file.
 */
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { BuildError, say } from '../build/process.mjs';
import { attempt } from './attempt.mjs';
import { REACHED } from './switches.mjs';
import { folder } from './tree.mjs';

/** How long one test may take without a mutant. */
const LIMIT_SECONDS = 1200;

/** Tests of a mutant run in rounds, the quickest first: the tests of a round take so long one after the other. */
const ROUND_SECONDS = [5, 30, 120];

/**
 * @typedef {object} Reach
 * @property {string} program `lib` or the name of a file of tests
 * @property {string} test
 * @property {number} seconds without a mutant
 * @property {number[]} mutants the numbers of the switches that it passes by
 */

/**
 * Runs every test of the programs by itself, as many at a time as there are cores.
 *
 * @param {Map<string, string>} programs their paths by name
 * @param {string} cwd
 * @returns {Promise<Reach[]>}
 */
export async function measureReach(programs, cwd) {
  const tests = [];
  for (const [program, path] of programs) {
    for (const test of await namesOf(path, cwd)) tests.push({ program, path, test });
  }
  say(`Which of ${tests.length} tests reach which mutants …`);
  const notes = join(folder, 'rust-reached');
  rmSync(notes, { recursive: true, force: true });
  mkdirSync(notes);
  const reaches = [];
  let next = 0;
  const work = async () => {
    for (let index = next++; index < tests.length; index = next++) {
      reaches.push(await reachOf(tests[index], cwd, join(notes, String(index))));
    }
  };
  await Promise.all(cpus().map(work));
  return reaches;
}

async function namesOf(path, cwd) {
  const { passed, text } = await attempt(path, ['--list', '--format', 'terse'], { cwd, limitSeconds: 60 });
  if (!passed) throw new BuildError(`${path} does not list its tests.\n${text}`);
  return [...text.matchAll(/^(.*): test$/gm)].map(([, name]) => name);
}

async function reachOf({ program, path, test }, cwd, note) {
  const run = () =>
    attempt(path, [test, '--exact'], { cwd, env: { [REACHED]: note }, limitSeconds: LIMIT_SECONDS });
  let ran = await run();
  if (!ran.passed) ran = await run();
  if (!ran.passed) {
    say(`Left out, because it fails without a mutant: ${program}: ${test}`);
    return { program, test, seconds: ran.seconds, mutants: [] };
  }
  const numbers = existsSync(note) ? readFileSync(note, 'utf8').split('\n').filter(Boolean).map(Number) : [];
  return { program, test, seconds: ran.seconds, mutants: [...new Set(numbers)].sort((a, b) => a - b) };
}

/**
 * The tests that reach a mutant, in rounds: the quickest in the first, and those of one program together.
 *
 * @param {Reach[]} reaches
 * @param {number} number of the mutant
 * @returns {{program: string, tests: string[], seconds: number}[]}
 */
export function roundsOf(reaches, number) {
  const reaching = reaches
    .filter(({ mutants }) => mutants.includes(number))
    .sort((a, b) => a.seconds - b.seconds);
  const rounds = [];
  let left = 0;
  for (const { program, test, seconds } of reaching) {
    if (rounds.length === 0 || seconds > left) {
      left = ROUND_SECONDS[rounds.length] ?? Infinity;
      rounds.push(new Map());
    }
    left -= seconds;
    const round = rounds.at(-1);
    if (!round.has(program)) round.set(program, { program, tests: [], seconds: 0 });
    const part = round.get(program);
    part.tests.push(test);
    part.seconds += seconds;
  }
  return rounds.flatMap((round) => [...round.values()]);
}
