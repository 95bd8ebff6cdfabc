/** The info of a collection, made of those of its shards. */

export interface Info {
  readonly status: string;
  readonly config: { readonly params: object };
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
export function joinedInfo(infos: readonly Info[], replication: object): object {
  const [first] = infos;
  if (first === undefined) return {};
  const sums = COUNTS.filter((name) => typeof first[name] === 'number').map((name) => [
    name,
    infos.reduce((sum, info) => sum + Number(info[name] ?? 0), 0),
  ]);
  const worst = infos
    .map(({ status }) => status)
    .sort((one, other) => STATUSES.indexOf(other) - STATUSES.indexOf(one))[0];
  return {
    ...first,
    ...(Object.fromEntries(sums) as object),
    status: worst,
    config: { ...first.config, params: { ...first.config.params, ...replication } },
    ...('payload_schema' in first && { payload_schema: joinedSchemas(infos) }),
  };
}

/** The field indexes, each with the points of all shards. */
function joinedSchemas(infos: readonly Info[]): object {
  const joined = new Map<string, { points: number } & object>();
  for (const info of infos) {
    for (const [path, schema] of Object.entries(
      info['payload_schema'] as Record<string, { points: number }>,
    )) {
      joined.set(path, { ...schema, points: (joined.get(path)?.points ?? 0) + schema.points });
    }
  }
  return Object.fromEntries(joined);
}
