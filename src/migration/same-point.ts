import { isDeepStrictEqual } from 'node:util';
import type { CollectionBody } from './source';

/** A point as it is read. */
export interface ReadPoint {
  readonly id: unknown;
  readonly vector?: unknown;
  readonly payload?: unknown;
}

/** How far two components may be apart, as a part of the greatest: those of `float16` are rounded. */
const TOLERANCE = 2 ** -10;

/** The names of the fields whose vectors are stored normalised; `''` is the unnamed one. */
export function cosineFields(config: CollectionBody): ReadonlySet<string> {
  const { vectors } = config as { readonly vectors?: Readonly<Record<string, unknown>> };
  const fields: Readonly<Record<string, unknown>> =
    typeof vectors?.['size'] === 'number' ? { '': vectors } : (vectors ?? {});
  const isCosine = (params: unknown): boolean =>
    (params as { readonly distance?: unknown } | null)?.distance === 'Cosine';
  return new Set(Object.keys(fields).filter((name) => isCosine(fields[name])));
}

/** Whether two points have the same payload and, but for rounding, the same vectors. Those of `cosine` may differ in length. */
export function isSamePoint(one: ReadPoint, other: ReadPoint, cosine: ReadonlySet<string>): boolean {
  if (!isDeepStrictEqual(one.payload ?? {}, other.payload ?? {})) return false;
  const [ours, theirs] = [fieldsOf(one.vector), fieldsOf(other.vector)];
  return (
    ours.size === theirs.size &&
    [...ours].every(([name, vector]) => isSameVector(vector, theirs.get(name), cosine.has(name)))
  );
}

/** The vectors by name; the unnamed one under `''`. */
function fieldsOf(vector: unknown): ReadonlyMap<string, unknown> {
  if (vector === undefined || vector === null) return new Map();
  if (Array.isArray(vector)) return new Map([['', vector]]);
  return new Map(Object.entries(vector));
}

function isSameVector(one: unknown, other: unknown, isCosine: boolean): boolean {
  const [ours, theirs] = [rowsOf(one), rowsOf(other)];
  if (ours?.length !== theirs?.length) return false;
  return (ours ?? []).every((row, at) => {
    const counterpart = theirs?.[at] ?? [];
    return isCosine ? isClose(normalised(row), normalised(counterpart)) : isClose(row, counterpart);
  });
}

type Row = readonly number[];

/** The rows of a vector of any form: indices and values, in the order of the indices, are two rows of a sparse one. */
function rowsOf(vector: unknown): readonly Row[] | undefined {
  if (Array.isArray(vector)) {
    return (Array.isArray(vector[0]) ? vector : [vector]) as readonly Row[];
  }
  const { indices, values } = (vector ?? {}) as { readonly indices?: Row; readonly values?: Row };
  if (indices === undefined || values === undefined) return undefined;
  const order = indices.map((_, at) => at).sort((a, b) => (indices[a] ?? 0) - (indices[b] ?? 0));
  return [order.map((at) => indices[at] ?? NaN), order.map((at) => values[at] ?? NaN)];
}

function isClose(ours: Row, theirs: Row): boolean {
  const greatest = ours.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const allowed = greatest * TOLERANCE;
  return (
    ours.length === theirs.length &&
    ours.every((value, at) => Math.abs(value - (theirs[at] ?? NaN)) <= allowed)
  );
}

function normalised(row: Row): Row {
  const length = Math.sqrt(row.reduce((sum, value) => sum + value * value, 0));
  return length === 0 ? row : row.map((value) => value / length);
}
