/** C5.13: upserts as Arrow IPC streams, written by apache-arrow. */
import { randomUUID } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import {
  Bool,
  Field,
  Float16,
  Float64,
  Int32,
  List,
  Struct,
  Table,
  tableToIPC,
  TimestampMillisecond,
  Uint8,
  Utf8,
  vectorFromArray,
} from 'apache-arrow';
import { ARROW, dense, ids, multi, sparse, streamOf } from '../arrow-stream';
import { send, sendRaw } from '../http/harness';
import { ContractServer, type Json } from './contract-server';

const UUID = '6ba7b810-9dad-11d1-80b4-00c04fd430c8';

let server: ContractServer;
beforeAll(async () => {
  server = await ContractServer.start(['--max-points-per-request', '100']);
});
afterAll(() => server.stop());

/** Sends a stream; the status, and the result or the message. */
function put(path: string, body: Buffer, headers: object = {}): Promise<[number, Json]> {
  return server.put(path, body, { ...ARROW, ...headers });
}

const DONE = [200, { operation_id: expect.any(Number), status: 'completed' }];

describe('C5.13 an upsert as an Arrow IPC stream', () => {
  it('C5.13 each row is a point, and is what the same point as JSON is', async () => {
    const [one, other] = [await server.holding([]), await server.holding([])];
    const point = new Struct([new Field('x', new Float64()), new Field('y', new Utf8())]);
    const columns = {
      id: ids([1, 2n ** 64n - 1n]),
      vector: dense([
        [1, 0.25],
        [-0.5, 2],
      ]),
      // Texts are a dictionary here.
      city: vectorFromArray(['Bern', 'Biel']),
      zip: vectorFromArray(['3011', null], new Utf8()),
      n: vectorFromArray([7, null], new Int32()),
      ok: vectorFromArray([true, false], new Bool()),
      at: vectorFromArray([new Date(0), new Date(1704103200123)], new TimestampMillisecond()),
      tags: vectorFromArray([['a', null], []], new List(new Field('item', new Utf8()))),
      place: vectorFromArray([{ x: 1.5, y: null }, null], point),
    };
    expect(await put(`${one}/points`, streamOf(columns))).toEqual(DONE);
    await server.ok(
      'PUT',
      `${other}/points`,
      `{"points": [
        {"id": 1, "vector": [1, 0.25], "payload": {"city": "Bern", "zip": "3011", "n": 7, "ok": true,
          "at": "1970-01-01T00:00:00Z", "tags": ["a", null], "place": {"x": 1.5}}},
        {"id": 18446744073709551615, "vector": [-0.5, 2], "payload": {"city": "Biel", "ok": false,
          "at": "2024-01-01T10:00:00.123Z", "tags": []}}]}`,
    );
    expect((await server.everything(one))[0]).toEqual((await server.everything(other))[0]);
    await server.restart();
    expect((await server.everything(one))[0]).toEqual((await server.everything(other))[0]);
  });

  it('C5.13 vectors of every kind, by the names of their fields', async () => {
    const path = await server.holding([], {
      vectors: {
        half: { size: 2, distance: 'Dot' },
        byte: { size: 3, distance: 'Euclid', datatype: 'uint8' },
        rows: { size: 2, distance: 'Dot', multivector_config: { comparator: 'max_sim' } },
      },
      sparse_vectors: { words: {} },
    });
    const stream = streamOf({
      id: vectorFromArray([UUID], new Utf8()),
      'vector.half': dense([[1, 2.5]], new Float16()),
      'vector.byte': dense([[0, 7, 255]], new Uint8()),
      'vector.rows': multi([
        [
          [1, 2],
          [3, 4],
        ],
      ]),
      'vector.words': sparse([{ indices: [9, 3], values: [0.5, 2] }]),
      payload: vectorFromArray(['{"a": {"b": 12345678901234567890}}'], new Utf8()),
    });
    expect(await put(`${path}/points`, stream)).toEqual(DONE);
    const [text = ''] = await server.everything(path);
    expect(text).toContain('{"a":{"b":12345678901234567890}}');
    expect((await server.pointsOf(path))[UUID]?.vector).toEqual({
      half: [1, 2.5],
      byte: [0, 7, 255],
      rows: [
        [1, 2],
        [3, 4],
      ],
      words: { indices: [3, 9], values: [2, 0.5] },
    });
  });

  it('C5.13 several batches are one upsert: of an id that comes twice the last counts', async () => {
    const path = await server.holding([]);
    const table = (n: number) => new Table({ id: ids([1, n]), vector: dense([[n, 0], [n, 1]]) }); // prettier-ignore
    const stream = Buffer.from(tableToIPC(table(2).concat(table(3)), 'stream'));
    expect(await put(`${path}/points`, stream)).toEqual(DONE);
    expect(await server.pointsOf(path)).toMatchObject({
      1: { vector: [3, 0] },
      2: { vector: [2, 1] },
      3: { vector: [3, 1] },
    });
  });

  it('C5.13 C1.11 a refusal names the column and the row, and nothing is stored', async () => {
    const path = await server.holding([]);
    const good = { id: ids([1, 2]), vector: dense([[1, 2], [3, 4]]) }; // prettier-ignore
    const refusals: [object, string][] = [
      [{ id: vectorFromArray([1, -2], new Int32()) }, 'id[1]: value -2 is not a valid point ID'],
      [{ id: vectorFromArray([UUID, 'x'], new Utf8()) }, 'id[1]: value "x" is not a valid point ID'],
      [{ vector: dense([[1, 2], [3, NaN]]) }, 'vector[1][1]: expected a number within the range'], // prettier-ignore
      [{ vector: dense([[1], [2]]) }, 'Dimension mismatch for vector'],
      [{ n: vectorFromArray([1, Infinity], new Float64()) }, 'n[1]: expected a finite number, got inf'],
      [{ payload: vectorFromArray(['{}', '{"a":}'], new Utf8()) }, 'payload[1]: Body is not valid JSON'],
      [{ 'vector.b': dense([[1], [2]]) }, 'Vector not found: b'], // prettier-ignore
    ];
    for (const [columns, why] of refusals) {
      const [status, message] = await put(`${path}/points`, streamOf({ ...good, ...columns }));
      expect([status, String(message).slice(0, why.length)]).toEqual([400, why]);
    }
    for (const [body, why] of [
      [Buffer.from('{"points": []}'), 'body: not an Arrow IPC stream'],
      [streamOf(good).subarray(0, 40), 'body: an Arrow IPC stream that is cut off'],
      [Buffer.alloc(0), 'body: expected a schema first'],
    ] as const) {
      expect(await put(`${path}/points`, body)).toEqual([400, why]);
    }
    const { vector } = good;
    const [status, message] = await put(`${path}/points`, streamOf({ vector }));
    expect([status, message]).toEqual([400, expect.stringContaining('id')]);
    expect(await server.pointsOf(path)).toEqual({});
  });

  it('C5.13 C2.7 the limits on points and on the length of a body hold', async () => {
    const path = await server.holding([]);
    const many = Array.from({ length: 101 }, (_, id) => id);
    const columns = (count: number) => ({
      id: ids(many.slice(0, count)),
      vector: dense(many.slice(0, count).map((id) => [id, 1])),
    });
    expect(await put(`${path}/points`, streamOf(columns(100)))).toEqual(DONE);
    const [status, message] = await put(`${path}/points`, streamOf(columns(101)));
    expect([status, message]).toEqual([400, expect.stringContaining('max_points_per_request')]);
    const head = `PUT ${path}/points HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${ARROW['content-type']}\r\n`;
    const long = await sendRaw(server, `${head}Content-Length: ${64 * 1024 * 1024 + 1}\r\n\r\n`);
    expect(long).toMatch(/^HTTP\/1\.1 413 /);
  });

  it('C5.13 C5 C25 wait, the key of a call and the versions of points are as with JSON', async () => {
    const path = await server.holding([]);
    const stream = streamOf({ id: ids([1]), vector: dense([[1, 2]]) });
    const key = { 'idempotency-key': randomUUID() };
    const first = await put(`${path}/points`, stream, key);
    expect(first).toEqual(DONE);
    await server.ok('POST', `${path}/points/delete`, { points: [1] });
    expect(await put(`${path}/points`, stream, key)).toEqual(first);
    expect(await server.pointsOf(path)).toEqual({});
    const [status, result] = await put(`${path}/points?wait=false&ordering=strong`, stream);
    expect([status, result.status]).toEqual([200, 'acknowledged']);
    await server.ok('POST', `${path}/points/count`, {});
    const absent = streamOf({
      id: ids([1, 5]),
      vector: dense([[1, 2], [1, 2]]), // prettier-ignore
      if_version: vectorFromArray([0, null], new Int32()),
    });
    const [conflict, why] = await put(`${path}/points`, absent);
    expect([conflict, why]).toEqual([409, expect.stringContaining('1')]);
    expect(Object.keys(await server.pointsOf(path))).toEqual(['1']);
  });

  it('C5.13 C1.12 a body may be compressed by gzip', async () => {
    const path = await server.holding([]);
    const stream = gzipSync(streamOf({ id: ids([1]), vector: dense([[1, 2]]) }));
    expect(await put(`${path}/points`, stream, { 'content-encoding': 'gzip' })).toEqual(DONE);
    expect(Object.keys(await server.pointsOf(path))).toEqual(['1']);
  });

  it('C5.13 C1.5 other types are a 415, and so is this one elsewhere', async () => {
    const path = await server.holding([]);
    const stream = streamOf({ id: ids([1]), vector: dense([[1, 2]]) });
    const spelt = 'Application/VND.apache.arrow.stream; version=1';
    expect(await put(`${path}/points`, stream, { 'content-type': spelt })).toEqual(DONE);
    for (const type of ['application/vnd.apache.arrow.file', 'application/octet-stream', 'text/plain']) {
      expect(await put(`${path}/points`, stream, { 'content-type': type })).toEqual([
        415,
        'Unsupported content type: the body must be application/json, application/x-ndjson or application/vnd.apache.arrow.stream',
      ]);
    }
    expect((await put(`${path}/points/vectors`, stream))[0]).toBe(415);
  });

  it('C5.13 C4.3 strict mode counts its points', async () => {
    const path = await server.holding([], {
      vectors: { size: 2, distance: 'Dot' },
      strict_mode_config: { enabled: true, upsert_max_batchsize: 1 },
    });
    const stream = (count: number) => {
      const rows = [1, 2].slice(0, count);
      return streamOf({ id: ids(rows), vector: dense(rows.map((id) => [id, 1])) });
    };
    expect(await put(`${path}/points`, stream(1))).toEqual(DONE);
    const [status, message] = await put(`${path}/points`, stream(2));
    expect([status, message]).toEqual([400, expect.stringContaining('upsert_max_batchsize')]);
  });
});

