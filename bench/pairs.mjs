/** Two of something measured in turns: pairs of runs, each of which gives one ratio a figure. */
import { ratioInterval } from './interval.mjs';

/** @typedef {Record<string, {value: number, lowerIsBetter?: boolean}>} Figures by name */

/**
 * Runs all pairs and prints each ratio; above 1 the second is better. Which runs first changes from pair to pair. Figures that
 * the second does not have are left out.
 *
 * @param {string} what is printed in front of each figure
 * @param {[string, string]} names of the two
 * @param {number} count of pairs, at least two
 * @param {(order: string[]) => Promise<Record<string, Figures>> | Record<string, Figures>} onePair
 * @returns {Promise<{figure: string, ratio: number, low: number, high: number, pairs: Record<string, number>[]}[]>}
 */
export async function comparePairs(what, names, count, onePair) {
  const found = [];
  for (let pair = 0; pair < count; pair += 1) {
    found.push(await onePair(pair % 2 === 0 ? names : names.toReversed()));
    process.stderr.write(`${what}: pair ${pair + 1} of ${count}\n`);
  }
  const [first, second] = names;
  return Object.entries(found[0][first]).flatMap(([figure, { lowerIsBetter = false }]) => {
    if (found[0][second][figure] === undefined) return [];
    const pairs = found.map((runs) =>
      Object.fromEntries(names.map((name) => [name, runs[name][figure].value])),
    );
    const interval = ratioInterval(
      pairs.map((runs) => (lowerIsBetter ? runs[first] / runs[second] : runs[second] / runs[first])),
    );
    const shown = Object.values(interval).map((value) => value.toFixed(3));
    console.log(`${what.padEnd(8)} ${figure.padEnd(52)} ${shown[0]}  [${shown[1]}, ${shown[2]}]`);
    return [{ figure, ...interval, pairs }];
  });
}
