/** The streams of log groups over a long time, over streams in memory: cutting, noticing a loss, and replacing. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { dueOf, type LastCheckpoint } from '../../src/cluster/checkpoints/due';
import { reachFacts } from '../../src/cluster/replica/checkpoint-reach';
import type { ShardMapEvent } from '../../src/cluster/map/event';
import { savedMapOf } from '../../src/cluster/map/saved';
import { ShardMap } from '../../src/cluster/map/shard-map';
import { EMPTY_MAP } from '../../src/cluster/map/state';
import { Members } from '../../src/cluster/membership/members';
import type { CheckpointManifest, CheckpointStore } from '../../src/cluster/store/checkpoint-store';
import { CurrentLogs } from '../../src/cluster/streams/current-logs';
import { cutStreams } from '../../src/cluster/streams/cutting';
import { KnownMap } from '../../src/cluster/streams/known-map';
import { planRecovery, recoverMap } from '../../src/cluster/streams/map-recovery';
import { openGroupStreams, openMapStream } from '../../src/cluster/streams/opening';
import { StreamWatch } from '../../src/cluster/streams/watch';
import { MemoryLogService } from './memory-log';
import { recordOf } from './records';

const LIMITS = { timeoutMs: 10_000 };
const PREPARING = { timeoutMs: 1000 };
const log = pino({ level: 'silent' });
let folder: string;
const ends: (() => Promise<void>)[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kithdb-streams-'));
});
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
  rmSync(folder, { recursive: true, force: true });
});

/** A node that knows the map of log servers in memory, and has no replicas. */
async function node(servers: MemoryLogService) {
  const dataDir = mkdtempSync(join(folder, 'node-'));
  const known = await KnownMap.open(dataDir);
  const { created, firstSequence } = await openMapStream(servers, known, PREPARING);
  const map = new ShardMap(servers.map, { ignored: () => undefined });
  ends.push(() => map.stop());
  await map.start(undefined, firstSequence);
  await openGroupStreams(servers, map, PREPARING);
  await known.note(created, map.state);
  const members = new Members('a', () => 0);
  const changed = new Map<number, string>();
  const positions: { shard: { collection: number; shard: number }; position: number }[] = [];
  const replicas = { positions: () => positions, changedStreams: () => changed };
  const watch = new StreamWatch({ logs: servers, map, known, members, replicas, log });
  const logs = new CurrentLogs(servers, map, () => watch);
  const propose = async (event: ShardMapEvent): Promise<void> => {
    const decision = await map.propose(() => event, LIMITS);
    if ('refused' in decision) throw new Error(decision.refused);
    await map.waitFor(decision.version);
  };
  return { dataDir, map, members, watch, logs, changed, positions, propose };
}

/** A collection with one shard in group 1, whose replicas are on the node `a`. */
async function withCollection(servers: MemoryLogService) {
  const made = await node(servers);
  await made.propose({ kind: 'node_joined', node: 'a', address: 'a:1' });
  const sizes = { shardNumber: 1, replicationFactor: 1, writeConsistencyFactor: 1 };
  const collection = { id: 1, name: 'x', configuration: '{}', group: 1, firstPosition: 0, ...sizes };
  await made.propose({ kind: 'collection_created', collection: { ...collection, placement: [['a']] } });
  const hears = (position: number): void => {
    made.members.receive({
      ...{ node: 'a', address: 'a:1', start: 's', count: position + 1, mapVersion: 1, underWay: 0 },
      replicas: new Map([['1/0', { position, behind: 0, changed: position }]]),
    });
  };
  return { ...made, hears };
}

