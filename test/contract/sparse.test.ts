import { ContractServer, idsOf, type Json } from './contract-server';

/** Words of a few texts: 1 is in three of them, 2 in two, 7 in one. */
const TEXTS = [
  { id: 1, vector: { s: { indices: [7, 1], values: [2, 1] } }, payload: { n: 1 } },
  { id: 2, vector: { s: { indices: [1, 2], values: [1, 3] } }, payload: { n: 2 } },
  { id: 3, vector: { s: { indices: [2, 1], values: [1, 4] } }, payload: { n: 3 } },
  { id: 4, vector: { s: { indices: [4294967295], values: [-1] } }, payload: { n: 4 } },
  { id: 5, vector: { s: { indices: [], values: [] } } },
  { id: 6, vector: {} },
];

let server: ContractServer;
let made = 0;

beforeAll(async () => {
  server = await ContractServer.start();
});
afterAll(() => server.stop());

/** A collection with the texts and `sparse` as the parameters of their vectors. */
async function texts(sparse: object = {}, vectors?: object): Promise<string> {
  made += 1;
  const path = `/collections/sparse-${String(made)}`;
  await server.ok('PUT', path, { sparse_vectors: { s: sparse }, ...(vectors ? { vectors } : {}) });
  await server.ok('PUT', `${path}/points`, { points: TEXTS });
  return path;
}

const weights = (...elements: [number, number][]): object => ({
  indices: elements.map(([index]) => index),
  values: elements.map(([, value]) => value),
});
const scores = (hits: Json): [number, number][] =>
  hits.map(({ id, score }: { id: number; score: number }): [number, number] => [id, score]);
const search = async (path: string, vector: object, more: object = {}): Promise<[number, number][]> =>
  scores(await server.ok('POST', `${path}/points/search`, { vector: { name: 's', vector }, ...more }));
const query = async (path: string, json: object): Promise<[number, number][]> =>
  scores((await server.ok('POST', `${path}/points/query`, { using: 's', ...json })).points);

describe('C4 collections with sparse vectors', () => {
  it('C4.3 sparse vectors alone make a collection, which shows what was asked for', async () => {
    const asked = { s: {}, t: { modifier: 'idf', index: { on_disk: true, datatype: 'float16' } } };
    await server.ok('PUT', '/collections/shown', { sparse_vectors: asked });
    const info = await server.ok('GET', '/collections/shown');
    expect(info.config.params).toMatchObject({ vectors: {}, sparse_vectors: asked });
    expect(info).toMatchObject({ status: 'green', points_count: 0, warnings: [] });
  });

  it('C4.3 a threshold for scans has no effect, and a warning says so', async () => {
    const path = await texts({ index: { full_scan_threshold: 10 } });
    const message = 'sparse_vectors.s.index.full_scan_threshold has no effect in this release';
    expect((await server.ok('GET', path)).warnings).toEqual([{ message }]);
  });

  it('C4.4 PATCH changes the modifier at once, and not the datatype', async () => {
    const path = await texts();
    const before = await search(path, weights([7, 1]));
    await server.ok('PATCH', path, { sparse_vectors: { s: { modifier: 'idf' } } });
    expect((await server.ok('GET', path)).config.params.sparse_vectors).toEqual({ s: { modifier: 'idf' } });
    const [[, score] = []] = await search(path, weights([7, 1]));
    expect(before).toEqual([[1, 2]]);
    expect(score).toBeCloseTo(2 * Math.log((5 - 1 + 0.5) / (1 + 0.5) + 1), 5);
    const patch = { sparse_vectors: { s: { index: { datatype: 'uint8' } } } };
    expect(await server.refused('PATCH', path, patch)).toEqual([
      400,
      expect.stringContaining('sparse_vectors.s.index.datatype: cannot be changed'),
    ]);
  });

  it('C4.2 the counts of info take sparse vectors in', async () => {
    const path = await texts();
    expect(await server.ok('GET', path)).toMatchObject({ points_count: 6, indexed_vectors_count: 5 });
  });
});

