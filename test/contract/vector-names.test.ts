import { ContractServer, type Json } from './contract-server';

let server: ContractServer;
let made = 0;

beforeAll(async () => {
  server = await ContractServer.start();
});
afterAll(() => server.stop());

/** A collection of two-dimensional vectors with three points. */
async function filled(): Promise<string> {
  made += 1;
  const path = await server.collection(`names-${String(made)}`);
  const points = [1, 2, 3].map((id) => ({ id, vector: [id, 1], payload: { n: id } }));
  await server.ok('PUT', `${path}/points`, { points });
  return path;
}

const pointOf = (path: string, id: number): Promise<Json> => server.ok('GET', `${path}/points/${String(id)}`);
const idsOf = (hits: { points: { id: number }[] }): number[] => hits.points.map(({ id }) => id);

describe('C4.8 vectors that are added and removed', () => {
  it('C4.8 points have none of an added vector until they are written, and keep their versions', async () => {
    const path = await filled();
    const before = await pointOf(path, 2);
    const done = await server.ok('PUT', `${path}/vectors/more`, { dense: { size: 3, distance: 'Euclid' } });
    expect(done).toEqual({ operation_id: 2, status: 'completed' });
    const sparse = { sparse: { modifier: 'idf' } };
    expect(await server.ok('PUT', `${path}/vectors/words?wait=false`, sparse)).toMatchObject({
      status: 'acknowledged',
    });
    const rows = {
      size: 2,
      distance: 'Dot',
      multivector_config: { comparator: 'max_sim' },
      datatype: 'float16',
    };
    await server.ok('PUT', `${path}/vectors/rows`, { dense: rows });
    expect(await pointOf(path, 2)).toEqual(before);
    const { config, points_count } = await server.ok('GET', path);
    expect(points_count).toBe(3);
    expect(config.params).toMatchObject({
      vectors: { '': { size: 2, distance: 'Dot' }, more: { size: 3, distance: 'Euclid' }, rows },
      sparse_vectors: { words: { modifier: 'idf' } },
    });
    const vector = {
      more: [1, 2, 3],
      words: { indices: [7], values: [0.5] },
      rows: [
        [1, 0],
        [0, 1],
      ],
    };
    await server.ok('PUT', `${path}/points/vectors`, { points: [{ id: 2, vector }] });
    expect((await pointOf(path, 2)).vector).toEqual({ '': [2, 1], ...vector });
    const find = async (using: string, query: Json): Promise<number[]> =>
      idsOf(await server.ok('POST', `${path}/points/query`, { query, using }));
    expect(await find('more', [1, 2, 3])).toEqual([2]);
    expect(await find('words', { indices: [7], values: [1] })).toEqual([2]);
    expect(await find('rows', [[1, 1]])).toEqual([2]);
    expect(idsOf(await server.ok('POST', `${path}/points/query`, { query: [1, 0] }))).toEqual([3, 2, 1]);
    const filter = { must_not: [{ has_vector: 'more' }] };
    expect(await server.ok('POST', `${path}/points/count`, { filter })).toEqual({ count: 2 });
  });

  it('C4.8 a removed vector is gone from points and answers, also after a restart, and the rest stays', async () => {
    const path = await filled();
    await server.ok('PUT', `${path}/vectors/more`, { dense: { size: 1, distance: 'Dot' } });
    await server.ok('PUT', `${path}/points/vectors`, { points: [{ id: 1, vector: { more: [5] } }] });
    await server.ok('DELETE', `${path}/vectors/more`);
    const check = async (): Promise<void> => {
      expect((await pointOf(path, 1)).vector).toEqual([1, 1]);
      expect((await server.ok('GET', path)).config.params.vectors).toEqual({ size: 2, distance: 'Dot' });
      const gone = { query: [1], using: 'more' };
      expect(await server.refused('POST', `${path}/points/query`, gone)).toEqual([
        400,
        'Vector not found: more',
      ]);
    };
    await check();
    await server.restart();
    await check();
    // What is added under its name is another vector.
    await server.ok('PUT', `${path}/vectors/more`, { sparse: {} });
    expect((await pointOf(path, 1)).vector).toEqual([1, 1]);
  });

  it('C4.8 the same again changes nothing, and what is refused neither', async () => {
    const path = await filled();
    const dense = { dense: { size: 3, distance: 'Dot' } };
    await server.ok('PUT', `${path}/vectors/more`, dense);
    await server.ok('PUT', `${path}/vectors/more`, { dense: { ...dense.dense, datatype: 'float32' } });
    await server.ok('DELETE', `${path}/vectors/absent`);
    const before = (await server.ok('GET', path)).config;
    for (const [name, body, message] of [
      ['more', { dense: { size: 4, distance: 'Dot' } }, 'already exists'],
      ['more', { sparse: {} }, 'already exists'],
      ['a%2Fb', dense, 'vector name'],
      ['x'.repeat(201), dense, 'vector name'],
      ['new', { dense: { size: 65537, distance: 'Dot' } }, 'dense.size'],
      ['new', { dense: { size: 3 } }, 'distance'],
      ['new', { dense: { ...dense.dense, on_disk: true } }, 'dense.on_disk'],
      ['new', { ...dense, sparse: {} }, 'exclude'],
      ['new', { desne: {} }, 'desne'],
      ['new', {}, 'dense'],
      ['new', undefined, 'dense'],
    ] as const) {
      const [status, text] = await server.refused('PUT', `${path}/vectors/${name}`, body);
      expect([name, status, text]).toEqual([name, 400, expect.stringContaining(message)]);
    }
    expect((await server.ok('GET', path)).config).toEqual(before);
    for (const method of ['PUT', 'DELETE']) {
      const [status] = await server.refused(method, '/collections/absent/vectors/v', dense);
      expect(status).toBe(404);
    }
  });

  it('C4.8, C2.7 a collection has so many vectors and no more', async () => {
    const path = await filled();
    const dense = { dense: { size: 1, distance: 'Dot' } };
    for (let at = 1; at < 64; at++) await server.ok('PUT', `${path}/vectors/v${String(at)}`, dense);
    expect(await server.refused('PUT', `${path}/vectors/v64`, dense)).toEqual([
      400,
      expect.stringContaining('max_named_vectors'),
    ]);
  });
});

