import { open } from '../../src/index';
import { send } from '../http/harness';
import { embeddings, FakeEndpoint, sendJson } from '../models/fake-endpoint';
import { until } from '../until';
import { ContractServer, idsOf, type Json } from './contract-server';

let endpoint: FakeEndpoint;
let server: ContractServer;
let made = 0;
let round = 0;

/** The new vector of a text: two components. */
const newVector = (text: string): number[] => [text.split('a').length - 1, text.length];

beforeAll(async () => {
  endpoint = await FakeEndpoint.start();
  const models = [
    { name: 'new', url: endpoint.url, model: 'fake-new' },
    { name: 'gone', url: 'http://127.0.0.1:9/v1', model: 'none' },
  ];
  server = await ContractServer.start([], { KITHDB_MODELS: JSON.stringify(models) });
});
afterAll(async () => {
  await server.stop();
  await endpoint.stop();
});
beforeEach(() => {
  round += 1;
  endpoint.forget();
  endpoint.answer = (response, { input }) => {
    sendJson(response, 200, embeddings(input, newVector));
  };
});

const OLD = { name: 'old', text_key: 'text' };

/** Texts of which each has another number of the letter a; those of each test are others, so that none is in the cache. */
const textOf = (id: number): string => `${'a'.repeat(id)}${'b'.repeat(40 - id)} ${String(round)}`;

const TITLE = '/vectors/title/reembed';
/** The unnamed vector has two quotes in the path. */
const UNNAMED = '/vectors/%22%22/reembed';

/** A collection with a point of each of these texts. */
async function filled(texts: readonly (string | null)[], vectors: Json = { size: 3, distance: 'Euclid' }) {
  made += 1;
  const path = `/collections/again-${String(made)}`;
  const declared = { ...vectors, model: OLD };
  await server.ok('PUT', path, { vectors: { title: declared, other: { size: 1, distance: 'Dot' } } });
  const points = texts.map((text, at) => ({
    id: at + 1,
    vector: { title: [at, 0, 1], other: [at] },
    payload: text === null ? {} : { text },
  }));
  if (points.length > 0) await server.ok('PUT', `${path}/points`, { points });
  return path;
}

async function begin(path: string, body: Json = { model: 'new' }, rest = TITLE): Promise<Json> {
  const answer = await server.call('POST', path + rest, body);
  expect([answer.status, answer.body.status]).toEqual([202, 'ok']);
  return answer.body.result;
}

/** The texts of this test that were embedded: one of the test before may still be under way. */
const embeddedTexts = (): string[] => endpoint.texts.filter((text) => text.includes(` ${String(round)}`));

const report = (path: string, rest = TITLE): Promise<Json> => server.ok('GET', path + rest);

async function untilState(path: string, state: string, rest = TITLE): Promise<Json> {
  await until(async () => (await report(path, rest)).state === state);
  return report(path, rest);
}

const nearest = async (path: string, query: number[], body: object = {}): Promise<unknown[]> =>
  idsOf(
    (await server.ok('POST', `${path}/points/query`, { query, using: 'title', limit: 1, ...body })).points,
  );

