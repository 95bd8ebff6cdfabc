import type { ShardLayout, ShardMetric } from '../../engine/sharding';
import type { CollectionEntry } from '../map/state';

interface Configured {
  readonly vectors?: { readonly distance?: unknown } & Readonly<
    Record<string, { readonly distance?: unknown } | undefined>
  >;
  readonly ids?: unknown;
}

const METRICS: ReadonlySet<unknown> = new Set<ShardMetric>(['Cosine', 'Euclid', 'Dot', 'Manhattan']);

/**
 * What splitting and merging need to know of a collection, of the body that it was created with: the engine has accepted
 * that, and a cluster changes none of it later.
 */
export function layoutOf(entry: CollectionEntry): ShardLayout {
  const known = LAYOUTS.get(entry);
  if (known !== undefined) return known;
  const layout = readLayout(entry);
  LAYOUTS.set(entry, layout);
  return layout;
}

/** An entry of the map never changes; each request asks for that of its collection. */
const LAYOUTS = new WeakMap<CollectionEntry, ShardLayout>();

function readLayout({ configuration, shardNumber }: CollectionEntry): ShardLayout {
  const { vectors = {}, ids } = JSON.parse(configuration) as Configured;
  const fields = METRICS.has(vectors.distance) ? [['', vectors] as const] : Object.entries(vectors);
  const metrics = fields.map(
    ([name, field]) => [name, (field as { distance: ShardMetric }).distance] as const,
  );
  return { shards: shardNumber, stringIds: ids === 'string', metrics: Object.fromEntries(metrics) };
}
