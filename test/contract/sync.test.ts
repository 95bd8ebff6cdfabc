import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConflictError, connect, open, type KithClient } from '../../src';
import { send } from '../http/harness';
import { ContractServer, type Json } from './contract-server';

const PASSWORD = 'Correct-Horse-9-Battery';
const CONFIG = { vectors: { size: 2, distance: 'Dot' } } as const;
const scope = (source: string) => ({ must: { key: 'source', match: { value: source } } });
const common = (source: string) => ({ scope: scope(source), hash_key: 'hash' });
const content = (id: number, source: string, hash: string) => ({
  id,
  vector: [id, 1],
  payload: { source, hash, tenant: id % 2 },
});

/** An endpoint of embeddings that keeps the texts that it is asked for. */
const asked: string[] = [];
const endpoint: Server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const { input } = JSON.parse(Buffer.concat(chunks).toString()) as { input: string[] };
    asked.push(...input);
    const data = input.map((text, index) => ({ index, embedding: [text.length, 2] }));
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ object: 'list', data, model: 'letters' }));
  });
});

let server: ContractServer;
/** Without authentication, for restarts: the store of the other is in memory. */
let plain: ContractServer;
let jwt: string;
beforeAll(async () => {
  await new Promise<void>((resolve) => endpoint.listen(0, '127.0.0.1', resolve));
  const { port } = endpoint.address() as AddressInfo;
  const models = [{ name: 'letters', url: `http://127.0.0.1:${port}/v1`, model: 'letters' }];
  plain = await ContractServer.start();
  server = await ContractServer.start([], {
    KITHDB_ADMIN_PASSWORD: PASSWORD,
    KITHDB_AUTH_ENABLED: 'true',
    KITHDB_MODELS: JSON.stringify(models),
  });
  const login = await send({ port: server.port }, 'POST', '/auth/admin/login', {
    json: { password: PASSWORD },
  });
  jwt = login.body.token;
});
afterAll(async () => {
  await server.stop();
  await plain.stop();
  endpoint.close();
});

/** Status, and result or message, of a request with a credential. */
async function call(token: string, method: string, path: string, json?: unknown): Promise<[number, Json]> {
  const answer = await send({ port: server.port }, method, path, {
    ...(json !== undefined && { json }),
    headers: { authorization: `Bearer ${token}` },
  });
  return [answer.status, answer.body.result ?? answer.body.status.error];
}

/** The path of a new collection with some points. */
async function holding(points: readonly object[]): Promise<string> {
  const path = `/collections/${randomUUID()}`;
  expect((await call(jwt, 'PUT', path, CONFIG))[0]).toBe(200);
  if (points.length > 0) {
    expect((await call(jwt, 'PUT', `${path}/points`, { points }))[0]).toBe(200);
  }
  return path;
}

async function newToken(fields: object = {}): Promise<string> {
  const answer = await send({ port: server.port }, 'POST', '/auth/access_token', {
    json: { name: 'x', permission: 'read,write', ...fields },
    headers: { authorization: `Bearer ${jwt}` },
  });
  return answer.body.token;
}

async function idsOf(path: string): Promise<number[]> {
  const [, page] = await call(jwt, 'POST', `${path}/points/scroll`, { limit: 1000 });
  return (page.points as Json[]).map(({ id }) => id as number);
}

