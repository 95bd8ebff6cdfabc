/** A shard map whose stream the log servers have lost, made anew by the command. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand, type Outcome } from '../cli/run-command';
import { describeUnless } from '../missing';
import { eventually, until } from '../until';
import { isNoNats } from './nats-server';
import { TestCluster, type TestNode } from './nodes';

const CONFIG = { vectors: { size: 2, distance: 'Dot' }, shard_number: 2, replication_factor: 2 };
const STREAM = 'KITHDB_test_map';

const kithdb = (...flags: string[]): Promise<Outcome> => runCommand(['cluster', 'recover-map', ...flags]);

it('kithdb cluster recover-map says what it needs', async () => {
  expect(await kithdb()).toMatchObject({
    code: 2,
    err: expect.stringContaining('--cluster URLS is required'),
  });
  const folder = mkdtempSync(join(tmpdir(), 'kithdb-no-node-'));
  const mistyped = join(folder, 'mistyped');
  const flags = ['--cluster', 'nats://127.0.0.1:1', '--data-dir', mistyped];
  expect(await kithdb(...flags, '--yes')).toMatchObject({
    code: 1,
    err: expect.stringContaining('is no directory of a node of the cluster kithdb'),
  });
  expect(existsSync(mistyped)).toBe(false);
  rmSync(folder, { recursive: true });
});

describeUnless(isNoNats)('kithdb cluster recover-map', () => {
  let cluster: TestCluster;
  beforeAll(async () => {
    cluster = await TestCluster.start(2, 1);
  });
  afterAll(() => cluster.end());

  function command({ dataDir }: TestNode, ...flags: string[]) {
    const settings = ['--cluster', `nats://${cluster.servers.addresses[0]}`, '--cluster-name', 'test'];
    const log = ['--cluster-log-groups', '2', '--cluster-log-copies', '1', '--data-dir', dataDir];
    return kithdb(...settings, ...log, ...flags);
  }

  async function counted(node: TestNode, count: number): Promise<void> {
    await eventually(
      () => node.ask('count', 'herons', { exact: true }),
      { count },
      () => node.engine.healthIssues(),
    );
  }

  async function deleteStream(): Promise<void> {
    await cluster.servers.withStreams((streams) => streams.delete(STREAM));
  }

  async function emptyStream(): Promise<void> {
    await cluster.servers.withStreams(async (streams) => {
      const { config } = await streams.info(STREAM);
      await streams.delete(STREAM);
      await streams.add({ ...config, first_seq: 1 });
    });
  }

  const write = (node: TestNode, id: number): Promise<unknown> =>
    node.ask('upsert_points', 'birds', { points: [{ id, vector: [id, 1] }] });

  it('makes the map anew where it was lost, and all nodes follow it', async () => {
    const [first, second] = cluster.nodes as [TestNode, TestNode];
    await first.ask('create_collection', 'birds', CONFIG);
    const alias = { create_alias: { collection_name: 'birds', alias_name: 'herons' } };
    await first.ask('change_aliases', undefined, { actions: [alias] });
    for (let id = 0; id < 10; id += 1) await write(first, id);
    await counted(second, 10);

    await second.stop();
    expect((await command(second, '--yes')).err).toMatch(/nodes run at .*: stop all nodes first/);
    await first.stop();
    expect((await command(first, '--yes')).err).toMatch(/KITHDB_test_map is not lost/);
    await deleteStream();
    await expect(first.start()).rejects.toThrow(/the shard map of the cluster was lost/);

    const asked = await command(first);
    expect(asked).toMatchObject({ code: 1, err: expect.stringContaining('give --yes') });
    expect(asked.out).toMatch(/Would be made: .*: 2 nodes, 1 collection, 1 alias\n {2}collection birds\n/);
    expect(asked.out).toMatch(/Would be lost: every change/);
    await expect(first.start()).rejects.toThrow(/the shard map of the cluster was lost/);

    const done = await command(first, '--yes', '--json');
    expect([done.code, JSON.parse(done.out)]).toEqual([
      0,
      expect.objectContaining({ done: true, removes_stream: false, collections: ['birds'], aliases: 1 }),
    ]);
    await first.start();
    await second.start();
    for (const node of [first, second]) await counted(node, 10);
    await write(second, 10);
    for (const node of [first, second]) await counted(node, 11);
    await second.ask('create_collection', 'owls', CONFIG);
    await until(async () => {
      const { exists } = (await first.ask('collection_exists', 'owls')) as { exists: boolean };
      return exists;
    });
    expect(await command(first)).toMatchObject({ code: 1, err: expect.stringContaining('in use') });
  });

  it.each([
    ['deleted', deleteStream],
    ['emptied', emptyStream],
  ])('C30.13 nodes that all run make it anew by themselves where it was %s', async (what, lose) => {
    const [first, second] = cluster.nodes as [TestNode, TestNode];
    await until(async () => (await write(first, 0).catch(() => undefined)) !== undefined);
    await lose();
    const name = `wrens-${what}`;
    await until(
      async () => (await second.ask('create_collection', name, CONFIG).catch(() => undefined)) !== undefined,
      50,
      () => JSON.stringify([first, second].map(({ engine }) => engine.healthIssues())),
    );
    await until(async () => {
      const found = (await first.ask('collection_exists', name).catch(() => undefined)) as
        { exists: boolean } | undefined;
      return found?.exists === true;
    });
    await until(async () => (await write(first, 11).catch(() => undefined)) !== undefined);
    for (const node of [first, second]) await counted(node, 12);
    for (const node of [first, second]) expect(node.engine.healthIssues()).toEqual([]);
  });

  it('waits for a node that is stopped, and says so', async () => {
    const [first, second] = cluster.nodes as [TestNode, TestNode];
    await until(async () => (await write(first, 0).catch(() => undefined)) !== undefined);
    await second.stop();
    await deleteStream();
    await until(() =>
      first.engine.healthIssues().some(({ what }) => what.includes('is made anew when all nodes are live')),
    );
    await first.stop();
    expect((await command(first, '--yes')).code).toBe(0);
    await first.start();
    await second.start();
    for (const node of [first, second]) await counted(node, 12);
  });
});
