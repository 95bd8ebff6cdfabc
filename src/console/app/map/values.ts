/** Values of payloads, of the points of a map. */
import { parseExactWhereNeeded, valueAt, type JsonValue } from '../service/exact-json';
import { failureOf, noteRefusal, pointsPath, sendRaw } from '../service/request';
import { idText, type Point, type PointId } from '../service/types';

/** Points whose values one request asks for: as many ids as one may have. */
const PART = 10_000;

/** Reads points by their ids, in parts. Those that were deleted meanwhile are left out. */
export async function readPoints(
  collection: string,
  ids: readonly PointId[],
  withPayload: boolean | readonly string[],
  signal?: AbortSignal,
): Promise<readonly Point[]> {
  // In place of a retrieve, which refuses ids that are absent.
  const body = {
    filter: { must: [{ has_id: ids }] },
    limit: ids.length,
    with_payload: withPayload,
    with_vector: false,
  };
  const answer = await sendRaw('POST', pointsPath(collection, 'scroll'), JSON.stringify(body), {
    ...(signal !== undefined && { signal }),
  });
  if (answer.status !== 200) {
    noteRefusal(answer.status, undefined);
    throw failureOf(answer);
  }
  const { result } = parseExactWhereNeeded(answer.text) as unknown as {
    readonly result: { readonly points: readonly Point[] };
  };
  return result.points;
}

/** The value of a field of each point, as it comes: `report` is called with the places that have one now. */
export async function readValues(
  collection: string,
  ids: readonly PointId[],
  field: string,
  signal: AbortSignal,
  report: (values: readonly (JsonValue | undefined)[]) => void,
): Promise<void> {
  const values = new Array<JsonValue | undefined>(ids.length).fill(undefined);
  for (let from = 0; from < ids.length; from += PART) {
    const part = ids.slice(from, from + PART);
    const places = new Map(part.map((id, at) => [idText(id), from + at]));
    for (const { id, payload } of await readPoints(collection, part, [quoted(field)], signal)) {
      const place = places.get(idText(id));
      if (place !== undefined) values[place] = valueAt(payload, field);
    }
    report([...values]);
  }
}

/** A top-level key as a path: dots and brackets in it are no steps. */
function quoted(field: string): string {
  return /^[\w-]+$/.test(field) ? field : `"${field}"`;
}