describe('C5 writing sparse vectors', () => {
  it('C2.3 C1.8 they read back sorted by index, with the values that were sent', async () => {
    const path = await texts();
    const points = await server.ok('POST', `${path}/points`, { ids: [1, 4, 5, 6], with_vector: true });
    expect(points.map(({ vector }: Json) => vector)).toEqual([
      { s: { indices: [1, 7], values: [1, 2] } },
      { s: { indices: [4294967295], values: [-1] } },
      { s: { indices: [], values: [] } },
      {},
    ]);
    const [named] = await server.ok('POST', `${path}/points`, { ids: [1], with_vector: ['s'] });
    expect(named.vector).toEqual({ s: { indices: [1, 7], values: [1, 2] } });
  });

  it('C2.3 beside the unnamed vector, which then has the empty name', async () => {
    const path = await texts({}, { size: 2, distance: 'Dot' });
    const vector = { '': [1, 2], s: weights([3, 0.5]) };
    await server.ok('PUT', `${path}/points`, {
      points: [
        { id: 7, vector },
        { id: 8, vector: [3, 4] },
      ],
    });
    const points = await server.ok('POST', `${path}/points`, { ids: [7, 8], with_vector: true });
    expect(points.map((point: Json) => point.vector)).toEqual([vector, [3, 4]]);
    expect(await search(path, weights([3, 2]))).toEqual([[7, 1]]);
  });

  it('C5.1 columns, C5.5 update and C5.10 delete', async () => {
    const path = await texts();
    const batch = { ids: [7, 8], vectors: { s: [weights([9, 1]), weights([9, 2])] } };
    await server.ok('PUT', `${path}/points`, { batch });
    expect(await search(path, weights([9, 1]))).toEqual([
      [8, 2],
      [7, 1],
    ]);
    await server.ok('PUT', `${path}/points/vectors`, { points: [{ id: 7, vector: { s: weights([9, 5]) } }] });
    await server.ok('POST', `${path}/points/vectors/delete`, { vector: ['s'], points: [8] });
    expect(await search(path, weights([9, 1]))).toEqual([[7, 5]]);
    const filter = { must: { has_vector: 's' } };
    expect(await server.ok('POST', `${path}/points/count`, { filter })).toEqual({ count: 6 });
  });

  it.each<[object, unknown, string]>([
    [{}, weights([1, 1], [1, 2]), 'points[0].vector.s.indices: must be unique'],
    [{}, { indices: [1, 2], values: [1] }, 'points[0].vector.s.values: must be the same length as indices'],
    [{}, [1, 2], 'points[0].vector.s: expected a sparse vector'],
    [{}, [[1, 2]], 'points[0].vector.s: expected a sparse vector'],
    [{ index: { datatype: 'uint8' } }, weights([1, 0.5]), 'points[0].vector.s.values: uint8 vectors take'],
    [{ index: { datatype: 'float16' } }, weights([1, 1e6]), 'beyond the range of float16'],
  ])('C2.3 C2.6 with %j the vector %j is a 400 that names the place', async (sparse, vector, why) => {
    const path = await textsOf(sparse);
    const points = [{ id: 1, vector: { s: vector } }];
    expect(await server.refused('PUT', `${path}/points`, { points })).toEqual([
      400,
      expect.stringContaining(why),
    ]);
  });

  /** A collection without points. */
  async function textsOf(sparse: object): Promise<string> {
    made += 1;
    const path = `/collections/sparse-${String(made)}`;
    await server.ok('PUT', path, { sparse_vectors: { s: sparse } });
    return path;
  }

  it('C1.8 float16 rounds, uint8 keeps whole numbers', async () => {
    for (const [datatype, sent, kept] of [
      ['float16', 0.1, 0.099975586],
      ['uint8', 200, 200],
    ]) {
      const path = await textsOf({ index: { datatype } });
      await server.ok('PUT', `${path}/points`, {
        points: [{ id: 1, vector: { s: { indices: [1], values: [sent] } } }],
      });
      const point = await server.ok('GET', `${path}/points/1`);
      expect(point.vector.s).toEqual({ indices: [1], values: [kept] });
      expect(await search(path, weights([1, 1]))).toEqual([[1, kept]]);
    }
  });
});

