/** Replicas of a shard that differ are found, and made anew. */
import pino from 'pino';
import type { Channel } from '../../src/cluster/channel';
import { Digests } from '../../src/cluster/divergence/digests';
import { Divergence } from '../../src/cluster/divergence/divergence';
import { Predecessors } from '../../src/cluster/divergence/predecessors';
import { ShardMap } from '../../src/cluster/map/shard-map';
import { replicaKey } from '../../src/cluster/membership/heartbeat';
import { Members } from '../../src/cluster/membership/members';
import type { LocalReplicas } from '../../src/cluster/replica/local-replicas';
import type { ShardReplica } from '../../src/cluster/replica/shard-replica';
import { nameOf, type Shard } from '../../src/cluster/shards';
import { sleep, until } from '../until';
import { MemoryLogService } from './memory-log';

const SHARD = { collection: 1, shard: 0 };
const REPLICA = nameOf(SHARD);
const NODES = ['a', 'b', 'c'];

describe('answers to a record', () => {
  const answer = (node: string, previous: number, position = 9) => ({
    ...{ replica: REPLICA, node, position, previous },
  });

  it('are equal where all replicas were given the same records', () => {
    const predecessors = new Predecessors();
    for (const node of NODES) expect(predecessors.take(answer(node, 7))).toEqual([]);
  });

  it('show which replicas lack the record before, whoever answers first', () => {
    const last = new Predecessors();
    expect(last.take(answer('a', 7))).toEqual([]);
    expect(last.take(answer('b', 5))).toEqual([{ replica: REPLICA, node: 'b', position: 7 }]);
    expect(last.take(answer('c', 7))).toEqual([]);
    const first = new Predecessors();
    expect(first.take(answer('b', 5))).toEqual([]);
    expect(first.take(answer('c', 5))).toEqual([]);
    expect(first.take(answer('a', 7))).toEqual(
      ['b', 'c'].map((node) => ({ replica: REPLICA, node, position: 7 })),
    );
  });

  it('are compared for the latest records only', () => {
    const predecessors = new Predecessors();
    predecessors.take(answer('a', 7));
    for (let position = 10; position < 6000; position += 1)
      predecessors.take(answer('a', position - 1, position));
    expect(predecessors.take(answer('b', 5))).toEqual([]);
    expect(predecessors.take(answer('b', 5000, 5999))).toHaveLength(1);
  });
});

describe('digests at a position', () => {
  const digestOf = (node: string, digest: string) => ({
    ...{ replica: REPLICA, node, position: 10_000, points: 3, digest },
  });

  it('outvote the replica that is not as most are', () => {
    const digests = new Digests('a');
    expect(digests.take(digestOf('a', '1'), NODES)).toEqual({ majority: 'unknown', outvoted: [] });
    expect(digests.take(digestOf('b', '2'), NODES)).toEqual({ majority: 'unknown', outvoted: [] });
    expect(digests.take(digestOf('c', '2'), NODES)).toEqual({ majority: 'found', outvoted: ['a'] });
  });

  it('have no majority where two differ, or all do', () => {
    const two = new Digests('a');
    two.take(digestOf('a', '1'), ['a', 'b']);
    expect(two.take(digestOf('b', '2'), ['a', 'b'])).toEqual({ majority: 'none', outvoted: [] });
    const three = new Digests('a');
    three.take(digestOf('a', '1'), NODES);
    three.take(digestOf('b', '2'), NODES);
    expect(three.take(digestOf('c', '3'), NODES)).toEqual({ majority: 'none', outvoted: [] });
  });

  it('of nodes without a replica count for nothing', () => {
    const digests = new Digests('a');
    digests.take(digestOf('a', '1'), ['a', 'b']);
    expect(digests.take(digestOf('z', '2'), ['a', 'b'])).toEqual({ majority: 'unknown', outvoted: [] });
  });
});

