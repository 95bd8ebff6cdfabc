import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startGuardedServer, type GuardedServer } from './guarded-server';
import { connectJsClient, refusal, type JsClient, type Query } from './js-client';

/** Methods that call no endpoint of ours, and what they are answered. */
const WITHOUT_ENDPOINT: Readonly<Record<string, [number, (client: JsClient) => Promise<unknown>]>> = {
  // Groups of C8.
  getAliases: [501, (client) => client.getAliases()],
  getCollectionAliases: [501, (client) => client.getCollectionAliases('all')],
  updateCollectionAliases: [501, (client) => client.updateCollectionAliases({ actions: [] })],
  listSnapshots: [501, (client) => client.listSnapshots('all')],
  createSnapshot: [501, (client) => client.createSnapshot('all')],
  deleteSnapshot: [501, (client) => client.deleteSnapshot('all', 'one')],
  queryGroups: [501, (client) => client.queryGroups('all', { query: [1, 0], using: 'dense', group_by: 'n' })],
  recoverSnapshot: [501, (client) => client.recoverSnapshot('all', { location: 'file:///one' })],
  listFullSnapshots: [501, (client) => client.listFullSnapshots()],
  createFullSnapshot: [501, (client) => client.createFullSnapshot()],
  deleteFullSnapshot: [501, (client) => client.deleteFullSnapshot('one')],
  // Endpoints that KithDB does not have (docs/compatibility.md).
  listShardSnapshots: [404, (client) => client.listShardSnapshots('all', 0)],
  createShardSnapshot: [404, (client) => client.createShardSnapshot('all', 0, {})],
  deleteShardSnapshot: [404, (client) => client.deleteShardSnapshot('all', 0, 'one', {})],
  recoverShardFromSnapshot: [
    404,
    (client) => client.recoverShardFromSnapshot('all', 0, { location: 'file:///one' }),
  ],
  updateCollectionCluster: [
    400,
    (client) => client.updateCollectionCluster('all', { drop_replica: { shard_id: 0, peer_id: 1 } }),
  ],
  listShardKeys: [404, (client) => client.listShardKeys('all')],
  createShardKey: [404, (client) => client.createShardKey('all', { shard_key: 'a' })],
  deleteShardKey: [404, (client) => client.deleteShardKey('all', { shard_key: 'a' })],
  getQuotas: [404, (client) => client.getQuotas()],
  updateQuotas: [404, (client) => client.updateQuotas({})],
};

const REFUSALS: Readonly<Record<number, RegExp>> = {
  400: /^this server is no node of a cluster$/,
  404: /^Route not found: /,
  405: /^Method not allowed: /,
  501: /^Not implemented in this build: /,
};

/** Methods of the client itself that make no request. */
const LOCAL = ['api'];

const VECTORS = {
  dense: { size: 2, distance: 'Dot', datatype: 'float16', on_disk: true },
  bytes: { size: 2, distance: 'Euclid', datatype: 'uint8', hnsw_config: { m: 8, ef_construct: 20 } },
  tokens: { size: 2, distance: 'Cosine', multivector_config: { comparator: 'max_sim' } },
  exact: {
    size: 2,
    distance: 'Manhattan',
    quantization_config: { scalar: { type: 'int8', quantile: 0.99, always_ram: true } },
  },
} as const;

