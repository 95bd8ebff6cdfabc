import type { ShardLayout, ShardMetric } from '../../engine/sharding';
import type { CollectionEntry } from '../map/state';

interface Configured {
  readonly vectors?: { readonly distance?: unknown } & Readonly<
    Record<string, { readonly distance?: unknown } | undefined>
  >;
  readonly ids?: unknown;
  readonly strict_mode_config?: unknown;
  readonly expire_at_key?: unknown;
}

const METRICS: ReadonlySet<unknown> = new Set<ShardMetric>(['Cosine', 'Euclid', 'Dot', 'Manhattan']);

/** What a coordinator needs to know of a collection. */
interface Declared {
  readonly layout: ShardLayout;
  readonly mayBeStrict: boolean;
  readonly mayExpire: boolean;
}

/**
 * What splitting and merging need to know of a collection, of the body that it was created with: the engine has accepted
 * that, and a cluster changes none of it later.
 */
export function layoutOf(entry: CollectionEntry): ShardLayout {
  return declaredBy(entry).layout;
}

/** Whether a collection may have a strict mode (C4.3): it has, or had one. */
export function mayBeStrict(entry: CollectionEntry): boolean {
  return entry.mayBeStrict === true || declaredBy(entry).mayBeStrict;
}

/** Whether points of a collection may expire (C17). */
export function mayExpire(entry: CollectionEntry): boolean {
  return entry.mayExpire === true || declaredBy(entry).mayExpire;
}

/** What a PATCH of a collection declares that it did not have before. */
export function newlyDeclared(
  entry: CollectionEntry,
  patch: Readonly<Record<string, unknown>>,
): { readonly mayBeStrict?: true; readonly mayExpire?: true } {
  const { strict_mode_config: strictMode, expire_at_key: key } = patch;
  return {
    ...(isThere(strictMode) && !mayBeStrict(entry) && { mayBeStrict: true }),
    ...(isThere(key) && !mayExpire(entry) && { mayExpire: true }),
  };
}

function declaredBy(entry: CollectionEntry): Declared {
  const known = DECLARED.get(entry);
  if (known !== undefined) return known;
  const declared = readConfiguration(entry);
  DECLARED.set(entry, declared);
  return declared;
}

/** An entry of the map never changes; each request asks for that of its collection. */
const DECLARED = new WeakMap<CollectionEntry, Declared>();

function readConfiguration({ configuration, shardNumber }: CollectionEntry): Declared {
  const configured = JSON.parse(configuration) as Configured;
  const { vectors = {}, ids } = configured;
  const fields = METRICS.has(vectors.distance) ? [['', vectors] as const] : Object.entries(vectors);
  const metrics = fields.map(
    ([name, field]) => [name, (field as { distance: ShardMetric }).distance] as const,
  );
  return {
    layout: { shards: shardNumber, stringIds: ids === 'string', metrics: Object.fromEntries(metrics) },
    mayBeStrict: isThere(configured.strict_mode_config),
    mayExpire: isThere(configured.expire_at_key),
  };
}

function isThere(value: unknown): boolean {
  return value !== undefined && value !== null;
}