describe('C6 searching sparse vectors', () => {
  it('C6.2 the score is the product over shared indices; who shares none is not there', async () => {
    const path = await texts();
    const expected = [
      [3, 6],
      [2, 7],
      [1, 1],
    ].sort(([, a = 0], [, b = 0]) => b - a);
    expect(await search(path, weights([2, 2], [1, 1]))).toEqual(expected);
    expect(await query(path, { query: weights([1, 1], [2, 2]) })).toEqual(expected);
    expect(await query(path, { query: { nearest: weights([1, 1], [2, 2]) } })).toEqual(expected);
    expect(await search(path, weights([99, 1]))).toEqual([]);
    expect(await search(path, weights())).toEqual([]);
  });

  it('C6.2 with filter, threshold, offset and limit; a score of 0 is a score', async () => {
    const path = await texts();
    const vector = weights([1, 1], [2, 2]);
    const filter = { must: { key: 'n', range: { gte: 2 } } };
    expect(await search(path, vector, { filter })).toEqual([
      [2, 7],
      [3, 6],
    ]);
    expect(await search(path, vector, { score_threshold: 6 })).toEqual([
      [2, 7],
      [3, 6],
    ]);
    expect(await search(path, vector, { offset: 1, limit: 1 })).toEqual([[3, 6]]);
    expect(await search(path, weights([4294967295, 0]))).toEqual([[4, 0]]);
    expect(await search(path, weights([4294967295, 2]))).toEqual([[4, -2]]);
  });

  it('C6.3 modifier idf: each weight by how rare its index is among the points of that moment', async () => {
    const path = await texts({ modifier: 'idf' });
    await server.ok('POST', `${path}/points/delete`, { points: [5] });
    // Four vectors, one of which has the index: the worked value 1.2040.
    const [[id, score] = []] = await search(path, weights([7, 1]));
    expect(id).toBe(1);
    expect(score).toBeCloseTo(2 * 1.204, 3);
    await server.ok('POST', `${path}/points/delete`, { points: [4] });
    const [[, later] = []] = await search(path, weights([7, 1]));
    expect(later).toBeCloseTo(2 * Math.log((3 - 1 + 0.5) / 1.5 + 1), 5);
  });

  it('C6.3 a point as the example is left out; one without the vector is a 404', async () => {
    const path = await texts();
    expect(await query(path, { query: 2 })).toEqual([
      [3, 7],
      [1, 1],
    ]);
    expect((await server.refused('POST', `${path}/points/query`, { query: 6, using: 's' }))[0]).toBe(404);
  });

  it('C6.3 recommend averages index by index', async () => {
    const path = await texts();
    const recommend = { positive: [1, weights([2, 4])] };
    // The average is {1: 0.5, 2: 2, 7: 1}; example 1 is left out.
    expect(await query(path, { query: { recommend } })).toEqual([
      [2, 6.5],
      [3, 4],
    ]);
  });

  it('C6.3 dense and sparse hits are fused', async () => {
    const path = await texts({}, { d: { size: 2, distance: 'Dot' } });
    await server.ok('PUT', `${path}/points/vectors`, {
      points: [1, 2, 3].map((id) => ({ id, vector: { d: [id, 0] } })),
    });
    const prefetch = [
      { query: [1, 0], using: 'd' },
      { query: weights([1, 1], [2, 2]), using: 's' },
    ];
    const { points } = await server.ok('POST', `${path}/points/query`, {
      prefetch,
      query: { fusion: 'rrf' },
    });
    expect(idsOf(points)).toEqual([2, 3, 1]);
  });

  it.each<[object, string]>([
    [{ vector: { name: 's', vector: [1, 2] } }, 'sparse vector'],
    [{ vector: { name: 's', vector: { indices: [1], values: [] } } }, 'must be the same length as indices'],
    [{ vector: { name: 'nope', vector: weights([1, 1]) } }, 'Vector not found: nope'],
    [{ vector: [1, 2] }, 'Vector not found'],
  ])('C6.2 %j is a 400', async (body, why) => {
    const path = await texts();
    expect(await server.refused('POST', `${path}/points/search`, body)).toEqual([
      400,
      expect.stringContaining(why),
    ]);
  });

  it('C5 nothing is lost over a restart', async () => {
    const path = await texts({ modifier: 'idf' }, { d: { size: 2, distance: 'Dot' } });
    await server.ok('POST', `${path}/points/delete`, { points: [2] });
    const vector = weights([1, 1], [2, 2], [7, 0.5]);
    const [before, shown] = [await search(path, vector), await server.everything(path)];
    await server.restart();
    expect(await search(path, vector)).toEqual(before);
    expect(await server.everything(path)).toEqual(shown);
  });
});
