import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startGuardedServer, type GuardedServer } from './guarded-server';
import { connectJsClient, refusal, type JsClient } from './js-client';

const UUID = 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6';

describe('@qdrant/js-client-rest writes, unchanged and with authentication enabled (C9.1)', () => {
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

  async function idsIn(collection: string): Promise<(string | number)[]> {
    const { points } = await client.scroll(collection, { limit: 100, with_payload: false });
    return points.map(({ id }) => id);
  }

  async function payloadOf(collection: string, id: string | number): Promise<unknown> {
    const [point] = await client.retrieve(collection, { ids: [id] });
    return point?.payload;
  }

  describe('collections (C4)', () => {
    test('are created, listed, described, changed and deleted', async () => {
      expect(await client.collectionExists('life')).toEqual({ exists: false });
      expect(
        await client.createCollection('life', {
          vectors: { size: 4, distance: 'Dot', hnsw_config: { m: 24 } },
          hnsw_config: { ef_construct: 64 },
          optimizers_config: { indexing_threshold: 5000 },
          metadata: { owner: 'Ada', colour: 'red' },
          timeout: 120,
        }),
      ).toBe(true);
      expect(await client.collectionExists('life')).toEqual({ exists: true });
      expect((await client.getCollections()).collections).toContainEqual({ name: 'life' });

      const before = await client.getCollection('life');
      expect(before).toMatchObject({
        status: 'green',
        optimizer_status: 'ok',
        points_count: 0,
        indexed_vectors_count: 0,
        segments_count: expect.any(Number),
        payload_schema: {},
      });
      expect(before.config.params.vectors).toMatchObject({
        size: 4,
        distance: 'Dot',
        hnsw_config: { m: 24 },
      });
      expect(before.config.hnsw_config).toMatchObject({ m: 16, ef_construct: 64 });
      expect(before.config.optimizer_config).toMatchObject({ indexing_threshold: 5000 });
      expect(before.config.metadata).toEqual({ owner: 'Ada', colour: 'red' });

      expect(
        await client.updateCollection('life', {
          optimizers_config: { indexing_threshold: 7000 },
          vectors: { '': { hnsw_config: { m: 20 } } },
          metadata: { colour: null, year: 2026 },
        }),
      ).toBe(true);
      const after = await client.getCollection('life');
      expect(after.config.optimizer_config).toMatchObject({ indexing_threshold: 7000 });
      expect(after.config.params.vectors).toMatchObject({ hnsw_config: { m: 20 } });
      expect(after.config.metadata).toEqual({ owner: 'Ada', year: 2026 });

      expect(await client.deleteCollection('life')).toBe(true);
      expect(await client.collectionExists('life')).toEqual({ exists: false });
      expect(await client.deleteCollection('life')).toBe(false);
      // The name is free at once (C4.5).
      expect(await client.createCollection('life', { vectors: { size: 2, distance: 'Cosine' } })).toBe(true);
      expect(await client.recreateCollection('life', { vectors: { size: 3, distance: 'Dot' } })).toBe(true);
      expect((await client.getCollection('life')).config.params.vectors).toEqual({
        size: 3,
        distance: 'Dot',
      });
      await client.deleteCollection('life', { timeout: 120 });
    });

    test('get payload indexes, which describe themselves and change no answer', async () => {
      await client.createCollection('indexed', { vectors: { size: 2, distance: 'Dot' } });
      await client.upsert('indexed', {
        points: [1, 2, 3, 4].map((n) => ({
          id: n,
          vector: [n, 0],
          payload: { n, city: n % 2 ? 'Bern' : 'Oslo', when: `2026-01-0${n}T00:00:00Z` },
        })),
      });
      const filter = { must: [{ key: 'city', match: { value: 'Bern' } }] };
      const unindexed = await client.scroll('indexed', { filter });

      const city = { field_name: 'city', field_schema: 'keyword' } as const;
      expect(await client.createPayloadIndex('indexed', { ...city, wait: true })).toMatchObject({
        status: 'completed',
      });
      await client.createPayloadIndex('indexed', city);
      await client.createPayloadIndex('indexed', {
        field_name: 'n',
        field_schema: { type: 'integer', lookup: true, range: true },
        wait: true,
      });
      await client.createPayloadIndex('indexed', {
        field_name: 'when',
        field_schema: 'datetime',
        wait: true,
      });

      const { payload_schema } = await client.getCollection('indexed');
      expect(payload_schema).toMatchObject({
        city: { data_type: 'keyword', points: 4 },
        n: { data_type: 'integer', params: { type: 'integer', lookup: true, range: true }, points: 4 },
        when: { data_type: 'datetime', points: 4 },
      });
      expect(await client.scroll('indexed', { filter })).toEqual(unindexed);

      await client.deletePayloadIndex('indexed', 'city', { wait: true });
      expect((await client.getCollection('indexed')).payload_schema).not.toHaveProperty('city');
      expect(await client.scroll('indexed', { filter })).toEqual(unindexed);
    });
  });

  describe('points (C5)', () => {
    beforeEach(async () => {
      await client.recreateCollection('points', { vectors: { size: 2, distance: 'Euclid' } });
      await client.upsert('points', {
        wait: true,
        points: [
          { id: 1, vector: [1, 0], payload: { city: 'Bern', at: { lat: 46.9, lon: 7.4 }, tags: ['a', 'b'] } },
          { id: 2, vector: [2, 0], payload: { city: 'Oslo' } },
          { id: UUID.toUpperCase(), vector: [3, 0] },
        ],
      });
    });

    test('are upserted as a list and as a batch, and retrieved in the order asked (C5.1, C5.2)', async () => {
      const update = await client.upsert('points', {
        batch: { ids: [7, 8], vectors: [[7, 0], [8, 0]], payloads: [{ n: 7 }, null] }, // prettier-ignore
      });
      expect(update).toEqual({ operation_id: expect.any(Number), status: 'completed' });
      const unwaited = await client.upsert('points', { wait: false, points: [{ id: 9, vector: [9, 0] }] });
      expect(unwaited.status).toBe('acknowledged');

      const points = await client.retrieve('points', { ids: [UUID, 8, 7, 1], with_vector: true });
      expect(points).toEqual([
        { id: UUID, payload: {}, vector: [3, 0] },
        { id: 8, payload: {}, vector: [8, 0] },
        { id: 7, payload: { n: 7 }, vector: [7, 0] },
        {
          id: 1,
          payload: { city: 'Bern', at: { lat: 46.9, lon: 7.4 }, tags: ['a', 'b'] },
          vector: [1, 0],
        },
      ]);
      expect(await client.retrieve('points', { ids: [2], with_payload: false })).toEqual([{ id: 2 }]);
    });

    test('obey update_mode and update_filter (C5.1)', async () => {
      await client.upsert('points', {
        points: [
          { id: 2, vector: [0, 2], payload: { city: 'Rome' } },
          { id: 5, vector: [5, 0] },
        ],
        update_mode: 'insert_only',
      });
      expect(await idsIn('points')).toEqual([1, 2, 5, UUID]);
      expect(await payloadOf('points', 2)).toEqual({ city: 'Oslo' });

      await client.upsert('points', {
        points: [1, 2, 6].map((id) => ({ id, vector: [id, id], payload: { city: 'Rome' } })),
        update_mode: 'update_only',
        update_filter: { must: [{ key: 'city', match: { value: 'Oslo' } }] },
      });
      expect(await idsIn('points')).toEqual([1, 2, 5, UUID]);
      expect(await payloadOf('points', 1)).toMatchObject({ city: 'Bern' });
      expect(await payloadOf('points', 2)).toEqual({ city: 'Rome' });
    });

    test('are deleted by ids and by filter (C5.4)', async () => {
      await client.delete('points', { points: [1, 99], wait: true });
      expect(await idsIn('points')).toEqual([2, UUID]);
      await client.delete('points', { filter: { must: [{ key: 'city', match: { value: 'Oslo' } }] } });
      expect(await idsIn('points')).toEqual([UUID]);
    });

    test('have their payload set, overwritten and deleted, at a key too (C5.6 to C5.9)', async () => {
      await client.setPayload('points', { payload: { n: 1, city: null }, points: [1], wait: true });
      expect(await payloadOf('points', 1)).toEqual({ at: { lat: 46.9, lon: 7.4 }, tags: ['a', 'b'], n: 1 });
      await client.setPayload('points', { payload: { lat: 47 }, key: 'at', points: [1] });
      expect(await payloadOf('points', 1)).toMatchObject({ at: { lat: 47, lon: 7.4 } });

      const oslo = { must: [{ key: 'city', match: { value: 'Oslo' } }] };
      await client.setPayload('points', { payload: { n: 2 }, filter: oslo });
      expect(await payloadOf('points', 2)).toEqual({ city: 'Oslo', n: 2 });

      await client.overwritePayload('points', { payload: { x: null }, points: [2], wait: true });
      expect(await payloadOf('points', 2)).toEqual({ x: null });
      await client.overwritePayload('points', { payload: { deg: 7 }, key: 'at', points: [1] });
      expect(await payloadOf('points', 1)).toEqual({ at: { deg: 7 }, tags: ['a', 'b'], n: 1 });

      await client.deletePayload('points', { keys: ['at.deg', 'tags'], points: [1], wait: true });
      expect(await payloadOf('points', 1)).toEqual({ at: {}, n: 1 });
      await client.clearPayload('points', { points: [1], wait: true });
      expect(await payloadOf('points', 1)).toEqual({});
      await client.clearPayload('points', { filter: {} });
      expect(await payloadOf('points', 2)).toEqual({});
    });

    test('are changed by a batch of operations, each seeing the one before (C5.11)', async () => {
      const results = await client.batchUpdate('points', {
        wait: true,
        operations: [
          { upsert: { points: [{ id: 10, vector: [10, 0], payload: { a: 1 } }] } },
          { set_payload: { payload: { b: 2 }, points: [10] } },
          { overwrite_payload: { payload: { c: 3, d: 4 }, filter: { must: [{ has_id: [10] }] } } },
          { delete_payload: { keys: ['d'], points: [10] } },
          { update_vectors: { points: [{ id: 10, vector: [0, 10] }] } },
          { clear_payload: { points: [1] } },
          { delete_vectors: { points: [2], vector: [''] } },
          { delete: { points: [UUID] } },
        ],
      });
      expect(results).toHaveLength(8);
      expect(results.every(({ status }) => status === 'completed')).toBe(true);
      expect(await client.retrieve('points', { ids: [10, 1, 2], with_vector: true })).toEqual([
        { id: 10, payload: { c: 3 }, vector: [0, 10] },
        { id: 1, payload: {}, vector: [1, 0] },
        { id: 2, payload: { city: 'Oslo' }, vector: {} },
      ]);
      expect(await idsIn('points')).toEqual([1, 2, 10]);

      // All or nothing (C1.7): the failing second operation takes the first with it.
      const failing = client.batchUpdate('points', {
        operations: [{ delete: { points: [1] } }, { set_payload: { payload: { x: 1 }, points: [404] } }],
      });
      expect(await refusal(failing)).toEqual([404, 'Point not found: 404']);
      expect(await idsIn('points')).toEqual([1, 2, 10]);
    });
  });

  describe('named vectors (C2.3, C5.5, C5.10)', () => {
    beforeEach(async () => {
      await client.recreateCollection('named', {
        vectors: { image: { size: 2, distance: 'Dot' }, text: { size: 3, distance: 'Manhattan' } },
      });
      await client.upsert('named', {
        points: [
          { id: 1, vector: { image: [1, 0], text: [1, 1, 1] } },
          { id: 2, vector: { image: [2, 0] } },
          { id: 3, vector: { text: [3, 3, 3] } },
        ],
      });
    });

    test('are searched one at a time, and points without that one are left out', async () => {
      const image = await client.query('named', { query: [1, 0], using: 'image', with_vector: ['image'] });
      expect(image.points).toEqual([
        { id: 2, version: expect.any(Number), score: 2, vector: { image: [2, 0] } },
        { id: 1, version: expect.any(Number), score: 1, vector: { image: [1, 0] } },
      ]);
      const text = await client.query('named', { query: 1, using: 'text' });
      expect(text.points.map(({ id, score }) => [id, score])).toEqual([[3, 6]]);
      expect(await refusal(client.query('named', { query: [1, 0], using: 'sound' }))).toEqual([
        400,
        'Vector not found: sound',
      ]);
    });

    test('are updated and deleted by name, the others staying', async () => {
      await client.updateVectors('named', { points: [{ id: 1, vector: { image: [5, 0] } }], wait: true });
      await client.deleteVectors('named', { points: [3], vector: ['text'], wait: true });
      await client.deleteVectors('named', { filter: { must: [{ has_id: [2] }] }, vector: ['image'] });
      expect(
        await client.retrieve('named', { ids: [1, 2, 3], with_vector: true, with_payload: false }),
      ).toEqual([
        { id: 1, vector: { image: [5, 0], text: [1, 1, 1] } },
        { id: 2, vector: {} },
        { id: 3, vector: {} },
      ]);
      expect(await client.count('named', { filter: { must: [{ has_vector: 'image' }] } })).toEqual({
        count: 1,
      });
    });
  });
});
