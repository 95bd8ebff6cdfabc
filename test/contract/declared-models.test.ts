import { ContractServer, idsOf, type Json } from './contract-server';

let server: ContractServer;
let made = 0;

beforeAll(async () => {
  server = await ContractServer.start();
});
afterAll(() => server.stop());

const DENSE = { size: 2, distance: 'Dot' };
const MODEL = { name: 'small', revision: '3', text_key: 'text' };

/** A collection whose field `d` declares the model `small`, with point 1. */
async function collection(model: object = MODEL): Promise<string> {
  made += 1;
  const path = `/collections/models-${String(made)}`;
  await server.ok('PUT', path, {
    vectors: { d: { ...DENSE, model }, free: DENSE },
    sparse_vectors: { words: { modifier: 'idf', model: { name: 'Qdrant/bm25' } } },
  });
  await server.ok('PUT', `${path}/points`, {
    points: [{ id: 1, vector: { d: [1, 0], free: [0, 1] } }],
    model: 'small',
  });
  return path;
}

const conflict = (place: string, named: string, field = 'd', declared = 'small') => [
  409,
  `${place}: vector field '${field}' has the model '${declared}', the request names '${named}'`,
];

const count = async (path: string): Promise<number> =>
  (await server.ok('POST', `${path}/points/count`, {})).count as number;

