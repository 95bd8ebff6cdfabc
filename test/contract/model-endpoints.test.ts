import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { open } from '../../src/index';
import { embeddings, FakeEndpoint, sendJson } from '../models/fake-endpoint';
import { until } from '../until';
import { ContractServer, idsOf, type Json } from './contract-server';

const KEY = 'sk-never-in-a-message';

let endpoint: FakeEndpoint;
let server: ContractServer;
let folder: string;
let made = 0;

beforeAll(async () => {
  endpoint = await FakeEndpoint.start();
  folder = mkdtempSync(join(tmpdir(), 'kithdb-models-'));
  const keyFile = join(folder, 'key');
  writeFileSync(keyFile, `${KEY}\n`);
  const models = [
    { name: 'letters', url: endpoint.url, model: 'fake-letters', key_file: keyFile },
    { name: 'fixed', url: endpoint.url, model: 'fake-fixed', dimension: 2 },
    { name: 'gone', url: 'http://127.0.0.1:9/v1', model: 'none' },
  ];
  server = await ContractServer.start([], { KITHDB_MODELS: JSON.stringify(models) });
});
afterAll(async () => {
  await server.stop();
  await endpoint.stop();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(() => {
  endpoint.forget();
});

const input = (text: string, model = 'letters'): Json => ({ text, model });

async function collection(): Promise<string> {
  made += 1;
  const path = `/collections/dense-${String(made)}`;
  await server.ok('PUT', path, {
    vectors: { d: { size: 3, distance: 'Cosine' }, other: { size: 2, distance: 'Dot' } },
    sparse_vectors: { words: { modifier: 'idf' } },
  });
  return path;
}

const query = async (path: string, body: object): Promise<number[]> =>
  idsOf((await server.ok('POST', `${path}/points/query`, { using: 'd', ...body })).points) as number[];

describe('C16 models with an endpoint', () => {
  it('C16 make the vectors of points and queries, wherever a vector is expected', async () => {
    const path = await collection();
    await server.ok('PUT', `${path}/points`, {
      points: [
        { id: 1, vector: { d: input('aaaa'), words: input('owls', 'qdrant/bm25') }, payload: { text: 'x' } },
        { id: 2, vector: { d: input('bbbb') } },
        { id: 3, vector: { d: [0, 0, 1] } },
      ],
    });
    const [{ vector }] = await server.ok('POST', `${path}/points`, { ids: [2], with_vector: ['d'] });
    const length = Math.sqrt(32);
    expect(vector.d).toEqual([0, expect.closeTo(4 / length, 5), expect.closeTo(4 / length, 5)]);
    expect(endpoint.calls).toHaveLength(1);
    expect(endpoint.calls[0]).toEqual({
      path: '/v1/embeddings',
      authorization: `Bearer ${KEY}`,
      model: 'fake-letters',
      input: ['aaaa', 'bbbb'],
    });

    expect(await query(path, { query: input('aaa'), limit: 1 })).toEqual([1]);
    expect(await query(path, { query: { nearest: input('bbb') }, limit: 1 })).toEqual([2]);
    const recommend = { positive: [input('bbb')], negative: [input('aaa')] };
    expect((await query(path, { query: { recommend } }))[0]).toBe(2);
    const context = [{ positive: input('aaa'), negative: input('bbb') }];
    expect((await query(path, { query: { discover: { target: input('aa'), context } } }))[0]).toBe(1);
    const prefetch = [
      { query: input('bb'), using: 'd', limit: 1 },
      { query: input('owl', 'qdrant/bm25'), using: 'words', limit: 1 },
    ];
    const fused = await server.ok('POST', `${path}/points/query`, { prefetch, query: { fusion: 'rrf' } });
    expect(idsOf(fused.points).sort()).toEqual([1, 2]);
    const found = await server.ok('POST', `${path}/points/search`, {
      vector: { name: 'd', vector: input('bbbbb') },
      limit: 1,
    });
    expect(idsOf(found)).toEqual([2]);
    const searches = [
      { query: input('aaaaa'), using: 'd', limit: 1 },
      { query: input('bbbbb'), using: 'd', limit: 1 },
    ];
    const batch = await server.ok('POST', `${path}/points/query/batch`, { searches });
    expect(batch.map(({ points }: Json) => idsOf(points))).toEqual([[1], [2]]);
  });

  it('C16 make vectors in updates of vectors, columns and batches', async () => {
    const path = await collection();
    await server.ok('PUT', `${path}/points`, {
      batch: { ids: [1, 2], vectors: { d: [input('a'), input('b')] } },
    });
    await server.ok('PUT', `${path}/points/vectors`, { points: [{ id: 1, vector: { d: input('bb') } }] });
    await server.ok('POST', `${path}/points/batch`, {
      operations: [
        { upsert: { points: [{ id: 3, vector: { d: input('aaaa') } }] } },
        { update_vectors: { points: [{ id: 2, vector: { d: input('aaaaaaaa') } }] } },
      ],
    });
    expect((await query(path, { query: input('aaa'), limit: 2 })).sort()).toEqual([2, 3]);
    expect(await query(path, { query: input('b'), limit: 1 })).toEqual([1]);
  });

  it('C16 are asked for each text once, many at a time, and keep what they made', async () => {
    const path = await collection();
    const words = Array.from({ length: 150 }, (_, at) => `word ${String(at % 140)}`);
    const points = words.map((word, at) => ({ id: at + 1, vector: { d: input(word) } }));
    await server.ok('PUT', `${path}/points`, { points });
    expect(endpoint.calls.map(({ input: texts }) => texts.length).sort()).toEqual([12, 64, 64]);
    expect(new Set(endpoint.texts).size).toBe(140);
    expect(endpoint.mostOpen).toBeLessThanOrEqual(4);
    await server.ok('PUT', `${path}/points`, { points });
    expect(endpoint.calls).toHaveLength(3);
  });

  it.each([
    [
      { text: 'x', model: 'nothing' },
      "query.model: unknown model 'nothing', expected qdrant/bm25, letters, fixed, gone",
    ],
    [
      { text: 'x', model: 'letters', options: { k: 1 } },
      "query.options.k: the model 'letters' has no options",
    ],
    [{ model: 'letters' }, 'query.text'],
    [{ text: '1'.repeat((1 << 20) + 1), model: 'letters' }, 'query.text: at most 1048576 bytes a text'],
  ])('C16, C1.11 are not asked for what they cannot take: %#', async (asked, why) => {
    const path = await collection();
    const refused = await server.refused('POST', `${path}/points/query`, { query: asked, using: 'd' });
    expect(refused).toEqual([400, expect.stringContaining(why)]);
    expect(endpoint.calls).toHaveLength(0);
  });

  it('C16 answer 400 where a field has another dimension, and nothing happens', async () => {
    const path = await collection();
    const points = [
      { id: 1, vector: { d: input('a') } },
      { id: 2, vector: { other: input('b') } },
    ];
    const [status, why] = await server.refused('PUT', `${path}/points`, { points });
    expect(status).toBe(400);
    expect(why).toContain("Dimension mismatch for vector 'other': expected 2, got 3");
    expect(why).toContain("vectors of the model 'letters'");
    expect(await server.ok('POST', `${path}/points/count`, {})).toEqual({ count: 0 });
  });

  it('C16 answer 502 with the name of the model and the place, and never the key', async () => {
    const path = await collection();
    const failing = async (model: string, text: string): Promise<readonly [number, string]> => {
      const points = [
        { id: 1, vector: { d: [1, 1, 1] } },
        { id: 2, vector: { d: input(text, model) } },
      ];
      return server.refused('PUT', `${path}/points`, { points });
    };
    endpoint.answer = (response) => {
      sendJson(response, 401, { error: { message: `Incorrect API key provided: ${KEY}` } });
    };
    expect(await failing('letters', 'denied')).toEqual([
      502,
      "points[1].vector.d: Model 'letters' failed: it answered 401",
    ]);
    endpoint.answer = (response) => {
      response.writeHead(307, { location: `http://127.0.0.1:9/${KEY}` }).end();
    };
    expect((await failing('letters', 'moved'))[1]).toContain(
      'it answered 307, and redirects are not followed',
    );
    endpoint.answer = undefined;
    expect((await failing('fixed', 'three'))[1]).toContain('its vectors have 3 components in place of 2');
    expect(await server.ok('POST', `${path}/points/count`, {})).toEqual({ count: 0 });
  });

  it.each([
    ['no JSON', 'pong'],
    ['another shape', '{"vectors": []}'],
    ['too few', '{"data": []}'],
    ['too many', JSON.stringify(embeddings(['x', 'y']))],
    ['one twice', '{"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [1]}]}'],
    ['a place that no text has', '{"data": [{"index": 18446744073709551615, "embedding": [1, 2, 3]}]}'],
    ['an empty vector', '{"data": [{"index": 0, "embedding": []}]}'],
    ['numbers beyond 32 bits', '{"data": [{"index": 0, "embedding": [1e39, 1, 1]}]}'],
    ['texts for numbers', '{"data": [{"index": 0, "embedding": ["1", 1, 1]}]}'],
    ['what is nested too deep', `{"data": ${'['.repeat(100_000)}`],
    ['no end', `{"data": [{"embedding": [${'1,'.repeat(1_000_000)}`],
  ])('C16 take no answer with %s', async (_what, answer) => {
    const path = await collection();
    endpoint.answer = (response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(answer);
    };
    const refused = await server.refused('POST', `${path}/points/query`, {
      query: input(`hostile ${_what}`),
      using: 'd',
    });
    expect(refused).toEqual([502, expect.stringContaining("query: Model 'letters' failed: its answer")]);
    expect(endpoint.calls).toHaveLength(1);
  });

  it('C16 are asked again after a 429 and a 503', async () => {
    const path = await collection();
    endpoint.answer = (response, { input: texts }, attempt) => {
      if (attempt === 3) sendJson(response, 200, embeddings(texts));
      else sendJson(response, attempt === 1 ? 429 : 503, {}, { 'retry-after': '0' });
    };
    await server.ok('PUT', `${path}/points`, { points: [{ id: 1, vector: { d: input('again') } }] });
    expect(endpoint.calls).toHaveLength(3);
  });

  it('C16, C1.10 end with the deadline of the request', async () => {
    const path = await collection();
    endpoint.answer = () => undefined;
    const body = { query: input('slow'), using: 'd' };
    const refused = await server.refused('POST', `${path}/points/query?timeout=1`, body);
    expect(refused).toEqual([408, expect.stringContaining('were not there after 1 s')]);
    await until(() => endpoint.open === 0);
  });

  it('C16 are not asked any more for a client that has disconnected', async () => {
    const path = await collection();
    endpoint.answer = () => undefined;
    const over = new AbortController();
    const sent = fetch(`http://127.0.0.1:${String(server.port)}${path}/points/query`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query: input('departed'), using: 'd' }),
      signal: over.signal,
    });
    await until(() => endpoint.open === 1);
    over.abort();
    await expect(sent).rejects.toThrow();
    await until(() => endpoint.open === 0);
  });

  it('C16 serve the folder of a program as well', async () => {
    const data = join(folder, 'data');
    const models = [{ name: 'letters', url: endpoint.url, model: 'fake-letters' }];
    const owner = await open(data, { models });
    const attached = await open(data, { models });
    const bare = await open(data);
    try {
      await owner.createCollection('c', { vectors: { size: 3, distance: 'Cosine' } });
      const vector = (text: string) => ({ text, model: 'letters' });
      await owner.upsert('c', { points: [{ id: 1, vector: vector('aa') }] });
      await attached.upsert('c', { points: [{ id: 2, vector: vector('bb') }] });
      for (const db of [owner, attached]) {
        const { points } = await db.query('c', { query: vector('bbb'), limit: 1 });
        expect(points.map(({ id }) => id)).toEqual([2]);
      }
      await expect(bare.query('c', { query: vector('b') })).rejects.toThrow("unknown model 'letters'");
    } finally {
      await Promise.all([owner, attached, bare].map((db) => db.close()));
    }
  });
});
