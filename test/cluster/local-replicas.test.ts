/** The replicas of a node, over an engine of its own and streams in memory. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CurrentLogs } from '../../src/cluster/streams/current-logs';
import type { ShardMapEvent } from '../../src/cluster/map/event';
import { ShardMap } from '../../src/cluster/map/shard-map';
import { encodeWrite } from '../../src/cluster/record/write-record';
import { LocalReplicas } from '../../src/cluster/replica/local-replicas';
import type { WantedCheckpoint } from '../../src/cluster/replica/opening';
import { Progress } from '../../src/cluster/replica/progress';
import { openNativeEngine } from '../../src/engine';
import { executeJson } from '../../src/engine/json-call';
import { EngineError, type Engine, type EngineRequest } from '../../src/engine/types';
import { collectionNames } from '../../src/snapshots/files-of-collections';
import { until } from '../until';
import { MemoryLogService } from './memory-log';

const LIMITS = { timeoutMs: 10_000 };
const SHARD = { collection: 1, shard: 0 };

let folder: string;
let engine: Engine;
let servers: MemoryLogService;
let map: ShardMap;
/** The node, as long as it runs. */
let replicas: LocalReplicas;
/** Requests to the engine that fail. */
let fails: (request: EngineRequest) => boolean;
/** Until when a request to the engine waits. */
let waits: (request: EngineRequest) => Promise<void>;
/** What was asked of the store of checkpoints. */
let wanted: WantedCheckpoint[];
/** Makes a replica of a checkpoint, and says how far it reaches; usually there is none. */
let restore: (name: string) => Promise<number | undefined>;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kithdb-replicas-'));
  engine = openNativeEngine({ dataDir: folder, searchThreads: 1, isReplica: true });
  await engine.open();
  servers = new MemoryLogService('test', 1);
  map = new ShardMap(servers.map, { ignored: () => undefined });
  [fails, wanted, restore] = [() => false, [], () => Promise.resolve(undefined)];
  waits = () => Promise.resolve();
  await map.start();
  await change({
    kind: 'streams_opened',
    streams: [{ group: 0, created: servers.groupStreams[0]!.created }],
  });
  for (const node of ['a', 'b']) await change({ kind: 'node_joined', node, address: `${node}:1` });
  const numbers = { shardNumber: 1, replicationFactor: 2, writeConsistencyFactor: 1 };
  const configuration = JSON.stringify({ vectors: { size: 2, distance: 'Dot' } });
  const collection = { id: 1, name: 'birds', configuration, group: 0, firstPosition: 0, ...numbers };
  await change({ kind: 'collection_created', collection: { ...collection, placement: [['a', 'b']] } });
  await begin();
});

afterEach(async () => {
  await replicas.stop();
  await map.stop();
  await engine.close();
  rmSync(folder, { recursive: true, force: true });
});

async function change(event: ShardMapEvent): Promise<void> {
  const decision = await map.propose(() => event, LIMITS);
  if ('refused' in decision) throw new Error(decision.refused);
  await map.waitFor(decision.version);
}

