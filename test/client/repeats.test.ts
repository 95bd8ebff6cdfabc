import { randomUUID } from 'node:crypto';
import { connect, startServer, type KithClient, type RemoteClient, type TemporaryServer } from '../../src';
import { httpTransport } from '../../src/client/http-transport';
import { CuttingProxy, type Accident } from './cutting-proxy';

let server: TemporaryServer;
let proxy: CuttingProxy;
let url: string;
/** A client through the proxy, and somebody else who is not. */
let client: RemoteClient;
let other: RemoteClient;
let made = 0;

beforeAll(async () => {
  server = await startServer();
  proxy = new CuttingProxy(server.url);
  url = await proxy.listen();
  client = connect(url, { retry: { firstPauseMs: 1 } });
  other = connect(server.url);
});
afterAll(async () => {
  await Promise.all([client.close(), other.close()]);
  await proxy.close();
  await server.stop();
});

const CONFIG = { vectors: { size: 2, distance: 'Dot' } } as const;
const POINT = { id: 1, vector: [1, 2], payload: { a: 1 } };

async function collection(): Promise<string> {
  made += 1;
  await other.createCollection(`c${made}`, CONFIG);
  await other.upsert(`c${made}`, { points: [POINT] });
  return `c${made}`;
}

async function payloadOf(name: string, id = 1): Promise<unknown> {
  return (await other.retrieve(name, { ids: [id] }))[0]?.payload;
}

/** The number that the next operation of a collection gets. */
async function nextOperation(name: string): Promise<number> {
  return (await other.delete(name, { points: [999] })).operation_id;
}

/** The requests of one call. */
async function through<T>(call: () => Promise<T>, ...accidents: Accident[]): Promise<T> {
  proxy.passed.length = 0;
  proxy.accidents.push(...accidents);
  const result = await call();
  expect(proxy.accidents).toEqual([]);
  const keys = new Set(proxy.passed.map(({ key }) => key));
  expect(proxy.passed).toHaveLength(accidents.length + 1);
  expect([...keys]).toEqual([expect.stringMatching(/^[\da-f-]{36}$/)]);
  return result;
}

const CUT: Accident = { arrives: true };
const NEVER_ARRIVED: Accident = { arrives: false };
const PASSES = undefined;

/** Writes of points; each gives what it answered. */
const WRITES: Readonly<Record<string, (db: KithClient, name: string) => Promise<unknown>>> = {
  upsert: (db, name) => db.upsert(name, { points: [{ ...POINT, payload: { a: 2 } }] }),
  'batch of updates': (db, name) =>
    db.batchUpdate(name, {
      operations: [{ set_payload: { payload: { a: 2 }, points: [1] } }, { upsert: { points: [POINT] } }],
    }),
  payload: (db, name) => db.setPayload(name, { payload: { a: 2 }, filter: {} }),
  'deletion of points': (db, name) => db.delete(name, { filter: { must: [{ is_empty: { key: 'b' } }] } }),
  sync: (db, name) =>
    db.sync(name, {
      scope: { must: [{ key: 'source', match: { value: 's' } }] },
      hash_key: 'hash',
      points: [{ id: 5, vector: [1, 1], payload: { source: 's', hash: 'h' } }],
    }),
  vectors: (db, name) => db.updateVectors(name, { points: [{ id: 1, vector: [3, 3] }] }),
  index: (db, name) => db.createPayloadIndex(name, { field_name: 'a', field_schema: 'integer' }),
  'name of a vector': (db, name) =>
    db.createVectorName(name, 'title', { dense: { size: 2, distance: 'Dot' } }),
  'settings of the collection': (db, name) => db.updateCollection(name, { metadata: { a: 1 } }),
};

