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
  readonly ids: readonly PointId[];
  /** x and y of each point in turn, in a square from −1 to 1. */
  readonly places: Float32Array;
  /** Share of the variance that the plane of the principal components shows. */
  readonly explained: number | null;
  readonly method: Method;
}

/** Ids that JavaScript's numbers cannot hold make an answer be read exactly, which takes longer. */
const LONG_NUMBER = /\d{16}/;

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
  const { ids } = LONG_NUMBER.test(idsOf(answer.text))
    ? (parseExact(answer.text) as unknown as { result: Answer }).result
    : result;
  if (ids.length < 3) throw new Error('A map needs at least three points with this vector');
  return { ids, places: inSquare(result.x, result.y), explained: result.explained_variance, method };
}

interface Answer {
  readonly ids: readonly PointId[];
  readonly x: readonly number[];
  readonly y: readonly number[];
  readonly explained_variance: number | null;
}

function idsOf(text: string): string {
  const from = text.indexOf('"ids":');
  return text.slice(from, text.indexOf(']', from));
}

/** Both axes have one scale, so that distances can be compared. */
function inSquare(x: readonly number[], y: readonly number[]): Float32Array {
  const [left, right] = extent(x);
  const [low, high] = extent(y);
  const scale = 2 / Math.max(right - left, high - low, Number.MIN_VALUE * 4);
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