/** Starts the node `a`. */
async function begin(): Promise<void> {
  const failing = new Proxy(engine, {
    get: (target, name) => {
      if (name === 'execute') {
        return (request: EngineRequest) =>
          fails(request)
            ? Promise.reject(new EngineError('storage_full'))
            : waits(request).then(() => target.execute(request));
      }
      const value = Reflect.get(target, name) as unknown;
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
  const gate = {
    admit: () => Promise.resolve(map.state.streams.get(0)!),
    notePublished: () => undefined,
  };
  replicas = new LocalReplicas({
    ...{ node: 'a', engine: failing, map, progress: await Progress.open(folder) },
    logs: new CurrentLogs(servers, map, () => gate),
    source: {
      restore: (_shard, name, checkpoint) => {
        wanted.push(checkpoint);
        return restore(name);
      },
    },
    events: { answered: () => undefined, digested: () => undefined },
    failed: () => undefined,
  });
  replicas.start();
}

/** Publishes a point, and waits until the replica has it. */
async function write(id: number): Promise<void> {
  const body = Buffer.from(JSON.stringify({ points: [{ id, vector: [1, 2] }] }));
  const record = { operation: 'upsert_points' as const, isLenient: false, coordinator: 'a' };
  const payload = encodeWrite({ ...record, parts: new Map([[0, body]]) });
  const operation = `11111111-2222-4333-8444-00000000000${id}`;
  await servers.group(0).publish('1.0', { operation, epoch: 0, kind: 'write', payload }, LIMITS);
  await until(() => (replicas.current(SHARD)?.position ?? 0) > 0);
}

const failsToDelete = ({ operation }: EngineRequest): boolean => operation === 'delete_collection';

describe('a replica that is wrong', () => {
  it('does not come back where it cannot be deleted at first', async () => {
    await until(() => replicas.current(SHARD) !== undefined);
    await write(1);
    fails = failsToDelete;
    replicas.remake(SHARD, 1);
    await until(() => replicas.failures().has('all'));
    expect(replicas.current(SHARD)).toBeUndefined();
    // Something else changes in the map: nothing follows the stream with the wrong replica again.
    await change({ kind: 'node_joined', node: 'c', address: 'c:1' });
    await until(() => replicas.failures().has('all'));
    expect(replicas.current(SHARD)).toBeUndefined();
    expect(replicas.following()).toEqual([]);
    fails = () => false;
    await until(() => wanted.length > 0);
    expect(wanted[0]).toMatchObject({ lacked: 1 });
    expect(await collectionNames(engine)).toEqual([]);
  });

  it('does not come back where the node ends before it was deleted', async () => {
    await until(() => replicas.current(SHARD) !== undefined);
    await write(1);
    fails = failsToDelete;
    replicas.remake(SHARD, 1);
    await until(() => replicas.failures().has('all'));
    await replicas.stop();
    fails = () => false;
    await begin();
    await until(() => wanted.length > 0 || replicas.current(SHARD) !== undefined);
    expect(wanted[0]).toMatchObject({ lacked: 1 });
    expect(replicas.current(SHARD)).toBeUndefined();
  });
});

describe('a stream that is lost and replaced', () => {
  const lose = (): Promise<void> => change({ kind: 'stream_lost', group: 0, epoch: 0, reason: 'it is gone' });
  const replace = (): Promise<void> => {
    const { created } = servers.streamOf(0, 1, 100);
    const shards = [...map.state.collections.keys()].map((collection) => {
      return { collection, shard: 0, position: 50, digest: '0'.repeat(32), nodes: ['b'] };
    });
    return change({
      kind: 'stream_replaced',
      ...{ group: 0, epoch: 1, created, firstPosition: 99, shards },
    });
  };

  it('while a replica is made ready for it is not followed by that replica, which lacks what came before', async () => {
    await until(() => replicas.current(SHARD) !== undefined);
    await write(1);
    let goOn = (): void => undefined;
    restore = async (name) => {
      await new Promise<void>((resolve) => (goOn = resolve));
      restore = () => Promise.resolve(undefined);
      const made = { operation: 'create_collection' as const, collection: name };
      await executeJson(engine, made, { vectors: { size: 2, distance: 'Dot' } });
      return 1;
    };
    replicas.remake(SHARD, 1);
    await until(() => wanted.length === 1);
    await lose();
    await replace();
    goOn();
    // It is made ready for the present one, which takes a checkpoint of it.
    await until(() => wanted.length > 1);
    expect(wanted.map(({ epoch }) => epoch)).toEqual([0, 1]);
    expect(replicas.current(SHARD)).toBeUndefined();
  });

  it('is followed no longer where a node learns of both at once', async () => {
    await until(() => replicas.current(SHARD) !== undefined);
    await write(1);
    const numbers = { shardNumber: 1, replicationFactor: 2, writeConsistencyFactor: 1 };
    const configuration = JSON.stringify({ vectors: { size: 2, distance: 'Dot' } });
    const other = { id: 2, name: 'other', configuration, group: 0, firstPosition: 0, ...numbers };
    await change({ kind: 'collection_created', collection: { ...other, placement: [['a', 'b']] } });
    await until(() => replicas.current({ collection: 2, shard: 0 }) !== undefined);
    // It does not look at the map as long as it deletes a replica.
    let goOn: (() => void) | undefined;
    waits = (request) =>
      failsToDelete(request) ? new Promise((resolve) => (goOn = resolve)) : Promise.resolve();
    await change({ kind: 'replica_dropped', collection: 2, shard: 0, node: 'a' });
    await until(() => goOn !== undefined);
    await lose();
    await replace();
    waits = () => Promise.resolve();
    goOn?.();
    await until(() => wanted.some(({ epoch }) => epoch === 1));
    expect(replicas.current(SHARD)).toBeUndefined();
  });
});

describe('a replica that the map takes away', () => {
  it('is deleted in the end, also where that fails at first', async () => {
    await until(() => replicas.current(SHARD) !== undefined);
    fails = failsToDelete;
    await change({ kind: 'replica_dropped', ...SHARD, node: 'a' });
    await until(() => replicas.failures().has('all'));
    fails = () => false;
    await until(async () => (await collectionNames(engine)).length === 0);
  });

  it('is made anew where the map gives it back before it could be deleted', async () => {
    await until(() => replicas.current(SHARD) !== undefined);
    await write(1);
    fails = failsToDelete;
    await change({ kind: 'replica_dropped', ...SHARD, node: 'a' });
    await until(() => replicas.failures().has('all'));
    await change({ kind: 'replica_added', ...SHARD, node: 'a' });
    fails = () => false;
    await until(() => (replicas.current(SHARD)?.position ?? 0) > 0);
    expect(replicas.failures().size).toBe(0);
  });
});

describe('collections that no map gives to a node', () => {
  it('are deleted at its start, again where that fails at first', async () => {
    await until(() => replicas.current(SHARD) !== undefined);
    await replicas.stop();
    await executeJson(
      engine,
      { operation: 'create_collection', collection: 'stranger' },
      { vectors: { size: 2, distance: 'Dot' } },
    );
    fails = failsToDelete;
    await begin();
    await until(() => replicas.failures().has('all'));
    fails = () => false;
    await until(async () => !(await collectionNames(engine)).includes('stranger'));
  });
});