describe('C19 a re-embedding', () => {
  it('C19 embeds the texts of a vector with another model, which answers from the commit on', async () => {
    // A server that has not embedded the text of the trial yet.
    await server.restart();
    const texts = Array.from({ length: 150 }, (_, at) => textOf(at % 40) + String(at));
    const path = await filled(texts);
    const before = await server.pointsOf(path);
    expect(await begin(path)).toEqual({ operation_id: expect.any(Number), status: 'completed' });
    const ready = await untilState(path, 'ready');
    expect(ready).toEqual({
      model: { name: 'new', text_key: 'text' },
      size: 2,
      state: 'ready',
      done: 150,
      total: 150,
      missing_texts: 0,
      eta_seconds: 0,
    });
    // The text of the trial, then each text once, 64 in a call.
    expect(endpoint.calls.map(({ input }) => input.length)).toEqual([1, 64, 64, 22]);
    expect(new Set(endpoint.texts.slice(1))).toEqual(new Set(texts));
    expect(await server.pointsOf(path)).toEqual(before);
    expect(await nearest(path, [7, 0, 1], { model: 'old' })).toEqual([8]);
    const info = await server.ok('GET', path);
    expect([info.reembeddings, info.config.params.vectors]).toEqual([
      { title: { done: 150, total: 150 } },
      { title: { size: 3, distance: 'Euclid' }, other: { size: 1, distance: 'Dot' } },
    ]);

    await server.ok('POST', `${path}${TITLE}/commit`);
    expect(await nearest(path, newVector(texts[7]!), { model: 'new' })).toEqual([8]);
    const [status, message] = await server.refused('POST', `${path}/points/query`, {
      query: [1, 2],
      using: 'title',
      model: 'old',
    });
    expect([status, message]).toEqual([409, expect.stringContaining("'new'")]);
    const after = await server.ok('GET', path);
    expect([after.reembeddings, after.vector_models, after.config.params.vectors.title.size]).toEqual([
      undefined,
      { title: { name: 'new', text_key: 'text' } },
      2,
    ]);
    const kept = (await server.pointsOf(path))['8'] as Json;
    expect(kept).toEqual({
      vector: { title: newVector(texts[7]!), other: [7] },
      payload: { text: texts[7] },
    });
    expect(await server.refused('GET', path + TITLE)).toEqual([
      404,
      "Re-embedding not found: vector 'title' is not being embedded anew",
    ]);
  });

  it('C19 goes on after a restart where it was', async () => {
    const path = await filled(Array.from({ length: 12 }, (_, at) => textOf(at)));
    await begin(path, { model: 'new', rate: 5 });
    await until(async () => (await report(path)).done >= 5);
    await server.restart();
    const { done } = await report(path);
    expect(done).toBeGreaterThanOrEqual(5);
    await untilState(path, 'ready');
    expect(embeddedTexts()).toHaveLength(12);
    await server.ok('POST', `${path}${TITLE}/commit`, {});
    expect(await nearest(path, newVector(textOf(3)))).toEqual([4]);
  });

  it('C19 takes writes into both: texts that are written meanwhile are embedded', async () => {
    const path = await filled([textOf(1), textOf(2), textOf(3)]);
    await begin(path);
    await untilState(path, 'ready');
    await server.ok('PUT', `${path}/points`, {
      points: [{ id: 9, vector: { title: [9, 9, 9], other: [1] }, payload: { text: textOf(9) } }],
    });
    await server.ok('POST', `${path}/points/payload`, { points: [2], payload: { text: textOf(20) } });
    // A vector of the old model alone leaves the new one, which is of the text.
    await server.ok('PUT', `${path}/points/vectors`, {
      points: [{ id: 3, vector: { title: [5, 5, 5] } }],
      model: 'old',
    });
    await server.ok('POST', `${path}/points/delete`, { points: [1] });
    await until(async () => (await report(path)).done === 3);
    expect(await nearest(path, [5, 5, 5])).toEqual([3]);
    await server.ok('POST', `${path}${TITLE}/commit`);
    const vectors = Object.entries(await server.pointsOf(path)).map(([id, { vector }]: Json) => [
      id,
      vector.title,
    ]);
    expect(Object.fromEntries(vectors)).toEqual({
      2: newVector(textOf(20)),
      3: newVector(textOf(3)),
      9: newVector(textOf(9)),
    });
  });

  it('C19 a commit is a 409 while texts are missing, unless that is allowed', async () => {
    const path = await filled([textOf(1), null, textOf(3)]);
    await begin(path);
    const ready = await untilState(path, 'ready');
    expect([ready.done, ready.total, ready.missing_texts]).toEqual([2, 3, 1]);
    expect(await server.refused('POST', `${path}${TITLE}/commit`)).toEqual([
      409,
      "Re-embedding conflict: vector 'title': 1 points have no text at 'text', and 0 texts are not embedded yet: with allow_missing these points are left without the vector",
    ]);
    await server.ok('POST', `${path}${TITLE}/commit`, { allow_missing: true });
    const points: Json = await server.pointsOf(path);
    expect([points['2'].vector, points['1'].vector.title]).toEqual([{ other: [1] }, newVector(textOf(1))]);
  });

  it('C19 an abort leaves no trace, and one at a time of a vector', async () => {
    const path = await filled([textOf(1), textOf(2)]);
    const before = await server.everything(path);
    await begin(path);
    expect(await server.refused('POST', path + TITLE, { model: 'new' })).toEqual([
      409,
      "Re-embedding conflict: vector 'title' is being embedded anew already",
    ]);
    const [status] = await server.refused('PATCH', path, { vectors: { title: { model: null } } });
    expect(status).toBe(409);
    await untilState(path, 'ready');
    await server.ok('POST', `${path}${TITLE}/abort`);
    expect(await server.everything(path)).toEqual(before);
    for (const [method, rest] of [
      ['GET', ''],
      ['POST', '/commit'],
      ['POST', '/abort'],
    ] as const) {
      expect((await server.refused(method, path + TITLE + rest))[0]).toBe(404);
    }
    await begin(path);
    await untilState(path, 'ready');
    expect(await server.ok('DELETE', `${path}/vectors/title`)).toMatchObject({ status: 'completed' });
    expect((await server.refused('GET', path + TITLE))[0]).toBe(400);
  });

  it('C19 a failure of the model is shown and tried again, and no text is lost', async () => {
    const path = await filled([textOf(1), textOf(2), textOf(3)]);
    await begin(path);
    endpoint.answer = (response) => {
      sendJson(response, 400, { error: { message: 'out of order' } });
    };
    await server.ok('POST', `${path}/points/payload`, { points: [2], payload: { text: textOf(30) } });
    const retrying = await untilState(path, 'retrying');
    expect(retrying.error).toMatch(/^Model 'new' failed: /);
    endpoint.answer = (response, { input }) => {
      sendJson(response, 200, embeddings(input, newVector));
    };
    const ready = await untilState(path, 'ready');
    expect([ready.done, ready.error]).toEqual([3, undefined]);
  });

  it('C19 the error names the point whose text the model refuses', async () => {
    const path = await filled([textOf(1), textOf(2)]);
    await begin(path);
    await untilState(path, 'ready');
    endpoint.answer = (response) => {
      sendJson(response, 400, {});
    };
    const id = '8f1f1a9c-1c5d-4a53-9f0e-0b6c9f0e1a2b';
    const point = { id, vector: { title: [1, 2, 3], other: [1] }, payload: { text: textOf(7) } };
    await server.ok('PUT', `${path}/points`, { points: [point] });
    expect((await untilState(path, 'retrying')).error).toBe(
      `point ${id}: Model 'new' failed: it answered 400`,
    );
    await server.ok('POST', `${path}${TITLE}/abort`);
  });

  it('C19, C25 a repeat of a call gets the answer of the first', async () => {
    const path = await filled([textOf(1)]);
    const repeated = async (rest: string, key: string, json: Json): Promise<[number, Json]> => {
      const headers = { 'idempotency-key': `67e55044-10b1-426f-9247-bb680e5fe0c${key}` };
      const answer = await send({ port: server.port }, 'POST', path + TITLE + rest, { json, headers });
      return [answer.status, answer.body.result];
    };
    const first = await repeated('', '1', { model: 'new' });
    expect(first[0]).toBe(202);
    await untilState(path, 'ready');
    endpoint.answer = (response) => {
      sendJson(response, 400, {});
    };
    expect(await repeated('', '1', { model: 'new' })).toEqual(first);
    const committed = await repeated('/commit', '2', {});
    expect(await repeated('/commit', '2', {})).toEqual(committed);
    expect(await repeated('', '1', { model: 'new' })).toEqual(first);
  });

  it('C19 rate limits the texts of a second', async () => {
    const path = await filled(Array.from({ length: 9 }, (_, at) => textOf(at)));
    await begin(path, { model: 'new', rate: 3 });
    expect((await untilState(path, 'ready')).rate).toBe(3);
    expect(embeddedTexts()).toHaveLength(9);
    expect(endpoint.calls.every(({ input }) => input.length <= 3)).toBe(true);
  });

  it('C19 the unnamed vector is two quotes in the path, and size is compared with what the model gives', async () => {
    made += 1;
    const path = await server.collection(`again-${String(made)}`);
    await server.ok('PUT', `${path}/points`, { points: [{ id: 1, vector: [1, 2], payload: { t: 'aab' } }] });
    expect(await server.refused('POST', path + UNNAMED, { model: 'new' })).toEqual([
      400,
      "model.text_key: the model of vector '' has none, so the request must say where payloads have the texts",
    ]);
    const model = { name: 'new', revision: '2', text_key: 't' };
    expect(await server.refused('POST', path + UNNAMED, { model, size: 3 })).toEqual([
      400,
      "size: expected vectors of 3 components, and the model 'new' makes 2",
    ]);
    await begin(path, { model, size: 2 }, UNNAMED);
    expect((await untilState(path, 'ready', UNNAMED)).model).toEqual(model);
    await server.ok('POST', `${path}${UNNAMED}/commit`);
    const found = await server.ok('POST', `${path}/points/query`, {
      query: newVector('aab'),
      with_vector: true,
    });
    expect(found.points).toEqual([{ id: 1, version: expect.any(Number), score: 13, vector: [2, 3] }]);
  });

  it('C19 refuses what cannot be embedded, and begins nothing', async () => {
    const path = await filled([textOf(1)]);
    const refused = (body: Json, rest = TITLE): Promise<[number, string]> =>
      server.refused('POST', path + rest, body);
    expect(await refused({})).toEqual([400, 'Missing required field: model']);
    expect(await refused({ model: 'new', rate: 0 })).toEqual([400, expect.stringContaining('rate')]);
    expect(await refused({ model: 'new', sise: 3 })).toEqual([400, expect.stringContaining('sise')]);
    expect(await refused({ model: { text_key: 'x' } })).toEqual([400, 'Missing required field: model.name']);
    expect(await refused({ model: 'nobody' })).toEqual([
      400,
      "model: unknown model 'nobody', expected qdrant/bm25, new, gone",
    ]);
    expect(await refused({ model: 'qdrant/bm25' })).toEqual([400, expect.stringContaining('sparse')]);
    expect((await refused({ model: 'gone' }))[0]).toBe(502);
    expect(await refused({ model: 'new' }, '/vectors/nothing/reembed')).toEqual([
      400,
      'Vector not found: nothing',
    ]);
    expect((await server.refused('POST', `/collections/absent${TITLE}`, { model: 'new' }))[0]).toBe(404);
    await server.ok('PUT', `${path}/vectors/words`, { sparse: {} });
    expect(await refused({ model: 'new' }, '/vectors/words/reembed')).toEqual([
      400,
      expect.stringContaining('one dense vector a point'),
    ]);
    expect((await server.refused('GET', path + TITLE))[0]).toBe(404);
  });

  it('C19 goes on in a program that has the folder open, and its deletion ends it', async () => {
    const path = await filled([textOf(1), textOf(2)]);
    const name = path.slice('/collections/'.length);
    await begin(path, { model: 'new', rate: 1 });
    await server.halt();
    const models = [{ name: 'new', url: endpoint.url, model: 'fake-new' }];
    const db = await open(server.dataDir, { models });
    try {
      await until(async () => (await db.getReembedding(name, 'title')).state === 'ready');
      await db.commitReembedding(name, 'title');
      const { points } = await db.query(name, { query: newVector(textOf(2)), using: 'title', limit: 1 });
      expect(points.map(({ id }) => id)).toEqual([2]);
      await db.reembed(name, 'title', { model: 'new' });
      await db.abortReembedding(name, 'title');
      await db.deleteCollection(name);
    } finally {
      await db.close();
    }
    await server.restart();
    expect((await server.refused('GET', path + TITLE))[0]).toBe(404);
  });
});
