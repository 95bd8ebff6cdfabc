/** A sample of a collection, projected onto a plane. */
import type { JsonObject } from '../service/exact-json';
import { parseExact } from '../service/exact-json';
import { failureOf, noteRefusal, pointsPath, sendRaw } from '../service/request';
import type { Point, PointId, VectorField } from '../service/types';
import { projectRows } from './projecting';

export interface MapPoint {
  readonly id: PointId;
  readonly payload: JsonObject;
  readonly x: number;
  readonly y: number;
}

export interface Sample {
  readonly points: readonly MapPoint[];
  /** Share of the variance that the plane shows. */
  readonly explained: number;
}

/** Ids that JavaScript's numbers cannot hold make the whole answer be read exactly, which takes longer. */
const LONG_ID = /"id":\d{16}/;

/** Reads points at random with their vectors, and projects them. @throws Error where there are too few. */
export async function readSample(
  collection: string,
  field: VectorField,
  size: number,
  filter: JsonObject | undefined,
  signal: AbortSignal,
): Promise<Sample> {
  const points = (await readPoints(collection, field, size, filter, signal)).filter(
    (point) => vectorOf(point, field) !== undefined,
  );
  const dimension = field.params?.size ?? 0;
  if (points.length < 3) throw new Error('A map needs at least three points with this vector');
  const rows = new Float32Array(points.length * dimension);
  points.forEach((point, index) => {
    rows.set((vectorOf(point, field) ?? []).map(Number), index * dimension);
  });
  const { places, explained } = await projectRows(rows, dimension, signal);
  return {
    explained,
    points: points.map(({ id, payload }, index) => ({
      id,
      payload: payload ?? {},
      x: places[index * 2] ?? 0,
      y: places[index * 2 + 1] ?? 0,
    })),
  };
}

async function readPoints(
  collection: string,
  { name }: VectorField,
  limit: number,
  filter: JsonObject | undefined,
  signal: AbortSignal,
): Promise<readonly Point[]> {
  const body = {
    query: { sample: 'random' },
    limit,
    with_payload: true,
    with_vector: name === '' ? true : [name],
    ...(filter !== undefined && { filter }),
  };
  const answer = await sendRaw('POST', pointsPath(collection, 'query'), JSON.stringify(body), { signal });
  if (answer.status !== 200) {
    noteRefusal(answer.status, undefined);
    throw failureOf(answer);
  }
  const read = (LONG_ID.test(answer.text) ? parseExact(answer.text) : JSON.parse(answer.text)) as {
    result: { points: readonly Point[] };
  };
  return read.result.points;
}

/** The numbers of a vector; exact reading leaves some of them as their text. */
function vectorOf({ vector }: Point, { name }: VectorField): readonly unknown[] | undefined {
  const found = Array.isArray(vector) ? vector : (vector as JsonObject | null | undefined)?.[name];
  return Array.isArray(found)
    ? found.map((value) =>
        typeof value === 'object' && value !== null && 'rawJSON' in value ? value.rawJSON : value,
      )
    : undefined;
}
