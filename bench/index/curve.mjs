/** Recall against queries per second, and interpolation between the measured points. */

/**
 * @typedef {{recall: number, qps: number}} Point
 */

/**
 * Queries per second at a recall: log(QPS) interpolated on logit(recall) between the two points around it.
 * A point with less recall and a lower rate than another is ignored.
 *
 * @param {Point[]} points of one system
 * @param {number} recall 0 to 1
 * @returns {{qps: number | null, why?: 'above' | 'below'}} null when the points end below that recall (`above`: not
 *   reached), or all lie above it (`below`: nothing so inexact was measured)
 */
export function qpsAt(points, recall) {
  const front = frontier(points);
  if (front.length === 0 || front.at(-1).recall < recall) return { qps: null, why: 'above' };
  if (front[0].recall > recall) return { qps: null, why: 'below' };
  const right = front.findIndex((point) => point.recall >= recall);
  if (front[right].recall === recall) return { qps: front[right].qps };
  const [a, b] = [front[right - 1], front[right]];
  const share = (logit(recall) - logit(a.recall)) / (logit(b.recall) - logit(a.recall));
  return { qps: Math.exp(Math.log(a.qps) + share * (Math.log(b.qps) - Math.log(a.qps))) };
}

/**
 * The Pareto frontier: points by rising recall and falling rate.
 *
 * @param {Point[]} points
 * @returns {Point[]}
 */
export function frontier(points) {
  const front = [];
  for (const point of points.toSorted((a, b) => b.recall - a.recall || b.qps - a.qps)) {
    if (front.length === 0 || point.qps > front.at(-1).qps) front.push(point);
  }
  return front.reverse();
}

/** log(p / (1 − p)): stretches the recalls near 1. Perfect recall counts as one miss in 100,000. */
export function logit(recall) {
  const p = Math.min(recall, 1 - 1e-5);
  return Math.log(p / (1 - p));
}

/** @param {number[]} values at least one */
export function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}
