import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EngineError, openNativeEngine, type Engine } from '../../src/engine';
import { send, startService, type Answer, type Service } from '../http/harness';
import { loadBinding } from '../engine/testing-addon';
import { until } from '../until';
import { endpoints, type Endpoint } from './endpoints';

jest.mock('../../src/engine/load', () => jest.requireActual<object>('../engine/testing-addon'));

const SYNC = { scope: { must: { key: 'a', match: { value: 1 } } }, hash_key: 'h' };

/** Bodies whose vectors have one number too many for the collection. */
const WRONG_DIMENSION: Readonly<Record<string, unknown>> = {
  'PUT /points': { points: [{ id: 1, vector: [1, 2, 3] }] },
  'PUT /points, columns': { batch: { ids: [1], vectors: [[1, 2, 3]] } },
  'PUT /points/vectors': { points: [{ id: 1, vector: [1, 2, 3] }] },
  'POST /points/batch': { operations: [{ upsert: { points: [{ id: 1, vector: [1, 2, 3] }] } }] },
  'PUT /points/sync': {
    ...SYNC,
    points: [{ id: 9, vector: [1, 2, 3], payload: { a: 1, h: 'x' } }],
  },
  'POST /points/search': { vector: [1, 2, 3] },
  'POST /points/search/batch': { searches: [{ vector: [1, 2, 3] }] },
  'POST /points/query': { query: [1, 2, 3] },
  'POST /points/query, spelled out': { query: { nearest: [1, 2, 3] } },
  'POST /points/query/batch': { searches: [{ query: [1, 2, 3] }] },
};

/** Bodies that name a vector which the collection does not declare. */
const UNKNOWN_VECTOR: Readonly<Record<string, unknown>> = {
  'PUT /points': { points: [{ id: 1, vector: { nope: [1, 2] } }] },
  'PUT /points, columns': { batch: { ids: [1], vectors: { nope: [[1, 2]] } } },
  'PUT /points/vectors': { points: [{ id: 1, vector: { nope: [1, 2] } }] },
  'POST /points/vectors/delete': { points: [1], vector: ['nope'] },
  'POST /points/batch': { operations: [{ delete_vectors: { points: [1], vector: ['nope'] } }] },
  'PUT /points/sync': {
    ...SYNC,
    points: [{ id: 9, vector: { nope: [1, 2] }, payload: { a: 1, h: 'x' } }],
  },
  'POST /points/search': { vector: { name: 'nope', vector: [1, 2] } },
  'POST /points/search/batch': { searches: [{ vector: { name: 'nope', vector: [1, 2] } }] },
  'POST /points/query': { query: [1, 2], using: 'nope' },
  'POST /points/query/batch': { searches: [{ query: [1, 2], using: 'nope' }] },
  'POST /points': { ids: [1], with_vector: ['nope'] },
  'POST /points/scroll': { with_vector: ['nope'] },
};

const lanes: [name: string, hotLane: boolean][] = [
  ['hot lane', true],
  ['Express', false],
];

/** The answer of an endpoint for a collection, to its own body or to `json`. */
function ask(
  service: Service,
  endpoint: Endpoint,
  collection: string,
  json: unknown = endpoint.body,
): Promise<Answer> {
  const path = `/collections/${collection}${endpoint.path}`;
  return send(service, endpoint.method, path, json === undefined ? {} : { json });
}

/** Status and message of a failure outside `/auth`, which has nothing else (C1.2). */
function failure({ status, body }: Answer): [number, string] {
  expect(body).toEqual({ time: expect.any(Number), status: { error: expect.any(String) } });
  return [status, body.status.error];
}

/** A body of the endpoint with that filter, at the place where it takes one. */
function withFilter({ body = {}, filterAt }: Endpoint, filter: unknown): unknown {
  if (filterAt === 'searches[0].filter') {
    const [search] = body['searches'] as object[];
    return { searches: [{ ...search, filter }] };
  }
  return filterAt === 'update_filter'
    ? { ...body, update_filter: filter }
    : { ...body, points: undefined, filter };
}

