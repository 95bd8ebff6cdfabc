/** What Qdrant 1.19 and its clients of 1.20 ask for: slices, parts of strings, corpora, feedback. */
import { ContractServer, type Json } from './contract-server';

let server: ContractServer;
let path: string;

beforeAll(async () => {
  server = await ContractServer.start();
  path = await server.collection('later', {
    vectors: { dense: { size: 2, distance: 'Dot' } },
    sparse_vectors: { text: { modifier: 'idf' }, plain: {} },
  });
  const tenants = ['a', 'a', 'b', 'b'];
  const words = [[0, 1], [0], [0, 1, 2], [1]];
  const points = words.map((indices, id) => ({
    id,
    vector: { dense: [1, id], text: { indices, values: indices.map(() => 1) } },
    payload: { tenant: tenants[id], idx: id, name: ['Ärmel', 'Karma', 'farm', 7][id] },
  }));
  await server.ok('PUT', `${path}/points`, { points });
});
afterAll(() => server.stop());

const query = async (body: object): Promise<Json> =>
  (await server.ok('POST', `${path}/points/query`, body)).points;
const scoresOf = (hits: { id: number; score: number }[]): Map<number, number> =>
  new Map(hits.map(({ id, score }) => [id, score]));
const ids = async (filter: object): Promise<number[]> =>
  (await server.ok('POST', `${path}/points/scroll`, { filter })).points.map(({ id }: { id: number }) => id);

describe.each([false, true])('C7 conditions, indexed: %s', (isIndexed) => {
  beforeAll(async () => {
    if (isIndexed) await server.ok('PUT', `${path}/index`, { field_name: 'name', field_schema: 'keyword' });
  });

  it('C7 substring compares the characters of strings, in their case', async () => {
    const holding = (substring: string): Promise<number[]> =>
      ids({ must: [{ key: 'name', match: { substring } }] });
    expect(await holding('arm')).toEqual([1, 2]);
    expect(await holding('Är')).toEqual([0]);
    expect(await holding('')).toEqual([0, 1, 2]);
    expect(await holding('ARM')).toEqual([]);
  });

  it('C7 slices are disjoint and cover all points', async () => {
    const slices = await Promise.all(
      [0, 1, 2].map((index) => ids({ must: [{ slice: { total: 3, index } }] })),
    );
    expect(slices.flat().sort()).toEqual([0, 1, 2, 3]);
    const others = await ids({ must_not: [{ slice: { total: 3, index: 0 } }] });
    expect([...others, ...(slices[0] ?? [])].sort()).toEqual([0, 1, 2, 3]);
    expect(await ids({ must: [{ slice: { total: 1, index: 0 } }] })).toEqual([0, 1, 2, 3]);
  });
});

describe('C6.2 params.idf', () => {
  const idf = (points: number, sharing: number): number =>
    Math.log((points - sharing + 0.5) / (sharing + 0.5) + 1);
  const all = { query: { indices: [0, 1, 2], values: [1, 1, 1] }, using: 'text' };
  const tenant = (value: string): object => ({ must: [{ key: 'tenant', match: { value } }] });

  it('C6.2 a corpus weighs the query, whatever the filter', async () => {
    const ofAll = scoresOf(await query(all));
    expect(scoresOf(await query({ ...all, params: { idf: 'global' } }))).toEqual(ofAll);
    const params = { idf: { corpus: tenant('a') } };
    const weights = [idf(2, 2), idf(2, 1), idf(2, 0)];
    const scores = scoresOf(await query({ ...all, params }));
    const expected = [[0, 1], [0], [0, 1, 2], [1]].map((at) =>
      at.reduce((sum, index) => sum + (weights[index] ?? 0), 0),
    );
    for (const [id, score] of expected.entries()) expect(scores.get(id)).toBeCloseTo(score, 5);
    const narrow = scoresOf(await query({ ...all, params, filter: tenant('b') }));
    expect([...narrow.keys()].sort()).toEqual([2, 3]);
    for (const [id, score] of narrow) expect(score).toBe(scores.get(id));
  });

  it('C6.2 an empty corpus weighs every index the same', async () => {
    const scores = scoresOf(await query({ ...all, params: { idf: { corpus: tenant('absent') } } }));
    expect(scores.get(2)).toBeCloseTo(3 * Math.log(2), 5);
  });

  it('C6.2 it is refused where nothing is weighed', async () => {
    for (const [body, place] of [
      [{ query: [1, 0], using: 'dense', params: { idf: 'global' } }, 'params.idf'],
      [
        { query: { indices: [1], values: [1] }, using: 'plain', params: { idf: { corpus: {} } } },
        'params.idf',
      ],
      [{ ...all, params: { idf: 'local' } }, 'params.idf'],
      [{ ...all, params: { idf: {} } }, 'params.idf'],
      [{ ...all, params: { idf: { corpus: { mst: [] } } } }, 'params.idf.corpus'],
    ] as const) {
      const [status, message] = await server.refused('POST', `${path}/points/query`, body);
      expect([status, message]).toEqual([400, expect.stringContaining(place)]);
    }
  });
});

describe('C6.3 relevance feedback', () => {
  const feedback = (items: object[], more: object = {}): object => ({
    query: {
      relevance_feedback: {
        target: [1, 0],
        feedback: items,
        strategy: { naive: { a: 0.5, b: 2, c: 1.5 } },
        ...more,
      },
    },
    using: 'dense',
  });

  it('C6.3 one example leaves the order of the target, two add the difference', async () => {
    const one = await query(feedback([{ example: [0, 1], score: 0.9 }]));
    expect(one.map(({ score }: Json) => score)).toEqual([0.5, 0.5, 0.5, 0.5]);
    const two = scoresOf(
      await query(
        feedback([
          { example: [0, 1], score: 0.9 },
          { example: [0, 0.5], score: 0.4 },
        ]),
      ),
    );
    for (const id of [0, 1, 2, 3]) {
      expect(two.get(id)).toBeCloseTo(0.5 + 0.5 ** 2 * 1.5 * (id - id / 2), 5);
    }
  });

  it('C6.3 examples by id are left out, and absent ones are a 404', async () => {
    const hits = await query(feedback([{ example: 3, score: 1 }], { target: 2 }));
    expect(hits.map(({ id }: Json) => id)).toEqual([1, 0]);
    const [status] = await server.refused(
      'POST',
      `${path}/points/query`,
      feedback([{ example: 99, score: 1 }]),
    );
    expect(status).toBe(404);
  });

  it('C6.3 what is wrong is named', async () => {
    for (const [body, place] of [
      [feedback([]), 'relevance_feedback'],
      [feedback([{ example: [0, 1] }]), 'feedback[0]'],
      [
        feedback([{ example: [0, 1], score: 1 }], { strategy: { naive: { a: 1, b: -1, c: 1 } } }),
        'strategy.naive.b',
      ],
      [feedback([{ example: [0, 1], score: 1 }], { strategy: { trained: {} } }), 'strategy.trained'],
      [feedback([{ example: [0, 1, 2], score: 1 }]), '3'],
    ] as const) {
      const [status, message] = await server.refused('POST', `${path}/points/query`, body);
      expect([status, message]).toEqual([400, expect.stringContaining(place)]);
    }
  });
});
