/** A sample of a collection as places of a plane, which the server projects (C6.10). */
import type { JsonObject } from '../service/exact-json';
import { parseExact } from '../service/exact-json';
import { failureOf, noteRefusal, pointsPath, sendRaw } from '../service/request';
import type { PointId, VectorField } from '../service/types';

export type Method = 'pca' | 'umap';

export interface Wanted {
  readonly collection: string;
  readonly field: VectorField;
  readonly sample: number;
  readonly neighbors: number;
  readonly filter: JsonObject | undefined;
  readonly seed: number;
}

export interface Projection {
  /** The vector that is drawn; another one may have been chosen since. */
  readonly field: VectorField;
  readonly ids: readonly PointId[];
  /** x and y of each point in turn, in a square from −1 to 1. */
  readonly places: Float32Array;
  /** Share of the variance that the plane of the principal components shows. */
  readonly explained: number | null;
  readonly method: Method;
}

/** The request behind a projection. */
export function requestOf({ collection, field, sample, neighbors, filter, seed }: Wanted, method: Method) {
  return {
    method: 'POST',
    path: pointsPath(collection, 'projection'),
    body: {
      method,
      sample,
      seed,
      ...(method === 'umap' && { neighbors }),
      ...(field.name !== '' && { using: field.name }),
      ...(filter !== undefined && { filter }),
    },
  } as const;
}

/** Projects a sample. @throws Error where the server refuses it, or where there are too few points. */
export async function project(wanted: Wanted, method: Method, signal: AbortSignal): Promise<Projection> {
  const { path, body } = requestOf(wanted, method);
  const answer = await sendRaw('POST', path, JSON.stringify(body), { signal });
  if (answer.status !== 200) {
    noteRefusal(answer.status, undefined);
    throw failureOf(answer);
  }
  const { result } = JSON.parse(answer.text) as { result: Answer };
  // Places are read as JavaScript's numbers in any case: to read all of them exactly takes long.
  const { ids } = result.ids.some(isRounded)
    ? (parseExact(answer.text) as unknown as { result: Answer }).result
    : result;
  if (ids.length < 3) throw new Error('A map needs at least three points with this vector');
  const { x, y, explained_variance: explained } = result;
  return { field: wanted.field, ids, places: inSquare(x, y), explained, method };
}

interface Answer {
  readonly ids: readonly PointId[];
  readonly x: readonly number[];
  readonly y: readonly number[];
  readonly explained_variance: number | null;
}

/** Whether an id may be another than the server wrote. */
function isRounded(id: PointId): boolean {
  return typeof id === 'number' && !Number.isSafeInteger(id);
}

/** Both axes have one scale, so that distances can be compared. */
function inSquare(x: readonly number[], y: readonly number[]): Float32Array {
  const [left, right] = extent(x);
  const [low, high] = extent(y);
  const span = Math.max(right - left, high - low);
  // Points that all have one place are in the middle.
  const scale = span > 0 ? 2 / span : 0;
  const places = new Float32Array(x.length * 2);
  for (let at = 0; at < x.length; at += 1) {
    places[at * 2] = ((x[at] ?? 0) - (left + right) / 2) * scale;
    places[at * 2 + 1] = ((y[at] ?? 0) - (low + high) / 2) * scale;
  }
  return places;
}

function extent(values: readonly number[]): [least: number, most: number] {
  let [least, most] = [Infinity, -Infinity];
  for (const value of values) {
    if (value < least) least = value;
    if (value > most) most = value;
  }
  return [least, most];
}
