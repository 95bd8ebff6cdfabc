import { ContractServer, idsOf, type Json } from './contract-server';

let server: ContractServer;
beforeAll(async () => {
  server = await ContractServer.start();
});
afterAll(() => server.stop());

const MAX_SIM = { multivector_config: { comparator: 'max_sim' } };

const POINTS = [
  {
    id: 1,
    vector: [
      [1, 0],
      [0, 1],
    ],
  },
  { id: 2, vector: [[0.5, 0.5]] },
  {
    id: 3,
    vector: [
      [-1, 0],
      [0, -1],
      [3, 0],
    ],
  },
];

/** A new collection of one unnamed multi-vector that holds the points. */
function holding(distance: string, points: readonly object[] = POINTS): Promise<string> {
  return server.holding(points, { vectors: { size: 2, distance, ...MAX_SIM } });
}

const scores = (found: Json): [number, number][] =>
  found.points.map(({ id, score }: Json) => [id, Math.round(score * 1e5) / 1e5]);

describe('C4.3 multivector_config', () => {
  it('C4.3 is echoed as it was sent, also after a restart', async () => {
    const path = await holding('Dot');
    const vectors = async (): Promise<unknown> => (await server.ok('GET', path)).config.params.vectors;
    const sent = { size: 2, distance: 'Dot', ...MAX_SIM };
    expect(await vectors()).toEqual(sent);
    await server.ok('PATCH', path, { vectors: { '': { hnsw_config: { m: 8 } } } });
    await server.restart();
    expect(await vectors()).toEqual({ ...sent, hnsw_config: { m: 8 } });
  });

  it.each([
    [{ comparator: 'mean' }, 'multivector_config.comparator'],
    [{}, 'comparator'],
    [{ comparator: 'max_sim', more: 1 }, 'multivector_config.more'],
  ])('C4.3 %j is a 400 that names the place', async (config, place) => {
    const vectors = { size: 2, distance: 'Dot', multivector_config: config };
    const [status, message] = await server.refused('PUT', '/collections/refused', { vectors });
    expect([status, message]).toEqual([400, expect.stringContaining(place)]);
  });
});

describe('C2.3 multi-vectors', () => {
  it('C2.3 are read back as they were sent, by every read, and after a restart', async () => {
    const path = await holding('Euclid');
    const sent = POINTS.map(({ vector }) => vector);
    const read = async (): Promise<unknown[]> => {
      const ids = { ids: [1, 2, 3], with_vector: true };
      const pages = [
        await server.ok('POST', `${path}/points`, ids),
        (await server.ok('POST', `${path}/points/scroll`, { with_vector: true })).points,
      ];
      const one = await server.ok('GET', `${path}/points/3`);
      return [...pages.map((page) => page.map(({ vector }: Json) => vector)), one.vector];
    };
    const expected = [sent, sent, sent[2]];
    expect(await read()).toEqual(expected);
    await server.restart();
    expect(await read()).toEqual(expected);
  });

  it('C2.4 under Cosine every row is normalised', async () => {
    const path = await holding('Cosine', [
      {
        id: 1,
        vector: [
          [3, 4],
          [0, 0],
        ],
      },
    ]);
    const { vector } = await server.ok('GET', `${path}/points/1`);
    expect(vector.map((row: number[]) => row.map((c) => Math.fround(c)))).toEqual([
      [Math.fround(0.6), Math.fround(0.8)],
      [0, 0],
    ]);
  });

  it('C5.5 and C5.10 a vector is replaced and removed with all of its rows', async () => {
    const path = await holding('Dot');
    const ids = async (filter: object): Promise<unknown> =>
      idsOf((await server.ok('POST', `${path}/points/scroll`, { filter })).points);
    const replaced = [
      [7, 7],
      [8, 8],
    ];
    await server.ok('PUT', `${path}/points/vectors`, { points: [{ id: 3, vector: replaced }] });
    expect((await server.ok('GET', `${path}/points/3`)).vector).toEqual(replaced);
    await server.ok('POST', `${path}/points/vectors/delete`, { vector: [''], points: [1] });
    expect((await server.ok('GET', `${path}/points/1`)).vector).toEqual({});
    expect(await ids({ must: { has_vector: '' } })).toEqual([2, 3]);
    expect(scores(await server.ok('POST', `${path}/points/query`, { query: [1, 0] }))).toEqual([
      [3, 8],
      [2, 0.5],
    ]);
  });

  it.each<[unknown, RegExp]>([
    [[[1]], /^Dimension mismatch for vector '': expected 2, got 1$/],
    [[[1, 2], [3]], /points\[0\]\.vector.*same dimension.*1/],
    [[[1, 2], []], /points\[0\]\.vector.*non-empty/],
    [[], /points\[0\]\.vector.*must not be empty/],
    [[[1, 2], 3], /points\[0\]\.vector\[1\]/],
    [[[1, 1e40]], /points\[0\]\.vector/],
  ])('C1.4 the vector %j is refused by its place', async (vector, message) => {
    const path = await holding('Dot', []);
    const [status, said] = await server.refused('PUT', `${path}/points`, { points: [{ id: 1, vector }] });
    expect([status, said]).toEqual([400, expect.stringMatching(message)]);
  });

  it('C2.3 rows are refused by a field of dense vectors', async () => {
    const path = await server.holding([]);
    const [status] = await server.refused('PUT', `${path}/points`, { points: [{ id: 1, vector: [[1, 2]] }] });
    expect(status).toBe(400);
    const [asked] = await server.refused('POST', `${path}/points/query`, { query: [[1, 2]] });
    expect(asked).toBe(400);
  });
});

describe('C2.4 MaxSim', () => {
  const query = [
    [0, 0],
    [1, 1],
  ];

  it.each<[string, [number, number][]]>([
    [
      'Dot',
      [
        [3, 3],
        [1, 1],
        [2, 1],
      ],
    ],
    [
      'Cosine',
      [
        [2, 1],
        [1, 0.70711],
        [3, 0.70711],
      ],
    ],
    [
      'Euclid',
      [
        [2, 1],
        [1, 1.41421],
        [3, 2.44949],
      ],
    ],
    [
      'Manhattan',
      [
        [1, 2],
        [2, 2],
        [3, 4],
      ],
    ],
  ])('C2.4 %s sums the best of each row of the query up', async (distance, expected) => {
    const path = await holding(distance);
    expect(scores(await server.ok('POST', `${path}/points/query`, { query }))).toEqual(expected);
    const batch = await server.ok('POST', `${path}/points/query/batch`, {
      searches: [{ query }, { query: { nearest: query }, limit: 1 }, { query, params: { exact: true } }],
    });
    expect(batch.map(scores)).toEqual([expected, expected.slice(0, 1), expected]);
  });

  it('C6.2 a search takes one vector, which counts as one row', async () => {
    const path = await holding('Dot');
    const found = await server.ok('POST', `${path}/points/search`, { vector: [1, 1], score_threshold: 1 });
    expect(scores({ points: found })).toEqual([
      [3, 3],
      [1, 1],
      [2, 1],
    ]);
  });

  it('C6.3 an example means all of its rows and is left out', async () => {
    const path = await holding('Dot');
    expect(scores(await server.ok('POST', `${path}/points/query`, { query: 1 }))).toEqual([
      [3, 3],
      [2, 1],
    ]);
  });
});