describe('C5.13 the rights of a caller', () => {
  const PASSWORD = 'Correct-Horse-9-Battery';
  let guarded: ContractServer;
  let jwt: string;
  beforeAll(async () => {
    guarded = await ContractServer.start([], {
      KITHDB_ADMIN_PASSWORD: PASSWORD,
      KITHDB_AUTH_ENABLED: 'true',
    });
    const login = await send(guarded, 'POST', '/auth/admin/login', { json: { password: PASSWORD } });
    jwt = login.body.token;
    const headers = { authorization: `Bearer ${jwt}` };
    const config = { vectors: { size: 2, distance: 'Dot' } };
    await send(guarded, 'PUT', '/collections/c', { json: config, headers });
  });
  afterAll(() => guarded.stop());

  async function upsertAs(fields: object | undefined, columns: Parameters<typeof streamOf>[0]) {
    const token =
      fields === undefined
        ? undefined
        : await send(guarded, 'POST', '/auth/access_token', {
            json: { name: 'x', ...fields },
            headers: { authorization: `Bearer ${jwt}` },
          });
    const authorization = token === undefined ? {} : { authorization: `Bearer ${token.body.token}` };
    const headers = { ...ARROW, ...authorization };
    return send(guarded, 'PUT', '/collections/c/points', { body: streamOf(columns), headers });
  }

  it('C5.13 C3.14 C15 are asked for as with JSON', async () => {
    const columns = {
      id: ids([1]),
      vector: dense([[1, 2]]),
      tenant: vectorFromArray(['a'], new Utf8()),
    };
    expect((await upsertAs(undefined, columns)).status).toBe(401);
    expect((await upsertAs({ permission: 'read' }, columns)).status).toBe(403);
    const own = { must: { key: 'tenant', match: { value: 'a' } } };
    const limited = { permission: 'read,write', filter: own };
    expect((await upsertAs(limited, columns)).status).toBe(200);
    const foreign = { ...columns, id: ids([2]), tenant: vectorFromArray(['b'], new Utf8()) };
    expect((await upsertAs(limited, foreign)).status).toBe(403);
  });
});
