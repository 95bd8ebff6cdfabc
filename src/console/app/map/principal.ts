/** The two directions in which vectors differ most: principal components, by subspace iteration (Golub and Van Loan, 8.2.4). */

export interface Projection {
  /** x and y of each row in turn. */
  readonly places: Float32Array;
  /** What the two directions explain of the variance, from 0 to 1. */
  readonly explained: number;
}

const MOST_ROUNDS = 60;
const ENOUGH = 1e-5;

/** @param rows vectors one behind the other, `dimension` components each; they are centred in place. */
export function project(rows: Float32Array, dimension: number): Projection {
  const count = rows.length / dimension;
  const variance = centre(rows, count, dimension);
  let first = start(dimension, 1);
  let second = start(dimension, 2);
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    const nextFirst = normalised(times(rows, count, dimension, first));
    const nextSecond = normalised(without(times(rows, count, dimension, second), nextFirst));
    const change = 2 - Math.abs(dot(first, nextFirst)) - Math.abs(dot(second, nextSecond));
    [first, second] = [nextFirst, nextSecond];
    if (change < ENOUGH) break;
  }
  const places = new Float32Array(count * 2);
  let kept = 0;
  for (let row = 0; row < count; row += 1) {
    const x = dotRow(rows, row * dimension, first);
    const y = dotRow(rows, row * dimension, second);
    places[row * 2] = x;
    places[row * 2 + 1] = y;
    kept += x * x + y * y;
  }
  return { places, explained: variance === 0 ? 0 : kept / variance };
}

/** Takes the mean of all rows from each; the sum of the squares that are left. */
function centre(rows: Float32Array, count: number, dimension: number): number {
  const mean = new Float64Array(dimension);
  for (let at = 0; at < rows.length; at += 1) add(mean, at % dimension, (rows[at] ?? 0) / count);
  let variance = 0;
  for (let at = 0; at < rows.length; at += 1) {
    const value = (rows[at] ?? 0) - (mean[at % dimension] ?? 0);
    rows[at] = value;
    variance += value * value;
  }
  return variance;
}

/** Any direction will do that is no accident of the data; the same each time, so that a map stays as it was. */
function start(dimension: number, seed: number): Float64Array {
  const vector = new Float64Array(dimension);
  let state = seed * 2654435761;
  for (let at = 0; at < dimension; at += 1) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    vector[at] = state / 2 ** 32 - 0.5;
  }
  return normalised(vector);
}

/** The covariance times a direction, without making the covariance. */
function times(rows: Float32Array, count: number, dimension: number, direction: Float64Array): Float64Array {
  const product = new Float64Array(dimension);
  for (let row = 0; row < count; row += 1) {
    const from = row * dimension;
    const weight = dotRow(rows, from, direction);
    for (let at = 0; at < dimension; at += 1) add(product, at, weight * (rows[from + at] ?? 0));
  }
  return product;
}

function add(vector: Float64Array, at: number, value: number): void {
  vector[at] = (vector[at] ?? 0) + value;
}

function dotRow(rows: Float32Array, from: number, direction: Float64Array): number {
  let sum = 0;
  for (let at = 0; at < direction.length; at += 1) sum += (rows[from + at] ?? 0) * (direction[at] ?? 0);
  return sum;
}

function dot(a: Float64Array, b: Float64Array): number {
  return a.reduce((sum, value, at) => sum + value * (b[at] ?? 0), 0);
}

function without(vector: Float64Array, direction: Float64Array): Float64Array {
  const share = dot(vector, direction);
  return vector.map((value, at) => value - share * (direction[at] ?? 0));
}

function normalised(vector: Float64Array): Float64Array {
  const length = Math.sqrt(dot(vector, vector));
  return length === 0 ? vector : vector.map((value) => value / length);
}
