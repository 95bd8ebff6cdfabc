import { encodeJson } from './json';
import type { Schemas } from './types';

type Upsert = Schemas['UpsertPoints'];

/** What one request may have. */
export interface BatchLimits {
  readonly maxPoints: number;
  /**
   * Bytes of the points in JSON. A component of a `Float32Array` that is sent as it is counts as four bytes.
   */
  readonly maxBytes: number;
}

/** What a server takes at most with its default settings (C2.7): only what it would refuse is split. */
const DEFAULT_BATCH_LIMITS: BatchLimits = { maxPoints: 10_000, maxBytes: 64 * 1024 * 1024 - 4096 };

/** The limits of a client; the defaults for those that are not given. */
export function batchLimits(given?: Partial<BatchLimits>): BatchLimits {
  return {
    maxPoints: given?.maxPoints ?? DEFAULT_BATCH_LIMITS.maxPoints,
    maxBytes: given?.maxBytes ?? DEFAULT_BATCH_LIMITS.maxBytes,
  };
}

/** A part of an upsert. */
export interface Batch {
  readonly body: Upsert;
  readonly points: number;
}

/**
 * Splits an upsert into requests that keep to the limits, in the order of its points; undefined when it is within them, or
 * when it is malformed, so that the server says how.
 */
export function splitUpsert(
  body: Upsert,
  limits: BatchLimits,
  packsVectors = false,
): readonly Batch[] | undefined {
  const measure = packsVectors ? PACKED : IN_JSON;
  const rows = rowsOf(body);
  if (rows === undefined) return undefined;
  return placed(body, () => {
    if (!isBeyond(rows, limits, measure)) return undefined;
    const batches = ranges(rows, limits, measure).map(([from, to]) => ({
      body: rows.slice(from, to),
      points: to - from,
    }));
    return batches.length === 1 ? undefined : batches;
  });
}

/** What comes of measuring points one by one. An error of that names the place in the whole body. */
function placed<T>(body: unknown, work: () => T): T {
  try {
    return work();
  } catch (error) {
    encodeJson(body);
    throw error;
  }
}

type SyncPoint = Schemas['SyncPointList'][number];

/** A point without content is a hundredth of one with it: a server takes a hundred times as many (C20). */
const BARE_WEIGHT = 0.01;

/**
 * Splits the points of a sync into parts that keep to the limits, in their order; undefined as for {@link splitUpsert}.
 */
export function splitSync(
  points: readonly SyncPoint[],
  limits: BatchLimits,
  packsVectors = false,
): readonly SyncPoint[][] | undefined {
  const measure = packsVectors ? PACKED : IN_JSON;
  // A malformed body goes as it is, so that the server says what is wrong.
  const isList: boolean = Array.isArray(points);
  if (!isList) {
    return undefined;
  }
  const rows = {
    count: points.length,
    row: (at: number): unknown => points[at],
    weight: (at: number): number => (isBare(points[at]) ? BARE_WEIGHT : 1),
  };
  return placed({ points }, () => {
    if (!isBeyond(rows, limits, measure)) return undefined;
    const parts = ranges(rows, limits, measure).map(([from, to]) => points.slice(from, to));
    return parts.length === 1 ? undefined : parts;
  });
}

function isBare(point: SyncPoint | undefined): boolean {
  return typeof point === 'object' && !('vector' in point || 'vectors' in point || 'payload' in point);
}

/** The rows that each batch has: from one on, up to another. */
function ranges(rows: Measured, limits: BatchLimits, measure: Measure): [number, number][] {
  const found: [number, number][] = [];
  let [from, bytes, weight] = [0, 0, 0];
  for (let at = 0; at < rows.count; at += 1) {
    const size = measure.encodedBytes(rows.row(at));
    const more = weightOf(rows, at);
    if (at > from && (weight + more > limits.maxPoints || bytes + size > limits.maxBytes)) {
      found.push([from, at]);
      [from, bytes, weight] = [at, 0, 0];
    }
    bytes += size;
    weight += more;
  }
  return [...found, [from, rows.count]];
}

function weightOf(rows: Measured, at: number): number {
  return rows.weight?.(at) ?? 1;
}

/** What is measured of points. */
interface Measured {
  readonly count: number;
  /** What a point brings to the body. */
  row(at: number): unknown;
  /** What it counts; 1 when absent. */
  weight?(at: number): number;
}

/** The points of an upsert, in either form. */
interface Rows extends Measured {
  /** The upsert of some of the points. */
  slice(from: number, to: number): Upsert;
}

