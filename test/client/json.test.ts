import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { BadRequestError, connect, open, startServer } from '../../src';
import { httpTransport } from '../../src/client/http-transport';
import { parseJson } from '../../src/client/json';
import type { Transport } from '../../src/client/transport';
import { openFolder } from '../../src/embedded/open';

/** What a client and a transport have in common here, over a server or over a folder. */
interface Database {
  readonly client: Pick<
    Awaited<ReturnType<typeof open>>,
    'createCollection' | 'upsert' | 'delete' | 'count' | 'setPayload' | 'query' | 'getPoint'
  >;
  readonly transport: Transport;
  close(): Promise<void>;
}

async function overHttp(): Promise<Database> {
  const server = await startServer();
  const client = connect(server.url, { retry: { retries: 0 } });
  const transport = httpTransport(server.url);
  const close = async (): Promise<void> => {
    await transport.close();
    await client.close();
    await server.stop();
  };
  return { client, transport, close };
}

async function overFolder(): Promise<Database> {
  const folder = mkdtempSync(join(tmpdir(), 'kithdb-client-json-'));
  const client = await open(folder);
  const transport = await openFolder(folder);
  const close = async (): Promise<void> => {
    await transport.close();
    await client.close();
    rmSync(folder, { recursive: true, force: true });
  };
  return { client, transport, close };
}

describe.each([
  ['HTTP', overHttp],
  ['a folder', overFolder],
])('over %s', (_name, opened) => {
  let database: Database;
  beforeAll(async () => {
    database = await opened();
    await database.client.createCollection('users', { vectors: { size: 2, distance: 'Dot' } });
    const points = [1, 2].map((id) => ({ id, vector: [id, 0], payload: { age: id, at: '2020-01-01' } }));
    await database.client.upsert('users', { points });
  });
  afterAll(() => database.close());

  it('a number that is not finite does not widen a filter, and nothing is changed', async () => {
    const { client } = database;
    const refused = async (call: Promise<unknown>, message: string): Promise<void> => {
      const error: unknown = await call.catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(TypeError);
      expect((error as Error).message).toBe(message);
    };
    for (const number of [NaN, Infinity, -Infinity]) {
      const filter = { must: [{ key: 'age', range: { lt: number } }] };
      await refused(client.delete('users', { filter }), `${number} cannot be sent: filter.must[0].range.lt`);
      await refused(
        client.setPayload('users', { points: [1], payload: { age: number } }),
        `${number} cannot be sent: payload.age`,
      );
      await refused(
        client.query('users', { query: [1, 0], score_threshold: number }),
        `${number} cannot be sent: score_threshold`,
      );
    }
    const nested = { points: [{ id: 1, vector: [1, 0], payload: { list: ['x', [{ y: NaN }]] } }] };
    await refused(client.upsert('users', nested), 'NaN cannot be sent: points[0].payload.list[1][0].y');
    const many = Array.from({ length: 12_000 }, (_, id) => ({ id, vector: [1, 0], payload: { age: 1 } }));
    many[7000]!.payload.age = NaN;
    await refused(client.upsert('users', { points: many }), 'NaN cannot be sent: points[7000].payload.age');
    const never = new Date(NaN) as unknown as string;
    await refused(
      client.delete('users', { filter: { must: [{ key: 'at', range: { lt: never } }] } }),
      'An invalid Date cannot be sent: filter.must[0].range.lt',
    );
    await refused(
      client.setPayload('users', { points: [1], payload: { call: () => 1 } }),
      'A function cannot be sent: payload.call',
    );
    expect(await client.count('users')).toEqual({ count: 2 });
    expect((await client.getPoint('users', 1)).payload).toEqual({ age: 1, at: '2020-01-01' });
  });

  it('a number that is not finite in a list of a vector or a filter is refused by its place', async () => {
    const { client } = database;
    const upsert = (vector: number[] | Float32Array) =>
      client.upsert('users', { points: [{ id: 1, vector }] });
    const any = { must: [{ key: 'age', match: { any: [NaN, 1] } }] };
    for (const [call, place] of [
      [upsert([1, NaN]), 'points[0].vector[1]'],
      [upsert(Float32Array.of(1, Infinity)), 'points[0].vector[1]'],
      [client.delete('users', { filter: any }), 'filter.must[0].match.any[0]'],
      [client.delete('users', { filter: { must: [{ has_id: [NaN] }] } }), 'filter.must[0].has_id[0]'],
    ] as const) {
      const error: unknown = await call.catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(BadRequestError);
      expect((error as Error).message).toContain(place);
    }
    expect(await client.count('users')).toEqual({ count: 2 });
  });

  it('a number with a long exponent is read', async () => {
    const { client, transport } = database;
    const body = Buffer.from('{"points":[{"id":9,"vector":[1,1],"payload":{"x":1e-9007199254740993}}]}');
    await transport.execute({ operation: 'upsert_points', collection: 'users', body });
    expect((await client.getPoint('users', 9)).payload).toEqual({ x: 0 });
  });
});

describe('parseJson', () => {
  it('makes BigInts of integers beyond 2^53, and of nothing else', () => {
    for (const [text, value] of [
      ['9007199254740991', 9007199254740991],
      ['-9007199254740991', -9007199254740991],
      ['9007199254740993', 9007199254740993n],
      ['-9007199254740993', -9007199254740993n],
      ['18446744073709551615', 18446744073709551615n],
      ['9007199254740993.5', Number('9007199254740993.5')],
      ['0.9007199254740993', 0.9007199254740993],
      ['9007199254740993e2', Number('9007199254740993e2')],
      ['0.0E+99999999999999999', 0],
      ['0e99999999999999999', 0],
      ['-1e-9007199254740993', -0],
      ['1E-9007199254740993', 0],
      ['"1e-9007199254740993"', '1e-9007199254740993'],
    ] as const) {
      expect([text, parseJson(text)]).toEqual([text, value]);
      const around = `{"e":[${text},${text}],"E":${text}}`;
      expect([text, parseJson(around)]).toEqual([text, { e: [value, value], E: value }]);
    }
  });

  const digits = (most: number): fc.Arbitrary<string> =>
    fc.string({ unit: fc.nat(9).map(String), minLength: 1, maxLength: most, size: 'max' });
  const sign = fc.constantFrom('', '-');
  /** Numbers that are no long integers, but may have as many digits elsewhere. */
  const number = fc
    .tuple(
      sign,
      fc.oneof(fc.nat().map(String), fc.constant('123456789012345678')),
      fc.option(digits(20).map((text) => `.${text}`)),
      fc.option(fc.tuple(fc.constantFrom('e', 'E'), fc.constantFrom('', '+', '-'), digits(20))),
    )
    .map(([minus, whole, fraction, exponent]) =>
      [minus, whole, fraction ?? '', ...(exponent ?? (fraction === null ? ['.0'] : []))].join(''),
    );

  it('is JSON.parse for numbers that are no long integers', () => {
    fc.assert(
      fc.property(fc.array(number), (numbers) => {
        const text = `{"e":[${numbers.join(',')}],"12345678901234567":"e12345678901234567"}`;
        expect(parseJson(text)).toEqual(JSON.parse(text));
      }),
    );
  });
});
