import { ContractServer, idsOf, type Json } from './contract-server';

/** Unit vectors whose products with [1, 0] are their first components. */
const AT = (x: number): number[] => [x, Math.sqrt(1 - x * x)];
const POINTS = [
  { id: 1, vector: { dot: [0.9, 0.2], far: [0, 0] }, payload: { tag: 'a', n: 1 } },
  { id: 2, vector: { dot: [0.8, 0.9], far: [3, 4] }, payload: { tag: 'a', n: 2 } },
  { id: 3, vector: { dot: [0.7, 0.5], far: [6, 8] }, payload: { tag: 'b', n: 3 } },
  { id: 4, vector: { dot: [0.2, 0.9], far: [0, 1] }, payload: { tag: 'b', n: 4 } },
  { id: 5, vector: { dot: [0.5, 0.5] }, payload: { tag: 'b', n: 5 } },
];

let server: ContractServer;
let path: string;

beforeAll(async () => {
  server = await ContractServer.start();
  path = await server.collection('points', {
    vectors: { dot: { size: 2, distance: 'Dot' }, far: { size: 2, distance: 'Euclid' } },
  });
  await server.ok('PUT', `${path}/points`, { points: POINTS });
  const other = await server.collection('other', { vectors: { v: { size: 2, distance: 'Dot' } } });
  await server.ok('PUT', `${other}/points`, { points: [{ id: 1, vector: { v: AT(0.6) } }] });
});
afterAll(() => server.stop());

const query = async (json: object): Promise<Json> =>
  (await server.ok('POST', `${path}/points/query`, json)).points;
const refused = (json: object): Promise<[number, string]> =>
  server.refused('POST', `${path}/points/query`, json);

/** Ids with scores, rounded to four places. */
async function scores(json: object): Promise<[unknown, number][]> {
  const hits = await query(json);
  return hits.map(({ id, score }: Json) => [id, Number(score.toFixed(4))]);
}

/** A prefetch that finds these points in this order. */
const inOrder = (ids: number[]): object => ({
  query: { formula: { sum: ids.map((id, at) => ({ mult: [ids.length - at, { has_id: [id] }] })) } },
  prefetch: { filter: { must: { has_id: ids } }, limit: 100 },
  limit: 100,
});

describe('C6 a random sample', () => {
  it('C6.3 has each order of a whole collection, so that no point is favoured', async () => {
    const orders = new Set<string>();
    for (let batch = 0; batch < 20; batch += 1) {
      const searches = Array.from({ length: 50 }, () => ({
        query: { sample: 'random' },
        limit: 2,
        filter: { must: [{ has_id: [1, 2, 3] }] },
      }));
      const results = await server.ok('POST', `${path}/points/query/batch`, { searches });
      for (const { points } of results) orders.add(idsOf(points).join());
    }
    // Of 1,000 samples, each of these six is missing with a probability below 1e-79.
    expect([...orders].sort()).toEqual(['1,2', '1,3', '2,1', '2,3', '3,1', '3,2']);
  });
});

describe('C6.3 fusion', () => {
  it('C6.3 rrf adds 1 / (place + k), ties by id', async () => {
    const prefetch = [inOrder([3, 1, 2]), inOrder([1, 3])];
    expect(await scores({ prefetch, query: { fusion: 'rrf' } })).toEqual([
      [1, 0.8333],
      [3, 0.8333],
      [2, 0.25],
    ]);
    expect(await scores({ prefetch: prefetch[0], query: { rrf: { k: 2 } } })).toEqual([
      [3, 0.5],
      [1, 0.3333],
      [2, 0.25],
    ]);
    expect(await scores({ prefetch, query: { rrf: { k: 60 } }, limit: 1, offset: 1 })).toEqual([
      [3, Number((1 / 60 + 1 / 61).toFixed(4))],
    ]);
  });

  it('C6.3 rrf weighs its lists', async () => {
    const prefetch = [inOrder([4]), inOrder([5])];
    expect(await scores({ prefetch, query: { rrf: { weights: [3, 1] } } })).toEqual([
      [4, 0.75],
      [5, 0.5],
    ]);
  });

  it('C6.3 dbsf brings scores to one scale, distances turned', async () => {
    const first = { query: [1, 0], using: 'dot', limit: 3 };
    expect(await scores({ prefetch: first, query: { fusion: 'dbsf' } })).toEqual([
      [1, 0.6667],
      [2, 0.5],
      [3, 0.3333],
    ]);
    // Distances 0, 5, 10: the nearest is the best.
    const far = { query: [0, 0], using: 'far', filter: { must: { has_id: [1, 2, 3] } } };
    expect(await scores({ prefetch: far, query: { fusion: 'dbsf' } })).toEqual([
      [1, 0.6667],
      [2, 0.5],
      [3, 0.3333],
    ]);
    const both = await scores({ prefetch: [first, far], query: { fusion: 'dbsf' }, score_threshold: 1 });
    expect(both).toEqual([
      [1, 1.3333],
      [2, 1],
    ]);
  });
});

