/** The ratio of paired measurements and its confidence interval. */

/** Two-sided 95 % quantiles of Student's t distribution for 1 to 30 degrees of freedom; beyond, the last one. */
const T_95 = [
  12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131,
  2.12, 2.11, 2.101, 2.093, 2.086, 2.08, 2.074, 2.069, 2.064, 2.06, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/**
 * Geometric mean of the ratios of pairs, with its 95 % confidence interval: a paired t test on the logarithms.
 *
 * @param {number[]} ratios at least two, each above 0
 * @returns {{ratio: number, low: number, high: number}}
 */
export function ratioInterval(ratios) {
  if (ratios.length < 2) throw new Error(`an interval needs two pairs, not ${ratios.length}`);
  if (!ratios.every((ratio) => ratio > 0)) throw new Error('a ratio must be above 0');
  const logs = ratios.map(Math.log);
  const mean = logs.reduce((sum, log) => sum + log, 0) / logs.length;
  const variance = logs.reduce((sum, log) => sum + (log - mean) ** 2, 0) / (logs.length - 1);
  const t = T_95[Math.min(logs.length - 1, T_95.length) - 1];
  const margin = t * Math.sqrt(variance / logs.length);
  return { ratio: Math.exp(mean), low: Math.exp(mean - margin), high: Math.exp(mean + margin) };
}
