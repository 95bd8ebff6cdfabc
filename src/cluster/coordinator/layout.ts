import type { ShardLayout, ShardMetric } from '../../engine/sharding';
import type { CollectionEntry } from '../map/state';

/** A vector of a configuration, of which a coordinator needs only this. */
interface Field {
  readonly distance?: unknown;
  readonly datatype?: unknown;
  readonly modifier?: unknown;
}

type Fields = Readonly<Record<string, Field | null | undefined>>;

interface Configured {
  readonly vectors?: Field | Fields | null;
  /** Another name of `vectors` (C4.3). */
  readonly vectors_config?: Field | Fields | null;
  readonly sparse_vectors?: Fields | null;
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
  const { layout } = declaredBy(entry);
  return entry.mayWeigh === true ? { ...layout, mayWeigh: true } : layout;
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
): { readonly mayBeStrict?: true; readonly mayExpire?: true; readonly mayWeigh?: true } {
  const { strict_mode_config: strictMode, expire_at_key: key, sparse_vectors: sparse } = patch;
  return {
    ...(isThere(strictMode) && !mayBeStrict(entry) && { mayBeStrict: true }),
    ...(isThere(key) && !mayExpire(entry) && { mayExpire: true }),
    ...(weighs(sparse as Fields | null | undefined) && !layoutOf(entry).mayWeigh && { mayWeigh: true }),
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
  const { ids, sparse_vectors: sparse, strict_mode_config: strictMode, expire_at_key: key } = configured;
  const dense = fieldsOf(configured.vectors ?? configured.vectors_config ?? {});
  const metrics = dense.map(([name, { distance }]) => [name, distance as ShardMetric] as const);
  const ofBytes = dense.filter(([, { datatype }]) => datatype === 'uint8');
  return {
    layout: {
      ...{ shards: shardNumber, stringIds: ids === 'string', metrics: Object.fromEntries(metrics) },
      ...{ byteVectors: ofBytes.map(([name]) => name), mayWeigh: weighs(sparse) },
    },
    mayBeStrict: isThere(strictMode),
    mayExpire: isThere(key),
  };
}

/** The vectors of a configuration by name, `''` for the unnamed one. */
function fieldsOf(vectors: Field | Fields): (readonly [string, Field])[] {
  if (METRICS.has(vectors.distance)) return [['', vectors]];
  return Object.entries(vectors as Fields).flatMap(([name, field]) =>
    isThere(field) ? [[name, field]] : [],
  );
}

/** Whether a sparse vector has the modifier `idf`. */
function weighs(sparse: Fields | null | undefined): boolean {
  return Object.values(sparse ?? {}).some((field) => field?.modifier === 'idf');
}

function isThere<T>(value: T): value is NonNullable<T> {
  return value !== undefined && value !== null;
}
