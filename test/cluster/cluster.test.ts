import { rmSync } from 'node:fs';
import { EngineError } from '../../src/engine/types';
import { describeUnless } from '../missing';
import { until } from '../until';
import { isNoNats } from './nats-server';
import { TestCluster, type TestNode } from './nodes';

const CONFIG = { vectors: { size: 2, distance: 'Dot' }, shard_number: 3, replication_factor: 2 };

function points(from: number, count: number): object {
  return {
    points: Array.from({ length: count }, (_, at) => ({
      id: from + at,
      vector: [from + at, 1],
      payload: { n: from + at, even: (from + at) % 2 === 0 },
    })),
  };
}

/** Asks until the answer is the wanted one. */
async function eventually(ask: () => Promise<unknown>, wanted: unknown): Promise<void> {
  await until(async () => {
    const answer = await ask().catch(() => undefined);
    return JSON.stringify(answer) === JSON.stringify(wanted);
  });
}

describeUnless(isNoNats)('three nodes', () => {
  let cluster: TestCluster;
  let nodes: readonly TestNode[];
  beforeAll(async () => {
    cluster = await TestCluster.start(3, 1);
    nodes = cluster.nodes;
  });
  afterAll(() => cluster.end());

  const [first, second, third] = [0, 1, 2].map((at) => (): TestNode => nodes[at]!) as [
    () => TestNode,
    () => TestNode,
    () => TestNode,
  ];

  it('have the same collections, points and answers, whichever is asked', async () => {
    expect(await first().ask('create_collection', 'birds', CONFIG)).toBe(true);
    for (const node of nodes)
      await eventually(() => node.ask('collection_exists', 'birds'), { exists: true });
    let token = '';
    const written = (position: string): void => {
      token = position;
    };
    expect(await second().ask('upsert_points', 'birds', points(0, 100), { written })).toMatchObject({
      status: 'completed',
    });
    for (const node of nodes) {
      expect(await node.ask('count', 'birds', { exact: true }, { readAfter: token })).toEqual({ count: 100 });
      const query = { query: [1, 0], limit: 3, with_payload: true };
      expect(await node.ask('query', 'birds', query, { readAfter: token })).toMatchObject({
        points: [{ id: 99, score: 99, payload: { n: 99 } }, { id: 98 }, { id: 97 }],
      });
    }
    await third().ask(
      'set_payload',
      'birds',
      {
        payload: { seen: true },
        filter: { must: [{ key: 'even', match: { value: true } }] },
      },
      { written },
    );
    const seen = { filter: { must: [{ key: 'seen', match: { value: true } }] }, exact: true };
    expect(await first().ask('count', 'birds', seen, { readAfter: token })).toEqual({ count: 50 });
    expect(await second().ask('collection_cluster_info', 'birds')).toMatchObject({ shard_count: 3 });
    expect(await second().ask('collection_info', 'birds')).toMatchObject({
      points_count: 100,
      config: { params: { shard_number: 3, replication_factor: 2 } },
    });
  });

  it('join what their shards say, and work on the files of all replicas', async () => {
    expect(await first().ask('collection_status', 'birds')).toMatchObject({
      status: expect.stringMatching(/green|yellow/),
      points_count: 100,
    });
    expect(await second().ask('optimizations', 'birds')).toMatchObject({ running: [] });
    expect(await third().ask('flush', 'birds')).toBe(true);
  });

  it('refuse what one node refuses, and nothing is half done', async () => {
    const bad = {
      points: [
        { id: 1, vector: [1, 2] },
        { id: 2, vector: [1, 2, 3] },
      ],
    };
    await expect(first().ask('upsert_points', 'birds', bad)).rejects.toMatchObject({
      code: 'dimension_mismatch',
    });
    await expect(first().ask('upsert_points', 'none', bad)).rejects.toMatchObject({
      code: 'collection_not_found',
    });
    await expect(first().ask('create_collection', 'birds', CONFIG)).rejects.toMatchObject({
      code: 'collection_exists',
    });
    await expect(first().ask('clone_collection', 'birds', { name: 'x' })).rejects.toBeInstanceOf(EngineError);
    expect(await first().ask('count', 'birds', { exact: true })).toEqual({ count: 100 });
  });

  it('apply a repeated write once, and answer it as the first', async () => {
    const operationId = '11111111-2222-4333-8444-555555555555';
    const once = await first().ask('upsert_points', 'birds', points(500, 1), { operationId });
    expect(await first().ask('upsert_points', 'birds', points(500, 1), { operationId })).toEqual(once);
  });

  it('go on without one of them, which catches up when it is back', async () => {
    await third().stop();
    await eventually(() => first().ask('count', 'birds', { exact: true }), { count: 101 });
    await first().ask('create_collection', 'later', { ...CONFIG, write_consistency_factor: 1 });
    await first().ask('upsert_points', 'later', points(0, 10));
    await third().start();
    await eventually(() => third().ask('count', 'later', { exact: true }), { count: 10 });
    await eventually(() => third().ask('count', 'birds', { exact: true }), { count: 101 });
  });

  it('fill a node anew whose directory was wiped', async () => {
    await third().stop();
    rmSync(third().dataDir, { recursive: true });
    await third().start();
    await eventually(() => third().ask('count', 'birds', { exact: true }), { count: 101 });
    expect(await third().ask('delete_collection', 'later')).toBe(true);
    await eventually(() => first().ask('list_collections'), { collections: [{ name: 'birds' }] });
  });
});