describe('C6.3 several examples', () => {
  const using = 'dot';
  const recommend = (fields: object): object => ({ query: { recommend: fields }, using });
  const [p, n] = [
    [1, 0],
    [0, 1],
  ];

  it('C6.3 best_score is decided by the best example of either side', async () => {
    const found = await scores(recommend({ positive: [p], negative: [n], strategy: 'best_score' }));
    expect(found[0]).toEqual([1, 0.7368]);
    expect(found.at(-1)).toEqual([4, -0.7368]);
    expect(idsOf(found.map(([id]) => ({ id })))).toEqual([1, 3, 5, 2, 4]);
  });

  it('C6.3 sum_scores, and average_vector by default', async () => {
    expect(await scores(recommend({ positive: [p], negative: [n], strategy: 'sum_scores' }))).toEqual([
      [1, 0.7],
      [3, 0.2],
      [5, 0],
      [2, -0.1],
      [4, -0.7],
    ]);
    // 2 · (1, 0) − (0, 1)
    expect(await scores({ ...recommend({ positive: [p], negative: [n] }), limit: 1 })).toEqual([[1, 1.6]]);
  });

  it('C6.3 discover: context before target', async () => {
    const context = [{ positive: p, negative: n }];
    const discover = await scores({ query: { discover: { target: [0.5, 0.25], context } }, using });
    expect(discover.map(([id]) => id).slice(0, 2)).toEqual([1, 3]);
    const [one] = await scores({
      query: { discover: { target: [0, 2.5], context } },
      using,
      filter: { must: { has_id: [1] } },
    });
    expect(one).toEqual([1, 1.6667]);
    const [other] = await scores({
      query: { discover: { target: [2.5, 0], context: { positive: p, negative: n } } },
      using,
      filter: { must: { has_id: [4] } },
    });
    expect(other).toEqual([4, -0.3333]);
  });

  it('C6.3 context is 0 on the right side', async () => {
    const found = await scores({ query: { context: [{ positive: p, negative: n }] }, using });
    expect(found.slice(0, 2)).toEqual([
      [1, 0],
      [3, 0],
    ]);
    expect(found.at(-1)).toEqual([4, -0.4118]);
  });

  it('C6.3 mmr prefers what differs from what is chosen', async () => {
    const nearest = [1, 1];
    const plain = await scores({ query: nearest, using });
    const same = await scores({ query: { nearest, mmr: { diversity: 0 } }, using });
    expect(same).toEqual(plain);
    const diverse = await scores({ query: { nearest, mmr: { diversity: 1, candidates_limit: 4 } }, using });
    expect(diverse[0]).toEqual(plain[0]);
    expect(diverse.toSorted()).toEqual(plain.slice(0, 4).toSorted());
    const paged = await scores({
      query: { nearest, mmr: { candidates_limit: 4 } },
      using,
      limit: 2,
      offset: 1,
    });
    const whole = await scores({ query: { nearest, mmr: { candidates_limit: 4 } }, using });
    expect(paged).toEqual(whole.slice(1, 3));
  });
});

