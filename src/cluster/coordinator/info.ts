/** What is said of a collection, or a part of it, made of what is said of its shards. */

export interface Info {
  readonly status?: string;
  readonly config?: { readonly params: object };
  readonly payload_schema?: Readonly<Record<string, { readonly points: number }>>;
  /** Counts, of the optimizations. */
  readonly summary?: Readonly<Record<string, number>>;
  readonly [name: string]: unknown;
}

/** From the best to the worst. */
const STATUSES = ['green', 'yellow', 'grey', 'red'];
/** What is added up. */
const COUNTS = [
  'indexed_vectors_count',
  'points_count',
  'segments_count',
  'vectors_count',
  'memory_bytes',
  'disk_bytes',
];

/** One info: counts are those of all shards, the status is the worst. */
export function joinedInfo(infos: readonly Info[], replication: object): Info {
  const [first] = infos;
  if (first === undefined) return {};
  const { config, payload_schema: schema, summary } = first;
  return {
    ...first,
    ...summed(infos, COUNTS),
    ...(first.status !== undefined && { status: worstOf(infos) }),
    ...(config !== undefined && { config: { ...config, params: { ...config.params, ...replication } } }),
    ...(schema !== undefined && { payload_schema: joinedSchemas(infos) }),
    ...(summary !== undefined && {
      summary: summed(
        infos.map((info) => info.summary ?? {}),
        Object.keys(summary),
      ),
    }),
  };
}

/** The sums of the members that the first one has as numbers. */
function summed(
  infos: readonly Readonly<Record<string, unknown>>[],
  names: readonly string[],
): Record<string, number> {
  const numbers = names.filter((name) => typeof infos[0]?.[name] === 'number');
  const sumOf = (name: string): number => infos.reduce((sum, info) => sum + Number(info[name] ?? 0), 0);
  return Object.fromEntries(numbers.map((name) => [name, sumOf(name)]));
}

function worstOf(infos: readonly Info[]): string {
  return STATUSES[Math.max(...infos.map(({ status = '' }) => STATUSES.indexOf(status)))] ?? 'red';
}

/** The field indexes, each with the points of all shards. */
function joinedSchemas(infos: readonly Info[]): NonNullable<Info['payload_schema']> {
  const joined = new Map<string, { readonly points: number }>();
  for (const { payload_schema: schema = {} } of infos) {
    for (const [path, index] of Object.entries(schema)) {
      joined.set(path, { ...index, points: (joined.get(path)?.points ?? 0) + index.points });
    }
  }
  return Object.fromEntries(joined);
}
