import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type * as qdrant from '@qdrant/js-client-rest' with { 'resolution-mode': 'import' };
import {
  AuthenticationError,
  BadRequestError,
  ConflictError,
  connect,
  ConnectionError,
  KithClient,
  KithError,
  NotFoundError,
  NotImplementedError,
  open,
  PermissionError,
  startServer,
  TooLargeError,
  type RemoteClient,
  type TemporaryServer,
} from '../../src';

type JsClient = qdrant.QdrantClient;

/** Methods of `QdrantClient` that KithDB has no endpoint for (docs/client.md), and `api`, which is about HTTP. */
const ABSENT = [
  ...['api', 'clusterTelemetry', 'updateCollectionCluster'],
  ...['listShardKeys', 'createShardKey', 'deleteShardKey', 'recoverShardFromSnapshot', 'listShardSnapshots'],
  ...['createShardSnapshot', 'deleteShardSnapshot'],
  ...['getQuotas', 'updateQuotas'],
];
/** Methods that the dialect `specification` refuses, by the groups of C8. */
const NOT_IMPLEMENTED: Readonly<Record<string, (db: RemoteClient) => Promise<unknown>>> = {
  aliases: (db) => db.getAliases(),
  snapshots: (db) => db.listSnapshots('any'),
  'grouped search': (db) => db.queryGroups('any', { group_by: 'a' }),
  maintenance: (db) => db.rebuildCollectionIndex('any'),
};

let server: TemporaryServer;
let client: RemoteClient;

beforeAll(async () => {
  server = await startServer();
  client = connect(server.url);
});

afterAll(async () => {
  await client.close();
  await server.stop();
  expect(existsSync(server.dataDir)).toBe(false);
});

/** The rejection of a call. */
async function failure(call: Promise<unknown>): Promise<KithError> {
  const error: unknown = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(KithError);
  return error as KithError;
}

async function connectQdrant(url: string): Promise<JsClient> {
  // The package declares itself an ES module, and TypeScript refuses a static import of one here.
  const { QdrantClient } = await import('@qdrant/js-client-rest');
  return new QdrantClient({ url, checkCompatibility: false });
}

/** A collection's description with the types of its sizes: these depend on what the process has done before. */
function withoutSizes(info: object): unknown {
  const size: unknown = { disk_bytes: expect.any(Number), memory_bytes: expect.any(Number) };
  const residency: unknown = {
    setting: 'auto',
    state: 'awake',
    opened_ms: null,
    resident_bytes: expect.any(Number),
  };
  expect(info).toMatchObject({ size, residency });
  return { ...info, size, residency };
}

/** Calls with the same names and arguments in both clients; gives what each resolves with. */
async function program(db: RemoteClient | JsClient, name: string): Promise<unknown[]> {
  const use = db as JsClient;
  const results: unknown[] = [];
  const keep = async (call: Promise<unknown>): Promise<void> => {
    results.push(await call);
  };
  await keep(use.collectionExists(name));
  await keep(use.createCollection(name, { vectors: { size: 2, distance: 'Dot' }, hnsw_config: { m: 8 } }));
  await keep(use.updateCollection(name, { hnsw_config: { ef_construct: 50 } }));
  await keep(use.recreateCollection(name, { vectors: { '': { size: 2, distance: 'Dot' } } }));
  const points = [1, 2, 3].map((id) => ({ id, vector: [id, 1], payload: { n: id, tags: ['a'] } }));
  await keep(use.upsert(name, { points }));
  await keep(use.upsert(name, { wait: true, batch: { ids: [4], vectors: [[4, 1]], payloads: [{ n: 4 }] } }));
  await keep(use.createPayloadIndex(name, { field_name: 'n', field_schema: 'integer', wait: true }));
  await keep(use.setPayload(name, { payload: { seen: true }, points: [1, 2] }));
  await keep(
    use.overwritePayload(name, { payload: { n: 20 }, filter: { must: [{ key: 'n', match: { value: 2 } }] } }),
  );
  await keep(use.deletePayload(name, { keys: ['tags'], points: [3] }));
  await keep(use.clearPayload(name, { points: [4] }));
  await keep(use.updateVectors(name, { points: [{ id: 4, vector: [0, 0.5] }] }));
  await keep(use.deleteVectors(name, { points: [3], vector: [''] }));
  await keep(
    use.batchUpdate(name, {
      operations: [{ delete: { points: [3] } }, { set_payload: { payload: { b: 1 }, points: [1] } }],
    }),
  );
  await keep(use.retrieve(name, { ids: [4, 1], with_vector: true, consistency: 'majority' }));
  await keep(use.scroll(name));
  await keep(use.scroll(name, { limit: 1, with_vector: true, order_by: 'n' }));
  await keep(use.count(name));
  await keep(
    use.count(name, { filter: { must: [{ key: 'n', range: { gte: 2 } }] }, exact: true, timeout: 90 }),
  );
  await keep(use.query(name, { query: [1, 0], with_payload: true, limit: 2, timeout: 90 }));
  await keep(use.query(name, { query: 1 }));
  await keep(
    use.queryBatch(name, {
      searches: [
        { query: [1, 0], limit: 1 },
        { query: [0, 1], limit: 1 },
      ],
    }),
  );
  await keep(use.createVectorName(name, 'later é', { dense: { size: 2, distance: 'Dot' } }));
  await keep(use.updateVectors(name, { points: [{ id: 4, vector: { 'later é': [1, 2] } }] }));
  await keep(use.query(name, { query: [1, 0], using: 'later é', with_vector: true }));
  await keep(use.deleteVectorName(name, 'later é', { wait: true }));
  await keep(use.deletePayloadIndex(name, 'n'));
  await keep(use.delete(name, { wait: true, points: [1] }));
  await keep(use.getCollection(name).then(withoutSizes));
  await keep(use.getCollections());
  await keep(use.deleteCollection(name, { timeout: 90 }));
  await keep(use.deleteCollection(name));
  return results;
}

