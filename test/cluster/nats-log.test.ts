/** The log over real NATS servers. */
import { connectToNats } from '../../src/cluster/log/nats-connection';
import { NatsLogService } from '../../src/cluster/log/nats-log';
import { streamNames } from '../../src/cluster/log/nats-streams';
import { FRAME_BYTES } from '../../src/cluster/log/record-log';
import { ShardMap } from '../../src/cluster/map/shard-map';
import { startHeartbeats } from '../../src/cluster/membership/heartbeats';
import { Members } from '../../src/cluster/membership/members';
import { NatsHeartbeats } from '../../src/cluster/membership/nats-heartbeats';
import { describeUnless } from '../missing';
import { sleep, until } from '../until';
import { isNoNats, NatsServers } from './nats-server';
import { Reader, recordOf } from './records';

const LIMITS = { timeoutMs: 60_000 };
const PREPARE_MS = 60_000;

const opened: NatsLogService[] = [];

/** Makes all streams of a cluster. */
async function prepare(service: NatsLogService, timeoutMs = PREPARE_MS): Promise<void> {
  await service.makeMap({ isNew: true, firstSequence: 1 }, { timeoutMs });
  for (let group = 0; group < service.groups; group += 1)
    await service.makeGroup(group, { epoch: 0, firstSequence: 1 }, { timeoutMs });
}

async function serviceOf(
  servers: NatsServers,
  cluster: string,
  groups = 1,
  replicas = 1,
): Promise<NatsLogService> {
  const connection = await connectToNats({ servers: servers.addresses }, 'test', { timeoutMs: 5000 });
  const service = await NatsLogService.of(connection, { cluster, groups, replicas });
  opened.push(service);
  return service;
}

afterAll(async () => {
  await Promise.all(opened.map((service) => service.close()));
});

