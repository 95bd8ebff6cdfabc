/** What is proposed when nodes fail, come and go. */
import fc from 'fast-check';
import { apply } from '../../src/cluster/map/apply';
import type { ShardMapEvent } from '../../src/cluster/map/event';
import { placementOf } from '../../src/cluster/map/placement';
import { EMPTY_MAP, nodesOf, type ShardEntry, type ShardMapState } from '../../src/cluster/map/state';
import { replicaKey, type ReplicaReport } from '../../src/cluster/membership/heartbeat';
import type { MemberState } from '../../src/cluster/membership/members';
import { reconcile, type ClusterView } from '../../src/cluster/reconciliation/reconcile';

const MOST_JOINING = 3;

/** A map, the nodes of its cluster, and what their replicas have of the streams. */
class Cluster implements ClusterView {
  state: ShardMapState = EMPTY_MAP;
  readonly memberStates = new Map<string, MemberState>();
  /** Last position of each shard. */
  readonly ends = new Map<string, number>();
  /** Positions of replicas, by node and shard. */
  readonly positions = new Map<string, number>();

  constructor(nodes: readonly string[] = []) {
    for (const node of nodes) this.join(node);
  }

  join(node: string): void {
    this.memberStates.set(node, 'live');
    this.add({ kind: 'node_joined', node, address: `${node}:1` });
  }

  create(shardNumber: number, replicationFactor: number): void {
    const id = this.state.nextCollectionId;
    const placement = placementOf(this.state, { id, shardNumber, replicationFactor }, (node) =>
      this.isLive(node),
    );
    const settings = { configuration: '{}', writeConsistencyFactor: 1, group: 0, firstPosition: 0 };
    const collection = { id, name: `c${id}`, shardNumber, replicationFactor, placement, ...settings };
    this.tryToAdd({ kind: 'collection_created', collection });
    this.advance();
  }

  add(event: ShardMapEvent): void {
    expect(this.tryToAdd(event)).toBeUndefined();
  }

  /** Applies an event that may not fit; no event leaves a shard without an active replica, or two on one node. */
  tryToAdd(event: ShardMapEvent): string | undefined {
    const { state, ignored } = apply(this.state, event, this.state.version + 1);
    this.state = state;
    for (const { replicas } of this.shards()) {
      expect(replicas.some((replica) => replica.state === 'active')).toBe(true);
      expect(new Set(replicas.map(({ node }) => node)).size).toBe(replicas.length);
    }
    if (event.kind === 'replica_dropped' || event.kind === 'node_left') this.#forget(event.node);
    return ignored;
  }