describe('C25 a write whose answer was lost', () => {
  it.each(Object.entries(WRITES))('C25 is applied once: %s', async (_what, write) => {
    const [twin, name] = [await collection(), await collection()];
    const expected = await write(other, twin);
    expect(await through(() => write(client, name), CUT, CUT)).toEqual(withRevision(expected));
    expect(await nextOperation(name)).toBe(await nextOperation(twin));
  });

  it('C25 does not undo what others wrote before it was repeated', async () => {
    const name = await collection();
    const meanwhile = (): Promise<unknown> =>
      other.overwritePayload(name, { payload: { theirs: true }, points: [1] });
    await through(() => client.upsert(name, { points: [POINT] }), { arrives: true, meanwhile });
    expect(await payloadOf(name)).toEqual({ theirs: true });
    await through(
      () => client.batchUpdate(name, { operations: [{ upsert: { points: [POINT] } }] }),
      { arrives: true, status: 503 },
      { arrives: true, meanwhile },
      { arrives: false, status: 412 },
      { arrives: false, status: 429 },
    );
    expect(await payloadOf(name)).toEqual({ theirs: true });
  });

  it('C25 is applied when it had not arrived', async () => {
    const name = await collection();
    await through(() => client.delete(name, { points: [1] }), NEVER_ARRIVED, NEVER_ARRIVED);
    expect(await other.count(name)).toEqual({ count: 0 });
  });

  it('C25 is applied once where it makes or removes a collection', async () => {
    const name = await collection();
    const copy = `${name}-copy`;
    const made = (): Promise<boolean> => client.createCollection(`${name}-new`, CONFIG);
    expect(await through(made, CUT)).toBe(true);
    const cloned = (): Promise<boolean> => client.cloneCollection(name, { name: copy });
    const removed = (): Promise<unknown> => other.deleteCollection(copy);
    expect(await through(cloned, { arrives: true, meanwhile: removed })).toBe(true);
    expect(await other.collectionExists(copy)).toEqual({ exists: false });
    const remade = (): Promise<unknown> => other.createCollection(name, CONFIG);
    const gone = (): Promise<boolean> => client.deleteCollection(name);
    expect(await through(gone, { arrives: true, meanwhile: remade })).toBe(true);
    expect(await other.collectionExists(name)).toEqual({ exists: true });
  });

  it('C20, C25 is applied once where it is a sync in parts', async () => {
    const name = await collection();
    const small = connect(url, { retry: { firstPauseMs: 1 }, batch: { maxPoints: 2 } });
    const points = [1, 2, 3, 4, 5].map((id) => ({
      id: id + 10,
      vector: [1, id],
      payload: { s: 1, hash: 'h' },
    }));
    const scope = { must: [{ key: 's', match: { value: 1 } }] };
    proxy.accidents.push(CUT, PASSES, CUT, NEVER_ARRIVED, PASSES, CUT);
    expect(await small.sync(name, { scope, hash_key: 'hash', points })).toMatchObject({
      added: 5,
      updated: 0,
    });
    expect(proxy.accidents).toEqual([]);
    await small.close();
  });

  it('C25 is named by a key of its own, and a read by none', async () => {
    const name = await collection();
    proxy.passed.length = 0;
    await client.upsert(name, { points: [POINT] });
    await client.upsert(name, { points: [POINT] });
    await client.count(name);
    await client.scroll(name);
    const [first, second, ...reads] = proxy.passed.map(({ key }) => key);
    expect(first).toBeDefined();
    expect(second).toBeDefined();
    expect(first).not.toBe(second);
    expect(reads).toEqual([undefined, undefined]);
    const operationId = randomUUID();
    const transport = httpTransport(url);
    const call = {
      operation: 'upsert_points',
      collection: name,
      body: { points: [POINT] },
      operationId,
    } as const;
    const once = await transport.execute(call);
    expect(await transport.execute(call)).toMatchObject({ result: once.result });
    expect(proxy.passed.slice(-2).map(({ key }) => key)).toEqual([operationId, operationId]);
    await transport.close();
  });
});

/** The revision of a scope is of its collection. */
function withRevision(expected: unknown): unknown {
  return typeof expected === 'object' && expected !== null && 'revision' in expected
    ? { ...expected, revision: expect.any(String) as unknown }
    : expected;
}
