import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KithClient } from '../../src/client/client';
import { encodeJson } from '../../src/client/json';
import type { SnapshotCalls } from '../../src/client/snapshots';
import type { Transport } from '../../src/client/transport';
import { openFolder } from '../../src/embedded/open';
import { packBody, READS_OF_POINTS } from '../../src/embedded/packing';
import type { EmbeddedTransport } from '../../src/embedded/transport';
import type { Operation } from '../../src/engine/types';
import { connect, KithError, open, startServer } from '../../src/index';

/** How many bodies are tried. */
const CASES = Number(process.env['PACKED_BODIES'] ?? 150);

/** Vectors cross as bytes, and every answer and every error is that of the same body in JSON (C18, docs/embedding.md). */
describe('packed vectors', () => {
  let folder: string;
  let owner: EmbeddedTransport;
  let attached: EmbeddedTransport;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'kithdb-packing-'));
    owner = await openFolder(folder);
    attached = await openFolder(folder);
  });
  afterAll(async () => {
    await attached.close();
    await owner.close();
    rmSync(folder, { recursive: true, force: true });
  });

  const CONFIG = {
    vectors: {
      a: { size: 3, distance: 'Dot' },
      b: { size: 2, distance: 'Cosine' },
      rows: { size: 2, distance: 'Euclid', multivector_config: { comparator: 'max_sim' } },
      bytes: { size: 2, distance: 'Manhattan', datatype: 'uint8' },
    },
    sparse_vectors: { words: {} },
  };

  type Tree = unknown;

  /** The same value with arrays of numbers. */
  function plain(value: Tree): Tree {
    if (value instanceof Float32Array) return Array.from(value);
    if (Array.isArray(value)) return value.map(plain);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, plain(field)]));
  }

  const floats = (length: number): fc.Arbitrary<Float32Array> =>
    fc
      .array(fc.integer({ min: -8, max: 8 }), { minLength: length, maxLength: length })
      .map((list) => Float32Array.from(list, (number) => number / 4 + 0.1));
  const odd = fc
    .array(fc.oneof(fc.float(), fc.constantFrom(NaN, Infinity, -0, 1e-45, 3.4028234663852886e38, 2 ** -24)), {
      maxLength: 4,
    })
    .map((list) => Float32Array.from(list));
  const vectors = fc.record(
    {
      a: floats(3),
      b: floats(2),
      rows: fc.array(floats(2), { minLength: 1, maxLength: 3 }),
      bytes: fc.tuple(fc.nat(255), fc.nat(255)).map((list) => Float32Array.from(list)),
      words: floats(2).map((values) => ({ indices: [7, 1], values })),
    },
    { requiredKeys: [] },
  );
  const payload = fc.record(
    { n: fc.nat(9), f: floats(2), deep: fc.array(floats(1), { maxLength: 2 }) },
    { requiredKeys: [] },
  );
  const id = fc.nat(12);
  const point = fc.record({ id, vector: vectors, payload }, { requiredKeys: ['id', 'vector'] });
  const query = fc.oneof(
    floats(3),
    floats(3).map((nearest) => ({ nearest })),
    fc
      .tuple(floats(3), floats(3))
      .map(([one, two]) => ({ recommend: { positive: [one, 3], negative: [two] } })),
    fc.tuple(floats(3), floats(3)).map(([target, one]) => ({
      discover: { target, context: [{ positive: one, negative: target }] },
    })),
  );
  const read = { using: 'a', limit: 20, with_vector: true, with_payload: true };
  const queries = query.map((one) => ({ ...read, query: one }));

  const bodies: fc.Arbitrary<readonly [Operation, Tree]> = fc.oneof(
    fc.array(point, { minLength: 1, maxLength: 4 }).map((points) => ['upsert_points', { points }] as const),
    fc.array(point, { minLength: 1, maxLength: 4 }).map((points) => {
      const list = points.map(({ id: one }) => one);
      const batch = { ids: list, vectors: { a: list.map(() => Float32Array.of(1, 2, 3)) } };
      return ['upsert_points', { batch }] as const;
    }),
    fc.record({ id, vector: vectors }).map((one) => ['update_vectors', { points: [one] }] as const),
    point.map((one) => ['batch_update', { operations: [{ upsert: { points: [one] } }] }] as const),
    fc.array(point, { maxLength: 4 }).map((points) => {
      const hashed = points.map((one) => ({ ...one, payload: { ...one.payload, hash: 'x' } }));
      return ['sync_points', { scope: {}, all: true, hash_key: 'hash', points: hashed }] as const;
    }),
    queries.map((one) => ['query', one] as const),
    fc.array(queries, { maxLength: 3 }).map((searches) => ['query_batch', { searches }] as const),
    fc
      .tuple(queries, floats(2))
      .map(
        ([one, near]) => ['query', { ...one, prefetch: [{ query: near, using: 'b', limit: 5 }] }] as const,
      ),
    floats(3).map(
      (vector) => ['search', { ...read, using: undefined, vector: { name: 'a', vector } }] as const,
    ),
    fc.array(floats(3), { maxLength: 3 }).map((list) => {
      const searches = list.map((vector) => ({ vector: { name: 'a', vector }, limit: 20 }));
      return ['search_batch', { searches }] as const;
    }),
  );

  /** A body of which one part may be replaced by a vector that does not belong there. */
  const disturbed = fc
    .tuple(bodies, fc.option(fc.tuple(fc.array(fc.nat(5), { maxLength: 6 }), odd)))
    .map(
      ([[operation, body], change]) =>
        [operation, change === null ? body : replacedAt(body, change[0], change[1])] as const,
    );

  function replacedAt(value: Tree, [step, ...rest]: readonly number[], by: Float32Array): Tree {
    if (step === undefined || typeof value !== 'object' || value === null || value instanceof Float32Array)
      return by;
    const names = Object.keys(value);
    if (names.length === 0) return by;
    const name = names[step % names.length] ?? '';
    const inner = replacedAt((value as Readonly<Record<string, Tree>>)[name], rest, by);
    if (Array.isArray(value)) return value.map((item: Tree, at) => (String(at) === name ? inner : item));
    return { ...value, [name]: inner };
  }

  async function outcome(
    transport: Transport,
    operation: Operation,
    collection: string,
    body: Tree,
    float32Vectors: boolean,
  ): Promise<Tree> {
    try {
      // Writes of another process have one by themselves, and a write with one takes a number though it changes nothing.
      const operationId = randomUUID();
      const { result } = await transport.execute({
        operation,
        collection,
        body,
        float32Vectors,
        operationId,
      });
      // That of a sync is of its collection.
      if (operation === 'sync_points') delete (result as { revision?: unknown }).revision;
      return { result };
    } catch (error) {
      if (!(error instanceof KithError)) throw error;
      return { name: error.name, status: error.status, message: error.message };
    }
  }

  /** Arrays in the place of vectors, with the numbers that 32-bit floats have. */
  function rounded(value: Tree): Tree {
    if (typeof value === 'number') return Math.fround(value);
    if (value instanceof Float32Array || Array.isArray(value)) return Array.from(value as unknown[], rounded);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, rounded(field)]));
  }

  it('C18 every answer and every error is that of the body in JSON, and so is what is stored', async () => {
    let made = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(disturbed, { minLength: 1, maxLength: 12 }),
        fc.boolean(),
        async (calls, isAttached) => {
          made += 1;
          const transport = isAttached ? attached : owner;
          const [packed, json] = [`packed-${made}`, `json-${made}`];
          for (const collection of [packed, json]) {
            await owner.execute({ operation: 'create_collection', collection, body: CONFIG });
          }
          for (const [operation, body] of calls) {
            const expected = await outcome(owner, operation, json, plain(body), false);
            expect(await outcome(transport, operation, packed, body, false)).toEqual(expected);
            if (READS_OF_POINTS.has(operation)) {
              const floating = await outcome(transport, operation, packed, body, true);
              expect(rounded(floating)).toEqual(rounded(expected));
            }
          }
          const page = { limit: 100, with_vector: true };
          const stored = async (collection: string): Promise<string> => {
            const bytes = await transport.executeBytes({ operation: 'scroll', collection, body: page });
            return bytes.toString().replace(/^.*?"result"/, '');
          };
          expect(await stored(packed)).toBe(await stored(json));
        },
      ),
      { numRuns: Math.ceil(CASES / 12) },
    );
  });

  it('a body is packed where it has Float32Arrays, and nowhere in payloads and filters', () => {
    const vector = Float32Array.of(1, 2);
    const text = (body: unknown): string | undefined => packBody('query', body)?.toString('latin1');
    expect(text({ query: vector, limit: 1 })).toBe(
      `{"query":#0:2,"limit":1}${Buffer.from(vector.buffer).toString('latin1')}\x18\0\0\0`,
    );
    expect(text({ query: [1, 2] })).toBeUndefined();
    expect(text({ query: [1, 2], filter: { must: [{ has_id: vector }] } })).toBeUndefined();
    expect(packBody('scroll', { offset: vector })).toBeUndefined();
  });

  it('C18, C20 what is split is measured as it is sent', async () => {
    const sent: [operation: string, bytes: number][] = [];
    const transport: Partial<Transport> = {
      packsVectors: true,
      execute: ({ operation, body }) => {
        sent.push([operation, packBody(operation, body)?.length ?? Buffer.byteLength(encodeJson(body))]);
        return Promise.resolve({ result: { staged: 0 }, status: 'ok', time: 0 });
      },
    };
    const maxBytes = 4096;
    const batch = { maxBytes };
    const client = new KithClient(transport as Transport, {} as SnapshotCalls, { batch });
    const vector = Float32Array.from({ length: 64 }, (_, at) => at / 3);
    const points = Array.from({ length: 40 }, (_, id) => ({ id, vector, payload: { hash: 'x' } }));
    await client.upsert('c', { points });
    await client.sync('c', { scope: {}, all: true, hash_key: 'hash', points });
    for (const operation of ['upsert_points', 'sync_points']) {
      const sizes = sent.filter(([of]) => of === operation).map(([, bytes]) => bytes);
      expect([operation, sizes.length]).toEqual([operation, 4]);
      // What is around the points is not counted.
      expect(Math.max(...sizes)).toBeLessThan(maxBytes + 200);
    }
  });

  it('float32Vectors gives Float32Arrays over a folder and over HTTP, each with memory of its own', async () => {
    const server = await startServer();
    const place = join(folder, 'float32');
    const clients = [
      await open(place, { float32Vectors: true }),
      connect(server.url, { float32Vectors: true }),
    ];
    for (const db of clients) {
      await db.createCollection('c', CONFIG as never);
      const vector = {
        a: Float32Array.of(0.1, -0, 3),
        rows: [[1, 2], Float32Array.of(3, 4)],
        words: { indices: [3], values: Float32Array.of(0.5) },
      };
      await db.upsert('c', { points: [{ id: 1, vector, payload: { vector: [1] } }] });
      const expected = {
        a: Float32Array.of(0.1, 0, 3),
        rows: [Float32Array.of(1, 2), Float32Array.of(3, 4)],
        words: { indices: [3], values: Float32Array.of(0.5) },
      };
      const [record] = await db.retrieve('c', { ids: [1], with_vector: true });
      expect(record).toEqual({ id: 1, payload: { vector: [1] }, vector: expected });
      const { points } = await db.query('c', {
        query: Float32Array.of(1, 1, 1),
        using: 'a',
        with_vector: ['a'],
      });
      const found = points[0]?.vector as { readonly a: Float32Array };
      expect(found.a).toEqual(expected.a);
      expect(found.a.buffer.byteLength).toBe(12);
      expect((await db.scroll('c')).points).toEqual([{ id: 1, payload: { vector: [1] } }]);
      expect(await db.count('c')).toEqual({ count: 1 });
      await db.close();
    }
    await server.stop();
  });
});