/** A number from −1 to 1 that seems independent of those of other places. */
function pseudoRandom(place: number): number {
  const x = Math.sin(place * 12.9898) * 43758.5453;
  return 2 * (x - Math.floor(x)) - 1;
}

/** A vector of 64 components that lies in four dimensions. */
function vectorOf(coordinates: readonly number[]): number[] {
  const component = (at: number): number =>
    coordinates.reduce((sum, value, axis) => sum + value * pseudoRandom(1e6 + axis * 64 + at), 0);
  return Array.from({ length: 64 }, (_, at) => component(at));
}

describe('C4.3 m: 0 with payload_m', () => {
  it('C4.3 is a graph with that many links, and m: 0 alone is none', async () => {
    const make = async (hnsw_config: object): Promise<Json> => {
      made += 1;
      const path = await server.collection(`links-${String(made)}`, {
        vectors: { size: 64, distance: 'Dot' },
        hnsw_config: { full_scan_threshold: 10, ...hnsw_config },
      });
      const points = Array.from({ length: 2000 }, (_, id) => ({
        id,
        vector: vectorOf([0, 1, 2, 3].map((at) => pseudoRandom(id * 4 + at))),
        payload: { tenant: `t${String(id % 2)}` },
      }));
      await server.ok('PUT', `${path}/points`, { points });
      const field = { field_name: 'tenant', field_schema: { type: 'keyword', is_tenant: true } };
      await server.ok('PUT', `${path}/index`, field);
      for (;;) {
        const info = await server.ok('GET', path);
        if (info.status === 'green') return { path, info };
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
    };
    const linked = await make({ m: 0, payload_m: 16 });
    expect(linked.info.warnings).toEqual([]);
    expect(linked.info.config.hnsw_config).toMatchObject({ m: 0, payload_m: 16 });
    const search = { query: vectorOf([1, -0.5, 0.3, 0.2]), limit: 10 };
    const walking = { hnsw_ef: 32, explain: true };
    const filter = { must: [{ key: 'tenant', match: { value: 't1' } }] };
    const query = async (body: object): Promise<Json> =>
      (await server.call('POST', `${linked.path}/points/query`, body)).body;
    for (const body of [search, { ...search, filter }]) {
      const { result: found, explain } = await query({ ...body, params: walking });
      expect(explain.plan).toMatch(/^(filtered_)?walk$/);
      expect(explain.hops).toBeGreaterThan(0);
      const exact = idsOf((await query({ ...body, params: { exact: true } })).result);
      expect(idsOf(found).filter((id) => exact.includes(id)).length).toBeGreaterThanOrEqual(8);
    }
    const other = await make({ m: 8, payload_m: 16 });
    expect(other.info.warnings).toEqual([{ message: expect.stringContaining('payload_m') }]);
  });
});
