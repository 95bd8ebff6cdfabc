import { isObject, type CollectionBody } from './source';

/** Any settings; those that are read have names here. */
interface Settings {
  readonly [name: string]: unknown;
  readonly space?: unknown;
  readonly spann?: unknown;
  readonly hnsw?: unknown;
  readonly embedding_function?: unknown;
  readonly name?: unknown;
  readonly keys?: unknown;
  readonly sparse_vector?: unknown;
  readonly sparse_vector_index?: unknown;
  readonly enabled?: unknown;
}

/** What Chroma says of a collection, as far as it is read. */
export interface ChromaInfo {
  readonly id: string;
  readonly name: string;
  readonly dimension?: number | null;
  readonly metadata?: Settings | null;
  readonly configuration_json?: Settings | null;
  readonly schema?: Settings | null;
}

/** The distance of each space of Chroma; its `l2` is the square of ours and gives the same order. */
const DISTANCES: Readonly<Record<string, string>> = { l2: 'Euclid', cosine: 'Cosine', ip: 'Dot' };

/** The name of each setting of a graph in KithDB. */
const HNSW: Readonly<Record<string, string>> = {
  max_neighbors: 'm',
  ef_construction: 'ef_construct',
  ef_search: 'ef_search',
};

/** Where a collection of an earlier release has the settings: keys of its metadata. */
const EARLIER: Readonly<Record<string, string>> = {
  'hnsw:space': 'space',
  'hnsw:M': 'max_neighbors',
  'hnsw:construction_ef': 'ef_construction',
  'hnsw:search_ef': 'ef_search',
};

/**
 * The body that creates a collection as this one is configured; none where its dimension is not known. Its own metadata
 * become those of the collection.
 */
export function bodyOfCollection(
  info: ChromaInfo,
  dimension: number | undefined,
): { readonly body: CollectionBody | undefined; readonly remarks: readonly string[] } {
  const remarks: string[] = [];
  if (dimension === undefined) {
    return {
      body: undefined,
      remarks: ['It is not created: it has no records, and so no dimension'],
    };
  }
  const settings = settingsOf(info);
  const { space = 'l2' } = settings;
  const distance =
    typeof space === 'string' && Object.hasOwn(DISTANCES, space) ? DISTANCES[space] : undefined;
  if (distance === undefined) {
    return {
      body: undefined,
      remarks: [`It is not created: KithDB has no distance like ${JSON.stringify(space)}`],
    };
  }
  if (space === 'l2') {
    remarks.push('Scores are distances: those of Chroma for l2 are their squares');
  }
  remarks.push(...remarksOn(info));
  const hnsw = Object.entries(HNSW)
    .filter(([theirs]) => typeof settings[theirs] === 'number')
    .map(([theirs, ours]) => [ours, settings[theirs]]);
  const metadata = Object.entries(info.metadata ?? {}).filter(([name]) => !name.startsWith('hnsw:'));
  return {
    body: {
      vectors: { size: dimension, distance },
      ...(hnsw.length > 0 && { hnsw_config: Object.fromEntries(hnsw) as Settings }),
      ...(metadata.length > 0 && { metadata: Object.fromEntries(metadata) }),
    },
    remarks,
  };
}

/** The settings of the graph, of whatever kind Chroma's index is. */
function settingsOf({ metadata, configuration_json: configuration }: ChromaInfo): Settings {
  const earlier = Object.entries(EARLIER)
    .filter(([key]) => metadata?.[key] !== undefined)
    .map(([key, name]) => [name, metadata?.[key]]);
  return {
    ...asSettings(configuration?.spann),
    ...asSettings(configuration?.hnsw),
    ...(Object.fromEntries(earlier) as Settings),
  };
}

function remarksOn({ configuration_json: configuration, schema }: ChromaInfo): readonly string[] {
  const remarks: string[] = [];
  const embedding = asSettings(configuration?.embedding_function);
  const { name } = embedding;
  if (typeof name === 'string') {
    remarks.push(`The embedding function ${name} is not migrated: vectors come with each request`);
  }
  if (JSON.stringify(schema ?? null).includes('sparse_vector_index')) {
    const sparse = sparseKeys(schema ?? {});
    if (sparse.length > 0) {
      remarks.push(`The sparse vectors of ${sparse.join(', ')} stay in the payload: they are not searched`);
    }
  }
  return remarks;
}

/** Keys of the metadata with an index of sparse vectors that is switched on. */
function sparseKeys(schema: Settings): readonly string[] {
  return Object.entries(asSettings(schema.keys))
    .filter(([, types]) => {
      const index = asSettings(asSettings(asSettings(types).sparse_vector).sparse_vector_index);
      return index.enabled === true;
    })
    .map(([key]) => key);
}

function asSettings(value: unknown): Settings {
  return isObject(value) ? value : {};
}