describe('C20 sync over HTTP', () => {
  it('C20 a plan names what is needed, and the sync makes the scope what the source is', async () => {
    const path = await holding([content(1, 'a', 'x'), content(2, 'a', 'x'), content(9, 'b', 'x')]);
    const hashes = [
      { id: 1, hash: 'x' },
      { id: 3, hash: 'x' },
    ];
    const [, plan] = await call(jwt, 'POST', `${path}/points/sync/plan`, { ...common('a'), points: hashes });
    expect(plan).toEqual({
      needed: [3],
      unchanged: 1,
      deleted: 1,
      revision: expect.stringMatching(/^[0-9a-f]{32}$/),
    });
    const body = {
      ...common('a'),
      points: [{ id: 1, hash: 'x' }, content(3, 'a', 'x')],
      if_revision: plan.revision,
    };
    const [status, synced] = await call(jwt, 'PUT', `${path}/points/sync`, body);
    expect([status, synced]).toEqual([
      200,
      { added: 1, updated: 0, unchanged: 1, deleted: 1, revision: expect.any(String) },
    ]);
    expect(await idsOf(path)).toEqual([1, 3, 9]);
    // The revision is another one now.
    expect(await call(jwt, 'PUT', `${path}/points/sync`, body)).toEqual([
      409,
      `Sync conflict: if_revision: the scope has revision ${synced.revision}, not ${plan.revision}`,
    ]);
  });

  it('C20 what does not fit is refused, names its points, and changes nothing', async () => {
    const path = await holding([content(1, 'a', 'x'), content(2, 'b', 'x')]);
    const refused: [points: object[], status: number, message: string][] = [
      [[content(5, 'b', 'x')], 400, 'points: 5 do not match the scope'],
      [[content(2, 'a', 'x')], 409, 'Sync conflict: points: 2 are stored outside the scope'],
      [
        [{ id: 7, hash: 'x' }],
        409,
        'Sync conflict: points: 7 are new or changed, and have no content: plan again',
      ],
    ];
    for (const [points, status, message] of refused) {
      expect(await call(jwt, 'PUT', `${path}/points/sync`, { ...common('a'), points })).toEqual([
        status,
        message,
      ]);
    }
    const misspelt = { scop: scope('a'), hash_key: 'hash', points: [] };
    expect(await call(jwt, 'PUT', `${path}/points/sync`, misspelt)).toEqual([400, 'scop: unknown field']);
    const everything = { scope: {}, hash_key: 'hash', points: [] };
    expect((await call(jwt, 'PUT', `${path}/points/sync`, everything))[0]).toBe(400);
    expect(await idsOf(path)).toEqual([1, 2]);
    const [, cleared] = await call(jwt, 'PUT', `${path}/points/sync`, { ...everything, all: true });
    expect(cleared).toMatchObject({ added: 0, deleted: 2 });
  });

  it('C20 parts are of one credential, and the last applies all of them', async () => {
    const path = await holding([content(50, 'a', 'x')]);
    const [own, other] = [await newToken(), await newToken()];
    const part = { ...common('a'), sync_id: 's' };
    const sync = (credential: string, more: object) =>
      call(credential, 'PUT', `${path}/points/sync`, { ...part, ...more });
    expect(await sync(own, { points: [content(1, 'a', 'x')] })).toEqual([200, { staged: 1 }]);
    expect(await sync(own, { points: [content(2, 'a', 'x')] })).toEqual([200, { staged: 2 }]);
    const last = { points: [content(3, 'a', 'x')], last: true, staged: 2 };
    const [status, message] = await sync(other, last);
    expect([status, message]).toEqual([
      409,
      expect.stringContaining('staged: 0 points of this sync_id are staged, not 2'),
    ]);
    expect(await idsOf(path)).toEqual([50]);
    // A client may leave out what it knows to be staged.
    expect(await sync(own, { ...last, staged: undefined })).toEqual([
      200,
      expect.objectContaining({ added: 3, deleted: 1 }),
    ]);
    expect(await idsOf(path)).toEqual([1, 2, 3]);
  });

  it('C20 parts that a restart lost delete nothing', async () => {
    const path = await plain.holding([content(1, 'a', 'x'), content(2, 'a', 'x')]);
    const part = { ...common('a'), sync_id: 's' };
    await plain.ok('PUT', `${path}/points/sync`, { ...part, points: [{ id: 1, hash: 'x' }] });
    await plain.restart();
    const last = { ...part, points: [{ id: 2, hash: 'x' }], last: true };
    expect((await plain.refused('PUT', `${path}/points/sync`, last))[0]).toBe(409);
    expect(Object.keys(await plain.pointsOf(path))).toEqual(['1', '2']);
  });

  it('C15, C20 a token with a filter syncs what it reaches', async () => {
    const path = await holding([1, 2, 3, 4].map((id) => content(id, 'a', 'x')));
    const own = await newToken({ filter: { must: { key: 'tenant', match: { value: 0 } } } });
    const sync = (points: object[]) => call(own, 'PUT', `${path}/points/sync`, { ...common('a'), points });
    for (const points of [[content(1, 'a', 'y')], [{ id: 1, hash: 'x' }], [content(5, 'a', 'y')]]) {
      expect((await sync(points))[0]).toBe(403);
    }
    expect(await sync([{ id: 2, hash: 'x' }])).toEqual([
      200,
      expect.objectContaining({ added: 0, unchanged: 1, deleted: 1 }),
    ]);
    expect(await idsOf(path)).toEqual([1, 2, 3]);
    const reader = await newToken({ permission: 'read' });
    const body = { ...common('a'), points: [] };
    expect((await call(reader, 'POST', `${path}/points/sync/plan`, body))[0]).toBe(200);
    expect((await call(reader, 'PUT', `${path}/points/sync`, body))[0]).toBe(403);
  });

  it('C20, C25 a repeat with a key gets the answer of the first call, also of a last part', async () => {
    const path = await plain.holding([]);
    const headers = { 'idempotency-key': randomUUID() };
    const part = { ...common('a'), sync_id: 's' };
    await plain.ok('PUT', `${path}/points/sync`, { ...part, points: [content(1, 'a', 'x')] });
    const json = { ...part, points: [content(2, 'a', 'x')], last: true, staged: 1 };
    const keyed = async (): Promise<Json> =>
      (await send({ port: plain.port }, 'PUT', `${path}/points/sync`, { json, headers })).body.result;
    const first = await keyed();
    expect(first).toMatchObject({ added: 2 });
    await plain.ok('POST', `${path}/points/delete`, { points: [1] });
    await plain.restart();
    expect(await keyed()).toEqual(first);
    expect(Object.keys(await plain.pointsOf(path))).toEqual(['2']);
  });

  it('C16, C20 models are asked for points that are new or changed, and no others', async () => {
    const path = await holding([content(1, 'a', 'one'), content(2, 'a', 'one')]);
    const text = (id: number, hash: string) => ({
      ...content(id, 'a', hash),
      vector: { text: `text ${id}`, model: 'letters' },
    });
    asked.length = 0;
    const unchanged = [text(1, 'one'), text(2, 'one')];
    expect(await call(jwt, 'PUT', `${path}/points/sync`, { ...common('a'), points: unchanged })).toEqual([
      200,
      expect.objectContaining({ unchanged: 2 }),
    ]);
    expect(asked).toEqual([]);
    const points = [text(1, 'one'), text(2, 'two'), text(3, 'one')];
    const part = { ...common('a'), sync_id: 's' };
    expect(await call(jwt, 'PUT', `${path}/points/sync`, { ...part, points })).toEqual([200, { staged: 3 }]);
    expect(asked).toEqual(['text 2', 'text 3']);
    const last = { ...part, points: [text(4, 'one')], last: true, staged: 3 };
    expect(await call(jwt, 'PUT', `${path}/points/sync`, last)).toEqual([
      200,
      expect.objectContaining({ added: 2, updated: 1, unchanged: 1 }),
    ]);
    expect(asked).toEqual(['text 2', 'text 3', 'text 4']);
    const shown = await call(jwt, 'POST', `${path}/points`, { ids: [1, 4], with_vector: true });
    expect((shown[1] as Json[]).map(({ vector }) => vector)).toEqual([
      [1, 1],
      [6, 2],
    ]);
  });
});