describe('a stream of a log group', () => {
  test('is made once, and not again where it is gone', async () => {
    const servers = new MemoryLogService();
    const { map, watch } = await node(servers);
    expect(map.state.streams.get(1)).toEqual({
      epoch: 0,
      created: servers.groupStreams[1]!.created,
      firstPosition: 0,
    });
    servers.groupStreams[1]!.isMissing = true;
    await openGroupStreams(servers, map, PREPARING);
    expect(servers.groupStreams[1]!.isMissing).toBe(true);
    for (let look = 0; look < 10; look += 1) await watch.look(new AbortController().signal);
    await map.waitFor(2);
    expect(map.state.streams.get(1)?.lost).toMatch(/do not have the stream/);
    expect(map.state.streams.get(0)?.lost).toBeUndefined();
  });

  test.each(['made anew', 'ended earlier', 'said by a replica'])(
    'that was %s takes no writes, and others do',
    async (how) => {
      const servers = new MemoryLogService();
      const { map, watch, logs, hears, changed } = await withCollection(servers);
      const stream = servers.groupStreams[1]!;
      for (const name of ['1', '2', '3']) await logs.group(1).publish('1.0', recordOf(name), LIMITS);
      hears(3);
      if (how === 'made anew') stream.created = 'later';
      else if (how === 'ended earlier') stream.goBackTo(2);
      else changed.set(1, 'it has another record');
      // A connection that was lost: nothing is published before the stream was looked at.
      watch.notePause();
      await expect(logs.group(1).publish('1.0', recordOf('4'), LIMITS)).rejects.toMatchObject({
        code: 'unavailable',
      });
      await logs.group(0).publish('2.0', recordOf('other'), LIMITS);
      const { version } = map.state;
      for (let look = 0; look < 2; look += 1) await watch.look(new AbortController().signal);
      expect(map.state.streams.get(1)?.lost).toBeUndefined();
      await watch.look(new AbortController().signal);
      await map.waitFor(version + 1);
      expect(map.state.streams.get(1)?.lost).toMatch(
        how === 'made anew'
          ? /it was made at later/
          : how === 'ended earlier'
            ? /it ends at 2/
            : /another record/,
      );
      expect(watch.problems().join()).toMatch(/log group 1 was lost, and takes no writes/);
      await expect(logs.group(1).publish('1.0', recordOf('5'), LIMITS)).rejects.toThrow(
        /log group 1 takes no writes/,
      );
      expect(stream.messages.map(({ id }) => id)).not.toContain('4');
    },
  );

  test('whose leader is behind what other servers deliver, for a moment, takes writes all the same', async () => {
    const servers = new MemoryLogService();
    const { watch, logs, hears } = await withCollection(servers);
    const stream = servers.groupStreams[1]!;
    for (const name of ['1', '2', '3']) await logs.group(1).publish('1.0', recordOf(name), LIMITS);
    hears(3);
    const state = await stream.state();
    jest.spyOn(stream, 'state').mockResolvedValueOnce({ ...state, lastSequence: 2 });
    watch.notePause();
    await logs.group(1).publish('1.0', recordOf('4'), LIMITS);
    expect(watch.problems()).toEqual([]);
  });

  test('that seems to be behind for a moment is not given up', async () => {
    const servers = new MemoryLogService();
    const { map, watch, logs, hears } = await withCollection(servers);
    await logs.group(1).publish('1.0', recordOf('1'), LIMITS);
    hears(1);
    const stream = servers.groupStreams[1]!;
    stream.lastSequence = 0;
    watch.notePause();
    for (let look = 0; look < 2; look += 1) await watch.look(new AbortController().signal);
    expect(watch.problems().join()).toMatch(/log group 1 takes no writes: it ends at 0/);
    stream.lastSequence = 1;
    for (let look = 0; look < 5; look += 1) await watch.look(new AbortController().signal);
    expect(map.state.streams.get(1)?.lost).toBeUndefined();
    expect(watch.problems()).toEqual([]);
    await logs.group(1).publish('1.0', recordOf('2'), LIMITS);
  });

  test('takes no records where the map has noted its loss while it was looked at', async () => {
    const servers = new MemoryLogService();
    const { watch, logs, propose } = await withCollection(servers);
    const stream = servers.groupStreams[1]!;
    watch.notePause();
    const state = stream.state.bind(stream);
    let looks = 0;
    stream.state = async () => {
      looks += 1;
      if (looks === 1) await propose({ kind: 'stream_lost', group: 1, epoch: 0, reason: 'it is gone' });
      return state();
    };
    const published = [1, 2, 3].map((name) => logs.group(1).publish('1.0', recordOf(String(name)), LIMITS));
    for (const outcome of await Promise.allSettled(published))
      expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'unavailable' } });
    // Those that came meanwhile have joined that look.
    expect(looks).toBe(1);
    expect(stream.messages).toEqual([]);
  });

  test('that was replaced takes the records, under its epoch, behind all positions', async () => {
    const servers = new MemoryLogService();
    const { map, logs, propose } = await withCollection(servers);
    await logs.group(1).publish('1.0', recordOf('1'), LIMITS);
    await propose({ kind: 'stream_lost', group: 1, epoch: 0, reason: 'it is gone' });
    const shard = { collection: 1, shard: 0, position: 1, digest: 'd', nodes: ['b'] };
    const { created } = await servers.makeGroup(1, { epoch: 1, firstSequence: 1001 });
    const event = { kind: 'stream_replaced', group: 1, epoch: 1, created, firstPosition: 1000 } as const;
    await expect(propose({ ...event, shards: [] })).rejects.toThrow('no replica of the shard 1/0');
    await expect(propose({ ...event, shards: [shard] })).rejects.toThrow('no replica of the shard 1/0');
    await propose({ ...event, shards: [{ ...shard, nodes: ['a'] }] });
    expect(map.state.collections.get(1)?.shards[0]).toEqual({
      origin: { position: 1, digest: 'd' },
      replicas: [{ node: 'a', state: 'active' }],
    });
    expect(await logs.group(1).publish('1.0', recordOf('2'), LIMITS)).toMatchObject({ sequence: 1001 });
    expect(servers.streamOf(1, 1).messages[0]?.headers['Kithdb-Epoch']).toBe('1');
    await expect(propose({ ...event, shards: [shard] })).rejects.toThrow('was not lost');
  });
});