describe('a node', () => {
  /** Messages that reach every node at once, as core NATS does. */
  class Bus implements Channel {
    readonly #handlers = new Map<string, ((bytes: Uint8Array) => void)[]>();

    send(to: string, bytes: Uint8Array): void {
      for (const handler of this.#handlers.get(to) ?? []) handler(bytes);
    }

    receive(at: string, handler: (bytes: Uint8Array) => void): () => void {
      this.#handlers.set(at, [...(this.#handlers.get(at) ?? []), handler]);
      return () => {
        this.#handlers.delete(at);
      };
    }
  }

  interface Node {
    readonly divergence: Divergence;
    readonly remade: (number | undefined)[];
    readonly end: () => void;
    readonly members: Members;
  }

  let map: ShardMap;
  let servers: MemoryLogService;
  let bus: Bus;
  let now = 0;
  /** Lines of the log of all nodes. */
  let lines: string[];
  const log = pino({}, { write: (line) => void lines.push(line) });

  async function mapOf(nodes: readonly string[]): Promise<ShardMap> {
    servers = new MemoryLogService('test', 1);
    const made = new ShardMap(servers.map, { ignored: () => undefined });
    await made.start();
    const limits = { timeoutMs: 5000 };
    for (const node of nodes)
      await made.propose(() => ({ kind: 'node_joined', node, address: `${node}:1` }), limits);
    const numbers = { shardNumber: 1, replicationFactor: nodes.length, writeConsistencyFactor: 1 };
    const collection = { id: 1, name: 'birds', configuration: '{}', group: 0, firstPosition: 0, ...numbers };
    await made.propose(
      () => ({ kind: 'collection_created', collection: { ...collection, placement: [nodes] } }),
      limits,
    );
    await until(() => made.state.collections.size === 1);
    return made;
  }

  function nodeWith(node: string, replica: Partial<ShardReplica>): Node {
    const remade: (number | undefined)[] = [];
    const replicas = {
      following: () => [{ shard: SHARD, replica: { name: REPLICA, ...replica } }],
      remake: (_shard: Shard, position?: number) => void remade.push(position),
    } as unknown as LocalReplicas;
    const members = new Members(node, () => now);
    const divergence = new Divergence({ node, channel: bus, map, members, replicas, log });
    const end = divergence.start();
    return { divergence, remade, members, end };
  }

  function hear({ members }: Node, node: string, report: { position: number; changed: number }): void {
    const replicas = new Map([[replicaKey(1, 0), { behind: 0, ...report }]]);
    members.receive({ ...{ node, address: '', start: '1', count: 1, mapVersion: 1, underWay: 0 }, replicas });
  }

  const stateOf = (node: string): string | undefined =>
    map.state.collections.get(1)?.shards[0]?.replicas.find((one) => one.node === node)?.state;

  beforeEach(async () => {
    bus = new Bus();
    now = 0;
    lines = [];
    map = await mapOf(NODES);
  });
  afterEach(() => map.stop());

  it('makes its replica anew that was outvoted, and takes it out of reads', async () => {
    const [one, two, three] = NODES.map((node) => nodeWith(node, {})) as [Node, Node, Node];
    for (const [node, digest] of [
      [one, '1'],
      [two, '2'],
      [three, '2'],
    ] as const)
      node.divergence.tell({ replica: REPLICA, position: 10_000, points: 3, digest });
    await until(() => one.remade.length > 0);
    expect([one.remade, two.remade, three.remade]).toEqual([[10_000], [], []]);
    expect(stateOf('a')).toBe('inactive');
    expect(two.divergence.refusalOf(SHARD)).toBeUndefined();
  });

  it('makes its replica anew that lacks a record between two others', async () => {
    const coordinator = nodeWith('a', {});
    const lacking = nodeWith('b', {});
    coordinator.divergence.compare({ replica: REPLICA, node: 'a', position: 9, previous: 8 });
    coordinator.divergence.compare({ replica: REPLICA, node: 'b', position: 9, previous: 3 });
    await until(() => lacking.remade.length > 0);
    expect(lacking.remade).toEqual([8]);
    expect(coordinator.remade).toEqual([]);
    expect(stateOf('b')).toBe('inactive');
  });

  it('makes its replica anew that has read beyond the last record of another one', async () => {
    const node = nodeWith('a', { position: 9, changed: 3 });
    hear(node, 'b', { position: 7, changed: 7 });
    node.divergence.compareHeartbeats();
    await until(() => node.remade.length > 0);
    expect(node.remade).toEqual([7]);
  });

  it('keeps the last replica that answers, of two that are wrong', async () => {
    for (const node of ['c', 'b'])
      await map.propose(() => ({ kind: 'replica_dropped', ...SHARD, node }), { timeoutMs: 5000 });
    const node = nodeWith('a', {});
    node.divergence.noteDamaged(REPLICA);
    const other = nodeWith('a', {});
    await map.propose(() => ({ kind: 'replica_added', ...SHARD, node: 'b' }), { timeoutMs: 5000 });
    await map.propose(() => ({ kind: 'replica_activated', ...SHARD, node: 'b' }), { timeoutMs: 5000 });
    other.divergence.noteDamaged(REPLICA);
    await until(() => other.remade.length > 0);
    expect(node.remade).toEqual([]);
    expect(stateOf('a')).toBe('inactive');
  });

  it('says once that the last replica that answers is wrong, and makes it anew when another one answers', async () => {
    for (const node of ['c', 'b'])
      await map.propose(() => ({ kind: 'replica_dropped', ...SHARD, node }), { timeoutMs: 5000 });
    const node = nodeWith('a', { position: 9, changed: 3 });
    node.divergence.noteDamaged(REPLICA);
    await until(() => node.divergence.problems().has(REPLICA));
    for (let look = 0; look < 3; look += 1) {
      node.divergence.compareHeartbeats();
      await sleep(5);
    }
    expect(node.divergence.problems().get(REPLICA)).toContain('its files are damaged');
    expect(lines).toHaveLength(1);
    await map.propose(() => ({ kind: 'replica_added', ...SHARD, node: 'b' }), { timeoutMs: 5000 });
    await map.propose(() => ({ kind: 'replica_activated', ...SHARD, node: 'b' }), { timeoutMs: 5000 });
    await until(() => {
      node.divergence.compareHeartbeats();
      return node.remade.length > 0;
    });
    expect(node.divergence.problems().size).toBe(0);
  });

  it('says nothing of a replica that is to be made anew where it stops', async () => {
    const node = nodeWith('a', { position: 9, changed: 3 });
    const { mapStream } = servers;
    mapStream.faults.isDown = true;
    node.divergence.noteDamaged(REPLICA);
    node.end();
    await until(() => lines.some((line) => line.includes('the shard map does not say yet')));
    expect(lines.filter((line) => line.includes('the last one'))).toEqual([]);
    expect(node.remade).toEqual([]);
  });

  it('leaves a replica alone that has not read as far yet, or has more', () => {
    const behind = nodeWith('a', { position: 6, changed: 3 });
    hear(behind, 'b', { position: 7, changed: 7 });
    behind.divergence.compareHeartbeats();
    const ahead = nodeWith('a', { position: 9, changed: 9 });
    hear(ahead, 'b', { position: 7, changed: 7 });
    ahead.divergence.compareHeartbeats();
    expect([behind.remade, ahead.remade]).toEqual([[], []]);
  });

  it('refuses writes of a shard whose replicas differ without a majority, until one of them is dropped', async () => {
    const [one, two] = NODES.map((node) => nodeWith(node, {})) as [Node, Node, Node];
    for (const [at, node] of [one, two, nodeWith('c', {})].entries())
      node.divergence.tell({ replica: REPLICA, position: 10_000, points: 3, digest: String(at) });
    expect(one.divergence.refusalOf(SHARD)).toContain('differ at position 10000');
    expect(two.divergence.problems().get(REPLICA)).toContain('drop the wrong one');
    await map.propose(() => ({ kind: 'replica_dropped', ...SHARD, node: 'c' }), { timeoutMs: 5000 });
    one.divergence.compareHeartbeats();
    expect(one.divergence.refusalOf(SHARD)).toBeUndefined();
  });
});