describe.each(['over a folder', 'over HTTP'])('C20 the client, %s', (where) => {
  const folder = mkdtempSync(join(tmpdir(), 'kithdb-sync-'));
  let db: KithClient;
  beforeAll(async () => {
    const options = { batch: { maxPoints: 4 } };
    db =
      where === 'over HTTP'
        ? connect(`http://127.0.0.1:${server.port}`, { ...options, token: await newToken() })
        : await open(folder, options);
    await db.createCollection(`client-${where.length}`, CONFIG);
  });
  afterAll(async () => {
    await db.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('C20 plans, syncs in parts what is larger than a request, and names conflicts', async () => {
    const name = `client-${where.length}`;
    const points = Array.from({ length: 10 }, (_, id) => ({
      ...content(id, 'a', 'x'),
      vector: new Float32Array([id, 1]) as unknown as number[],
    }));
    const synced = await db.sync(name, { ...common('a'), points });
    expect(synced).toMatchObject({ added: 10, updated: 0, unchanged: 0, deleted: 0 });
    const hashes = points.slice(0, 9).map(({ id }) => ({ id, hash: id === 0 ? 'y' : 'x' }));
    const plan = await db.planSync(name, { ...common('a'), points: hashes });
    expect(plan).toEqual({ needed: [0], unchanged: 8, deleted: 1, revision: synced.revision });
    const needed = hashes.map((hash) => (hash.id === 0 ? content(0, 'a', 'y') : hash));
    const last = { ...common('a'), points: needed, if_revision: plan.revision };
    expect(await db.sync(name, last)).toMatchObject({ added: 0, updated: 1, unchanged: 8, deleted: 1 });
    await expect(db.sync(name, last)).rejects.toBeInstanceOf(ConflictError);
    const part = { ...common('a'), sync_id: 'mine' };
    expect(await db.syncPart(name, { ...part, points: [content(20, 'a', 'x')] })).toEqual({ staged: 1 });
    expect(await db.syncPart(name, { ...part, points: [], last: true, staged: 1 })).toMatchObject({
      added: 1,
      deleted: 9,
    });
  });
});