describe('C19 the declared model of a field', () => {
  it('C13, C19 is compared in an explained search too, alone and in a batch', async () => {
    const path = await collection({ ...MODEL, required: true });
    const explained = { using: 'd', limit: 1, params: { explain: true } };
    const [named, silent] = [
      { ...explained, query: [1, 0], model: 'other' },
      { ...explained, query: [1, 0] },
    ];
    for (const [query, status] of [
      [named, 409],
      [silent, 400],
    ] as const) {
      expect((await server.refused('POST', `${path}/points/query`, query))[0]).toBe(status);
      const batch = { searches: [query] };
      expect((await server.refused('POST', `${path}/points/query/batch`, batch))[0]).toBe(status);
    }
    const fitting = { ...silent, model: 'small' };
    expect((await server.call('POST', `${path}/points/query`, fitting)).status).toBe(200);
  });

  it('C19 is shown beside the configuration, changed by PATCH, removed by null, and kept', async () => {
    const path = await collection();
    const models = async (): Promise<Json> => (await server.ok('GET', path)).vector_models;
    expect(await models()).toEqual({ d: MODEL, words: { name: 'Qdrant/bm25' } });
    expect((await server.ok('GET', path)).config.params.vectors.d).toEqual(DENSE);
    const free = { model: { name: 'other', required: true } };
    await server.ok('PATCH', path, { vectors: { d: { on_disk: true }, free } });
    expect(await models()).toEqual({ d: MODEL, free: free.model, words: { name: 'Qdrant/bm25' } });
    await server.restart();
    expect(await models()).toEqual({ d: MODEL, free: free.model, words: { name: 'Qdrant/bm25' } });
    const none = { model: null };
    await server.ok('PATCH', path, { vectors: { d: none, free: none }, sparse_vectors: { words: none } });
    expect(await models()).toBeUndefined();
    await server.ok('PUT', `${path}/points`, {
      points: [{ id: 2, vector: { d: [1, 0] } }],
      model: 'whatever',
    });
  });

  it.each([
    [{ vectors: { ...DENSE, model: 'small' } }, 'vectors.model: expected an object'],
    [{ vectors: { ...DENSE, model: {} } }, 'vectors.model.name'],
    [{ vectors: { ...DENSE, model: { name: '' } } }, 'vectors.model.name: must have 1 to 256 bytes'],
    [{ vectors: { ...DENSE, model: { name: 'a', nmae: 'b' } } }, 'vectors.model.nmae: unknown field'],
  ])('C19, C1.11 cannot be declared as %j', async (config, why) => {
    const refused = await server.refused('PUT', '/collections/models-bad', config);
    expect(refused).toEqual([400, expect.stringContaining(why)]);
  });

  it('C19 refuses writes that name another, and nothing happens', async () => {
    const path = await collection();
    const point = (id: number, vector: Json) => ({ id, vector });
    const put = (body: object) => server.refused('PUT', `${path}/points`, body);
    const points = [point(2, { free: [1, 1] }), point(3, { d: [1, 1] })];
    expect(await put({ points, model: 'big' })).toEqual(conflict('points[1].vector.d', 'big'));
    expect(await put({ points, model: { d: 'big' } })).toEqual(conflict('points[1].vector.d', 'big'));
    const own = [point(2, { words: { text: 'an owl', model: 'qdrant/bm25' } })];
    await server.ok('PATCH', path, { sparse_vectors: { words: { model: { name: 'splade' } } } });
    expect(await put({ points: own, model: 'splade' })).toEqual(
      conflict('points[0].vector.words', 'qdrant/bm25', 'words', 'splade'),
    );
    const batch = { ids: [2], vectors: { d: [[1, 1]] } };
    expect(await put({ batch, model: 'big' })).toEqual(conflict('batch.vectors.d[0]', 'big'));
    const words = [point(2, { words: { indices: [1], values: [1] } })];
    expect(await put({ points: words, model: 'other' })).toEqual(
      conflict('points[0].vector.words', 'other', 'words', 'splade'),
    );
    expect(
      await server.refused('PUT', `${path}/points/vectors`, {
        points: [point(1, { d: [1, 1] })],
        model: 'big',
      }),
    ).toEqual(conflict('points[0].vector.d', 'big'));
    const operations = [
      { upsert: { points: [point(7, { free: [1, 1] })], model: 'any' } },
      { update_vectors: { points: [point(1, { d: [5, 5] })], model: { d: 'big' } } },
    ];
    const refused = await server.refused('POST', `${path}/points/batch`, { operations });
    expect(refused).toEqual(conflict('operations[1].update_vectors.points[0].vector.d', 'big'));
    expect(await put({ points, model: { nowhere: 'x' } })).toEqual([
      400,
      expect.stringContaining('Vector not found: nowhere'),
    ]);
    expect(await count(path)).toBe(1);
    const [{ vector }] = await server.ok('POST', `${path}/points`, { ids: [1], with_vector: ['d'] });
    expect(vector.d).toEqual([1, 0]);
  });

  it('C19 takes writes that name it, and those that name none', async () => {
    const path = await collection();
    await server.ok('PUT', `${path}/points`, {
      points: [
        { id: 2, vector: { d: [1, 1], free: [1, 1], words: { text: 'an owl', model: 'qdrant/BM25' } } },
        { id: 3, vector: { d: [2, 2] } },
      ],
      model: { d: 'small', free: 'anything' },
    });
    await server.ok('PUT', `${path}/points`, { points: [{ id: 4, vector: { d: [1, 1] } }] });
    expect(await count(path)).toBe(4);
  });

  it('C19 refuses queries that name another, in batches and prefetches too', async () => {
    const path = await collection();
    const ask = (body: object) => server.refused('POST', `${path}/points/query`, body);
    const asked = { query: [1, 0], using: 'd', model: 'big' };
    expect(await ask(asked)).toEqual(conflict('query', 'big'));
    expect(await ask({ prefetch: [asked], query: { fusion: 'rrf' } })).toEqual(
      conflict('prefetch[0].query', 'big'),
    );
    expect(await ask({ query: { nearest: [1, 0] }, using: 'd', model: 'big' })).toEqual(
      conflict('query', 'big'),
    );
    expect(await ask({ query: { text: 'owl', model: 'qdrant/bm25' }, using: 'd' })).toEqual(
      conflict('query', 'qdrant/bm25'),
    );
    const searches = [{ query: [1, 0], using: 'd' }, asked];
    expect(await server.refused('POST', `${path}/points/query/batch`, { searches })).toEqual(
      conflict('searches[1].query', 'big'),
    );
    const vector = { name: 'd', vector: [1, 0] };
    expect(await server.refused('POST', `${path}/points/search`, { vector, limit: 1, model: 'big' })).toEqual(
      conflict('vector.vector', 'big'),
    );
    const named = await server.ok('POST', `${path}/points/query`, { ...asked, model: { d: 'small' } });
    expect(idsOf(named.points)).toEqual([1]);
    // The vector of a point is that of the field.
    const byId = await server.ok('POST', `${path}/points/query`, { query: 1, using: 'd', model: 'big' });
    expect(idsOf(byId.points)).toEqual([]);
  });

  it('C19 has to be named where it is required', async () => {
    const path = await collection({ ...MODEL, required: true });
    const why = "vector field 'd' requires the name of its model ('small')";
    const points = [{ id: 2, vector: { d: [1, 1] } }];
    expect(await server.refused('PUT', `${path}/points`, { points })).toEqual([
      400,
      `points[0].vector.d: ${why}`,
    ]);
    expect(await server.refused('POST', `${path}/points/query`, { query: [1, 0], using: 'd' })).toEqual([
      400,
      `query: ${why}`,
    ]);
    await server.ok('PUT', `${path}/points`, { points, model: 'small' });
    await server.ok('POST', `${path}/points/query`, { query: 1, using: 'd' });
  });
});
