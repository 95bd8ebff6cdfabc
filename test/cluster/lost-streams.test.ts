/** Three nodes over a long time: checkpoints, streams that are cut, and streams that are lost. */
import { jetstreamManager, type JetStreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { connectToNats } from '../../src/cluster/log/nats-connection';
import { NatsLogService } from '../../src/cluster/log/nats-log';
import { describeUnless } from '../missing';
import { until } from '../until';
import { isNoNats } from './nats-server';
import { TestCluster, type TestNode } from './nodes';

const CONFIG = { vectors: { size: 2, distance: 'Dot' }, shard_number: 1 };
const CHECKPOINTS = { everyRecords: 5, everyMs: 250, minAgeMs: 0, lookMs: 100 };
/** The first collection is number 1, whose records are in group 1. */
const REPLICA = 'c1-s0';
const STREAM = 'KITHDB_test_1';

let cluster: TestCluster;
let connection: NatsConnection;
let manager: JetStreamManager;
/** Ids of points whose write was acknowledged. */
let acknowledged: number[];
let next: number;

async function begin(nodes = 3): Promise<void> {
  cluster = await TestCluster.start(nodes, 1, CHECKPOINTS);
  connection = await connectToNats({ servers: cluster.servers.addresses }, 'test', { timeoutMs: 5000 });
  manager = await jetstreamManager(connection, { checkAPI: false });
  [acknowledged, next] = [[], 0];
  await cluster.nodes[0]!.ask('create_collection', 'birds', { ...CONFIG, replication_factor: nodes });
  for (const node of cluster.nodes) await node.ask('collection_info', 'birds').catch(() => undefined);
  await until(async () => (await Promise.all(cluster.nodes.map((node) => knows(node)))).every(Boolean));
}

async function knows(node: TestNode): Promise<boolean> {
  return ((await node.ask('collection_exists', 'birds')) as { exists: boolean }).exists;
}

async function end(): Promise<void> {
  await connection.close();
  await cluster.end();
}

/** Writes points, each by a request of its own, through the running nodes in turn. */
async function write(count: number): Promise<void> {
  const running = cluster.nodes.filter((node) => node.isRunning);
  for (let done = 0; done < count; done += 1) {
    const id = next++;
    const points = [{ id, vector: [id, 1] }];
    await running[id % running.length]!.ask('upsert_points', 'birds', { points });
    acknowledged.push(id);
  }
}

/** The ids that a node finds. */
async function found(node: TestNode): Promise<number[]> {
  const { points } = (await node.ask('scroll', 'birds', { limit: 10_000 })) as { points: { id: number }[] };
  return points.map(({ id }) => id);
}

/** Until the log servers have the stream of the next epoch. */
async function untilReplaced(): Promise<void> {
  await until(async () => {
    const names = await manager.streams
      .names()
      .next()
      .catch((): string[] => []);
    return names.includes(`${STREAM}_e1`);
  }, 50);
}

/** Until a write is acknowledged. */
async function untilWritten(): Promise<void> {
  await until(
    () =>
      write(1).then(
        () => true,
        () => false,
      ),
    50,
  );
}

/** Until all replicas have one state, which has every acknowledged point. A write that was given up may be in it as well. */
async function untilEqual(): Promise<void> {
  await until(async () => {
    const [first, ...others] = await Promise.all(cluster.nodes.map((node) => node.stateOf(REPLICA)));
    const isOne = others.every((one) => JSON.stringify(one) === JSON.stringify(first));
    return isOne && (first?.points ?? 0) >= acknowledged.length;
  }, 50);
  for (const node of cluster.nodes) await until(async () => isFoundBy(node), 50);
}

async function isFoundBy(node: TestNode): Promise<boolean> {
  const ids = new Set(await found(node).catch(() => []));
  return acknowledged.every((id) => ids.has(id));
}

const issuesOf = (node: TestNode): string =>
  node.engine
    .healthIssues()
    .map(({ what }) => what)
    .join('\n');

async function firstSequence(): Promise<number> {
  return (await manager.streams.info(STREAM)).state.first_seq;
}

/** Until a node says that writes have stopped; they are refused then with the reason, and reads go on. */
async function untilStopped(reason: RegExp): Promise<void> {
  for (const node of cluster.nodes.filter((one) => one.isRunning)) {
    await until(
      () => reason.test(issuesOf(node)),
      50,
      () => issuesOf(node),
    );
    await expect(
      node.ask('upsert_points', 'birds', { points: [{ id: 9999, vector: [1, 1] }] }),
    ).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringMatching(reason),
    });
    expect(await isFoundBy(node)).toBe(true);
  }
}