describeUnless(isNoNats)('one server', () => {
  let servers: NatsServers;

  beforeAll(async () => {
    servers = await NatsServers.start(1);
  });

  afterAll(async () => {
    await servers.stop();
  });

  async function logOf(cluster: string) {
    const service = await serviceOf(servers, cluster);
    await prepare(service);
    return { service, log: service.group(0) };
  }

  test('streams are made once, by whichever node comes first', async () => {
    const nodes = await Promise.all([1, 2, 3].map(() => serviceOf(servers, 'made', 4)));
    await Promise.all(nodes.map((node) => prepare(node)));
    const [one, other] = await Promise.all(nodes.slice(1).map((node) => node.group(3).state()));
    expect({ ...one, atMs: 0 }).toEqual({ ...other, atMs: 0 });
    expect(one).toMatchObject({ firstSequence: 1, lastSequence: 0 });
    const { config } = await nodes[0]!.manager.streams.info('KITHDB_made_3');
    expect(config).toMatchObject({ storage: 'file', discard: 'new', deny_delete: true, num_replicas: 1 });
    expect(config.duplicate_window).toBe(600e9);
  });

  test('a stream with another configuration is refused, by name and difference', async () => {
    const service = await serviceOf(servers, 'other');
    const { stream, prefix } = streamNames('other', 'map');
    await service.manager.streams.add({ name: stream, subjects: [`${prefix}>`] });
    await expect(prepare(service)).rejects.toThrow(
      /KITHDB_other_map exists with another configuration: .*discard is "old" and must be "new"/,
    );
  });

  test('another number of groups is refused', async () => {
    await logOf('groups');
    const service = await serviceOf(servers, 'groups', 2);
    await expect(prepare(service)).rejects.toThrow('kithdb_groups is "1" and must be "2"');
  });

  test('more replicas than servers are refused', async () => {
    const service = await serviceOf(servers, 'replicas', 1, 3);
    await expect(prepare(service)).rejects.toThrow(/cannot have the stream KITHDB_replicas_map/);
  });

  test('a record comes back as it was published, once', async () => {
    const { log } = await logOf('roundtrip');
    expect(await log.publish('1.0', recordOf('a', 'body'), LIMITS)).toEqual({
      sequence: 1,
      isDuplicate: false,
    });
    expect(await log.publish('1.0', recordOf('a', 'body'), LIMITS)).toEqual({
      sequence: 1,
      isDuplicate: true,
    });
    const reader = new Reader(log);
    await reader.untilRead(1);
    await reader.stop();
    const { payload, storedAtMs, ...rest } = reader.records[0]!;
    expect(Buffer.from(payload).toString()).toBe('body');
    expect(storedAtMs).toBeGreaterThan(1.7e12);
    const fields = { sequence: 1, firstSequence: 1, subject: '1.0', operation: 'a', epoch: 1, kind: 'test' };
    expect(rest).toEqual(fields);
  });

  test('long records are frames between those of others', async () => {
    const { log } = await logOf('frames');
    const payloads = [1, 2, 3].map((seed) => Buffer.alloc(2 * FRAME_BYTES + seed, seed));
    const published = await Promise.all(
      payloads.map((payload, at) => log.publish('1.0', recordOf(`long ${at}`, payload), LIMITS)),
    );
    const last = Math.max(...published.map(({ sequence }) => sequence));
    expect(last).toBe(9);
    for (const fromSequence of [1, last]) {
      const reader = new Reader(log, { fromSequence });
      await reader.untilRead(fromSequence === 1 ? 3 : 1);
      await reader.stop();
      for (const { operation, payload, sequence } of reader.records) {
        const at = Number(operation.slice(-1));
        expect(payloads[at]!.equals(payload)).toBe(true);
        expect(sequence).toBe(published[at]!.sequence);
      }
    }
  });

  test('an expected sequence decides which of two records is taken', async () => {
    const { log } = await logOf('expected');
    const outcomes = await Promise.all(
      ['a', 'b', 'c'].map((name) => log.publishExpecting('e', recordOf(name), 0, LIMITS)),
    );
    expect(outcomes.filter((outcome) => outcome === 'conflict')).toHaveLength(2);
    const taken = outcomes.findIndex((outcome) => outcome !== 'conflict');
    const again = await log.publishExpecting('e', recordOf('abc'[taken]!), 0, LIMITS);
    expect(again).toEqual({ sequence: 1, isDuplicate: true });
  });

  test('a reader waits for its handler, and gets the records of its subjects', async () => {
    const { log } = await logOf('subjects');
    const names = Array.from({ length: 400 }, (_, number) => String(number));
    const handled: string[] = [];
    const reader = new Reader(log, { subjects: ['1.0', '1.all'] }, async ({ operation }) => {
      handled.push(operation);
      await sleep(0);
      expect(handled.at(-1)).toBe(operation);
    });
    await Promise.all(names.map((name) => log.publish(`${Number(name) % 2}.0`, recordOf(name), LIMITS)));
    await reader.untilRead(200);
    await reader.stop();
    expect(reader.operations.every((name) => Number(name) % 2 === 1)).toBe(true);
    expect(reader.records.map(({ sequence }) => sequence)).toEqual(
      reader.records.map(({ sequence }) => sequence).toSorted((one, other) => one - other),
    );
  });

  test('what was removed is missing, for all subjects and for some', async () => {
    const { log } = await logOf('removed');
    for (const name of ['1', '2', '3', '4']) await log.publish('1.0', recordOf(name), LIMITS);
    await log.truncateBelow(3);
    expect(await log.state()).toMatchObject({ firstSequence: 3, lastSequence: 4 });
    for (const subject of ['>', '1.0']) {
      const reader = new Reader(log, { subjects: [subject] });
      await reader.ended;
      expect(reader.failure).toMatchObject({ name: 'RecordsMissingError', fromSequence: 1, nextSequence: 3 });
    }
    await log.truncateBelow(5);
    expect(await log.state()).toMatchObject({ firstSequence: 5, lastSequence: 4 });
  });

  test('a stream that was made anew is noticed by a reader', async () => {
    const { log, service } = await logOf('anew');
    for (const name of ['1', '2']) await log.publish('1.0', recordOf(name), LIMITS);
    const reader = new Reader(log);
    await reader.untilRead(2);
    await service.manager.streams.delete(log.name);
    await prepare(service);
    for (const name of ['3', '4', '5']) await log.publish('1.0', recordOf(name), LIMITS);
    await reader.ended;
    expect(reader.failure).toMatchObject({ name: 'LogChangedError' });
    expect(reader.operations).toEqual(['1', '2']);
  });

  test('a stream of a later epoch begins where it is told to, once', async () => {
    const { log, service } = await logOf('epochs');
    await log.publish('1.0', recordOf('old'), LIMITS);
    const wanted = { epoch: 1, firstSequence: 1001 };
    const origin = await service.makeGroup(0, wanted, { timeoutMs: PREPARE_MS });
    expect(origin.firstSequence).toBe(1001);
    // Another node that knows of more records comes second.
    expect(await service.makeGroup(0, { ...wanted, firstSequence: 2001 }, { timeoutMs: PREPARE_MS })).toEqual(
      origin,
    );
    const next = service.group(0, 1);
    const empty = { firstSequence: 1001, lastSequence: 1000, created: origin.created };
    expect(await next.state()).toMatchObject(empty);
    expect(await next.publish('1.0', recordOf('new'), LIMITS)).toMatchObject({ sequence: 1001 });
    const reader = new Reader(next, { fromSequence: 1001 });
    await reader.untilRead(1);
    await reader.stop();
    expect(reader.operations).toEqual(['new']);
    expect(await log.state()).toMatchObject({ lastSequence: 1 });
  });

  test('the last record of a subject, and when a record was stored, can be asked for', async () => {
    const { log } = await logOf('asked');
    for (const subject of ['1.0', '1.1', '1.all']) await log.publish(subject, recordOf(subject), LIMITS);
    expect(await Promise.all(['1.0', '1.1', '1.all', '2.0'].map((subject) => log.lastOf(subject)))).toEqual([
      1, 2, 3, 0,
    ]);
    const [first, last] = await Promise.all([log.storedAt(1), log.storedAt(3)]);
    const { atMs } = await log.state();
    expect(first).toBeLessThanOrEqual(last!);
    expect(last).toBeLessThanOrEqual(atMs);
    expect(await log.storedAt(4)).toBeUndefined();
  });

  test('a stream that is gone is told apart from a server that is', async () => {
    const { log, service } = await logOf('gone');
    await service.manager.streams.delete(log.name);
    await expect(log.state()).rejects.toMatchObject({ name: 'StreamMissingError', stream: log.name });
    await service.manager.streams.delete(service.map.name);
    await expect(
      service.makeMap({ isNew: false, firstSequence: 1 }, { timeoutMs: PREPARE_MS }),
    ).rejects.toMatchObject({
      name: 'StreamMissingError',
    });
    await expect(service.map.state()).rejects.toMatchObject({ name: 'StreamMissingError' });
  });

  test('a stream without room refuses a record, and says why', async () => {
    const { log, service } = await logOf('full');
    const { config } = await service.manager.streams.info(log.name);
    await service.manager.streams.update(log.name, { ...config, max_msgs: 1 });
    await log.publish('1.0', recordOf('1'), LIMITS);
    await expect(log.publish('1.0', recordOf('2'), LIMITS)).rejects.toMatchObject({
      name: 'LogRefusedError',
      isFull: true,
    });
  });

  test('nodes have one map, and one of two proposals', async () => {
    const nodes = await Promise.all([1, 2].map(() => serviceOf(servers, 'map')));
    await prepare(nodes[0]!);
    const maps = nodes.map((node) => new ShardMap(node.map, { ignored: () => undefined }));
    await Promise.all(maps.map((map) => map.start()));
    const decisions = await Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        maps[at % 2]!.propose(
          ({ nodes: joined }) =>
            joined.size >= 5
              ? { refused: 'enough' }
              : { kind: 'node_joined', node: `node ${joined.size}`, address: 'a:1' },
          LIMITS,
        ),
      ),
    );
    expect(decisions.filter((decision) => 'version' in decision)).toHaveLength(5);
    await Promise.all(maps.map((map) => map.waitFor(5)));
    expect(maps[0]!.state).toEqual(maps[1]!.state);
    await Promise.all(maps.map((map) => map.stop()));
  });

  test('nodes hear each other', async () => {
    const nodes = await Promise.all(
      ['a', 'b'].map(async (id) => ({ id, service: await serviceOf(servers, 'beat') })),
    );
    const members = nodes.map(({ id }) => new Members(id, () => performance.now()));
    const ends = nodes.map(({ id, service }, at) =>
      startHeartbeats(new NatsHeartbeats(service.connection, 'beat'), members[at]!, () => ({
        node: id,
        address: 'a:1',
        mapVersion: 0,
        underWay: 0,
        replicas: new Map(),
      })),
    );
    await until(() => members.every((one) => one.isLive('a') && one.isLive('b')));
    expect(members.map((one) => one.proposer(['b', 'a']))).toEqual(['a', 'a']);
    for (const end of ends) end();
  });
});

