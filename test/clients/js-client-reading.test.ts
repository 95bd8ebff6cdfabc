import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startGuardedServer, type GuardedServer } from './guarded-server';
import { connectJsClient, refusal, type JsClient, type Query } from './js-client';
import { DISTANCES, neighbours, randomVectors } from './reference-scores';

const UUID = 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6';

describe('@qdrant/js-client-rest reads, unchanged and with authentication enabled (C9.1)', () => {
  const folder = mkdtempSync(join(tmpdir(), 'kithdb-js-client-'));
  let server: GuardedServer;
  let client: JsClient;

  beforeAll(async () => {
    server = await startGuardedServer(join(folder, 'data'));
    client = await connectJsClient(server.url, await server.accessToken('read,write'));
  });

  afterAll(async () => {
    expect(await server.stop()).toBe(0);
    rmSync(folder, { recursive: true, force: true });
  });

  test('finds a server whose version it accepts (C9.2)', async () => {
    const { QdrantClient } = await import('@qdrant/js-client-rest');
    const warn = jest.spyOn(console, 'warn').mockImplementation();
    const made = new QdrantClient({ url: server.url });
    const info = await made.versionInfo();
    // The client compares versions by itself, in the background: its answer comes before this one's.
    await made.versionInfo();
    expect(info.title).toBe('kithdb - vector database');
    expect(warn).not.toHaveBeenCalled();
    warn.mockRestore();
  });

  describe('reading (C6)', () => {
    const cities = ['Bern', 'Oslo', 'Rome'];

    beforeAll(async () => {
      await client.createCollection('reading', { vectors: { size: 2, distance: 'Dot' } });
      await client.upsert('reading', {
        points: Array.from({ length: 9 }, (_, index) => ({
          id: index + 1,
          vector: [index + 1, 1],
          payload: { n: 10 - index, city: cities[index % 3], nested: { a: index, b: -index } },
        })),
      });
    });

    test('query takes a vector, an id, an order, a sample or nothing (C6.3)', async () => {
      const ids = async (args: Query) =>
        (await client.query('reading', { limit: 3, ...args })).points.map(({ id }) => id);

      expect(await ids({ query: [1, 0] })).toEqual([9, 8, 7]);
      expect(await ids({ query: { nearest: [-1, 0] }, offset: 1 })).toEqual([2, 3, 4]);
      expect(await ids({ query: 9 })).toEqual([8, 7, 6]);
      expect(await ids({})).toEqual([1, 2, 3]);
      expect(await ids({ query: { order_by: 'n' } })).toEqual([9, 8, 7]);
      expect(await ids({ query: { order_by: { key: 'n', direction: 'desc', start_from: 8 } } })).toEqual([
        3, 4, 5,
      ]);
      const sample = await ids({ query: { sample: 'random' }, limit: 5 });
      expect(new Set(sample).size).toBe(5);
      expect(await ids({ query: [1, 0], filter: { must: { key: 'n', range: { gt: 5 } } } })).toEqual([
        5, 4, 3,
      ]);
      expect(await ids({ query: [1, 0], score_threshold: 8 })).toEqual([9, 8]);
      expect(await ids({ query: [1, 0], params: { exact: true, hnsw_ef: 32 } })).toEqual([9, 8, 7]);
    });

    test('with_payload and with_vector choose what comes back (C6.1)', async () => {
      const first = async (selectors: Query) =>
        (await client.query('reading', { query: [1, 0], limit: 1, ...selectors })).points[0];
      const hit = { id: 9, version: expect.any(Number), score: 9 };

      expect(await first({})).toEqual(hit);
      expect(await first({ with_payload: ['nested.a'], with_vector: true })).toEqual({
        ...hit,
        payload: { nested: { a: 8 } },
        vector: [9, 1],
      });
      expect(await first({ with_payload: { exclude: ['nested', 'n'] } })).toEqual({
        ...hit,
        payload: { city: 'Rome' },
      });
      expect(await first({ with_payload: { include: ['n'] } })).toEqual({ ...hit, payload: { n: 2 } });
    });

    test('queryBatch answers each search in its place (C6.3)', async () => {
      const answers = await client.queryBatch('reading', {
        searches: [
          { query: [1, 0], limit: 1 },
          { query: { order_by: 'n' }, limit: 2, with_payload: ['n'] },
          { filter: { must: [{ key: 'city', match: { any: ['Rome'] } }] } },
        ],
      });
      expect(answers.map(({ points }) => points.map(({ id }) => id))).toEqual([[9], [9, 8], [3, 6, 9]]);
    });

    test('scroll pages through everything, or in the order of a field (C6.4)', async () => {
      const seen = [];
      let offset: unknown = null;
      do {
        const page = await client.scroll('reading', { limit: 4, offset: offset as number | null });
        seen.push(...page.points.map(({ id }) => id));
        offset = page.next_page_offset;
      } while (offset !== null);
      expect(seen).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);

      const ordered = await client.scroll('reading', {
        order_by: { key: 'n', direction: 'asc', start_from: 4 },
        filter: { must_not: [{ key: 'city', match: { value: 'Bern' } }] },
        limit: 3,
        with_payload: ['n'],
        with_vector: true,
      });
      expect(ordered).toEqual({
        points: [
          { id: 6, payload: { n: 5 }, vector: [6, 1], order_value: 5 },
          { id: 5, payload: { n: 6 }, vector: [5, 1], order_value: 6 },
          { id: 3, payload: { n: 8 }, vector: [3, 1], order_value: 8 },
        ],
        next_page_offset: null,
      });
    });

    test('count counts all, or what a filter leaves (C6.5)', async () => {
      expect(await client.count('reading')).toEqual({ count: 9 });
      const filter = {
        should: [
          { key: 'n', range: { lte: 3 } },
          { key: 'city', match: { text: 'bern' } },
        ],
      };
      expect(await client.count('reading', { filter, exact: true })).toEqual({ count: 5 });
    });

    test.each(DISTANCES)('scores by %s are those computed here (C2.4)', async (distance) => {
      const stored = randomVectors(300, 24, 11);
      await client.createCollection(distance, { vectors: { size: 24, distance } });
      await client.upsert(distance, { points: stored.map((vector, id) => ({ id, vector })) });

      for (const query of randomVectors(5, 24, 12)) {
        const { points } = await client.query(distance, { query, limit: 20, params: { exact: true } });
        const expected = neighbours(distance, stored, query, 20);
        expect(points.map(({ id }) => id)).toEqual(expected.map(({ id }) => id));
        points.forEach(({ score }, rank) => {
          expect(score).toBeCloseTo(expected[rank]!.score, 4);
        });
        // So small a collection has no graph: the answer is the exact one either way.
        expect((await client.query(distance, { query, limit: 20 })).points).toEqual(points);
      }
    });
  });

  describe('errors', () => {
    beforeAll(async () => {
      await client.createCollection('errors', { vectors: { size: 2, distance: 'Dot' } });
      await client.upsert('errors', { points: [{ id: 1, vector: [1, 0] }] });
    });

    const config = { vectors: { size: 2, distance: 'Dot' } } as const;
    const badPath = { must: [{ key: 'a b', match: { value: 1 } }] };
    const cases: [string, () => Promise<unknown>, number, unknown][] = [
      ['an absent collection', () => client.getCollection('absent'), 404, 'Collection not found: absent'],
      ['points of an absent one', () => client.count('absent'), 404, 'Collection not found: absent'],
      [
        'absent ids',
        () => client.retrieve('errors', { ids: [1, 5, UUID] }),
        404,
        `Point not found: 5, ${UUID}`,
      ],
      [
        'a taken name',
        () => client.createCollection('errors', config),
        409,
        'Collection already exists: errors',
      ],
      [
        'no vectors',
        () => client.createCollection('fresh', { vectors: {} }),
        400,
        'vectors_config is required',
      ],
      [
        'a short vector',
        () => client.upsert('errors', { points: [{ id: 2, vector: [1] }] }),
        400,
        "Dimension mismatch for vector '': expected 2, got 1",
      ],
      [
        'a long query',
        () => client.query('errors', { query: [1, 2, 3] }),
        400,
        "Dimension mismatch for vector '': expected 2, got 3",
      ],
      [
        'a bad filter',
        () => client.count('errors', { filter: badPath }),
        400,
        expect.stringMatching(/^Filter parse error: filter\.must\[0\]\.key/),
      ],
      [
        'a limit of 0',
        () => client.scroll('errors', { limit: 0 }),
        400,
        expect.stringMatching(/^limit: value 0 invalid/),
      ],
      ['no points', () => client.upsert('errors', { points: [] }), 400, expect.stringMatching(/^points: /)],
    ];

    test.each(cases)('of %s keep their code and message (C1.4)', async (_, call, status, message) => {
      expect(await refusal(call())).toEqual([status, message]);
    });

    test('say 501 for the groups that this build lacks (C8)', async () => {
      const calls = [
        () => client.getAliases(),
        () => client.getCollectionAliases('errors'),
        () => client.updateCollectionAliases({ actions: [] }),
        () => client.listSnapshots('errors'),
        () => client.createSnapshot('errors'),
        () => client.queryGroups('errors', { query: [1, 0], group_by: 'a' }),
      ];
      for (const call of calls) {
        const [code, text] = await refusal(call());
        expect([code, text]).toEqual([501, expect.stringMatching(/^Not implemented in this build: /)]);
      }
    });

    test('say 401 without a token and 403 with a weaker one (C3.14)', async () => {
      const reader = await connectJsClient(server.url, await server.accessToken('read'));
      const writer = await connectJsClient(server.url, await server.accessToken('write'));
      const admin = await connectJsClient(server.url, await server.accessToken('admin'));
      await writer.createCollection('guarded', { vectors: { size: 1, distance: 'Dot' } });
      await writer.upsert('guarded', { points: [{ id: 1, vector: [1] }] });
      expect(await reader.count('guarded')).toEqual({ count: 1 });

      const noToken = [401, 'Invalid or missing authorization token'];
      expect(await refusal((await connectJsClient(server.url)).getCollections())).toEqual(noToken);
      expect(await refusal((await connectJsClient(server.url, 'kith_no')).getCollections())).toEqual(noToken);
      const lacksWrite = [403, 'Permission denied: write required'];
      expect(await refusal(reader.upsert('guarded', { points: [{ id: 2, vector: [1] }] }))).toEqual(
        lacksWrite,
      );
      expect(await refusal(reader.deleteCollection('guarded'))).toEqual(lacksWrite);
      const lacksRead = [403, 'Permission denied: read required'];
      expect(await refusal(writer.query('guarded', { query: [1] }))).toEqual(lacksRead);
      expect(await refusal(admin.getCollections())).toEqual(lacksRead);
      expect(await refusal(admin.setPayload('guarded', { payload: {}, points: [1] }))).toEqual(lacksWrite);
    });
  });
});
