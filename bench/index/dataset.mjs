/**
 * A folder of vectors to compare indexes on: with a `meta.json` (see `data/debian-small/README.md`), or TexMex files
 * (`NAME_base.fvecs`, `NAME_query.fvecs`, `NAME_groundtruth.ivecs`), or NumPy arrays (`base.npy` or `train.npy`,
 * `query.npy` or `test.npy`, `groundtruth.npy` or `neighbors.npy`).
 */
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { ByteFile, DataError, ELEMENTS, readRows } from './elements.mjs';
import { readNpy } from './npy.mjs';
import { readTexmex } from './texmex.mjs';

const METRICS = ['cosine', 'dot', 'euclid'];

/** What each file holds, by the last word of its name. */
const ROLES = {
  base: ['base', 'train', 'database'],
  query: ['query', 'queries', 'test'],
  truth: ['groundtruth', 'neighbors', 'gt'],
};

/**
 * @typedef {object} DataSet
 * @property {string} name
 * @property {'cosine' | 'dot' | 'euclid'} metric
 * @property {number} dims
 * @property {number} rows
 * @property {Float32Array} base row after row
 * @property {number} queries
 * @property {Float32Array} query
 * @property {Int32Array | null} truth rows of the nearest, best first, `truthCount` for each query; null if the folder
 *   does not say
 * @property {number} truthCount
 */

/**
 * @param {string} folder
 * @param {string} [metric] instead of the folder's own; for folders without one, Euclid by default
 * @returns {DataSet}
 * @throws {DataError} that says what is wrong with the folder
 */
export function readDataSet(folder, metric) {
  if (metric !== undefined && !METRICS.includes(metric)) {
    throw new DataError(`unknown metric ${metric}: ${METRICS.join(', ')}`);
  }
  if (!existsSync(folder) || !statSync(folder).isDirectory()) throw new DataError(`${folder} is no folder`);
  const set = existsSync(join(folder, 'meta.json')) ? withMeta(folder, metric) : withoutMeta(folder, metric);
  if (set.rows === 0 || set.queries === 0) throw new DataError(`${folder}: no rows, or no queries`);
  if (set.truth?.some((row) => row < 0 || row >= set.rows)) {
    throw new DataError(`${folder}: the ground truth names rows that the base does not have`);
  }
  return set;
}

/**
 * The first rows and queries of a set. Fewer rows have other neighbours, so the ground truth goes.
 *
 * @param {DataSet} set
 * @param {number} rows
 * @param {number} queries
 * @returns {DataSet}
 */
export function cut(set, rows, queries) {
  const keptRows = Math.min(rows, set.rows);
  const keptQueries = Math.min(queries, set.queries);
  return {
    ...set,
    rows: keptRows,
    base: set.base.subarray(0, keptRows * set.dims),
    queries: keptQueries,
    query: set.query.subarray(0, keptQueries * set.dims),
    truth: keptRows < set.rows ? null : (set.truth?.subarray(0, keptQueries * set.truthCount) ?? null),
  };
}

function withMeta(folder, metric) {
  const path = join(folder, 'meta.json');
  let meta;
  try {
    meta = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    throw new DataError(`${path}: ${error.message}`);
  }
  for (const key of ['dims', 'dtype', 'base', 'query']) {
    if (meta[key] === undefined) throw new DataError(`${path} lacks ${key}`);
  }
  if (!Object.hasOwn(ELEMENTS, meta.dtype)) throw new DataError(`${path}: unknown dtype ${meta.dtype}`);
  const chosen = metric ?? meta.metric ?? 'euclid';
  if (!METRICS.includes(chosen)) {
    throw new DataError(`${path}: metric ${chosen}; the peers know ${METRICS.join(', ')}`);
  }
  const base = plain(folder, meta.base, meta.dtype, meta.dims, meta.rows, Float32Array);
  const query = plain(folder, meta.query, meta.dtype, meta.dims, meta.queries, Float32Array);
  const truth =
    meta.groundtruth && chosen === (meta.metric ?? 'euclid')
      ? plain(folder, meta.groundtruth, 'i32', meta.groundtruth_k, query.rows, Int32Array)
      : null;
  return assemble(meta.name ?? basename(resolve(folder)), chosen, base, query, truth);
}

/** Elements row after row, without a header. */
function plain(folder, name, dtype, columns, rows, kind) {
  const path = join(folder, name);
  if (!existsSync(path)) throw new DataError(`${path}, which meta.json names, does not exist`);
  const file = new ByteFile(path);
  try {
    const found = file.size / (columns * ELEMENTS[dtype].bytes);
    if (!Number.isInteger(found) || (rows !== undefined && rows !== found)) {
      throw new DataError(
        `${path}: ${file.size} bytes are not ${rows ?? 'a whole number of'} rows of ${columns} × ${dtype}`,
      );
    }
    return { rows: found, columns, values: readRows(file, { dtype, columns, rows: found }, kind) };
  } finally {
    file.close();
  }
}

function withoutMeta(folder, metric) {
  const names = readdirSync(folder).sort();
  for (const [endings, read] of [
    [['fvecs', 'bvecs', 'ivecs'], readTexmex],
    [['npy'], readNpy],
  ]) {
    const pattern = new RegExp(`\\.(${endings.join('|')})(\\.gz)?$`);
    const candidates = names.filter((name) => pattern.test(name));
    if (candidates.length === 0) continue;
    const find = (role) => {
      const word = new RegExp(`(^|[^a-z])(${ROLES[role].join('|')})$`, 'i');
      const found = candidates.filter((name) => word.test(name.replace(pattern, '')));
      if (found.length > 1) throw new DataError(`${folder}: which is the ${role}: ${found.join(' or ')}?`);
      return found[0] && join(folder, found[0]);
    };
    const paths = { base: find('base'), query: find('query'), truth: find('truth') };
    for (const role of ['base', 'query']) {
      if (!paths[role]) {
        const words = ROLES[role].map((word) => `${word}.${endings[0]}`).join(', ');
        throw new DataError(`${folder}: no ${role} among ${candidates.join(', ')}; it would end in ${words}`);
      }
    }
    const base = read(paths.base, Float32Array);
    const query = read(paths.query, Float32Array);
    // Files that say nothing of their metric have ground truth for the one that they are known by.
    const truth = paths.truth && (metric ?? 'euclid') === 'euclid' ? read(paths.truth, Int32Array) : null;
    return assemble(basename(resolve(folder)), metric ?? 'euclid', base, query, truth);
  }
  throw new DataError(`${folder}: neither meta.json nor fvecs, bvecs or npy files`);
}

function assemble(name, metric, base, query, truth) {
  if (base.columns !== query.columns) {
    throw new DataError(`rows of ${base.columns} components, but queries of ${query.columns}`);
  }
  if (truth && truth.rows !== query.rows) {
    throw new DataError(`ground truth of ${truth.rows} queries, but there are ${query.rows}`);
  }
  return {
    name,
    metric,
    dims: base.columns,
    rows: base.rows,
    base: base.values,
    queries: query.rows,
    query: query.values,
    truth: truth?.values ?? null,
    truthCount: truth?.columns ?? 0,
  };
}