describe.each(lanes)('the errors of every endpoint over the engine, %s', (_name, hotLane) => {
  const folder = mkdtempSync(join(tmpdir(), 'kithdb-errors-'));
  let engine: Engine;
  let service: Service;

  beforeAll(async () => {
    loadBinding().setTestSwitches({ panicsOnRequest: true });
    engine = openNativeEngine({ dataDir: folder, searchThreads: 1 });
    await engine.open();
    service = await startService({ hotLane, realEngine: engine });
    await send(service, 'PUT', '/collections/c', { json: { vectors: { size: 2, distance: 'Dot' } } });
    await send(service, 'PUT', '/collections/c/points', { json: { points: [{ id: 1, vector: [1, 2] }] } });
  });
  afterAll(async () => {
    await service.close();
    await engine.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it.each(endpoints(({ needsNoCollection }) => needsNoCollection !== true))(
    'C1.4 404 for a collection that does not exist: %s',
    async (_title, endpoint) => {
      expect(failure(await ask(service, endpoint, 'absent'))).toEqual([404, 'Collection not found: absent']);
    },
  );

  it.each(endpoints())(
    'C1.4 500 with the prefix of the operation, and the process lives: %s',
    async (_title, endpoint) => {
      const answer = await ask(service, endpoint, '__panic__');
      expect(failure(answer)).toEqual([500, `${endpoint.failed}: internal error`]);
    },
  );

  it.each(endpoints(({ body }) => body !== undefined))(
    'C1.4 400 for a body that is no JSON object: %s',
    async (_title, endpoint) => {
      const path = `/collections/c${endpoint.path}`;
      for (const body of ['{', '[]', 'null', '"a"', '{"a":}', '{} {}']) {
        const [status, message] = failure(await send(service, endpoint.method, path, { body }));
        expect([body, status]).toEqual([body, 400]);
        expect(message).not.toBe('');
      }
    },
  );

  it.each(endpoints(({ body, path }) => body !== undefined && path !== '/points/count'))(
    'C1.4 400 or the defaults without a body: %s',
    async (_title, endpoint) => {
      const { status, body } = await send(service, endpoint.method, `/collections/absent${endpoint.path}`);
      expect([status, body.status.error]).toEqual(
        endpoint.path === '' || endpoint.requires !== undefined || endpoint.path.startsWith('/points/')
          ? [400, expect.any(String)]
          : [404, 'Collection not found: absent'],
      );
    },
  );

  it.each(endpoints(({ body }) => body !== undefined))(
    'C1.10 400 for an unknown field: %s',
    async (_title, endpoint) => {
      const answer = await ask(service, endpoint, 'c', { ...endpoint.body, no_such_field: 1 });
      expect(failure(answer)).toEqual([400, expect.stringContaining('no_such_field')]);
    },
  );

  it.each(endpoints(({ requires }) => requires !== undefined))(
    'C1.4, C1.6 400 for a missing field, whether or not the collection exists: %s',
    async (_title, endpoint) => {
      for (const field of endpoint.requires ?? []) {
        for (const collection of ['c', 'absent']) {
          const answer = await ask(service, endpoint, collection, { ...endpoint.body, [field]: undefined });
          expect(failure(answer)).toEqual([400, `Missing required field: ${field}`]);
        }
      }
    },
  );

  it.each(endpoints(({ filterAt }) => filterAt !== undefined))(
    'C1.4, C1.6, C7 400 for a filter that cannot be parsed, whether or not the collection exists: %s',
    async (_title, endpoint) => {
      for (const collection of ['c', 'absent']) {
        const json = withFilter(endpoint, { must: [{ key: 'a', match: { valeu: 1 } }] });
        const [status, message] = failure(await ask(service, endpoint, collection, json));
        expect([status, message]).toEqual([400, expect.stringMatching(/^Filter parse error: /)]);
        expect(message).toContain(`${endpoint.filterAt ?? ''}.must[0].match`);
      }
    },
  );

  it.each(Object.entries(WRONG_DIMENSION))('C1.4 400 for another dimension: %s', async (title, json) => {
    const [method = '', path = ''] = title.split(/[ ,]/);
    const [status, message] = failure(await send(service, method, `/collections/c${path}`, { json }));
    expect(status).toBe(400);
    // One bad search of a batch is named by its index (C6.2).
    const place = /(search|query)\/batch$/.test(path) ? 'searches[0]: ' : '';
    expect(message).toBe(`${place}Dimension mismatch for vector '': expected 2, got 3`);
  });

  it.each(Object.entries(UNKNOWN_VECTOR))(
    'C1.4 400 for a vector that is not declared: %s',
    async (title, json) => {
      const [method = '', path = ''] = title.split(/[ ,]/);
      const answer = await send(service, method, `/collections/c${path}`, { json });
      expect(failure(answer)).toEqual([400, expect.stringMatching(/^(\w+\[0\]: )?Vector not found: nope$/)]);
    },
  );

  it.each(endpoints(({ namesPoints }) => namesPoints !== undefined))(
    'C1.4 404 for points that do not exist: %s',
    async (_title, endpoint) => {
      const ids = Array.from({ length: 12 }, (_, position) => 100 + position);
      const named = endpoint.namesPoints ?? '';
      const many = await ask(service, endpoint, 'c', { ...endpoint.body, [named]: [1, ...ids] });
      const message = `Point not found: ${ids.slice(0, 10).join(', ')}, and 2 more`;
      expect(failure(many)).toEqual([404, message]);
      const two = await ask(service, endpoint, 'c', { ...endpoint.body, [named]: [101, 1, 100] });
      expect(failure(two)).toEqual([404, expect.stringMatching(/^Point not found: (100, 101|101, 100)$/)]);
    },
  );

  it('C1.4 404 for one point, for one whose vectors are updated, and for one in a batch', async () => {
    const one = await send(service, 'GET', '/collections/c/points/18446744073709551615');
    expect(failure(one)).toEqual([404, 'Point not found: 18446744073709551615']);
    const uuid = '550e8400-e29b-41d4-a716-446655440000';
    const json = {
      points: [
        { id: 77, vector: [1, 2] },
        { id: uuid, vector: [1, 2] },
      ],
    };
    const update = await send(service, 'PUT', '/collections/c/points/vectors', { json });
    expect(failure(update)).toEqual([404, `Point not found: 77, ${uuid}`]);
    const batch = { operations: [{ clear_payload: { points: [1] } }, { clear_payload: { points: [77] } }] };
    const several = await send(service, 'POST', '/collections/c/points/batch', { json: batch });
    expect(failure(several)).toEqual([404, expect.stringContaining('Point not found: 77')]);
  });

  it('C1.4 400 without a vectors configuration, 409 for a collection that exists', async () => {
    for (const json of [
      {},
      { vectors: {} },
      { vectors: null },
      { hnsw_config: {} },
      { vectors_config: {} },
    ]) {
      const answer = await send(service, 'PUT', '/collections/new', { json });
      expect(failure(answer)).toEqual([400, 'vectors_config is required']);
    }
    const again = { json: { vectors: { size: 9, distance: 'Cosine' } } };
    const exists = await send(service, 'PUT', '/collections/c', again);
    expect(failure(exists)).toEqual([409, 'Collection already exists: c']);
  });

  it('C4.5, C4.6 no 404 from delete and exists', async () => {
    expect((await send(service, 'DELETE', '/collections/absent')).body.result).toBe(false);
    expect((await send(service, 'GET', '/collections/absent/exists')).body.result).toEqual({ exists: false });
    expect((await send(service, 'DELETE', '/collections/..%2F')).body.result).toBe(false);
  });

  it('C2.2 a name that cannot be decoded is no collection, not even one called like its text', async () => {
    const json = { vectors: { size: 2, distance: 'Dot' } };
    expect((await send(service, 'PUT', '/collections/%25zz', { json })).status).toBe(200);
    const info = await send(service, 'GET', '/collections/%zz');
    expect(failure(info)).toEqual([404, 'Collection not found: %zz']);
    expect((await send(service, 'GET', '/collections/%zz/exists')).body.result).toEqual({ exists: false });
    expect((await send(service, 'DELETE', '/collections/%zz')).body.result).toBe(false);
    expect((await send(service, 'GET', '/collections/%25zz/exists')).body.result).toEqual({ exists: true });
    expect((await send(service, 'PUT', '/collections/%zz', { json })).status).toBe(400);
  });
});

describe('the errors of the list of collections', () => {
  it('C1.4, C4.1 500 with its prefix', async () => {
    const broken = { execute: () => Promise.reject(new EngineError('internal', { message: 'no luck' })) };
    const service = await startService({ realEngine: broken as unknown as Engine });
    const answer = await send(service, 'GET', '/collections');
    expect(failure(answer)).toEqual([500, 'Collection operation failed: no luck']);
    await service.close();
  });
});

describe.each(lanes)('an engine that is not open yet, %s', (_name, hotLane) => {
  let service: Service;
  beforeAll(async () => {
    service = await startService({ hotLane, starting: true });
  });
  afterAll(() => service.close());

  it.each<[string, Endpoint]>([
    ...endpoints(),
    ['GET /collections', { method: 'GET', path: '/../../collections', failed: '' }],
  ])('C1.4, C10.1 412 from %s, before its body is checked', async (_title, endpoint) => {
    const path = endpoint.path.startsWith('/..') ? '/collections' : `/collections/c${endpoint.path}`;
    const bodies = endpoint.body === undefined ? [{}] : [{ json: endpoint.body }, { body: '{' }];
    for (const body of bodies) {
      const answer = await send(service, endpoint.method, path, body);
      expect(failure(answer)).toEqual([412, 'Engine not initialized']);
      expect(answer.headers['retry-after']).toBe('1');
    }
  });
});

describe.each(lanes)('a collection that is deleted while a read of it runs, %s', (_name, hotLane) => {
  const folder = mkdtempSync(join(tmpdir(), 'kithdb-deleting-'));
  let engine: Engine;
  let service: Service;

  afterAll(async () => {
    await service.close();
    await engine.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('C1.4, C4.5 is gone at once: the read is answered as if it had come later, and the name is free', async () => {
    engine = openNativeEngine({ dataDir: folder, searchThreads: 2 });
    await engine.open();
    const limits = { bodyBytes: 4_000_000 };
    const admits = { bodyBytes: 8_000_000 };
    service = await startService({ hotLane, realEngine: engine, limits, admits });
    const create = { json: { vectors: { size: 2, distance: 'Dot' } } };
    await send(service, 'PUT', '/collections/c', create);
    // A filter of a thousand texts over payloads that are too long to be split once for all of them takes minutes.
    const text = 'lorem ipsum dolor sit amet '.repeat(12_000);
    const ids = Array.from({ length: 30 }, (_, id) => id);
    const batch = { ids, vectors: ids.map(() => [1, 2]) };
    await send(service, 'PUT', '/collections/c/points', { json: { batch } });
    await send(service, 'POST', '/collections/c/points/payload', { json: { payload: { text }, filter: {} } });
    const should = Array.from({ length: 1000 }, (_, word) => ({
      key: 'text',
      match: { text: `word${word}` },
    }));
    const running = send(service, 'POST', '/collections/c/points/count?timeout=3600', {
      json: { filter: { should } },
    });
    await until(async () => {
      await engine.refresh(0);
      // A read that has just begun may not have asked for its collection.
      return (engine.status().internals?.reads.heavy ?? 0) > 0;
    });

    expect((await send(service, 'DELETE', '/collections/c')).body.result).toBe(true);
    expect(failure(await running)).toEqual([404, 'Collection not found: c']);
    const list = await send(service, 'GET', '/collections');
    expect(list.body.result).toEqual({ collections: [] });
    expect((await send(service, 'GET', '/collections/c/exists')).body.result).toEqual({ exists: false });
    expect((await send(service, 'PUT', '/collections/c', create)).body.result).toBe(true);
    const { body } = await send(service, 'POST', '/collections/c/points/count');
    expect(body.result).toEqual({ count: 0 });
  }, 300_000);
});
