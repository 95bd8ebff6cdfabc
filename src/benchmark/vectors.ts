/** How far a vector is from the centre of its cluster, against the distance of the centres from the origin. */
const SPREAD = 0.5;
const CLUSTERS = 64;

/**
 * Vectors that cluster as embeddings do, the same for each seed: those of even noise have no neighbours to find. Each
 * component is drawn from a normal distribution around that of one of 64 centres.
 */
export class ClusteredVectors {
  readonly #centres: readonly Float32Array[];

  constructor(private readonly dimensions: number) {
    const random = generator(1);
    this.#centres = Array.from({ length: CLUSTERS }, () =>
      Float32Array.from({ length: dimensions }, () => normal(random)),
    );
  }

  /** The vector of a number; `stream` 0 is for points, others are for queries. */
  at(number: number, stream = 0): Float32Array {
    const random = generator(number * 16 + stream + 2);
    const centre = this.#centres[Math.floor(random() * CLUSTERS)] ?? new Float32Array(this.dimensions);
    return centre.map((component) => component + SPREAD * normal(random));
  }
}

/** Numbers from 0 to below 1: mulberry32, by Tommy Ettinger. */
function generator(seed: number): () => number {
  let state = Math.imul(seed, 0x9e37_79b1) >>> 0;
  return () => {
    state = (state + 0x6d2b_79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  };
}

/** A number of the standard normal distribution (Box and Muller). */
function normal(random: () => number): number {
  return Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
}
