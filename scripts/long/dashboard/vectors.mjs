/** Vectors of a run: the same for the same seed. */

/**
 * A generator of numbers from 0 to 1 (mulberry32).
 *
 * @param {number} seed a whole number
 */
export function randomNumbers(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * Vectors around so many centres, as embeddings are.
 *
 * @param {number} dimension
 * @param {number} clusters
 * @param {() => number} random
 * @returns {() => number[]}
 */
export function clusteredVectors(dimension, clusters, random) {
  const any = (spread) => Array.from({ length: dimension }, () => (random() - 0.5) * spread);
  const centres = Array.from({ length: clusters }, () => any(1));
  return () => {
    const centre = centres[Math.floor(random() * clusters)];
    return any(1).map((moved, axis) => Number((centre[axis] + moved).toFixed(4)));
  };
}