describe('the shard map', () => {
  test('that was lost, made anew or is older is not taken for the map', async () => {
    const servers = new MemoryLogService();
    const { dataDir, watch, logs } = await node(servers);
    const again = async (): Promise<string> =>
      (await openMapStream(servers, await KnownMap.open(dataDir), PREPARING)).created;
    await again();
    servers.mapStream.isMissing = true;
    await expect(again()).rejects.toThrow(
      /the shard map of the cluster was lost: the log servers do not have/,
    );
    watch.notePause();
    await expect(logs.group(0).publish('1.0', recordOf('1'), LIMITS)).rejects.toThrow(/shard map was lost/);
    servers.mapStream.isMissing = false;
    servers.mapStream.created = 'later';
    await expect(again()).rejects.toThrow(/was made at later/);
    await watch.look(new AbortController().signal);
    expect(watch.problems().join()).toMatch(/all writes have stopped/);
  });

  test('is not guessed where the file about it is damaged', async () => {
    writeFileSync(join(folder, 'cluster-map.json'), '{"format":1}');
    await expect(KnownMap.open(folder)).rejects.toThrow(/does not say which map/);
  });
});

describe('a shard map that is made anew', () => {
  const openingBy = async (servers: MemoryLogService, dataDir: string): Promise<string> =>
    (await openMapStream(servers, await KnownMap.open(dataDir), PREPARING)).created;

  /** Two nodes, of which the second one has read the map up to its first event alone. */
  async function withTwo() {
    const servers = new MemoryLogService();
    const newer = await withCollection(servers);
    const older = mkdtempSync(join(folder, 'node-'));
    const { created } = servers.mapStream;
    await (await KnownMap.open(older)).note(created, { ...EMPTY_MAP, version: 1 });
    const known = await KnownMap.open(newer.dataDir);
    await known.note(created, newer.map.state);
    return { servers, newer: newer.dataDir, older, state: newer.map.state, known };
  }

  test('has what the node had saved, and is followed by nodes that have read no more', async () => {
    const { servers, newer, older, state, known } = await withTwo();
    servers.mapStream.isMissing = true;
    const plan = await planRecovery(servers, known, { settleMs: 0 });
    expect(plan).toMatchObject({ hasRemains: false, lastSequence: state.version, collections: ['x'] });
    await recoverMap(servers, known, plan);
    expect(await openingBy(servers, newer)).toBe(servers.mapStream.created);
    expect(await openingBy(servers, older)).toBe(servers.mapStream.created);
    const map = await node(servers);
    const { version, ...content } = map.map.state;
    expect(version).toBeGreaterThan(2 ** 20);
    expect({ ...content, version: state.version }).toEqual(state);
    // It takes events, and no second map.
    await map.propose({ kind: 'aliases_changed', actions: [{ action: 'set', alias: 'y', collection: 1 }] });
    expect(map.map.state.aliases).toEqual(new Map([['y', 1]]));
    const again = { kind: 'map_recovered', lost: 'a', lastSequence: 1, map: savedMapOf(state) } as const;
    await expect(map.propose(again)).rejects.toThrow('the stream has events before it');
  });

  test('is not followed by a node that has read more, or another map', async () => {
    const { servers, newer, older } = await withTwo();
    servers.mapStream.isMissing = true;
    const known = await KnownMap.open(older);
    await recoverMap(servers, known, await planRecovery(servers, known, { settleMs: 0 }));
    await expect(openingBy(servers, newer)).rejects.toThrow(/goes on from event 1, and this node has read/);
    const stranger = mkdtempSync(join(folder, 'node-'));
    await (await KnownMap.open(stranger)).note('another time', { ...EMPTY_MAP, version: 1 });
    await expect(openingBy(servers, stranger)).rejects.toThrow(/read one that was made at another time/);
    // Nor is it made once more, of more.
    await expect(planRecovery(servers, await KnownMap.open(newer), { settleMs: 0 })).rejects.toThrow(
      /made anew at .* and has events/,
    );
  });

  test('takes the place of one that went back, or of one that is empty, as after an interruption', async () => {
    const { servers, newer, known, state } = await withTwo();
    servers.mapStream.goBackTo(1);
    const plan = await planRecovery(servers, known, { settleMs: 0 });
    expect(plan).toMatchObject({ hasRemains: true, found: expect.stringContaining('ends at event 1') });
    // The stream is made, and nothing more is done.
    await servers.removeMap();
    await servers.makeMap({ isNew: true, firstSequence: 1000 });
    await expect(openingBy(servers, newer)).rejects.toThrow(/begins at 1000 with no map; kithdb cluster/);
    const second = await planRecovery(servers, known, { settleMs: 0 });
    expect(second).toMatchObject({ hasRemains: true, found: expect.stringContaining('is empty') });
    await recoverMap(servers, known, second);
    expect(await openingBy(servers, newer)).toBe(servers.mapStream.created);
    const { state: saved } = await KnownMap.open(newer);
    expect({ ...saved, version: state.version }).toEqual(state);
  });

  test('is refused where the map is not lost, or not saved', async () => {
    const { servers, known } = await withTwo();
    await expect(planRecovery(servers, known, { settleMs: 0 })).rejects.toThrow(/is not lost/);
    const dataDir = mkdtempSync(join(folder, 'node-'));
    await expect(planRecovery(servers, await KnownMap.open(dataDir), { settleMs: 0 })).rejects.toThrow(
      /never read/,
    );
    writeFileSync(join(dataDir, 'cluster-map.json'), '{"format":1,"created":"then","lastSequence":3}');
    await expect(planRecovery(servers, await KnownMap.open(dataDir), { settleMs: 0 })).rejects.toThrow(
      /earlier release/,
    );
  });
});

