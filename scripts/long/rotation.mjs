/**
 * Suites in turn, without an end. Where a run ends in the middle of a round, those behind have had no slice: another seed
 * begins with another suite, so that over many runs each has its share.
 *
 * @param {string[]} names of suites that have slices
 * @param {number} [seed] a whole number
 * @returns {Generator<string, never>}
 */
export function* rotation(names, seed = 0) {
  for (let turn = seed % names.length; ; turn = (turn + 1) % names.length) yield names[turn];
}