  #forget(node: string): void {
    const held = new Set(
      this.#replicas()
        .filter((one) => one.node === node)
        .map(({ key }) => key),
    );
    for (const key of this.positions.keys())
      if (key.startsWith(`${node} `) && !held.has(key)) this.positions.delete(key);
  }

  #replicas() {
    return [...this.state.collections.values()].flatMap(({ id, shards }) =>
      shards.flatMap(({ replicas }, number) =>
        replicas.map((replica) => {
          const shard = replicaKey(id, number);
          return { ...replica, shard, key: `${replica.node} ${shard}` };
        }),
      ),
    );
  }

  shards(): ShardEntry[] {
    return [...this.state.collections.values()].flatMap(({ shards }) => shards);
  }

  write(records: number): void {
    const shards = new Set(this.#replicas().map(({ shard }) => shard));
    for (const shard of shards) this.ends.set(shard, (this.ends.get(shard) ?? 0) + records);
  }

  /** Replicas of live nodes read, at most so many records. */
  advance(most = Infinity): void {
    for (const { node, shard, key } of this.#replicas()) {
      if (!this.isLive(node)) continue;
      this.positions.set(key, Math.min(this.ends.get(shard) ?? 0, (this.positions.get(key) ?? 0) + most));
    }
  }

  isLive(node: string): boolean {
    return this.stateOf(node) === 'live';
  }

  stateOf(node: string): MemberState {
    return this.memberStates.get(node) ?? 'lost';
  }

  reportOf(node: string, collection: number, shard: number): ReplicaReport | undefined {
    const key = replicaKey(collection, shard);
    const position = this.positions.get(`${node} ${key}`);
    if (position === undefined || !this.isLive(node)) return undefined;
    return { position, behind: (this.ends.get(key) ?? 0) - position, changed: position };
  }

  propose(): ShardMapEvent[] {
    const events = reconcile(this.state, this, MOST_JOINING);
    for (const event of events) this.add(event);
    expect(this.joining()).toBeLessThanOrEqual(MOST_JOINING);
    return events;
  }

  joining(): number {
    return this.#replicas().filter(({ state }) => state === 'joining').length;
  }

  settle(): void {
    for (let round = 0; round < 500; round += 1) {
      this.advance();
      if (this.propose().length === 0 && this.joining() === 0) return;
    }
    throw new Error('it did not come to an end');
  }

  counts(): number[] {
    const usable = this.usable();
    return usable.map((id) => this.#replicas().filter(({ node }) => node === id).length);
  }

  usable(): string[] {
    return nodesOf(this.state)
      .filter(({ id, leaving }) => leaving === undefined && this.stateOf(id) !== 'lost')
      .map(({ id }) => id);
  }

  /** For each shard of a collection its replicas, as `node` or `node?` while joining or `node!` while inactive. */
  placed(collection = 1): string[] {
    const sign = { active: '', joining: '?', inactive: '!' };
    return this.state.collections
      .get(collection)!
      .shards.map(({ replicas }) => replicas.map(({ node, state }) => node + sign[state]).join(' '));
  }
}

function three(): Cluster {
  const cluster = new Cluster(['a', 'b', 'c']);
  cluster.create(1, 2);
  return cluster;
}

describe('a map that is as it is to be', () => {
  test('gets no proposals, also while a node is silent', () => {
    const cluster = three();
    expect(cluster.propose()).toEqual([]);
    cluster.memberStates.set('a', 'silent');
    expect(cluster.propose()).toEqual([]);
  });
});

describe('a lost node', () => {
  test('is replaced, and its replica is dropped only when the new one is active', () => {
    const cluster = three();
    const [first, second] = cluster.placed()[0]!.split(' ') as [string, string];
    const third = ['a', 'b', 'c'].find((node) => node !== first && node !== second)!;
    cluster.write(5000);
    cluster.advance();
    cluster.memberStates.set(first, 'lost');
    cluster.propose();
    expect(cluster.placed()).toEqual([`${first}! ${second} ${third}?`]);
    cluster.advance(4000);
    expect(cluster.propose()).toEqual([]);
    cluster.advance(1);
    cluster.propose();
    expect(cluster.placed()).toEqual([`${second} ${third}`]);
  });

  test('is not replaced while the stream of its shards is lost: that waits for all replicas to say what they have', () => {
    const cluster = new Cluster();
    cluster.add({ kind: 'streams_opened', streams: [{ group: 0, created: 'then' }] });
    for (const node of ['a', 'b', 'c']) cluster.join(node);
    cluster.create(1, 2);
    const [first, second] = cluster.placed()[0]!.split(' ') as [string, string];
    cluster.add({ kind: 'stream_lost', group: 0, epoch: 0, reason: 'it is gone' });
    cluster.memberStates.set(first, 'lost');
    cluster.settle();
    expect(cluster.placed()).toEqual([`${first}! ${second}`]);
    // Nor is one moved.
    cluster.memberStates.set(first, 'live');
    cluster.join('d');
    cluster.settle();
    expect(cluster.placed()[0]!.split(' ')).toHaveLength(2);
  });

  test('that comes back before it was replaced has its replica active again once it has caught up', () => {
    const cluster = three();
    cluster.memberStates.set('c', 'lost');
    cluster.memberStates.set('b', 'lost');
    cluster.propose();
    cluster.write(5000);
    cluster.advance();
    for (const node of ['b', 'c']) cluster.memberStates.set(node, 'live');
    cluster.settle();
    expect(cluster.placed()[0]).toMatch(/^[abc] [abc]$/);
  });

  test('keeps the last active replica of a shard', () => {
    const cluster = new Cluster(['a']);
    cluster.create(2, 1);
    cluster.memberStates.set('a', 'lost');
    cluster.join('b');
    cluster.propose();
    expect(cluster.placed()).toEqual(['a b?', 'a b?']);
  });

  test('keeps its replicas where no other node can take them', () => {
    const cluster = new Cluster(['a', 'b']);
    cluster.create(1, 2);
    cluster.memberStates.set('b', 'lost');
    cluster.settle();
    expect(cluster.placed()[0]!.split(' ').toSorted()).toEqual(['a', 'b!']);
    cluster.memberStates.set('b', 'live');
    cluster.settle();
    expect(cluster.placed()[0]!.split(' ').toSorted()).toEqual(['a', 'b']);
  });
});

describe('a replica that joins', () => {
  test('is not active while it has less than active ones, whatever its stream has', () => {
    const cluster = new Cluster(['a', 'b']);
    cluster.create(1, 1);
    const [holder] = cluster.placed() as [string];
    const other = holder === 'a' ? 'b' : 'a';
    cluster.ends.set('1/0', 50);
    cluster.positions.set(`${holder} 1/0`, 5000);
    cluster.add({ kind: 'replica_added', collection: 1, shard: 0, node: other });
    cluster.positions.set(`${other} 1/0`, 50);
    expect(cluster.propose()).toEqual([]);
  });

  test('is not active while nothing is known of it', () => {
    const cluster = new Cluster(['a', 'b']);
    cluster.create(1, 2);
    cluster.add({ kind: 'collection_changed', collection: 1, replicationFactor: 3 });
    cluster.join('c');
    cluster.propose();
    expect(cluster.placed()[0]).toMatch(/ c\?$/);
    expect(cluster.propose()).toEqual([]);
  });
});

describe('a node that joins', () => {
  test('gets its share, a few replicas at a time', () => {
    const cluster = new Cluster(['a', 'b']);
    cluster.create(12, 1);
    cluster.join('c');
    expect(cluster.propose()).toHaveLength(MOST_JOINING);
    cluster.settle();
    expect(cluster.counts()).toEqual([4, 4, 4]);
  });

  test('gets nothing for the sake of balance while another node is silent', () => {
    const cluster = new Cluster(['a', 'b']);
    cluster.create(12, 1);
    cluster.join('c');
    cluster.memberStates.set('a', 'silent');
    expect(cluster.propose()).toEqual([]);
  });
});

describe('a node that leaves', () => {
  test('is emptied, and then has left', () => {
    const cluster = three();
    cluster.create(6, 2);
    cluster.add({ kind: 'node_leaving', node: 'b' });
    cluster.settle();
    expect(cluster.state.nodes.get('b')!.left).toBeDefined();
    expect(cluster.counts()).toEqual([7, 7]);
  });

  test('stays while it has the only replicas', () => {
    const cluster = new Cluster(['a']);
    cluster.create(1, 1);
    cluster.add({ kind: 'node_leaving', node: 'a' });
    cluster.settle();
    expect(cluster.state.nodes.get('a')!.left).toBeUndefined();
  });
});

describe('a replication factor', () => {
  test('that is lowered has replicas dropped where there are most', () => {
    const cluster = three();
    cluster.create(3, 3);
    cluster.add({ kind: 'collection_changed', collection: 2, replicationFactor: 1 });
    cluster.settle();
    expect(cluster.placed(2).every((nodes) => nodes.length === 1)).toBe(true);
    const counts = cluster.counts();
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
  });
});

const NODES = ['a', 'b', 'c', 'd', 'e', 'f'];
const node = fc.constantFrom(...NODES);
const step = fc.oneof(
  fc.record({
    kind: fc.constant('turn' as const),
    node,
    to: fc.constantFrom<MemberState>('live', 'silent', 'lost'),
  }),
  fc.record({ kind: fc.constant('join' as const), node }),
  fc.record({ kind: fc.constant('leave' as const), node }),
  fc.record({
    kind: fc.constant('create' as const),
    shards: fc.integer({ min: 1, max: 8 }),
    factor: fc.integer({ min: 1, max: 3 }),
  }),
  fc.record({
    kind: fc.constant('change' as const),
    collection: fc.integer({ min: 1, max: 3 }),
    factor: fc.integer({ min: 1, max: 3 }),
  }),
  fc.record({ kind: fc.constant('write' as const), records: fc.integer({ min: 1, max: 3000 }) }),
  fc.record({ kind: fc.constant('read' as const), records: fc.integer({ min: 1, max: 3000 }) }),
  fc.record({ kind: fc.constant('propose' as const), count: fc.integer({ min: 1, max: 5 }) }),
);
type Step = typeof step extends fc.Arbitrary<infer One> ? One : never;

function take(cluster: Cluster, one: Step): void {
  switch (one.kind) {
    case 'turn':
      if (cluster.memberStates.has(one.node)) cluster.memberStates.set(one.node, one.to);
      break;
    case 'join':
      if (!cluster.memberStates.has(one.node)) cluster.join(one.node);
      break;
    case 'leave':
      cluster.tryToAdd({ kind: 'node_leaving', node: one.node });
      break;
    case 'create':
      cluster.create(one.shards, one.factor);
      break;
    case 'change':
      cluster.tryToAdd({
        kind: 'collection_changed',
        collection: one.collection,
        replicationFactor: one.factor,
      });
      break;
    case 'write':
      cluster.write(one.records);
      break;
    case 'read':
      cluster.advance(one.records);
      break;
    case 'propose':
      for (let count = 0; count < one.count; count += 1) cluster.propose();
      break;
  }
}

/** What is wanted once nothing fails any more. */
function expectWanted(cluster: Cluster): void {
  const usable = cluster.usable();
  for (const { shards, replicationFactor } of cluster.state.collections.values()) {
    for (const { replicas } of shards) {
      const good = replicas.filter((replica) => replica.state === 'active' && usable.includes(replica.node));
      if (usable.length > 0) expect(good).toHaveLength(Math.min(replicationFactor, usable.length));
      if (good.length === replicationFactor) expect(replicas).toHaveLength(replicationFactor);
    }
  }
  const counts = cluster.counts();
  if (counts.length > 0) expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
  for (const { id, leaving } of nodesOf(cluster.state)) {
    const isEmpty = cluster
      .shards()
      .every(({ replicas }) => replicas.every((replica) => replica.node !== id));
    if (leaving !== undefined) expect(isEmpty && usable.length > 0).toBe(false);
  }
}

describe('after any failures', () => {
  const runs = Number(process.env['RECONCILIATION_CASES'] ?? 200);

  test.each([
    ['comes back', 'live' as const],
    ['stays away', 'lost' as const],
  ])('the wanted placement is reached, whether what was silent %s', (_, to) => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const cluster = new Cluster(['a', 'b', 'c']);
        for (const one of steps) take(cluster, one);
        for (const [id, state] of cluster.memberStates)
          if (state === 'silent') cluster.memberStates.set(id, to);
        cluster.settle();
        expectWanted(cluster);
        expect(cluster.propose()).toEqual([]);
      }),
      { numRuns: runs },
    );
  });
});