function rowsOf(body: Upsert): Rows | undefined {
  const { points, batch } = body;
  if (Array.isArray(points) && (batch === undefined || batch === null)) {
    return {
      count: points.length,
      row: (at) => points[at],
      slice: (from, to) => ({ ...body, points: points.slice(from, to) }),
    };
  }
  return batch !== undefined && batch !== null && (points === undefined || points === null)
    ? rowsOfColumns(body, batch)
    : undefined;
}

function rowsOfColumns(body: Upsert, batch: Schemas['PointColumns']): Rows | undefined {
  const { ids, vectors, payloads } = batch;
  const columns: readonly unknown[] = [
    ids,
    ...(Array.isArray(vectors) ? [vectors] : Object.values(vectors)),
    ...(payloads === undefined || payloads === null ? [] : [payloads]),
  ].filter((column) => column !== null);
  if (!columns.every((column) => Array.isArray(column) && column.length === ids.length)) {
    return undefined;
  }
  const slice = <T>(column: readonly T[] | null, from: number, to: number): T[] | null =>
    column === null ? null : column.slice(from, to);
  return {
    count: ids.length,
    row: (at) => columns.map((column) => (column as readonly unknown[])[at]),
    slice: (from, to) => ({
      ...body,
      batch: {
        ...batch,
        ids: ids.slice(from, to),
        vectors: Array.isArray(vectors)
          ? vectors.slice(from, to)
          : Object.fromEntries(
              Object.entries(vectors).map(([name, column]) => [name, slice(column, from, to)]),
            ),
        ...(payloads !== undefined && { payloads: slice(payloads, from, to) }),
      },
    }),
  };
}

/** Whether the points are beyond the limits. They are encoded only where a quick bound does not decide it. */
function isBeyond(rows: Measured, { maxPoints, maxBytes }: BatchLimits, measure: Measure): boolean {
  let weight = 0;
  for (let at = 0; at < rows.count && weight <= maxPoints; at += 1) {
    weight += weightOf(rows, at);
  }
  if (weight > maxPoints) {
    return true;
  }
  let atMost = 0;
  for (let at = 0; at < rows.count && atMost <= maxBytes; at += 1) {
    atMost += mostBytes(rows.row(at), measure.floatBytes);
  }
  if (atMost <= maxBytes) {
    return false;
  }
  let bytes = 0;
  for (let at = 0; at < rows.count && bytes <= maxBytes; at += 1) {
    bytes += measure.encodedBytes(rows.row(at));
  }
  return bytes > maxBytes;
}

/** No number is longer in JSON, its comma included. */
const NUMBER_BYTES = 26;
/** What stands for a vector that is sent as it is, at most. */
const MARK = '#000000000:00000';

/** How the bytes of points are counted. */
interface Measure {
  /** Bytes of a component of a `Float32Array`, at most. */
  readonly floatBytes: number;
  /** The bytes of a value in a list. */
  readonly encodedBytes: (value: unknown) => number;
}

const IN_JSON: Measure = {
  floatBytes: NUMBER_BYTES,
  encodedBytes: (value) => Buffer.byteLength(encodeJson(value)) + 1,
};

const PACKED: Measure = {
  floatBytes: Float32Array.BYTES_PER_ELEMENT,
  encodedBytes: (value) => {
    let floats = 0;
    const json = encodeJson(value, (vector) => {
      floats += vector.byteLength;
      return MARK;
    });
    return Buffer.byteLength(json) + floats + 1;
  },
};

/** The most bytes that one UTF-16 unit takes in JSON: an escape (`\u0000`). */
const CHARACTER_BYTES = 6;

/** Values nested deeper than this are measured by encoding them. */
const MAX_DEPTH = 100;

/** A bound of the bytes that a value takes in JSON, without writing it; infinite where only writing it tells. */
function mostBytes(value: unknown, floatBytes: number, depth = 0): number {
  if (typeof value === 'string') {
    return value.length * CHARACTER_BYTES + 3;
  }
  if (typeof value !== 'object' || value === null) {
    return NUMBER_BYTES;
  }
  if (ArrayBuffer.isView(value)) {
    const length = 'length' in value ? Number(value.length) : value.byteLength;
    return length * (value instanceof Float32Array ? floatBytes : NUMBER_BYTES) + MARK.length;
  }
  if (depth > MAX_DEPTH || 'toJSON' in value) {
    return Infinity;
  }
  if (Array.isArray(value)) {
    return value.every((item) => typeof item === 'number')
      ? value.length * NUMBER_BYTES + 3
      : value.reduce((sum: number, item) => sum + mostBytes(item, floatBytes, depth + 1), 3);
  }
  let sum = 3;
  for (const [name, field] of Object.entries(value)) {
    sum += name.length * CHARACTER_BYTES + 4 + mostBytes(field, floatBytes, depth + 1);
  }
  return sum;
}