describe('the client beside @qdrant/js-client-rest (C9.1)', () => {
  it('has its methods, apart from those without an endpoint', async () => {
    const { QdrantClient } = await import('@qdrant/js-client-rest');
    const theirs = Object.getOwnPropertyNames(QdrantClient.prototype).filter(
      (name) => name !== 'constructor',
    );
    const missing = theirs.filter((name) => typeof Reflect.get(client, name) !== 'function');
    expect(missing.sort()).toEqual([...ABSENT].sort());
  });

  it('gives the same results for the same calls', async () => {
    const theirs = await program(await connectQdrant(server.url), 'parity');
    const ours = await program(client, 'parity');
    expect(ours).toEqual(theirs);
    const { title, version } = await client.versionInfo();
    expect(await (await connectQdrant(server.url)).versionInfo()).toMatchObject({ title, version });
  });

  it.each(Object.entries(NOT_IMPLEMENTED))('is refused %s by default (C8)', async (group, call) => {
    const error = await failure(call(client));
    expect(error).toBeInstanceOf(NotImplementedError);
    expect([error.status, error.message]).toEqual([501, `Not implemented in this build: ${group}`]);
  });
});

describe('what the dialect qdrant adds (C12)', () => {
  let lenient: TemporaryServer;
  beforeAll(async () => {
    lenient = await startServer({ settings: { KITHDB_DIALECT: 'qdrant' } });
  });
  afterAll(() => lenient.stop());

  /** Calls with the same names and arguments in both clients. */
  async function added(db: KithClient | JsClient, name: string): Promise<unknown[]> {
    const use = db as JsClient;
    const points = [1, 2, 3, 4].map((id) => ({
      id,
      vector: [id, 1],
      payload: { doc: id % 2, tag: `t${id}` },
    }));
    await use.createCollection(name, { vectors: { size: 2, distance: 'Dot' } });
    await use.upsert(name, { points });
    const aliased = `${name} alias`;
    const make = { create_alias: { alias_name: 'made', collection_name: name } };
    const rename = { rename_alias: { old_alias_name: 'made', new_alias_name: aliased } };
    const results = [
      await use.updateCollectionAliases({ actions: [make, rename], timeout: 90 }),
      (await use.getAliases()).aliases,
      (await use.getCollectionAliases(name)).aliases,
      await use.count(aliased),
      await use.queryGroups(name, { query: [1, 0], group_by: 'doc', group_size: 1, with_payload: true }),
      await use.queryGroups(aliased, { group_by: 'tag', limit: 2, with_lookup: name, filter: { must: [] } }),
    ];
    await use.updateCollectionAliases({ actions: [{ delete_alias: { alias_name: aliased } }] });
    return [...results, (await use.getAliases()).aliases, await use.deleteCollection(name)];
  }

  it('has the same results for the same calls, embedded too', async () => {
    const ours = connect(lenient.url);
    const theirs = await added(await connectQdrant(lenient.url), 'grouped');
    expect(theirs[4]).toEqual({
      groups: [
        { id: 0, hits: [expect.objectContaining({ id: 4, payload: { doc: 0, tag: 't4' } })] },
        { id: 1, hits: [expect.objectContaining({ id: 3 })] },
      ],
    });
    expect(await added(ours, 'grouped')).toEqual(theirs);
    await ours.close();
    const folder = mkdtempSync(join(tmpdir(), 'kithdb-embedded-'));
    const embedded = await open(folder);
    expect(await added(embedded, 'grouped')).toEqual(theirs);
    await embedded.close();
    const floats = await open(folder, { float32Vectors: true });
    await floats.createCollection('f', { vectors: { size: 2, distance: 'Dot' } });
    await floats.upsert('f', { points: [{ id: 7, vector: Float32Array.of(1, 2), payload: { doc: 7 } }] });
    const { groups } = await floats.queryGroups('f', {
      query: Float32Array.of(1, 0),
      group_by: 'doc',
      with_vector: true,
      with_lookup: { collection: 'f', with_vectors: true },
    });
    expect([groups[0]?.hits[0]?.vector, groups[0]?.lookup?.vector]).toEqual([
      Float32Array.of(1, 2),
      Float32Array.of(1, 2),
    ]);
    await floats.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('groups searches and recommendations, and builds graphs anew', async () => {
    const db = connect(lenient.url);
    await db.createCollection('more', { vectors: { size: 2, distance: 'Dot' } });
    await db.upsert('more', { points: [{ id: 1, vector: [1, 1], payload: { doc: 'a' } }] });
    const groups = { groups: [{ id: 'a', hits: [expect.objectContaining({ id: 1, score: 1 })] }] };
    expect(await db.searchPointGroups('more', { vector: [1, 0], group_by: 'doc' })).toEqual(groups);
    expect(await db.recommendPointGroups('more', { positive: [[1, 0]], group_by: 'doc' })).toEqual(groups);
    expect(await db.rebuildCollectionIndex('more', { timeout: 60 })).toBe(true);
    const taken = db.createCollection('more', { vectors: { size: 2, distance: 'Dot' } });
    expect(await failure(taken)).toBeInstanceOf(ConflictError);
    await db.close();
  });
});

describe('methods of our own', () => {
  beforeEach(() => client.recreateCollection('own', { vectors: { size: 3, distance: 'Euclid' } }));

  it('takes Float32Arrays wherever there is a vector', async () => {
    const vector = Float32Array.of(0.1, 0.25, 1e-7);
    await client.upsert('own', {
      points: [
        { id: 1, vector },
        { id: 2, vector: { '': vector } },
      ],
    });
    await client.upsert('own', { batch: { ids: [3], vectors: [vector] } });
    await client.updateVectors('own', { points: [{ id: 3, vector }] });
    for (const { vector: stored } of await client.retrieve('own', { ids: [1, 2, 3], with_vector: true })) {
      expect(Float32Array.from(stored as number[])).toEqual(vector);
    }
    const expected = [1, 2, 3].map((id) => expect.objectContaining({ id, score: 0 }));
    expect(await client.search('own', { vector })).toEqual(expected);
    expect(await client.searchBatch('own', { searches: [{ vector: { name: '', vector } }] })).toEqual([
      expected,
    ]);
    expect(await client.query('own', { query: vector })).toEqual({ points: expected });
    expect(await client.query('own', { query: { nearest: vector } })).toEqual({ points: expected });
    expect(await client.queryBatch('own', { searches: [{ query: vector }] })).toEqual([{ points: expected }]);

    await client.createCollection('forms', {
      vectors: { rows: { size: 3, distance: 'Dot', multivector_config: { comparator: 'max_sim' } } },
      sparse_vectors: { words: {} },
    });
    const values = Float32Array.of(0.5, 2);
    await client.upsert('forms', {
      points: [{ id: 1, vector: { rows: [vector, vector], words: { indices: [1, 7], values } } }],
    });
    expect((await client.getPoint('forms', 1)).vector).toEqual({
      rows: [vector, vector].map((row) => Array.from(row, (component) => expect.closeTo(component, 6))),
      words: { indices: [1, 7], values: [0.5, 2] },
    });
    expect((await client.query('forms', { query: [vector], using: 'rows' })).points).toHaveLength(1);
    expect(
      (await client.query('forms', { query: { indices: [7], values: Float32Array.of(1) }, using: 'words' }))
        .points,
    ).toEqual([expect.objectContaining({ score: 2 })]);
  });

  it('keeps integers beyond 2^53 exact, as ids and in payloads (C1.8, C2.1)', async () => {
    const id = 18_446_744_073_709_551_615n;
    const text = 'not 9007199254740993 but "9007199254740993\\" text';
    const payload = {
      big: -9_007_199_254_740_993n,
      small: 9_007_199_254_740_991,
      text,
      float: 0.12345678901234568,
    };
    await client.upsert('own', { points: [1, 2, 3].map((small) => ({ id: small, vector: [0, 0, small] })) });
    await client.upsert('own', { points: [{ id, vector: [0, 0, 9], payload }] });
    expect(await client.getPoint('own', id)).toMatchObject({ id, payload });
    expect(await client.retrieve('own', { ids: [id] })).toMatchObject([{ id, payload }]);
    const filter = { must: [{ key: 'big', match: { value: payload.big } }] };
    expect(await client.scroll('own', { filter })).toMatchObject({
      points: [{ id }],
      next_page_offset: null,
    });
    expect(await client.scroll('own', { limit: 3 })).toMatchObject({ next_page_offset: id });
    await client.delete('own', { points: [id] });
    expect(await client.count('own')).toEqual({ count: 3 });
  });

  it('names collections, fields and ids as they are', async () => {
    const name = 'Ünï ço%20de+&=?#'.replace('?', '');
    await client.createCollection(name, { vectors: { size: 1, distance: 'Dot' } });
    expect(await client.collectionExists(name)).toEqual({ exists: true });
    const id = '5c56c793-69f3-4fbf-87e6-c4bf54c28c26';
    await client.upsert(name, { points: [{ id, vector: [1], payload: { 'a b/c': 1 } }] });
    await client.createPayloadIndex(name, { field_name: '"a b/c"', field_schema: 'integer' });
    expect((await client.getCollection(name)).payload_schema).toHaveProperty(['"a b/c"', 'points'], 1);
    await client.deletePayloadIndex(name, '"a b/c"', { wait: true });
    expect((await client.getCollection(name)).payload_schema).toEqual({});
    expect(await client.getPoint(name, id)).toMatchObject({ id });
    expect(await failure(client.getCollection('..'))).toBeInstanceOf(NotFoundError);
    expect(await failure(client.getCollection(''))).toBeInstanceOf(BadRequestError);
  });

  it('refuses half of a surrogate pair where a name or an id is in a path, and says which argument has it', async () => {
    const half = 'a\ud800';
    const folder = mkdtempSync(join(tmpdir(), 'kithdb-surrogates-'));
    const embedded = await open(folder);
    await client.createCollection('halves', { vectors: { size: 1, distance: 'Dot' } });
    for (const db of [client, embedded]) {
      for (const [what, refused] of [
        ['collection', () => db.createCollection(half, {})],
        ['collection', () => db.upsert(half, { points: [] })],
        ['collection', () => db.listSnapshots(half)],
        ['id', () => db.getPoint('halves', half)],
        ['field', () => db.deletePayloadIndex('halves', half)],
        ['vector', () => db.deleteVectorName('halves', half)],
        ['snapshot', () => db.deleteSnapshot('halves', half)],
        ['snapshot', () => db.deleteFullSnapshot(half)],
      ] as const) {
        const error = await failure(refused());
        expect([what, error]).toEqual([what, expect.any(BadRequestError)]);
        expect(error.message).toBe(
          `The ${what} of a call has half of a surrogate pair, which is no character`,
        );
      }
    }
    // In quotes (C21) it is an escape, which the server refuses.
    expect(await failure(client.getPoint('halves', `"${half}`))).toBeInstanceOf(BadRequestError);
    // A whole pair is a character.
    await client.createCollection('whole 😀', { vectors: { size: 1, distance: 'Dot' } });
    expect(await client.collectionExists('whole 😀')).toEqual({ exists: true });
    await embedded.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('sends an upsert beyond the limits in batches, in the order of its points', async () => {
    const small = connect(server.url, { batch: { maxPoints: 40, maxBytes: 2000 } });
    await small.createCollection('batched', { vectors: { size: 1, distance: 'Dot' } });
    const point = (id: number) => ({
      id,
      vector: [id],
      payload: { text: 'x'.repeat(id % 7 === 0 ? 900 : 3) },
    });
    const points = Array.from({ length: 100 }, (_, at) => point(at + 1));
    // Of an id that is named twice the last counts, across batches too.
    const { operation_id } = await small.upsert('batched', { points: [...points, { id: 1, vector: [500] }] });
    expect(operation_id).toBeGreaterThan(3);
    expect(await small.count('batched')).toEqual({ count: 100 });
    expect(await small.getPoint('batched', 1)).toMatchObject({ vector: [500] });

    const ids = Array.from({ length: 100 }, (_, at) => at + 200);
    const columns = { ids, vectors: { '': ids.map((id) => [id]) }, payloads: ids.map((n) => ({ n })) };
    await small.upsert('batched', { batch: columns, update_mode: 'insert_only' });
    expect(await small.count('batched')).toEqual({ count: 200 });
    expect(await small.getPoint('batched', 299)).toMatchObject({ vector: [299], payload: { n: 299 } });

    const bad = [...points.slice(0, 50), { id: 51, vector: [1, 2] }];
    const error = await failure(small.upsert('batched', { points: bad }));
    expect(error).toBeInstanceOf(BadRequestError);
    expect(error.storedPoints).toBeGreaterThan(0);
    expect(error.storedPoints).toBeLessThanOrEqual(50);
    const uneven = { ids, vectors: [[1]] };
    expect((await failure(small.upsert('batched', { batch: uneven }))).storedPoints).toBeUndefined();
    await small.close();
  });

  it('sends 10,000 points as one request, and more as several', async () => {
    await client.createCollection('many', { vectors: { size: 1, distance: 'Dot' } });
    const ids = Array.from({ length: 10_001 }, (_, at) => at);
    const upsert = (count: number) =>
      client.upsert('many', {
        points: ids.slice(0, count).map((id) => ({ id, vector: Float32Array.of(id) })),
      });
    const { operation_id: first } = await upsert(10_000);
    expect((await upsert(10_001)).operation_id).toBe(first + 2);
    expect(await client.count('many')).toEqual({ count: 10_001 });
  });

  it('says that a body is too large, also where the server does not read it', async () => {
    const strict = await startServer({ settings: { KITHDB_MAX_BODY_BYTES: '65536' } });
    const db = connect(strict.url);
    await db.createCollection('small', { vectors: { size: 1, distance: 'Dot' } });
    const payload = { text: 'x'.repeat(3_000_000) };
    const error = await failure(db.upsert('small', { points: [{ id: 1, vector: [1], payload }] }));
    expect(error).toBeInstanceOf(TooLargeError);
    await db.close();
    await strict.stop();
  });

  it('says which request failed', async () => {
    await client.createCollection('taken', { vectors: { size: 1, distance: 'Dot' } });
    const named = connect(server.url, { headers: { 'x-request-id': 'mine' } });
    const error = await failure(named.createCollection('taken', { vectors: { size: 1, distance: 'Dot' } }));
    expect(error).toBeInstanceOf(ConflictError);
    expect(error).toMatchObject({ status: 409, requestId: 'mine', name: 'ConflictError' });
    expect(error.message).toBe('Collection already exists: taken');
    await named.close();
  });

  it('refuses values that are no JSON before it sends them', async () => {
    const cycle: Record<string, unknown> = {};
    cycle['self'] = cycle;
    const upsert = (payload: Record<string, unknown>) =>
      client.upsert('own', { points: [{ id: 9, vector: [1, 1, 1], payload }] });
    await expect(upsert(cycle)).rejects.toThrow(TypeError);
    await expect(upsert({ call: () => 1 })).rejects.toThrow(TypeError);
    await upsert({ date: new Date(0), absent: undefined, list: [undefined, 1n] });
    expect((await client.getPoint('own', 9)).payload).toEqual({
      date: '1970-01-01T00:00:00.000Z',
      list: [null, 1],
    });
    const error = await failure(
      client.upsert('own', { points: [{ id: 9, vector: Float32Array.of(1, NaN, 1) }] }),
    );
    expect(error.message).toContain('points[0].vector[1]');
  });
});

describe('authentication over the client (C3)', () => {
  const PASSWORD = 'Correct-horse-7-staple';

  it('makes the admin, logs in, and makes, rotates and deletes tokens', async () => {
    const guarded = await startServer();
    const anonymous = connect(guarded.url);
    expect(await anonymous.adminExists()).toBe(false);
    expect(await anonymous.createAdmin(PASSWORD)).toMatchObject({ status: 'success' });
    expect(await failure(anonymous.createAdmin(PASSWORD))).toBeInstanceOf(ConflictError);
    const wrong = await failure(anonymous.login('Wrong-horse-7-staple'));
    expect(wrong).toBeInstanceOf(AuthenticationError);
    expect(wrong.message).toBe('Invalid username or password');
    const admin = connect(guarded.url, { token: (await anonymous.login(PASSWORD)).token });
    expect(await admin.setAuthEnabled(true)).toBe(true);
    expect(await failure(anonymous.getCollections())).toBeInstanceOf(AuthenticationError);

    const made = await admin.createAccessToken({
      name: 'reader',
      permission: 'read',
      will_expire: true,
      expires_in_seconds: 60,
    });
    const reader = connect(guarded.url, { token: made.token });
    expect(await reader.getCollections()).toEqual({ collections: [] });
    expect(await failure(reader.deleteCollection('any'))).toBeInstanceOf(PermissionError);
    const rotated = await admin.rotateAccessToken(made.id);
    expect(rotated.token).not.toBe(made.token);
    expect(await failure(reader.getCollections())).toBeInstanceOf(AuthenticationError);
    expect(await admin.listAccessTokens()).toMatchObject([{ id: made.id, name: 'reader' }]);
    expect(await admin.deleteAccessToken(made.id)).toMatchObject({ status: 'success' });
    expect(await admin.listAccessTokens()).toEqual([]);
    expect(await failure(admin.deleteAccessToken(made.id))).toBeInstanceOf(NotFoundError);
    expect(await admin.resetPassword('Another-horse-8-staple')).toMatchObject({ status: 'success' });
    await Promise.all([anonymous, admin, reader].map((each) => each.close()));
    await guarded.stop();
  });
});

describe('the package', () => {
  it('is loaded by require and by import, and a client alone loads no server', () => {
    const root = join(__dirname, '..', '..');
    const script = 'console.log([connect, open2].map((it) => typeof it).join());'.replace(
      'open2',
      'startServer',
    );
    const run = (...args: string[]): string =>
      execFileSync(process.execPath, args, { cwd: root, encoding: 'utf8' }).trim();
    expect(run('-e', `const { connect, startServer } = require('kithdb'); ${script}`)).toBe(
      'function,function',
    );
    expect(run('--input-type=module', '-e', `import { connect, startServer } from 'kithdb'; ${script}`)).toBe(
      'function,function',
    );
    const loaded = run(
      '-e',
      `require('kithdb'); console.log(Object.keys(require.cache).filter((file) => /node_modules/.test(file)).length)`,
    );
    expect(loaded).toBe('0');
  });

  it('keeps the folder that it was given, and says why a server cannot start', async () => {
    const first = await startServer();
    await expect(startServer({ dataDir: first.dataDir })).rejects.toThrow(/lock|use|another/i);
    await expect(startServer({ settings: { KITHDB_PROT: '1' } })).rejects.toThrow(/KITHDB_PORT/);
    const folder = join(first.dataDir, 'inner');
    const second = await startServer({ dataDir: folder });
    await second.stop();
    expect(existsSync(folder)).toBe(true);
    await Promise.all([first.stop(), first.stop()]);
  });

  it('ends calls when the client is closed', async () => {
    const one = connect(server.url);
    await one.getCollections();
    await one.close();
    const error = await failure(one.getCollections());
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toMatchObject({ status: 0, message: 'The client is closed', outcomeUnknown: false });
    expect(() => connect('ftp://somewhere')).toThrow(TypeError);
    expect(one).toBeInstanceOf(KithClient);
  });
});
