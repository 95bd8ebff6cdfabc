/**
 * Every metric that the console reads, with the labels that it selects or shows by: their values, where it names them. Types
 * hold the console to this table, and test/monitoring/rules.test.ts holds the table to what the server says.
 */
export const METRICS = {
  kithdb_checksum_failures_total: {},
  kithdb_collections: {},
  kithdb_disk_bytes: { component: ['log', 'data'] },
  kithdb_health_issues: {
    kind: [
      'disk_full',
      'memory_limit',
      'log',
      'quarantine',
      'collection',
      'checkpoint',
      'removal',
      'background',
    ],
  },
  kithdb_http_request_duration_seconds_bucket: { route: 'any', le: 'any' },
  kithdb_http_requests_total: { route: 'any', code: 'any' },
  kithdb_index_backlog: { kind: ['dense', 'sparse', 'field'] },
  kithdb_last_backup_timestamp_seconds: {},
  kithdb_memory_bytes: { component: 'any' },
  kithdb_memory_held_bytes: { of: ['process', 'engine'] },
  kithdb_memory_limit_bytes: { of: ['process', 'engine'] },
  kithdb_points: {},
  kithdb_reads: { state: ['waiting', 'light', 'heavy'] },
  kithdb_scrub_last_finished_timestamp_seconds: {},
} as const satisfies Readonly<Record<string, Readonly<Record<string, readonly string[] | 'any'>>>>;

export type Metric = keyof typeof METRICS;

type Values<V> = V extends readonly (infer Value)[] ? Value : string;

/** The labels of the samples of a metric, as far as the console looks at them. */
export type Labels<M extends Metric> = {
  readonly [Label in keyof (typeof METRICS)[M]]: Values<(typeof METRICS)[M][Label]>;
};
