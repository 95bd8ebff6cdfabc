export type Distance = 'Cosine' | 'Dot' | 'Euclid' | 'Manhattan';

type Vector = readonly number[];

/** What C2.4 says of each distance, by the shortest formula and in f64. */
const SCORES: Record<Distance, { of: (a: Vector, b: Vector) => number; higherIsBetter: boolean }> = {
  Cosine: { of: (a, b) => dot(a, b) / Math.sqrt(dot(a, a) * dot(b, b)), higherIsBetter: true },
  Dot: { of: dot, higherIsBetter: true },
  Euclid: { of: (a, b) => Math.hypot(...a.map((x, i) => x - b[i]!)), higherIsBetter: false },
  Manhattan: { of: (a, b) => a.reduce((sum, x, i) => sum + Math.abs(x - b[i]!), 0), higherIsBetter: false },
};

export const DISTANCES = Object.keys(SCORES) as readonly Distance[];

function dot(a: Vector, b: Vector): number {
  return a.reduce((sum, x, i) => sum + x * b[i]!, 0);
}

/** The `limit` vectors that are best by `distance`, best first, as their index and score. */
export function neighbours(distance: Distance, stored: readonly Vector[], query: Vector, limit: number) {
  const { of, higherIsBetter } = SCORES[distance];
  return stored
    .map((vector, id) => ({ id, score: of(query, vector) }))
    .sort((a, b) => (higherIsBetter ? b.score - a.score : a.score - b.score))
    .slice(0, limit);
}

/** Vectors of f32 numbers in [-1, 1), the same ones for a seed in every run. */
export function randomVectors(count: number, size: number, seed: number): number[][] {
  let state = seed;
  const next = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.fround(state / 2 ** 31 - 1);
  };
  return Array.from({ length: count }, () => Array.from({ length: size }, next));
}