/** A store that has the checkpoints of one shard. */
function storeOf(
  checkpoints: readonly {
    readTo: number;
    epoch?: number;
    confirmedBy?: readonly string[];
    missing?: readonly string[];
  }[],
): CheckpointStore {
  const listed = checkpoints.map(({ readTo, epoch = 0, confirmedBy = ['b'], missing = [] }) => ({
    manifest: { position: 0, facts: reachFacts({ epoch, readTo }) } as unknown as CheckpointManifest,
    ...{ confirmedBy, missing },
  }));
  return {
    list: () => Promise.resolve({ checkpoints: listed, unreadable: [] }),
  } as unknown as CheckpointStore;
}

describe('a stream is cut', () => {
  async function cutWith(
    store: CheckpointStore,
    { reads = 10, minAgeMs = 0, subject = '1.0' } = {},
  ): Promise<{ first: number; cut: () => Promise<number> }> {
    const servers = new MemoryLogService();
    const { map, members, logs, hears } = await withCollection(servers);
    const stream = servers.groupStreams[1]!;
    for (let number = 1; number <= 10; number += 1) {
      stream.nowMs = 1000 * number;
      await logs.group(1).publish(number <= 8 ? subject : '7.0', recordOf(String(number)), LIMITS);
    }
    hears(reads);
    const cut = async (): Promise<number> => {
      const parts = { node: 'a', store, logs, map, members, minAgeMs, log };
      await cutStreams(parts, new AbortController().signal);
      return (await logs.group(1).state()).firstSequence;
    };
    return { first: await cut(), cut };
  }

  test('up to what a checkpoint has that was read back', async () => {
    expect((await cutWith(storeOf([{ readTo: 5 }, { readTo: 7, confirmedBy: [] }]))).first).toBe(6);
    const { first, cut } = await cutWith(storeOf([{ readTo: 5 }]));
    expect([first, await cut()]).toEqual([6, 6]);
  });

  test('not below a checkpoint that is of another stream, damaged, or not there', async () => {
    const useless = [
      { readTo: 5, epoch: 1 },
      { readTo: 6, missing: ['x'] },
      { readTo: 7, confirmedBy: [] },
    ];
    expect((await cutWith(storeOf(useless))).first).toBe(1);
    expect((await cutWith(storeOf([]))).first).toBe(1);
  });

  test('not beyond a replica that is there, unless nothing follows for it', async () => {
    expect((await cutWith(storeOf([{ readTo: 8 }]), { reads: 3 })).first).toBe(4);
    expect((await cutWith(storeOf([{ readTo: 8 }]), { reads: 3, subject: '1.all' })).first).toBe(4);
    // The records 9 and 10 are those of another collection.
    expect((await cutWith(storeOf([{ readTo: 10 }]), { reads: 8 })).first).toBe(11);
  });

  test('also where another one cannot be asked', async () => {
    const servers = new MemoryLogService();
    const { map, members, logs, hears } = await withCollection(servers);
    for (let number = 1; number <= 5; number += 1)
      await logs.group(1).publish('1.0', recordOf(String(number)), LIMITS);
    hears(5);
    servers.groupStreams[0]!.isMissing = true;
    const store = storeOf([{ readTo: 3 }]);
    const parts = { node: 'a', store, logs, map, members, minAgeMs: 0, log };
    await expect(cutStreams(parts, new AbortController().signal)).rejects.toThrow(/do not have the stream/);
    expect(await logs.group(1).state()).toMatchObject({ firstSequence: 4 });
  });

  test('not as far as records are young', async () => {
    // The last record came at 10 s: those of the last 4.5 s stay.
    expect((await cutWith(storeOf([{ readTo: 10 }]), { minAgeMs: 4500 })).first).toBe(6);
    expect((await cutWith(storeOf([{ readTo: 7 }]), { minAgeMs: 100_000 })).first).toBe(1);
  });
});

