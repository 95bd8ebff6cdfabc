/** Recall against exact neighbours: those that a vector set ships, or those of the server's own exact search. */

/** Rounding of f32 sums must not decide whether a tie is a hit. */
const RELATIVE_TOLERANCE = 1e-5;

/**
 * The share of the `k` nearest that each answer has, on average. A row as near as the k-th nearest is a hit
 * whichever of the tied rows the ground truth happens to name, so distances are computed here again.
 *
 * @param {import('../data/vector-set.mjs').VectorSet} set
 * @param {number[][]} answers row numbers, one list for each query
 * @param {number} k
 * @returns {number} 0 to 1
 */
export function recall(set, answers, k) {
  let hits = 0;
  answers.forEach((rows, index) => {
    const query = set.query(index);
    const nearest = set.nearest(index);
    const known = new Set(nearest.subarray(0, k));
    const worst = far(set, query, nearest[k - 1]);
    const limit = worst + Math.abs(worst) * RELATIVE_TOLERANCE;
    const distinct = new Set(rows.slice(0, k));
    for (const row of distinct) if (known.has(row) || far(set, query, row) <= limit) hits++;
  });
  return hits / (answers.length * k);
}

/**
 * The share of the points of exact answers that others have; a point that ties with the last exact one is a hit.
 *
 * @param {string} distance as the service calls the metric
 * @param {{score: number}[][]} answers a list for each query
 * @param {{score: number}[][]} exact
 * @returns {number} 0 to 1
 */
export function recallByScore(distance, answers, exact) {
  let [found, wanted] = [0, 0];
  answers.forEach((points, index) => {
    const worst = exact[index].at(-1)?.score;
    if (worst === undefined) return;
    const isHit = ({ score }) => (distance === 'Euclid' ? score <= worst : score >= worst);
    found += points.filter(isHit).length;
    wanted += exact[index].length;
  });
  return found / wanted;
}

/** How far a row is from a query, smaller being nearer, whatever the metric. */
function far(set, query, row) {
  const vector = set.base(row);
  let dot = 0;
  let square = 0;
  let norm = 0;
  for (let i = 0; i < vector.length; i++) {
    dot += vector[i] * query[i];
    square += (vector[i] - query[i]) ** 2;
    norm += vector[i] ** 2;
  }
  if (set.distance === 'Euclid') return Math.sqrt(square);
  if (set.distance === 'Dot') return -dot;
  const queryNorm = Math.sqrt(query.reduce((sum, value) => sum + value * value, 0));
  return 1 - dot / (Math.sqrt(norm) * queryNorm);
}
