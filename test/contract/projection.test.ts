import { ContractServer, type Json } from './contract-server';

describe('C6.10 the projection', () => {
  let server: ContractServer;
  let path: string;
  beforeAll(async () => {
    server = await ContractServer.start();
    path = await server.collection('p', {
      vectors: { v: { size: 3, distance: 'Euclid' } },
      sparse_vectors: { words: {} },
    });
    // Two groups that are far from each other.
    const points = Array.from({ length: 40 }, (_, at) => ({
      id: at + 1,
      vector: { v: [(at % 2) * 50, Math.cos(at), Math.sin(at)], words: { indices: [at], values: [1] } },
      payload: { group: at % 2 },
    }));
    await server.ok('PUT', `${path}/points`, { points: [...points, { id: 99, vector: {} }] });
  });
  afterAll(() => server.stop());

  const project = (body: object): Promise<Json> => server.ok('POST', `${path}/points/projection`, body);

  it.each(['pca', 'umap'])('C6.10 keeps groups together, with the method %s', async (method) => {
    const { ids, x, y, explained_variance: explained } = await project({ using: 'v', method });
    expect([...ids].sort((a: number, b: number) => a - b)).toEqual(
      Array.from({ length: 40 }, (_, at) => at + 1),
    );
    const places = ids.map((_: number, at: number) => [x[at], y[at]]);
    const apart = (a: number, b: number): number =>
      Math.hypot(places[a][0] - places[b][0], places[a][1] - places[b][1]);
    // The nearest of each point is one of its own group.
    ids.forEach((id: number, own: number) => {
      const others = ids.map((_: number, at: number) => at).filter((at: number) => at !== own);
      const [nearest] = others.sort((a: number, b: number) => apart(own, a) - apart(own, b));
      expect(ids[nearest] % 2).toBe(id % 2);
    });
    if (method === 'pca') expect(explained).toBeGreaterThan(0.9);
    else expect(explained).toBeNull();
  });

  it('C6.10 is the same for the same request, and another one for another seed', async () => {
    const body = { using: 'v', sample: 20, seed: 5 };
    expect(await project(body)).toEqual(await project(body));
    expect((await project({ ...body, seed: 6 })).ids).not.toEqual((await project(body)).ids);
  });

  it('C6.10 takes points that match and have the vector', async () => {
    const filter = { must: { key: 'group', match: { value: 1 } } };
    const { ids } = await project({ using: 'v', filter });
    expect(ids).toHaveLength(20);
    expect(ids.every((id: number) => id % 2 === 0)).toBe(true);
    expect(await project({ using: 'v', filter: { must: { has_id: [99] } } })).toMatchObject({
      ids: [],
      x: [],
      y: [],
    });
  });

  it.each([
    [{ using: 'words' }, 400, /^using: sparse vectors are not projected/],
    [{ using: 'absent' }, 400, /absent/],
    [{}, 400, /v/],
    [{ using: 'v', sample: 0 }, 400, /^sample: value 0 invalid/],
    [{ using: 'v', sample: 100_001 }, 400, /^sample: must be at most 100000/],
    [{ using: 'v', neighbors: 101 }, 400, /^neighbors: value 101 invalid/],
    [{ using: 'v', method: 'tsne' }, 400, /^method: /],
    [{ using: 'v', filter: { x: 1 } }, 400, /^Filter parse error: /],
  ])('C6.10 refuses %j', async (body, status, message) => {
    const [answered, said] = await server.refused('POST', `${path}/points/projection`, body);
    expect([answered, said]).toEqual([status, expect.stringMatching(message)]);
  });
});