describe('a checkpoint is due', () => {
  const settings = { everyRecords: 100, everyMs: 1000, minAgeMs: 1000 };
  const found = { id: 'i', position: 7, readTo: 9, epoch: 0 };
  const last: LastCheckpoint = { atMs: 0, applied: 10, found };
  const now = { atMs: 1, applied: 20, changed: 8, isCarried: false };

  test('after enough records or time where something was changed', () => {
    expect(dueOf(last, now, settings)).toBe(false);
    expect(dueOf(last, { ...now, applied: 110 }, settings)).toBe(true);
    expect(dueOf(last, { ...now, atMs: 1000 }, settings)).toBe(true);
  });

  test('seldom where nothing was changed, so that the shard does not keep its stream', () => {
    const unchanged = { ...now, changed: 7, applied: 1000, atMs: 1000 };
    expect(dueOf(last, unchanged, settings)).toBe(false);
    expect(dueOf(last, { ...unchanged, atMs: 24_000 }, settings)).toBe('if_stream_grew');
  });

  test('at once where the shard went over to another stream, and in time for one that has none', () => {
    const none = { atMs: 0, applied: 0 };
    expect(dueOf(none, { ...now, isCarried: true }, settings)).toBe(true);
    expect(dueOf(none, { ...now, changed: 0 }, settings)).toBe(false);
    expect(dueOf(none, { ...now, changed: 0, atMs: 1000 }, settings)).toBe(true);
  });
});