/** Has the log server killed, its files changed, and started again. */
async function changeFiles(change: (folder: string) => void): Promise<void> {
  const [server] = cluster.servers.servers;
  await server!.kill();
  change(join(cluster.servers.folder, 'log-0'));
  server!.start();
  await server!.untilListening();
}

describeUnless(isNoNats)('a stream that was cut', () => {
  beforeAll(() => begin());
  afterAll(end);

  it('leaves replicas that come back, and new ones, to checkpoints', async () => {
    const [, , third] = cluster.nodes as [TestNode, TestNode, TestNode];
    await write(6);
    await untilEqual();
    await third.stop();
    const before = (await manager.streams.info(STREAM)).state.last_seq;
    await write(12);
    await until(async () => (await firstSequence()) > before + 1, 50);
    await third.start();
    await untilEqual();
    await write(3);
    await untilEqual();
    // Nothing is below its first record, and a node without anything gets all.
    await third.stop();
    rmSync(third.dataDir, { recursive: true });
    await third.start();
    await until(() => isFoundBy(third), 50);
    expect(await firstSequence()).toBeGreaterThan(before + 1);
  });

  it('has nodes that answer nothing once the shard map is of a later release', async () => {
    const service = await NatsLogService.of(connection, { cluster: 'test', groups: 2, replicas: 1 });
    const payload = Buffer.from(JSON.stringify({ format: 2, kind: 'node_joined' }));
    const event = { operation: 'later', epoch: 0, kind: 'map', payload };
    await service.map.publish('events', event, { timeoutMs: 10_000 });
    for (const node of cluster.nodes) {
      await until(() => issuesOf(node).includes('a later release of KithDB wrote: upgrade this node'), 50);
      await expect(node.ask('count', 'birds')).rejects.toMatchObject({ code: 'unavailable' });
    }
  });
});

describeUnless(isNoNats)('a stream of a cluster with one node', () => {
  beforeAll(() => begin(1));
  afterAll(end);

  it('is cut below checkpoints that the node itself has read back', async () => {
    const [only] = cluster.nodes as [TestNode];
    await write(12);
    await until(async () => (await firstSequence()) > 1, 50);
    rmSync(join(only.dataDir, 'cluster-progress.json'), { force: true });
    await only.stop();
    await only.start();
    await untilEqual();
  });
});

describeUnless(isNoNats)('a stream that is deleted', () => {
  beforeAll(() => begin());
  afterAll(end);

  it('C30.1 is replaced without the loss of a write, also for a replica that was behind', async () => {
    const [, , third] = cluster.nodes as [TestNode, TestNode, TestNode];
    await write(4);
    await untilEqual();
    await third.stop();
    await write(4);
    await manager.streams.delete(STREAM);
    await untilStopped(/log group 1/);
    await third.start();
    await untilReplaced();
    await untilWritten();
    await untilEqual();
    await write(5);
    await untilEqual();
    for (const node of cluster.nodes)
      await until(
        () => issuesOf(node) === '',
        50,
        () => issuesOf(node),
      );
  });
});

describeUnless(isNoNats)('a log server that gets an older copy of its files', () => {
  beforeAll(() => begin());
  afterAll(end);

  it('C30.1 is noticed, and nothing that was acknowledged is lost', async () => {
    await write(4);
    await untilEqual();
    const copy = join(cluster.folder, 'copy');
    await changeFiles((folder) => {
      cpSync(folder, copy, { recursive: true });
    });
    await untilWritten();
    await write(5);
    await untilEqual();
    await changeFiles((folder) => {
      rmSync(folder, { recursive: true });
      cpSync(copy, folder, { recursive: true });
    });
    await untilStopped(/log group 1 (?:was lost|takes no writes)[^]*it ends at \d+/);
    await untilReplaced();
    await untilWritten();
    await untilEqual();
  });
});

describeUnless(isNoNats)('log servers that lost everything', () => {
  beforeAll(() => begin());
  afterAll(end);

  it('C30.1 stop the writes, and a node that starts then leaves its data as it is', async () => {
    const [, second] = cluster.nodes as [TestNode, TestNode, TestNode];
    await write(4);
    await untilEqual();
    await changeFiles((folder) => {
      rmSync(folder, { recursive: true });
    });
    await untilStopped(/the stream of the shard map was lost, and all writes have stopped/);
    await second.stop();
    await expect(second.start()).rejects.toThrow(/the shard map of the cluster was lost/);
  });
});