describe('every method of @qdrant/js-client-rest (C9.1)', () => {
  const folder = mkdtempSync(join(tmpdir(), 'kithdb-js-methods-'));
  let server: GuardedServer;
  let client: JsClient;
  /** Methods that were called on `client`. */
  const called = new Set<string>();

  beforeAll(async () => {
    server = await startGuardedServer(join(folder, 'data'));
    const plain = await connectJsClient(server.url, await server.accessToken('read,write'));
    client = new Proxy(plain, {
      get(target, name: keyof JsClient) {
        called.add(name);
        return target[name].bind(target);
      },
    });
  });

  afterAll(async () => {
    expect(await server.stop()).toBe(0);
    rmSync(folder, { recursive: true, force: true });
  });

  const ids = async (query: Query) =>
    (await client.query('all', { limit: 9, ...query })).points.map(({ id }) => id);

  /** What is called, in this order: each step goes on with the collection of those before it. */
  const steps: { readonly name: string; readonly run: () => Promise<void> }[] = [];
  const step = (name: string, run: () => Promise<void>): void => {
    steps.push({ name, run });
  };

  step('collections are made with every kind of vector, changed and described (C4)', async () => {
    expect((await client.versionInfo()).title).toBe('kithdb - vector database');
    expect(await client.collectionExists('all')).toEqual({ exists: false });
    await client.createCollection('all', {
      vectors: VECTORS,
      sparse_vectors: {
        words: { index: { on_disk: false, full_scan_threshold: 100 } },
        idf: { modifier: 'idf' },
      },
      hnsw_config: {
        m: 12,
        ef_construct: 40,
        full_scan_threshold: 20,
        max_indexing_threads: 1,
        on_disk: false,
      },
      optimizers_config: { deleted_threshold: 0.3, vacuum_min_vector_number: 200, indexing_threshold: 900 },
      wal_config: { wal_capacity_mb: 8, wal_segments_ahead: 1 },
      quantization_config: { binary: { always_ram: true } },
      // eslint-disable-next-line @typescript-eslint/no-deprecated -- part of C4.3, whatever the client advises
      on_disk_payload: true,
      shard_number: 1,
      replication_factor: 1,
      write_consistency_factor: 1,
      metadata: { owner: 'Ada' },
      timeout: 120,
    });
    expect((await client.getCollections()).collections).toEqual([{ name: 'all' }]);

    await client.updateCollection('all', {
      vectors: {
        exact: { quantization_config: 'Disabled', on_disk: true },
        dense: { hnsw_config: { m: 10 } },
      },
      sparse_vectors: { words: { modifier: 'none' } },
      hnsw_config: { ef_construct: 50 },
      optimizers_config: { flush_interval_sec: 7, max_optimization_threads: 1 },
      params: { on_disk_payload: true, replication_factor: 1 },
      quantization_config: 'Disabled',
      metadata: { year: 2026 },
      timeout: 120,
    });
    const { config, status } = await client.getCollection('all');
    expect(status).toBe('green');
    expect(config.params.vectors).toMatchObject({
      ...VECTORS,
      exact: { size: 2, distance: 'Manhattan', on_disk: true },
      dense: { ...VECTORS.dense, hnsw_config: { m: 10 } },
    });
    expect(config.params.sparse_vectors).toHaveProperty('idf.modifier', 'idf');
    expect(config.hnsw_config).toMatchObject({ m: 12, ef_construct: 50 });
    expect(config.optimizer_config).toMatchObject({ deleted_threshold: 0.3, flush_interval_sec: 7 });
    expect(config.quantization_config).toBeNull();
    expect(config.metadata).toEqual({ owner: 'Ada', year: 2026 });
  });

  step('points hold every kind of vector, and every write reaches them (C5)', async () => {
    const vector = (n: number) => ({
      dense: [n, 1],
      bytes: [n, 255],
      tokens: [[1, 0], [0, n]], // prettier-ignore
      exact: [n, -n],
      words: { indices: [7, n], values: [1, 0.5] },
      idf: { indices: [1, 10 + n], values: [1, 1] },
    });
    const payload = (n: number) => ({ n, city: n % 2 ? 'Bern' : 'Oslo', place: { lon: n, lat: 46 } });
    await client.upsert('all', {
      points: [1, 2, 3].map((n) => ({ id: n, vector: vector(n), payload: payload(n) })),
      wait: true,
      ordering: 'strong',
    });
    const more = [4, 5, 6];
    const columns = {
      dense: more.map((n) => vector(n).dense),
      tokens: more.map((n) => vector(n).tokens),
      words: more.map((n) => vector(n).words),
    };
    await client.upsert('all', { batch: { ids: more, vectors: columns, payloads: more.map(payload) } });
    const [first] = await client.retrieve('all', { ids: [1], with_vector: true });
    expect(first!.vector).toEqual({ ...vector(1), words: { indices: [1, 7], values: [0.5, 1] } });

    await client.updateVectors('all', { points: [{ id: 6, vector: { bytes: [6, 6] } }], wait: true });
    await client.deleteVectors('all', { points: [6], vector: ['tokens', 'words'], wait: true });
    await client.setPayload('all', { payload: { a: { b: 1 } }, points: [6], wait: true });
    await client.overwritePayload('all', { payload: { c: 2 }, key: 'a', points: [6], wait: true });
    await client.deletePayload('all', { keys: ['city'], points: [6], wait: true });
    expect(await client.retrieve('all', { ids: [6], with_vector: ['bytes', 'tokens'] })).toEqual([
      { id: 6, payload: { n: 6, place: { lon: 6, lat: 46 }, a: { c: 2 } }, vector: { bytes: [6, 6] } },
    ]);
    await client.clearPayload('all', { points: [6], wait: true });
    await client.batchUpdate('all', {
      operations: [{ set_payload: { payload: payload(6), points: [6] } }, { delete: { points: [5] } }],
    });
    await client.delete('all', { filter: { must: [{ key: 'n', match: { value: 4 } }] }, wait: true });
    expect(await client.count('all', { exact: true })).toEqual({ count: 4 });
    const { points } = await client.scroll('all', { limit: 10, with_payload: ['n'] });
    expect(points.map(({ payload: shown }) => shown)).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }, { n: 6 }]);
  });

  step('payload indexes of every type take their options, and go (C5.12)', async () => {
    const schemas = {
      keyword: { type: 'keyword', is_tenant: true, on_disk: false },
      integer: { type: 'integer', lookup: true, range: true, is_principal: true },
      float: { type: 'float', is_principal: false },
      bool: { type: 'bool' },
      geo: { type: 'geo', on_disk: false },
      datetime: { type: 'datetime', is_principal: true },
      uuid: { type: 'uuid', is_tenant: false },
      text: {
        type: 'text',
        tokenizer: 'word',
        min_token_len: 2,
        max_token_len: 20,
        lowercase: true,
        phrase_matching: true,
        stopwords: { languages: ['english'], custom: ['etc'] },
        stemmer: { type: 'snowball', language: 'english' },
      },
    } as const;
    for (const [type, field_schema] of Object.entries(schemas)) {
      const plain = { field_name: `plain_${type}`, field_schema: type as keyof typeof schemas, wait: true };
      await client.createPayloadIndex('all', plain);
      await client.createPayloadIndex('all', {
        field_name: `with_options.${type}`,
        field_schema,
        wait: true,
      });
    }
    const { payload_schema } = await client.getCollection('all');
    for (const [type, params] of Object.entries(schemas)) {
      expect(payload_schema[`plain_${type}`]).toMatchObject({ data_type: type });
      expect(payload_schema[`with_options.${type}`]).toMatchObject({ data_type: type, params });
    }
    for (const field of Object.keys(payload_schema))
      await client.deletePayloadIndex('all', field, { wait: true });
    expect((await client.getCollection('all')).payload_schema).toEqual({});
  });

  step('vectors are added and removed (C4.8)', async () => {
    const done = { status: 'completed' };
    for (const config of [
      { dense: { size: 2, distance: 'Dot', datatype: 'float16' } },
      { sparse: { modifier: 'idf' } },
    ] as const) {
      expect(await client.createVectorName('all', 'later', config)).toMatchObject(done);
      expect(await client.deleteVectorName('all', 'later')).toMatchObject(done);
    }
  });

  step('query and queryBatch take all forms (C6.3)', async () => {
    const pair = { positive: 3, negative: [0, 1] };
    const leaf = { query: [1, 0], using: 'dense', limit: 9 };
    const words = { query: { indices: [7], values: [1] }, using: 'words' };
    const forms: [Query, unknown][] = [
      [{ query: [1, 0], using: 'dense' }, [6, 3, 2, 1]],
      [{ query: { nearest: [6, 255] }, using: 'bytes', limit: 2 }, [3, 2]],
      [{ query: [[0, 1]], using: 'tokens' }, [1, 2, 3]],
      [words, [1, 2, 3]],
      [{ query: { indices: [12], values: [1] }, using: 'idf' }, [2]],
      [{ query: 6, using: 'dense' }, [3, 2, 1]],
      [{ query: { nearest: [1, 0], mmr: { diversity: 0, candidates_limit: 3 } }, using: 'dense' }, [6, 3, 2]],
      [{ query: { recommend: { positive: [6], negative: [[1, 0]] } }, using: 'dense' }, [3, 2, 1]],
      [{ query: { recommend: { positive: [3], strategy: 'best_score' } }, using: 'dense' }, [6, 2, 1]],
      [{ query: { recommend: { negative: [3], strategy: 'sum_scores' } }, using: 'dense' }, [1, 2, 6]],
      [{ query: { discover: { target: [1, 0], context: [pair] } }, using: 'dense' }, [6, 2, 1]],
      [{ query: { discover: { target: 1, context: null } }, using: 'exact' }, [2, 3]],
      [{ query: { context: pair }, using: 'dense' }, [1, 2, 6]],
      [{ query: { order_by: { key: 'n', direction: 'desc', start_from: 3 } } }, [3, 2, 1]],
      [{ prefetch: [leaf, words], query: { fusion: 'rrf' }, filter: { must: [{ has_id: [2, 3] }] } }, [2, 3]],
      [{ prefetch: [leaf, leaf], query: { fusion: 'dbsf' } }, [6, 3, 2, 1]],
      [{ prefetch: [leaf, words], query: { rrf: { k: 5, weights: [3, 1] } } }, [1, 2, 3, 6]],
      [
        {
          prefetch: { prefetch: leaf, query: [-1, 0], using: 'dense', limit: 2 },
          query: [1, 0],
          using: 'dense',
        },
        [2, 1],
      ],
      [{ prefetch: leaf, query: { formula: { neg: '$score' } } }, [1, 2, 3, 6]],
      [
        {
          prefetch: leaf,
          query: {
            formula: {
              sum: [
                { mult: [10, { key: 'city', match: { any: ['Bern'] } }] },
                { div: { left: 'n', right: 100, by_zero_default: 0 } },
                {
                  gauss_decay: {
                    x: { geo_distance: { origin: { lon: 0, lat: 46 }, to: 'place' } },
                    scale: 1e6,
                  },
                },
                { exp_decay: { x: { datetime_key: 'when' }, target: { datetime: '2026-01-01' } } },
                { pow: { base: { abs: 'none' }, exponent: { sqrt: 4 } } },
              ],
            },
            defaults: { none: 1, when: '2026-01-01T00:00:00Z' },
          },
        },
        [1, 3, 2, 6],
      ],
      [{}, [1, 2, 3, 6]],
      [{ lookup_from: { collection: 'all', vector: 'exact' }, query: 2, using: 'dense' }, [6, 3, 1]],
      [
        { query: [1, 0], using: 'dense', score_threshold: 3, params: { hnsw_ef: 32, indexed_only: false } },
        [6, 3],
      ],
    ];
    for (const [query, expected] of forms) expect([query, await ids(query)]).toEqual([query, expected]);
    const searches = forms.map(([query]) => ({ limit: 9, ...query }));
    const answers = await client.queryBatch('all', { searches, timeout: 120 });
    expect(answers.map(({ points }) => points.map(({ id }) => id))).toEqual(
      forms.map(([, expected]) => expected),
    );
    expect((await ids({ query: { sample: 'random' } })).sort()).toEqual([1, 2, 3, 6]);
  });

  step('facets, the distance matrix and the answers of one node (C4.7, C6.8, C6.9)', async () => {
    expect((await client.facet('all', { key: 'city' })).hits).toEqual([
      { value: 'Bern', count: 2 },
      { value: 'Oslo', count: 2 },
    ]);
    const sampled = { using: 'dense', sample: 4, limit: 1 };
    expect((await client.searchMatrixPairs('all', sampled)).pairs.map(({ a, b }) => [a, b])).toHaveLength(4);
    expect((await client.searchMatrixOffsets('all', sampled)).ids).toEqual([1, 2, 3, 6]);
    expect((await client.collectionClusterInfo('all')).local_shards[0]?.points_count).toBe(4);
    expect((await client.clusterTelemetry()).cluster?.enabled).toBe(false);
    expect((await client.getOptimizations('all')).running).toEqual([]);
  });

  step('calls without an endpoint are refused with a message that says so', async () => {
    for (const [name, [code, call]] of Object.entries(WITHOUT_ENDPOINT)) {
      const [status, message] = await refusal(call(client));
      expect([name, status, message]).toEqual([name, code, expect.stringMatching(REFUSALS[code]!)]);
    }
  });

  step('the client has no other methods', async () => {
    await client.recreateCollection('all', { vectors: { size: 1, distance: 'Dot' } });
    expect(await client.deleteCollection('all')).toBe(true);

    const { QdrantClient } = await import('@qdrant/js-client-rest');
    const methods = Object.getOwnPropertyNames(QdrantClient.prototype).filter(
      (name) => name !== 'constructor',
    );
    expect([...called, ...LOCAL].sort()).toEqual(methods.sort());
  });

  test('answers as Qdrant does, step by step', async () => {
    for (const { name, run } of steps) {
      await run().catch((error: unknown) => {
        (error as Error).message = `${name}: ${(error as Error).message}`;
        throw error;
      });
    }
  });
});
