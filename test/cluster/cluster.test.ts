import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withTokensOffline } from '../../src/auth/offline-tokens';
import { openNativeEngine } from '../../src/engine';
import { executeJson } from '../../src/engine/json-call';
import { EngineError } from '../../src/engine/types';
import { startServer } from '../../src/temporary-server';
import { describeUnless } from '../missing';
import { eventually, until } from '../until';
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

  it('C30.2 have the same collections, points and answers, whichever is asked', async () => {
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

  it('C30.3 refuse what one node refuses, and nothing is half done', async () => {
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

  it('C4.5 say whether there was a collection that they delete', async () => {
    await first().ask('create_collection', 'short', CONFIG);
    const deleted = await Promise.all(
      [first(), second()].map((node) => node.ask('delete_collection', 'short')),
    );
    expect(deleted.sort()).toEqual([false, true]);
    expect(await third().ask('delete_collection', 'short')).toBe(false);
  });

  it('C30.6 apply a repeated write once, and answer it as the first', async () => {
    const operationId = '11111111-2222-4333-8444-555555555555';
    const once = await first().ask('upsert_points', 'birds', points(500, 1), { operationId });
    expect(await first().ask('upsert_points', 'birds', points(500, 1), { operationId })).toEqual(once);
  });

  it('C30.1 go on without one of them, which catches up when it is back', async () => {
    await third().stop();
    await eventually(() => first().ask('count', 'birds', { exact: true }), { count: 101 });
    await first().ask('create_collection', 'later', { ...CONFIG, write_consistency_factor: 1 });
    await first().ask('upsert_points', 'later', points(0, 10));
    await third().start();
    await eventually(() => third().ask('count', 'later', { exact: true }), { count: 10 });
    await eventually(() => third().ask('count', 'birds', { exact: true }), { count: 101 });
  });

  it('C30.1 fill a node anew whose directory was wiped', async () => {
    await third().stop();
    rmSync(third().dataDir, { recursive: true });
    await third().start();
    await eventually(() => third().ask('count', 'birds', { exact: true }), { count: 101 });
    expect(await third().ask('delete_collection', 'later')).toBe(true);
    await eventually(() => first().ask('list_collections'), { collections: [{ name: 'birds' }] });
  });
});

interface ShardReport {
  readonly shard_id: number;
  readonly peer_id: number;
  readonly state: string;
}

interface Report {
  readonly peer_id: number;
  readonly local_shards: readonly Omit<ShardReport, 'peer_id'>[];
  readonly remote_shards: readonly ShardReport[];
}

describeUnless(isNoNats)('an operator', () => {
  it('C30.9 drops a replica, which is made anew, and removes a node, which is emptied', async () => {
    const cluster = await TestCluster.start(3, 1);
    const [first, second, third] = cluster.nodes as [TestNode, TestNode, TestNode];
    const reportOf = async (node: TestNode) => (await node.ask('collection_cluster_info', 'birds')) as Report;
    /** Whether both replicas of each of the three shards are active, on nodes that are wanted. */
    const isWhole = async (isWanted: (peer: number) => boolean): Promise<boolean> => {
      const { peer_id: own, local_shards: local, remote_shards: remote } = await reportOf(first);
      const replicas = [...local.map((shard) => ({ ...shard, peer_id: own })), ...remote];
      return (
        replicas.length === 6 &&
        replicas.every(({ state, peer_id: peer }) => state === 'Active' && isWanted(peer))
      );
    };
    try {
      await first.ask('create_collection', 'birds', CONFIG);
      await first.ask('upsert_points', 'birds', points(0, 100));
      for (const node of cluster.nodes)
        await eventually(() => node.ask('count', 'birds', { exact: true }), { count: 100 });
      const { peer_id: peer, local_shards: shards } = await reportOf(third);
      const { shard_id: shard = 0 } = shards[0] ?? {};
      const { cluster: control } = first.engine;
      await control.dropReplica('birds', shard, peer);
      await until(() => isWhole(() => true));
      await expect(control.dropReplica('birds', 9, peer)).rejects.toThrow('has no shard 9');
      await expect(control.dropReplica('none', 0, peer)).rejects.toMatchObject({
        code: 'collection_not_found',
      });
      await expect(control.removePeer(7)).rejects.toThrow('there is no peer 7');

      await second.engine.cluster.removePeer(peer);
      await second.engine.cluster.removePeer(peer);
      await until(() => isWhole((on) => on !== peer));
      await until(async () => (await reportOf(third)).local_shards.length === 0);
      for (const node of cluster.nodes)
        await eventually(() => node.ask('count', 'birds', { exact: true }), { count: 100 });
    } finally {
      await cluster.end();
    }
  });
});

describeUnless(isNoNats)('the first node of a cluster', () => {
  const VECTORS = { vectors: { size: 2, distance: 'Dot' } };
  let cluster: TestCluster;
  beforeEach(async () => {
    cluster = await TestCluster.start(0, 1);
  });
  afterEach(() => cluster.end());

  /** A data directory of a single node, with what was done in it. */
  async function single(work: (ask: TestNode['ask']) => Promise<void>): Promise<string> {
    const dataDir = mkdtempSync(join(cluster.folder, 'single-'));
    const engine = openNativeEngine({ dataDir, searchThreads: 1 });
    await engine.open();
    await work((operation, collection, json) => executeJson(engine, { operation, collection }, json));
    await engine.close();
    return dataDir;
  }

  it('C30.10 brings its collections along, with their points, graphs and aliases', async () => {
    const dataDir = await single(async (ask) => {
      await ask('create_collection', 'birds', VECTORS);
      await ask('create_collection', 'urls', { ...VECTORS, ids: 'string' });
      await ask('upsert_points', 'birds', points(0, 100));
      await ask('upsert_points', 'urls', { points: [{ id: 'a/b', vector: [1, 2] }] });
      await ask('create_field_index', 'birds', { field_name: 'n', field_schema: 'integer' });
      const create_alias = { alias_name: 'animals', collection_name: 'birds' };
      await ask('change_aliases', undefined, { actions: [{ create_alias }] });
    });
    const node = await cluster.add({}, dataDir);
    await eventually(() => node.ask('count', 'animals', { exact: true }), { count: 100 });
    expect(await node.ask('list_collections')).toEqual({
      collections: [{ name: 'birds' }, { name: 'urls' }],
    });
    await node.ask('upsert_points', 'animals', points(100, 1));
    await node.ask('upsert_points', 'urls', { points: [{ id: 'c', vector: [1, 2] }] });
    const check = async (): Promise<void> => {
      await eventually(() => node.ask('count', 'birds', { exact: true }), { count: 101 });
      await eventually(() => node.ask('count', 'urls', { exact: true }), { count: 2 });
      expect(await node.ask('collection_info', 'birds')).toMatchObject({
        payload_schema: { n: { data_type: 'integer' } },
        config: { params: { shard_number: 1, replication_factor: 1 } },
      });
    };
    await check();
    await node.stop();
    await node.start();
    await check();
  });

  it('C30.10 brings nothing twice where it ended while it did', async () => {
    const dataDir = await single(async (ask) => {
      for (const name of ['one', 'two']) {
        await ask('create_collection', name, VECTORS);
        await ask('upsert_points', name, points(0, 10));
      }
    });
    const node = await cluster.add({}, dataDir);
    await eventually(() => node.ask('count', 'two', { exact: true }), { count: 10 });
    await node.stop();
    // As if the node had ended before it noted that.
    const path = join(dataDir, 'cluster.json');
    const identity = JSON.parse(readFileSync(path, 'utf8')) as object;
    const brings = { collections: ['one', 'two'], aliases: [] };
    writeFileSync(path, JSON.stringify({ ...identity, brings }));
    await node.start();
    for (const name of ['one', 'two'])
      await eventually(() => node.ask('count', name, { exact: true }), { count: 10 });
  });

  it('C30.10 is the only one that may', async () => {
    await cluster.add();
    const dataDir = await single(async (ask) => {
      await ask('create_collection', 'birds', VECTORS);
    });
    await expect(cluster.add({}, dataDir)).rejects.toThrow(
      'only the first node brings its collections along',
    );
    expect(existsSync(join(dataDir, 'cluster.json'))).toBe(false);
    const engine = openNativeEngine({ dataDir, searchThreads: 1 });
    await engine.open();
    expect(await executeJson(engine, { operation: 'list_collections' })).toEqual({
      collections: [{ name: 'birds' }],
    });
    await engine.close();
  });

  const ENABLED = { KITHDB_ACCESS_TOKEN: 'a-value-of-the-settings-0123456789' };

  it.each([
    ['that nobody has decided on', {}],
    ['that is enabled', ENABLED],
  ])('C30.10 is the only one that may, with authentication %s', async (_, settings) => {
    const dataDir = mkdtempSync(join(cluster.folder, 'single-'));
    const headers = { authorization: `Bearer ${ENABLED.KITHDB_ACCESS_TOKEN}` };
    const alone = await startServer({ dataDir, settings });
    const made = await fetch(`${alone.url}/collections/birds`, {
      ...{ method: 'PUT', body: JSON.stringify(VECTORS) },
      headers: { ...headers, 'content-type': 'application/json' },
    });
    expect(made.status).toBe(200);
    await alone.stop();
    const first = await startServer({
      dataDir: join(cluster.folder, 'first'),
      settings: cluster.servers.nodeSettings('test'),
    });
    await expect(startServer({ dataDir, settings: cluster.servers.nodeSettings('test') })).rejects.toThrow(
      'only the first one brings its collections, its admin and its access tokens along',
    );
    await first.stop();
    expect(existsSync(join(dataDir, 'cluster.json'))).toBe(false);
    const again = await startServer({ dataDir, settings });
    expect(await (await fetch(`${again.url}/collections`, { headers })).json()).toMatchObject({
      result: { collections: [{ name: 'birds' }] },
    });
    await again.stop();
    expect(await withTokensOffline(dataDir, undefined, (kept) => kept.tokens())).toHaveLength(
      settings === ENABLED ? 1 : 0,
    );
  });

  it('C30.10 does not start with a collection that has the name of a replica, and is as it was', async () => {
    const dataDir = await single((ask) => ask('create_collection', 'c1-s0', VECTORS).then(() => undefined));
    await expect(startServer({ dataDir, settings: cluster.servers.nodeSettings('test') })).rejects.toThrow(
      'the collection c1-s0 has the name of a replica',
    );
    const again = await startServer({ dataDir });
    expect((await fetch(`${again.url}/collections/c1-s0`)).status).toBe(200);
    await again.stop();
  });
});
