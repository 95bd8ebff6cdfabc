import { isObject, type CollectionBody, type PayloadIndex } from './source';

/** What a server says of a collection, as far as it is read. */
export interface QdrantInfo {
  readonly config: QdrantConfig;
  readonly payload_schema?: Readonly<Record<string, FieldInfo>> | null;
  /** What KithDB has beside the configuration. */
  readonly ids?: unknown;
  readonly expire_at_key?: unknown;
  readonly field_indexes?: unknown;
  readonly residency?: { readonly setting?: unknown } | null;
  readonly vector_models?: Readonly<Record<string, unknown>> | null;
}

interface FieldInfo {
  readonly data_type?: string;
  readonly params?: unknown;
}

/** Any settings; those that are read have names here. */
interface Settings {
  readonly [name: string]: unknown;
  readonly vectors?: unknown;
  readonly sparse_vectors?: unknown;
  readonly size?: unknown;
  readonly sharding_method?: unknown;
}

interface QdrantConfig {
  readonly params: Settings;
  readonly hnsw_config?: Settings | null;
  readonly optimizer_config?: Settings | null;
  readonly wal_config?: Settings | null;
  readonly quantization_config?: unknown;
  readonly strict_mode_config?: unknown;
  readonly metadata?: unknown;
}

/** What a body of a creation has of the parameters. */
const VECTOR_PARAMS = ['vectors', 'sparse_vectors', 'on_disk_payload', 'payload'];

/** Settings of a cluster, with the values that one node has: another value is named, and none of them is sent. */
const CLUSTER: Readonly<Record<string, readonly unknown[]>> = {
  shard_number: [1],
  sharding_method: ['auto'],
  replication_factor: [1],
  write_consistency_factor: [1],
  read_fan_out_factor: [0],
  read_fan_out_delay_ms: [0],
};

/** Settings that KithDB has beside the configuration, with the names that a creation has for them. */
const OWN = ['ids', 'expire_at_key', 'field_indexes'] as const;

/**
 * The body that creates a collection as this one is configured. It may hold settings that KithDB does not have: the
 * creation finds and names them.
 */
export function bodyOfInfo(info: QdrantInfo): {
  readonly body: CollectionBody;
  readonly remarks: readonly string[];
} {
  const { config } = info;
  const { params } = config;
  const remarks = Object.entries(CLUSTER)
    .filter(([name, ofOneNode]) => isGiven(params[name]) && !ofOneNode.includes(params[name]))
    .map(([name]) => `${name} ${JSON.stringify(params[name])} is not migrated: a server is one node`);
  if (usesShardKeys(config)) {
    remarks.push('The shard keys of points are not migrated: the points of all shards are in one collection');
  }
  const others = Object.keys(params).filter(
    (name) => !VECTOR_PARAMS.includes(name) && !Object.hasOwn(CLUSTER, name),
  );
  const body = withoutNulls({
    ...pick(params, [...VECTOR_PARAMS, ...others]),
    ...withModels(params, info.vector_models ?? {}),
    hnsw_config: config.hnsw_config,
    optimizers_config: config.optimizer_config,
    wal_config: config.wal_config,
    quantization_config: config.quantization_config,
    strict_mode_config: config.strict_mode_config,
    ...Object.fromEntries(OWN.map((name) => [name, info[name]])),
    ...(info.residency?.setting === 'hot' && { residency: 'hot' }),
  });
  // The metadata is the user's own, nulls included.
  const own = isGiven(config.metadata) ? { metadata: config.metadata } : {};
  return { body: { ...(body as CollectionBody), ...own }, remarks };
}

/** The vector fields, each with its model (C19); the unnamed vector has the empty name. */
function withModels(
  { vectors = {}, sparse_vectors: sparse }: Settings,
  models: Readonly<Record<string, unknown>>,
): Settings {
  const isUnnamed = isObject(vectors) && isGiven(vectors['size']);
  return {
    vectors: isUnnamed ? withModel(vectors, models, '') : withEachModel(vectors, models),
    ...(isGiven(sparse) && { sparse_vectors: withEachModel(sparse, models) }),
  };
}

function withEachModel(fields: unknown, models: Readonly<Record<string, unknown>>): unknown {
  if (!isObject(fields)) return fields;
  return Object.fromEntries(
    Object.entries(fields).map(([name, field]) => [name, withModel(field, models, name)]),
  );
}

/** A field may be called as a member of every object is. */
function withModel(field: unknown, models: Readonly<Record<string, unknown>>, name: string): unknown {
  const model = Object.hasOwn(models, name) ? models[name] : undefined;
  return isObject(field) && isGiven(model) ? { ...field, model } : field;
}

/** Whether the points say in which shard they are. */
export function usesShardKeys({ params }: QdrantConfig): boolean {
  return params.sharding_method === 'custom';
}

/** The indexes over payloads. */
export function indexesOf({ payload_schema: schema }: QdrantInfo): readonly PayloadIndex[] {
  return Object.entries(schema ?? {}).map(([field, { data_type: type, params }]) => ({
    field,
    schema: isGiven(params) ? withoutNulls(params) : type,
  }));
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function pick(from: Settings, names: readonly string[]): Settings {
  return Object.fromEntries(names.map((name) => [name, from[name]]));
}

/** Settings that are null are not set. */
function withoutNulls(value: unknown): unknown {
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, field]) => isGiven(field))
      .map(([name, field]) => [name, withoutNulls(field)]),
  );
}
