import { encodeJson, parseJson } from '../client/json';
import type { Transport } from '../client/transport';
import type { Comparison } from './outcome';
import { cosineFields, isSamePoint, type ReadPoint } from './same-point';
import type { SourceCollection } from './source';

/** Points that are compared at a time. */
const AT_A_TIME = 20;

/** Compares the counts and the points with these keys of a collection with the one that was made of it. */
export async function compare(
  source: SourceCollection,
  target: Transport,
  keys: readonly string[],
): Promise<Comparison> {
  const cosine = cosineFields(source.config ?? {});
  const different: string[] = [];
  for (let from = 0; from < keys.length; from += AT_A_TIME) {
    const points = await source.lookUp(keys.slice(from, from + AT_A_TIME));
    const expected = points.flatMap(({ json }) => (json === undefined ? [] : [parseJson(json) as ReadPoint]));
    const found = await pointsOf(target, source.name, expected);
    for (const point of expected) {
      const id = encodeJson(point.id);
      const other = found.get(id);
      if (other === undefined || !isSamePoint(point, other, cosine)) different.push(id);
    }
  }
  const count = await target.execute({
    operation: 'count',
    collection: source.name,
    body: { exact: true },
  });
  return {
    source: await source.count(),
    target: (count.result as { readonly count: number }).count,
    sampled: keys.length,
    different,
  };
}

/** The points of the target that have the ids of `like`, by their ids in JSON. */
async function pointsOf(
  target: Transport,
  collection: string,
  like: readonly ReadPoint[],
): Promise<ReadonlyMap<string, ReadPoint>> {
  if (like.length === 0) return new Map();
  const body = {
    filter: { must: [{ has_id: like.map(({ id }) => id) }] },
    limit: like.length,
    with_payload: true,
    with_vector: true,
  };
  const { result } = await target.execute({ operation: 'scroll', collection, body });
  const { points } = result as { readonly points: readonly ReadPoint[] };
  return new Map(points.map((point) => [encodeJson(point.id), point]));
}
