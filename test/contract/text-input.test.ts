import { ContractServer, idsOf, type Json } from './contract-server';

const MODEL = 'Qdrant/BM25';
const TEXTS = [
  'The owl hunts at night, and owls hunt alone.',
  'Foxes hunt in the evening.',
  'A night train to Vienna.',
  'the and of',
];

let server: ContractServer;
let made = 0;

beforeAll(async () => {
  server = await ContractServer.start();
});
afterAll(() => server.stop());

const text = (words: string, options?: object): Json => ({
  text: words,
  model: MODEL,
  ...(options && { options }),
});

/** A collection with the texts as points 1 to 4. */
async function texts(): Promise<string> {
  made += 1;
  const path = `/collections/texts-${String(made)}`;
  await server.ok('PUT', path, {
    vectors: { dense: { size: 2, distance: 'Dot' } },
    sparse_vectors: { words: { modifier: 'idf' } },
  });
  const points = TEXTS.map((words, at) => ({ id: at + 1, vector: { words: text(words), dense: [at, 1] } }));
  await server.ok('PUT', `${path}/points`, { points });
  return path;
}

const query = async (path: string, body: object): Promise<number[]> =>
  idsOf((await server.ok('POST', `${path}/points/query`, body)).points) as number[];

describe('C16 texts in place of vectors', () => {
  it('C16 are stored as the terms of BM25, and found by them', async () => {
    const path = await texts();
    expect(await query(path, { query: text('owls'), using: 'words' })).toEqual([1]);
    expect((await query(path, { query: text('hunting at night'), using: 'words' })).sort()).toEqual([
      1, 2, 3,
    ]);
    expect(await query(path, { query: text('the'), using: 'words' })).toEqual([]);
    const [{ vector }] = await server.ok('POST', `${path}/points`, { ids: [2], with_vector: ['words'] });
    // fox, hunt and evening, each once of three terms: 2.2 / (1 + 1.2 (0.25 + 0.75 · 3 / 256)).
    expect(vector.words.values).toEqual(Array(3).fill(expect.closeTo(1.67873, 4)));
    const hash = (word: string) => query(path, { query: text(word), using: 'words' });
    expect(await hash('evening')).toEqual([2]);
  });

  it('C16 stand wherever a vector is expected', async () => {
    const path = await texts();
    const hits = async (body: object) =>
      idsOf(await server.ok('POST', `${path}/points/search`, { limit: 5, ...body }));
    expect(await hits({ vector: { name: 'words', vector: text('Vienna') } })).toEqual([3]);
    const using = { using: 'words', limit: 5 };
    expect(await query(path, { query: { nearest: text('Vienna') }, ...using })).toEqual([3]);
    const recommend = { positive: [text('Vienna')], negative: [text('owl')] };
    expect((await query(path, { query: { recommend }, ...using }))[0]).toBe(3);
    const fused = {
      prefetch: [
        { query: text('evening'), using: 'words' },
        { query: [1, 0], using: 'dense', limit: 1 },
      ],
      query: { fusion: 'rrf' },
    };
    expect((await query(path, fused)).sort()).toEqual([2, 4]);

    await server.ok('PUT', `${path}/points/vectors`, {
      points: [{ id: 4, vector: { words: text('an eagle') } }],
    });
    await server.ok('PUT', `${path}/points`, {
      batch: { ids: [5, 6], vectors: { words: [text('eagles'), text('sparrows')] } },
    });
    expect((await query(path, { query: text('eagle'), ...using })).sort()).toEqual([4, 5]);
    const operations = [{ upsert: { points: [{ id: 7, vector: { words: text('EAGLE') } }] } }];
    await server.ok('POST', `${path}/points/batch`, { operations });
    expect((await query(path, { query: text('eagle'), ...using })).sort()).toEqual([4, 5, 7]);
  });

  it('C16 have options', async () => {
    const path = await texts();
    const german = text('Die Häuser am Fluss', { language: 'de' });
    await server.ok('PUT', `${path}/points`, { points: [{ id: 9, vector: { words: german } }] });
    const find = (words: string, options: object) =>
      query(path, { query: text(words, options), using: 'words' });
    expect(await find('haus', { language: 'german' })).toEqual([9]);
    expect(await find('die am', { language: 'german' })).toEqual([]);
  });

  it.each([
    [{ text: 'owl', model: 'my/model' }, "query.model: unknown model 'my/model', expected qdrant/bm25"],
    [{ text: 'owl' }, 'query.model'],
    [{ model: MODEL }, 'query.text'],
    [{ text: 7, model: MODEL }, 'query.text: expected a string'],
    [{ image: 'owl.png', model: MODEL }, 'query.image: models take texts only'],
    [{ text: 'owl', model: MODEL, options: { k: -1 } }, 'query.options.k: value -1 invalid'],
    [
      { text: 'a'.repeat((1 << 20) + 1), model: MODEL },
      'query.text: at most 1048576 bytes a text, got 1048577',
    ],
  ])('C16, C1.11 refuses what it cannot take: %#', async (input, why) => {
    const path = await texts();
    const refused = server.refused('POST', `${path}/points/query`, { query: input, using: 'words' });
    expect(await refused).toEqual([400, expect.stringContaining(why)]);
  });

  it('C16 changes nothing where one of several texts is refused', async () => {
    const path = await texts();
    const points = [
      { id: 1, vector: { words: text('changed') } },
      { id: 2, vector: { words: { text: 'x', model: 'other' } } },
    ];
    const refused = [400, expect.stringContaining("points[1].vector.words.model: unknown model 'other'")];
    expect(await server.refused('PUT', `${path}/points`, { points })).toEqual(refused);
    expect(await query(path, { query: text('changed'), using: 'words' })).toEqual([]);
  });

  it('C16 is no input where the field takes dense vectors', async () => {
    const path = await texts();
    const [status] = await server.refused('POST', `${path}/points/query`, {
      query: text('owl'),
      using: 'dense',
    });
    expect(status).toBe(400);
  });
});
