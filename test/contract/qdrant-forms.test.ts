import { ContractServer, idsOf } from './contract-server';

/** What a program that was written for Qdrant sends or reads, and what no field of a request says. */
describe('C12 the dialect qdrant, for programs', () => {
  let server: ContractServer;

  beforeAll(async () => {
    server = await ContractServer.start(['--dialect', 'qdrant']);
  });
  afterAll(() => server.stop());

  it("says Qdrant's sentences about a vector that is not declared, or has another length", async () => {
    const path = await server.collection('named', { vectors: { v: { size: 2, distance: 'Dot' } } });
    for (const [method, rest, body, sentence] of [
      [
        'POST',
        '/points/search',
        { vector: { name: 'x', vector: [1, 0] } },
        'Wrong input: Not existing vector name error: x',
      ],
      [
        'POST',
        '/points/vectors/delete',
        { points: [1], vector: ['x'] },
        'Wrong input: Not existing vector name error: x',
      ],
      [
        'POST',
        '/points/query',
        { query: [1, 0, 0], using: 'v' },
        'Wrong input: Vector dimension error: expected dim: 2, got 3',
      ],
    ] as const) {
      expect(await server.refused(method, path + rest, body)).toEqual([400, sentence]);
    }
  });

  it("C9.2 answers health in Qdrant's sentences", async () => {
    for (const [path, sentence] of [
      ['/livez', 'healthz check passed'],
      ['/healthz', 'healthz check passed'],
      ['/readyz', 'all shards are ready'],
    ] as const) {
      const { status, text, headers } = await server.call('GET', path);
      expect([status, text, headers['content-type']]).toEqual([200, sentence, 'text/plain; charset=utf-8']);
    }
  });

  it.each([{}, { vectors: {} }])('makes a collection without vectors of %j, and says so', async (body) => {
    const path = '/collections/payloads';
    const { status: code, body: made } = await server.call('PUT', path, body);
    const message = 'vectors: none is declared, so points are payloads alone';
    expect([code, made.warnings]).toEqual([200, [{ message }]]);
    const points = [1, 2].map((id) => ({ id, vector: {}, payload: { n: id } }));
    await server.ok('PUT', `${path}/points`, { points });
    const { config, points_count, status } = await server.ok('GET', path);
    expect([config.params.vectors, points_count, status]).toEqual([{}, 2, 'green']);
    const filter = { must: { key: 'n', match: { value: 2 } } };
    const { points: found } = await server.ok('POST', `${path}/points/scroll`, { filter, with_vector: true });
    expect(found).toEqual([{ id: 2, payload: { n: 2 }, vector: {} }]);
    expect((await server.refused('POST', `${path}/points/query`, { query: [1, 0] }))[0]).toBe(400);
    await server.ok('DELETE', path);
  });

  it('keeps a collection without vectors over a restart', async () => {
    const path = '/collections/kept';
    await server.call('PUT', path, {});
    await server.ok('PUT', `${path}/points`, { points: [{ id: 1, vector: {}, payload: { n: 1 } }] });
    await server.restart();
    expect(idsOf((await server.ok('POST', `${path}/points/scroll`, {})).points)).toEqual([1]);
  });
});

describe('C4.3 turbo', () => {
  let server: ContractServer;

  beforeAll(async () => {
    server = await ContractServer.start();
  });
  afterAll(() => server.stop());

  it('is shown as it was asked for, searched, and named in the warnings where it is kept finer', async () => {
    const vectors = {
      size: 4,
      distance: 'Cosine',
      datatype: 'turbo4',
      quantization_config: { turbo: { bits: 'bits2', always_ram: true } },
    };
    const path = await server.collection('turbo', { vectors, quantization_config: { turbo: {} } });
    const { config, warnings } = await server.ok('GET', path);
    expect(config.params.vectors).toEqual(vectors);
    expect(config.quantization_config).toEqual({ turbo: {} });
    expect(warnings).toEqual([{ message: 'vectors.datatype: turbo4 is kept as float16' }]);
    const points = [1, 2].map((id) => ({ id, vector: [id, 1, 0, 0] }));
    await server.ok('PUT', `${path}/points`, { points });
    const { points: hits } = await server.ok('POST', `${path}/points/query`, { query: [2, 1, 0, 0] });
    expect(idsOf(hits)).toEqual([2, 1]);
    expect(
      await server.refused('PUT', '/collections/odd', { vectors: { ...vectors, datatype: 'turbo2' } }),
    ).toEqual([400, "vectors.datatype: expected one of float32, float16, uint8, turbo4, got 'turbo2'"]);
  });

  it('C4.2 counts no vector as indexed where indexing is paused and there is no graph', async () => {
    const path = await server.collection('paused', {
      vectors: { size: 2, distance: 'Dot' },
      optimizers_config: { indexing_threshold: 0 },
    });
    await server.ok('PUT', `${path}/points`, { points: [{ id: 1, vector: [1, 0] }] });
    const { indexed_vectors_count, points_count, status } = await server.ok('GET', path);
    expect([indexed_vectors_count, points_count, status]).toEqual([0, 1, 'green']);
  });
});