describe('C6.3 prefetches', () => {
  it('C6.3 a query over prefetches scores what they found, also with a filter of its own', async () => {
    const prefetch = { query: [1, 0], using: 'dot', limit: 3 };
    expect(await scores({ prefetch, query: [0, 0], using: 'far' })).toEqual([
      [1, 0],
      [2, 5],
      [3, 10],
    ]);
    expect(await scores({ prefetch, query: [0, 0], using: 'far', score_threshold: 5 })).toHaveLength(2);
    const filter = { must: { key: 'tag', match: { value: 'b' } } };
    expect(idsOf(await query({ prefetch, query: [0, 0], using: 'far', filter }))).toEqual([4, 3]);
  });

  it('C6.3 formulas see the score of each prefetch', async () => {
    const prefetch = [
      { query: [1, 0], using: 'dot', limit: 2 },
      { query: [0, 0], using: 'far', limit: 2 },
    ];
    const formula = { sum: ['$score', { mult: [10, '$score[1]'] }, 'n'] };
    const found = await scores({ prefetch, query: { formula, defaults: { '$score[1]': 5 } } });
    expect(found).toEqual([
      [2, 52.8],
      [4, 14],
      [1, 1.9],
    ]);
    const body = { prefetch, query: { formula }, score_threshold: 14 };
    expect(await scores(body)).toEqual([[4, 14]]);
    expect((await refused({ prefetch, query: { formula: 'absent' } }))[0]).toBe(400);
  });

  it('C6.3 nests, and answers payload, vectors and order values as asked', async () => {
    const inner = { prefetch: [{}], query: [1, 0], using: 'dot', limit: 3 };
    const hits = await query({
      prefetch: { prefetch: inner, query: { fusion: 'rrf' } },
      query: { order_by: { key: 'n', direction: 'desc' } },
      with_payload: ['n'],
      with_vector: ['far'],
      limit: 2,
    });
    expect(hits).toEqual([
      {
        id: 3,
        version: expect.any(Number),
        score: 1,
        order_value: 3,
        payload: { n: 3 },
        vector: { far: [6, 8] },
      },
      {
        id: 2,
        version: expect.any(Number),
        score: 1,
        order_value: 2,
        payload: { n: 2 },
        vector: { far: [3, 4] },
      },
    ]);
  });

  it('C6.3 a batch of queries fails with the place of the bad one', async () => {
    const searches = [
      { query: [1, 0], using: 'dot', limit: 1 },
      { prefetch: { query: 1, using: 'dot' }, query: { fusion: 'rrf' }, limit: 1 },
    ];
    const found = await server.ok('POST', `${path}/points/query/batch`, { searches });
    expect(found.map(({ points }: Json) => idsOf(points))).toEqual([[1], [2]]);
    const bad = [...searches, { prefetch: { query: 77, using: 'dot' }, query: { fusion: 'rrf' } }];
    const answer = await server.refused('POST', `${path}/points/query/batch`, { searches: bad });
    expect(answer).toEqual([404, expect.stringContaining('searches[2]')]);
  });
});

describe('C6.3 examples by id', () => {
  it('C6.3 are left out of the part that names them and of those below it', async () => {
    const prefetch = [{ query: 1, using: 'dot' }, { query: { order_by: 'n' } }, {}];
    const hits = await query({ prefetch, query: { recommend: { positive: [2] } }, using: 'dot' });
    // 1 is no result of the first prefetch, but of the others.
    expect(idsOf(hits).toSorted()).toEqual([1, 3, 4, 5]);
  });

  it('C6.3 are looked up in another collection, whose points are not left out', async () => {
    const lookup_from = { collection: 'other', vector: 'v' };
    const by_id = await scores({ query: 1, using: 'dot', lookup_from });
    expect(by_id).toEqual(await scores({ query: AT(0.6), using: 'dot' }));
    expect(by_id).toHaveLength(5);
  });

  it.each<[string, object, [number, string]]>([
    ['an absent id', { query: 77, using: 'dot' }, [404, 'Point not found: 77']],
    [
      'absent ids anywhere',
      {
        prefetch: { query: 77, using: 'dot' },
        query: { context: { positive: 78, negative: 1 } },
        using: 'dot',
      },
      [404, 'Point not found: 78, 77'],
    ],
    ['an id without the vector', { query: 5, using: 'far' }, [404, '5']],
    [
      'an absent collection',
      { query: 1, using: 'dot', lookup_from: { collection: 'none' } },
      [404, 'Collection not found: none'],
    ],
    [
      'an absent vector there',
      { query: 1, using: 'dot', lookup_from: { collection: 'other' } },
      [400, 'Vector not found: dot'],
    ],
    ['no vector here', { query: [1, 0] }, [400, "Vector not found: '' (name one of: "]],
    [
      'an absent vector in a prefetch',
      {
        prefetch: [
          { query: 1, using: 'dot' },
          { query: 1, using: 'x' },
        ],
        query: { fusion: 'rrf' },
      },
      [400, 'prefetch[1].using: Vector not found: x'],
    ],
    [
      'a wrong dimension in a prefetch',
      { prefetch: { query: [1], using: 'far' }, query: { fusion: 'rrf' } },
      [400, "Dimension mismatch for vector 'far': expected 2, got 1"],
    ],
    [
      'a sparse vector for a dense field',
      { query: { indices: [1], values: [1] }, using: 'dot' },
      [400, 'sparse'],
    ],
    ['a multi vector for a dense field', { query: [[1, 0]], using: 'dot' }, [400, 'multi']],
    [
      'a recommendation of points without the vector',
      { query: { recommend: { positive: [5] } }, using: 'far' },
      [400, 'query.recommend'],
    ],
  ])('C6.3 %s is refused', async (_title, json, [status, message]) => {
    expect(await refused(json)).toEqual([status, expect.stringContaining(message)]);
  });
});