describeUnless(isNoNats)('a server that cannot be used', () => {
  test('is named when it has no JetStream', async () => {
    const servers = await NatsServers.start(1, { hasJetStream: false });
    try {
      const service = await serviceOf(servers, 'none');
      await expect(prepare(service, 300)).rejects.toThrow('the log servers have no JetStream');
    } finally {
      await servers.stop();
    }
  });

  test('is named when it takes no frames', async () => {
    const servers = await NatsServers.start(1, { maxPayload: 64 * 1024 });
    try {
      await expect(serviceOf(servers, 'small')).rejects.toThrow('set its max_payload to');
    } finally {
      await servers.stop();
    }
  });

  test('is named when it is not there', async () => {
    await expect(connectToNats({ servers: ['127.0.0.1:1'] }, 'test', { timeoutMs: 1000 })).rejects.toThrow(
      'no log server of 127.0.0.1:1 can be used',
    );
  });
});

describeUnless(isNoNats)('three servers', () => {
  test('lose and double nothing when leaders are killed', async () => {
    const servers = await NatsServers.start(3);
    try {
      const writer = await serviceOf(servers, 'killed', 1, 3);
      await prepare(writer);
      const log = writer.group(0);
      const reader = new Reader((await serviceOf(servers, 'killed', 1, 3)).group(0), { subjects: ['1.0'] });
      const acknowledged = new Map<string, number>();
      let isOver = false;
      const load = async (worker: number): Promise<void> => {
        for (let number = 0; !isOver; number += 1) {
          const name = `${worker}/${number}`;
          acknowledged.set(name, (await log.publish('1.0', recordOf(name), LIMITS)).sequence);
        }
      };
      const workers = [1, 2, 3, 4].map(load);
      for (let kills = 0; kills < 2; kills += 1) {
        const before = acknowledged.size;
        await until(() => acknowledged.size > before + 200, 20);
        const leader = servers.named((await leaderOf(writer, log.name))!);
        await leader.kill();
        const then = acknowledged.size;
        await until(() => acknowledged.size > then + 200, 20);
        leader.start();
        await leader.untilListening();
      }
      isOver = true;
      await Promise.all(workers);
      await reader.untilRead(acknowledged.size);
      await reader.stop();
      const read = new Map(reader.records.map(({ operation, sequence }) => [operation, sequence]));
      expect(reader.records).toHaveLength(read.size);
      expect(read).toEqual(acknowledged);
    } finally {
      await servers.stop();
    }
  });
});

async function leaderOf(service: NatsLogService, stream: string): Promise<string | undefined> {
  let leader: string | undefined;
  await until(async () => {
    leader = (await service.manager.streams.info(stream).catch(() => undefined))?.cluster?.leader;
    return leader !== undefined && leader !== '';
  }, 50);
  return leader;
}
