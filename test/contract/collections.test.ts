import { withPlans } from '../searches';
import { ContractServer, type Json } from './contract-server';

const DOT = { size: 2, distance: 'Dot' };

let server: ContractServer;
beforeAll(async () => {
  server = await ContractServer.start();
});
afterAll(() => server.stop());

/** Makes a collection and returns its info. */
async function infoOf(name: string, body: unknown): Promise<Json> {
  return server.ok('GET', await server.collection(name, body));
}

/** The info of a collection once it is green; until then it must be yellow. */
async function green(path: string): Promise<Json> {
  for (;;) {
    const info = await server.ok('GET', path);
    if (info.status === 'green') return info;
    expect(info.status).toBe('yellow');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** So narrow that a walk costs less than a scan of 1,500 points. */
const WALK = { hnsw_ef: 64 };

const messages = (info: { warnings: { message: string }[] }): string =>
  info.warnings.map(({ message }) => message).join('\n');

describe('C4.1 the list', () => {
  it('C4.1 holds every collection, by name', async () => {
    const own = await ContractServer.start();
    try {
      const names = ['b', 'a', 'Z', '10', '9', 'ä'];
      for (const name of names) {
        await own.collection(encodeURIComponent(name));
      }
      const { collections } = await own.ok('GET', '/collections');
      expect(collections).toEqual(['10', '9', 'Z', 'a', 'b', 'ä'].map((name) => ({ name })));
      for (const name of names) {
        expect(await own.ok('DELETE', `/collections/${encodeURIComponent(name)}`)).toBe(true);
      }
      expect(await own.ok('GET', '/collections')).toEqual({ collections: [] });
    } finally {
      await own.stop();
    }
  });
});

/** What a collection takes in memory and on the disk. */
const SIZE: unknown = { memory_bytes: expect.any(Number), disk_bytes: expect.any(Number) };
const AWAKE = { setting: 'auto', state: 'awake', resident_bytes: expect.any(Number) as number };
/** What the info says of a collection that was created since the last start, and of one that the start opened (C24). */
const CREATED: unknown = { ...AWAKE, opened_ms: null };
const OPENED: unknown = { ...AWAKE, opened_ms: expect.any(Number) };

describe('C4.2, C4.3 the info of a collection', () => {
  it('C4.2 everything that strict clients parse is there, with the effective values', async () => {
    expect(await infoOf('plain', { vectors: { size: 4, distance: 'Cosine' } })).toEqual({
      status: 'green',
      recall_estimate: null,
      size: SIZE,
      residency: CREATED,
      optimizer_status: 'ok',
      warnings: [],
      indexed_vectors_count: 0,
      points_count: 0,
      segments_count: 1,
      config: {
        params: {
          vectors: { size: 4, distance: 'Cosine' },
          shard_number: 1,
          replication_factor: 1,
          write_consistency_factor: 1,
          on_disk_payload: true,
        },
        hnsw_config: {
          m: 16,
          ef_construct: 100,
          ef_search: expect.any(Number),
          full_scan_threshold: 10000,
          max_indexing_threads: 0,
          on_disk: false,
        },
        optimizer_config: {
          deleted_threshold: 0.2,
          vacuum_min_vector_number: 1000,
          default_segment_number: 0,
          indexing_threshold: 10000,
          flush_interval_sec: 5,
          max_optimization_threads: null,
        },
        wal_config: { wal_capacity_mb: 32, wal_segments_ahead: 0, durability: 'always' },
        quantization_config: null,
      },
      payload_schema: {},
    });
  });

  it('C4.3 every setting is echoed, and again after a restart', async () => {
    const body = {
      vectors: {
        image: {
          size: 3,
          distance: 'Euclid',
          on_disk: true,
          datatype: 'float16',
          hnsw_config: { m: 8, ef_construct: 50, full_scan_threshold: 20, payload_m: 4, on_disk: true },
          quantization_config: { scalar: { type: 'int8', quantile: 0.9, always_ram: true } },
        },
        text: { size: 65536, distance: 'Manhattan', datatype: 'uint8' },
      },
      hnsw_config: {
        m: 24,
        ef_construct: 64,
        ef_search: 77,
        full_scan_threshold: 500,
        max_indexing_threads: 2,
        on_disk: true,
        payload_m: 8,
      },
      optimizers_config: {
        deleted_threshold: 0.5,
        vacuum_min_vector_number: 200,
        default_segment_number: 3,
        max_segment_size: 1000,
        memmap_threshold: 2000,
        indexing_threshold: 3000,
        flush_interval_sec: 7,
        max_optimization_threads: 2,
      },
      wal_config: { wal_capacity_mb: 64, wal_segments_ahead: 1, durability: 'interval' },
      quantization_config: { product: { compression: 'x16', always_ram: false } },
      on_disk_payload: false,
      metadata: { owner: 'me', nested: { a: [1, null] } },
      shard_number: 2,
      replication_factor: 3,
      write_consistency_factor: 2,
    };
    const info = await infoOf('echo', body);
    expect(info.config).toMatchObject({
      params: {
        vectors: body.vectors,
        shard_number: 2,
        replication_factor: 3,
        write_consistency_factor: 2,
        on_disk_payload: false,
      },
      hnsw_config: body.hnsw_config,
      optimizer_config: body.optimizers_config,
      wal_config: body.wal_config,
      quantization_config: body.quantization_config,
      metadata: body.metadata,
    });
    // Strict clients know no other names inside a vector (C4.2).
    expect(info.config.params.vectors).toEqual(body.vectors);
    for (const ignored of ['shard_number', 'replication_factor', 'write_consistency_factor']) {
      expect(messages(info)).toContain(ignored);
    }
    await server.restart();
    expect(await server.ok('GET', '/collections/echo')).toEqual({ ...info, size: SIZE, residency: OPENED });
  });

  it.each([
    ['scalar', { scalar: { type: 'int8' } }],
    ['product', { product: { compression: 'x4' } }],
    ['binary', { binary: { always_ram: true } }],
  ])('C4.3 %s quantisation is taken for a collection and for a vector', async (kind, quantization_config) => {
    const vectors = { ...DOT, quantization_config };
    const { config } = await infoOf(`quantized-${kind}`, { vectors, quantization_config });
    expect(config.quantization_config).toMatchObject(quantization_config);
    expect(config.params.vectors.quantization_config).toMatchObject(quantization_config);
  });

  it.each(['always', 'interval', 'os'])('C4.3 durability %s is taken', async (durability) => {
    const { config } = await infoOf(`durable-${durability}`, { vectors: DOT, wal_config: { durability } });
    expect(config.wal_config.durability).toBe(durability);
    const point = { points: [{ id: 1, vector: [1, 2] }] };
    await server.ok('PUT', `/collections/durable-${durability}/points`, point);
    await server.restart();
    expect((await server.ok('GET', `/collections/durable-${durability}`)).points_count).toBe(1);
  });

  it('C4.4 the durability is changed by PATCH, shown in the info, and kept', async () => {
    const { config } = await infoOf('durable-later', { vectors: DOT, wal_config: { wal_capacity_mb: 48 } });
    expect(config.wal_config.durability).toBe('always');
    for (const durability of ['os', 'interval', 'always', 'os']) {
      expect(await server.ok('PATCH', '/collections/durable-later', { wal_config: { durability } })).toBe(
        true,
      );
      const points = [{ id: durability.length, vector: [1, 2] }];
      await server.ok('PUT', '/collections/durable-later/points', { points });
      const info = await server.ok('GET', '/collections/durable-later');
      expect(info.config.wal_config).toMatchObject({ wal_capacity_mb: 48, durability });
    }
    const bad = { wal_config: { durability: 'sometimes' } };
    expect(await server.refused('PATCH', '/collections/durable-later', bad)).toEqual([
      400,
      expect.stringContaining('wal_config.durability'),
    ]);
    await server.restart();
    const info = await server.ok('GET', '/collections/durable-later');
    expect([info.config.wal_config.durability, info.points_count]).toEqual(['os', 3]);
  });

  it('C4.3 vectors_config is vectors, and an unnamed vector is distinguished from named ones', async () => {
    expect((await infoOf('alias', { vectors_config: DOT })).config.params.vectors).toEqual(DOT);
    const named = { size: DOT, distance: { size: 3, distance: 'Euclid' } };
    expect((await infoOf('odd-names', { vectors: named })).config.params.vectors).toEqual(named);
  });

  it.each<[unknown, string]>([
    [{ vectors: { size: 0, distance: 'Dot' } }, 'vectors.size'],
    [{ vectors: { size: 65537, distance: 'Dot' } }, 'vectors.size'],
    [{ vectors: { size: 2.5, distance: 'Dot' } }, 'vectors.size'],
    [{ vectors: { distance: 'Dot' } }, 'Missing required field: vectors.size'],
    [{ vectors: { size: 2 } }, 'Missing required field: vectors.distance'],
    [{ vectors: { size: 2, distance: 'dot' } }, 'vectors.distance'],
    [{ vectors: { size: 2, distance: 'Dot', datatype: 'int8' } }, 'vectors.datatype'],
    [{ vectors: { a: { size: 2, distance: 'Dot' }, b: { size: 0, distance: 'Dot' } } }, 'vectors.b.size'],
    [{ vectors: DOT, hnsw_config: { ef_construct: 3 } }, 'hnsw_config.ef_construct'],
    [{ vectors: DOT, hnsw_config: { full_scan_threshold: 9 } }, 'hnsw_config.full_scan_threshold'],
    [{ vectors: DOT, optimizers_config: { deleted_threshold: 1.5 } }, 'optimizers_config.deleted_threshold'],
    [{ vectors: DOT, wal_config: { durability: 'never' } }, 'wal_config.durability'],
    [{ vectors: DOT, wal_config: { wal_capacity_mb: 0 } }, 'wal_config.wal_capacity_mb'],
    [{ vectors: DOT, quantization_config: { scalar: { type: 'int4' } } }, 'quantization_config.scalar.type'],
    [{ vectors: DOT, shard_number: 0 }, 'shard_number'],
    [{ vectors: DOT, sharding_method: 'custom' }, 'sharding_method'],
    [
      { vectors: DOT, strict_mode_config: { enabled: true, read_rate_limit: 0 } },
      'strict_mode_config.read_rate_limit',
    ],
    [{ vectors: DOT, metadata: 3 }, 'metadata'],
    [{ vectors: DOT, on_disk_payload: 'yes' }, 'on_disk_payload'],
  ])('C4.3 400 that names the place: %j', async (body, place) => {
    const [status, message] = await server.refused('PUT', '/collections/unmade', body);
    expect([status, message]).toEqual([400, expect.stringContaining(place)]);
    expect(await server.ok('GET', '/collections/unmade/exists')).toEqual({ exists: false });
  });

  it.each([
    {},
    { vectors: {} },
    { vectors: null },
    { sparse_vectors: {} },
    { vectors: {}, sparse_vectors: {} },
  ])('C4.3 no vectors at all is the specified error: %j', async (body) => {
    expect(await server.refused('PUT', '/collections/unmade', body)).toEqual([
      400,
      'vectors_config is required',
    ]);
  });

  it("C4.3, C4.4 Qdrant's other names mean the same, and what has no effect is a warning", async () => {
    const info = await infoOf('other-names', {
      vectors: DOT,
      optimizer_config: { max_segment_size_kb: 5, memmap_threshold_kb: 9 },
      quantization: { scalar: { type: 'int8' } },
      hnsw_config: { full_scan_threshold_kb: 33, inline_storage: true },
      wal_config: { wal_retain_closed: 2 },
    });
    expect(info.config).toMatchObject({
      hnsw_config: { full_scan_threshold: 33 },
      optimizer_config: { max_segment_size: 5, memmap_threshold: 9 },
      quantization_config: { scalar: { type: 'int8' } },
    });
    for (const ignored of ['inline_storage', 'max_segment_size', 'memmap_threshold', 'wal_retain_closed']) {
      expect(messages(info)).toContain(ignored);
    }
    const change = { optimizer_config: { deleted_threshold: 0.3 }, quantization: 'Disabled' };
    await server.ok('PATCH', '/collections/other-names', change);
    expect((await server.ok('GET', '/collections/other-names')).config).toMatchObject({
      optimizer_config: { max_segment_size: 5, deleted_threshold: 0.3 },
      quantization_config: null,
    });
  });

  it('C4.3 harmless forms are taken: sharding_method auto, strict mode off', async () => {
    const body = { vectors: DOT, sharding_method: 'auto', strict_mode_config: { enabled: false } };
    expect((await infoOf('harmless', body)).status).toBe('green');
  });

  it('C4.2 counts, the schema and its params', async () => {
    const path = await server.collection('schema', { vectors: DOT });
    const points = [
      { id: 1, vector: [1, 2], payload: { city: 'Rome', n: 1 } },
      { id: 2, vector: [1, 2], payload: { city: ['Rome', 'Paris'] } },
      { id: 3, vector: {}, payload: { n: 'not a number' } },
    ];
    await server.ok('PUT', `${path}/points`, { points });
    await server.ok('PUT', `${path}/index`, { field_name: 'city', field_schema: 'keyword' });
    const schema = { type: 'integer', lookup: true, range: false };
    await server.ok('PUT', `${path}/index`, { field_name: 'n', field_schema: schema });
    const info = await server.ok('GET', path);
    expect(info.points_count).toBe(3);
    expect(info.payload_schema).toEqual({
      city: { data_type: 'keyword', params: null, points: 2 },
      n: { data_type: 'integer', params: schema, points: 1 },
    });
    await server.restart();
    // Field indexes are built beside the first requests.
    expect(await green(path)).toEqual({ ...info, size: SIZE, residency: OPENED });
  });

  it('C4.2 yellow until what outgrew the tail is indexed, then green with the vectors counted', async () => {
    const path = await server.collection('indexing', {
      vectors: { size: 32, distance: 'Dot' },
      hnsw_config: { full_scan_threshold: 10 },
      optimizers_config: { indexing_threshold: 10 },
    });
    const ids = Array.from({ length: 5000 }, (_, id) => id);
    const vectors = ids.map((id) => Array.from({ length: 32 }, (_, place) => Math.sin(id * 31 + place)));
    await server.ok('PUT', `${path}/points`, { batch: { ids, vectors } });
    // Green means that no rows wait for indexing: an answer that came too late to be yellow has indexed all of them.
    const info = await green(path);
    expect(info).toMatchObject({ points_count: 5000, indexed_vectors_count: 5000, optimizer_status: 'ok' });
    await server.ok('POST', `${path}/points/delete`, { points: ids.slice(0, 1000) });
    expect(await server.ok('GET', path)).toMatchObject({ points_count: 4000, indexed_vectors_count: 4000 });
  });
});

describe('C4.4 changing a collection', () => {
  it('C4.4 every block is merged field by field, and the change survives a restart', async () => {
    const path = await server.collection('patched', {
      vectors: { a: { ...DOT, hnsw_config: { m: 8 } }, b: DOT },
      metadata: { keep: 1, drop: 2 },
      quantization_config: { scalar: { type: 'int8' } },
    });
    const before = await server.ok('GET', path);
    const change = {
      params: {
        replication_factor: 2,
        write_consistency_factor: 2,
        on_disk_payload: false,
        read_fan_out_factor: 1,
      },
      hnsw_config: { ef_construct: 200, ef_search: 50 },
      optimizers_config: { indexing_threshold: 500, max_optimization_threads: 3 },
      vectors: {
        a: { hnsw_config: { ef_construct: 40 }, on_disk: true },
        b: { quantization_config: { binary: {} } },
      },
      quantization_config: 'Disabled',
      metadata: { drop: null, added: { x: 1 } },
    };
    expect(await server.ok('PATCH', `${path}?timeout=120`, change)).toBe(true);
    const { config } = await server.ok('GET', path);
    expect(config.hnsw_config).toEqual({ ...before.config.hnsw_config, ef_construct: 200, ef_search: 50 });
    expect(config.optimizer_config).toEqual({
      ...before.config.optimizer_config,
      indexing_threshold: 500,
      max_optimization_threads: 3,
    });
    expect(config.params).toMatchObject({
      replication_factor: 2,
      write_consistency_factor: 2,
      on_disk_payload: false,
    });
    expect(config.params.vectors.a).toEqual({
      ...DOT,
      hnsw_config: { m: 8, ef_construct: 40 },
      on_disk: true,
    });
    expect(config.params.vectors.b.quantization_config).toHaveProperty('binary');
    expect(config.quantization_config).toBeNull();
    expect(config.metadata).toEqual({ keep: 1, added: { x: 1 } });
    await server.restart();
    expect((await server.ok('GET', path)).config).toEqual(config);
  });

  it.each([4, 32, 0])('C4.4, C6.2 another m, %i, is a new graph; every answer stays right', async (m) => {
    const path = await server.collection(`rebuilt-${m}`, {
      vectors: { size: 16, distance: 'Euclid' },
      hnsw_config: { full_scan_threshold: 10 },
      optimizers_config: { indexing_threshold: 10 },
    });
    const ids = Array.from({ length: 1500 }, (_, id) => id);
    const vectors = ids.map((id) => Array.from({ length: 16 }, (_, place) => Math.sin(id * 17 + place)));
    await server.ok('PUT', `${path}/points`, { batch: { ids, vectors } });
    await server.ok('PATCH', path, { hnsw_config: { m } });
    expect((await server.ok('GET', path)).config.hnsw_config.m).toBe(m);
    for (const restarted of [false, true]) {
      if (restarted) {
        await server.restart();
      }
      for (const id of [0, 700, 1499]) {
        const body = { vector: vectors[id], limit: 5, params: WALK };
        const hits = await server.ok('POST', `${path}/points/search`, body);
        const exact = await server.ok('POST', `${path}/points/search`, { ...body, params: { exact: true } });
        expect(hits[0].id).toBe(id);
        expect(hits).toEqual(exact);
      }
      await green(path);
    }
    const walk = (id: number): Promise<Json> =>
      server.ok('POST', `${path}/points/search`, { vector: vectors[id], limit: 5, params: WALK });
    // Without links there is no graph to walk.
    await withPlans(server.searches, { walks: m === 0 ? 0 : 20, scans: 0 }, async () => {
      for (let id = 0; id < 20; id += 1) expect((await walk(id))[0].id).toBe(id);
    });
  });

  it('C4.4 the unnamed vector is "", and an empty hnsw_config takes its settings away', async () => {
    const path = await server.collection('unnamed', { vectors: { ...DOT, hnsw_config: { m: 8 } } });
    await server.ok('PATCH', path, { vectors: { '': { hnsw_config: {} } } });
    expect((await server.ok('GET', path)).config.params.vectors).toEqual(DOT);
  });

  it('C4.4 {} and nulls change nothing', async () => {
    const path = await server.holding([]);
    const before = await server.ok('GET', path);
    await server.ok('PATCH', path, {});
    await server.ok('PATCH', path, { hnsw_config: null, vectors: null, metadata: null, params: {} });
    expect(await server.ok('GET', path)).toEqual(before);
  });

  it.each<[unknown, string]>([
    [{ vectors: { '': { size: 3 } } }, 'vectors..size'],
    [{ vectors: { '': { distance: 'Cosine' } } }, 'vectors..distance'],
    [{ vectors: { nope: { on_disk: true } } }, 'Vector not found: nope'],
    [{ vectors: { size: 2, distance: 'Dot' } }, 'vectors.size'],
    [{ hnsw_config: { ef_construct: 3 } }, 'hnsw_config.ef_construct'],
    [{ quantization_config: 'disabled' }, 'quantization_config'],
    [{ shard_number: 2 }, 'shard_number'],
    [{ sparse_vectors: { nope: {} } }, 'Vector not found: nope'],
    [{ sparse_vectors: { nope: { size: 4 } } }, 'sparse_vectors.nope.size'],
  ])('C4.4 400 that names the place, and nothing is changed: %j', async (json, place) => {
    const path = await server.holding([]);
    const before = await server.ok('GET', path);
    const [status, message] = await server.refused('PATCH', path, json);
    expect([status, message]).toEqual([400, expect.stringContaining(place)]);
    expect(await server.ok('GET', path)).toEqual(before);
  });
});

describe('C4.5, C4.6 deleting', () => {
  it('C4.5, C4.6 true, then false; a new one of that name is empty, and so after a restart', async () => {
    const path = await server.collection('again');
    await server.ok('PUT', `${path}/points`, { points: [{ id: 1, vector: [1, 2], payload: { old: true } }] });
    await server.ok('PUT', `${path}/index`, { field_name: 'old', field_schema: 'bool' });
    expect(await server.ok('GET', `${path}/exists`)).toEqual({ exists: true });
    expect(await server.ok('DELETE', `${path}?timeout=120`)).toBe(true);
    expect(await server.ok('GET', `${path}/exists`)).toEqual({ exists: false });
    expect(await server.ok('DELETE', path)).toBe(false);
    await server.collection('again', { vectors: { size: 3, distance: 'Cosine' } });
    for (const restarted of [false, true]) {
      if (restarted) {
        await server.restart();
      }
      const info = await server.ok('GET', path);
      expect(info).toMatchObject({ points_count: 0, payload_schema: {} });
      expect(info.config.params.vectors).toEqual({ size: 3, distance: 'Cosine' });
      expect(await server.ok('POST', `${path}/points/scroll`, {})).toEqual({
        points: [],
        next_page_offset: null,
      });
    }
  });

  it('C4.5 a hundred times delete and create: no 412 and no 409 in between', async () => {
    const path = await server.collection('often');
    for (let round = 0; round < 100; round += 1) {
      await server.ok('PUT', `${path}/points`, { points: [{ id: round, vector: [1, 2] }] });
      expect(await server.ok('DELETE', path)).toBe(true);
      await server.collection('often');
    }
    expect((await server.ok('GET', path)).points_count).toBe(0);
  });

  it('C4.3, C4.5 creating, writing and deleting at once: one creator, and no answer but those of the contract', async () => {
    const path = '/collections/contested';
    const outcomes = async (
      count: number,
      method: string,
      rest: string,
      json?: unknown,
    ): Promise<string[]> => {
      const answers = await Promise.all(
        Array.from({ length: count }, () => server.call(method, path + rest, json)),
      );
      return answers.map(({ status, body }) => `${status} ${body.status.error ?? body.status}`);
    };
    const created = await outcomes(8, 'PUT', '', { vectors: DOT });
    expect(created.toSorted()).toEqual([
      '200 ok',
      ...Array<string>(7).fill('409 Collection already exists: contested'),
    ]);
    const upsert = { points: [{ id: 1, vector: [1, 2] }] };
    const rounds = Array.from({ length: 20 }, async () => [
      ...(await outcomes(2, 'PUT', '/points', upsert)),
      ...(await outcomes(1, 'DELETE', '')),
      ...(await outcomes(2, 'PUT', '', { vectors: DOT })),
      ...(await outcomes(2, 'POST', '/points/count')),
    ]);
    const answered = new Set((await Promise.all(rounds)).flat());
    const allowed = [
      '200 ok',
      ...['404 Collection not found', '409 Collection already exists', '412 Collection deleted'].map(
        (message) => `${message}: contested`,
      ),
    ];
    expect([...answered].filter((outcome) => !allowed.includes(outcome))).toEqual([]);
    await server.call('DELETE', path);
    await server.ok('PUT', path, { vectors: DOT });
    expect((await server.ok('GET', path)).points_count).toBe(0);
  });

  it('C4.5 of several deletions at once, one says true', async () => {
    const path = await server.collection('raced');
    const answers = await Promise.all(Array.from({ length: 8 }, () => server.call('DELETE', path)));
    const outcomes = answers.map(({ status, body }) => (status === 200 ? body.result : body.status.error));
    expect(outcomes.filter((outcome) => outcome === true)).toHaveLength(1);
    for (const outcome of outcomes) {
      expect([true, false, 'Collection deleted: raced']).toContain(outcome);
    }
  });
});
