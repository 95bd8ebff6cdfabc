import type { Pooling } from './folder';

/** The vectors of the tokens of some texts, one text after the other. */
export interface TokenVectors {
  readonly data: Float32Array;
  /** Tokens of each text, shorter ones filled up behind their end. */
  readonly tokens: number;
  readonly dimension: number;
}

/** The vector of one text, whose first `length` tokens are its own, added to `out` at `at`. */
export function pool(
  pooling: Pooling,
  { data, tokens, dimension }: TokenVectors,
  { text, length }: { readonly text: number; readonly length: number },
  out: Float32Array,
): void {
  const first = text * tokens * dimension;
  const own = Math.max(length, 1);
  if (pooling === 'cls' || pooling === 'last') {
    const from = first + (pooling === 'cls' ? 0 : own - 1) * dimension;
    out.set(data.subarray(from, from + dimension));
    return;
  }
  const isMax = pooling === 'max';
  out.set(data.subarray(first, first + dimension));
  for (let token = 1; token < own; token += 1) {
    const from = first + token * dimension;
    for (let at = 0; at < dimension; at += 1) {
      const value = data[from + at] ?? 0;
      const soFar = out[at] ?? 0;
      out[at] = isMax ? Math.max(soFar, value) : soFar + value;
    }
  }
  if (!isMax) {
    for (let at = 0; at < dimension; at += 1) out[at] = (out[at] ?? 0) / own;
  }
}

/** Divides a vector by its length; one of nothing but zeros stays. */
export function normalize(vector: Float32Array): void {
  let squares = 0;
  for (const value of vector) squares += value * value;
  const length = Math.sqrt(squares);
  if (length === 0) return;
  for (let at = 0; at < vector.length; at += 1) vector[at] = (vector[at] ?? 0) / length;
}
