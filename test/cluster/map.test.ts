/** The shard map: events, placement, and the map that follows its stream. */
import fc from 'fast-check';
import { apply } from '../../src/cluster/map/apply';
import { decodeEvent, encodeEvent, LaterVersionError, type ShardMapEvent } from '../../src/cluster/map/event';
import { placementOf, preferredNodes, replicaCounts } from '../../src/cluster/map/placement';
import { ShardMap } from '../../src/cluster/map/shard-map';
import { collectionNamed, EMPTY_MAP, nodesOf, type ShardMapState } from '../../src/cluster/map/state';
import { LogUnavailableError } from '../../src/cluster/log/record-log';
import { MemoryLogService } from './memory-log';
import { seeded } from './random';
import { recordOf } from './records';

const LIMITS = { timeoutMs: 60_000 };

function joined(node: string): ShardMapEvent {
  return { kind: 'node_joined', node, address: `${node}:1` };
}

function created(id: number, placement: string[][], replicationFactor = 2): ShardMapEvent {
  return {
    kind: 'collection_created',
    collection: {
      id,
      name: `c${id}`,
      configuration: '{}',
      shardNumber: placement.length,
      replicationFactor,
      writeConsistencyFactor: 1,
      group: 0,
      firstPosition: 0,
      placement,
    },
  };
}

/** The state after events, which must all fit. */
function after(events: readonly ShardMapEvent[], from: ShardMapState = EMPTY_MAP): ShardMapState {
  return events.reduce((state, event) => {
    const { state: next, ignored } = apply(state, event, state.version + 1);
    expect(ignored).toBeUndefined();
    return next;
  }, from);
}

const TWO = [joined('a'), joined('b'), created(1, [['a', 'b'], ['b']])];
const place = (shard: number, node: string) => ({ collection: 1, shard, node });

describe('an event', () => {
  test('of a node is applied', () => {
    const state = after([joined('a'), { kind: 'node_joined', node: 'a', address: 'other:1' }, joined('b')]);
    expect(state.version).toBe(3);
    expect(state.nodes.get('a')).toEqual({ id: 'a', address: 'other:1', joined: 1 });
    const left = after(
      [
        { kind: 'node_leaving', node: 'b' },
        { kind: 'node_left', node: 'b' },
      ],
      state,
    );
    expect(left.nodes.get('b')).toMatchObject({ leaving: 4, left: 5 });
    expect(nodesOf(left).map(({ id }) => id)).toEqual(['a']);
  });

  test('of a collection is applied, and its replicas are active at once', () => {
    const state = after(TWO);
    const collection = collectionNamed(state, 'c1')!;
    expect(collection.shards[0]!.replicas).toEqual([
      { node: 'a', state: 'active' },
      { node: 'b', state: 'active' },
    ]);
    expect(state.nextCollectionId).toBe(2);
    const changed = after([{ kind: 'collection_changed', collection: 1, replicationFactor: 3 }], state);
    expect(collectionNamed(changed, 'c1')).toEqual({ ...collection, replicationFactor: 3 });
    const declared: ShardMapEvent[] = [
      { kind: 'collection_changed', collection: 1, mayBeStrict: true },
      { kind: 'collection_changed', collection: 1, mayExpire: true },
      { kind: 'collection_changed', collection: 1, mayWeigh: true },
    ];
    expect(collectionNamed(after(declared, state), 'c1')).toEqual({
      ...collection,
      mayBeStrict: true,
      mayExpire: true,
      mayWeigh: true,
    });
  });

  test('of aliases is applied in whole or not at all', () => {
    const set = (alias: string, collection: number) => ({ action: 'set', alias, collection }) as const;
    const state = after([...TWO, { kind: 'aliases_changed', actions: [set('x', 1), set('y', 1)] }]);
    expect(collectionNamed(state, 'x')!.id).toBe(1);
    const failing: ShardMapEvent = {
      kind: 'aliases_changed',
      actions: [{ action: 'delete', alias: 'x' }, set('z', 9)],
    };
    const { state: same, ignored } = apply(state, failing, 9);
    expect(ignored).toBe('there is no collection 9');
    expect(same).toEqual({ ...state, version: 9 });
    const dropped = after([{ kind: 'collection_dropped', collection: 1 }], state);
    expect([dropped.collections.size, dropped.names.size, dropped.aliases.size]).toEqual([0, 0, 0]);
    expect(dropped.nextCollectionId).toBe(2);
  });

  test('of a replica is applied', () => {
    const added = after([...TWO, { kind: 'replica_added', ...place(1, 'a') }]);
    expect(added.collections.get(1)!.shards[1]!.replicas[1]).toEqual({ node: 'a', state: 'joining' });
    const moved = after(
      [
        { kind: 'replica_activated', ...place(1, 'a') },
        { kind: 'replica_deactivated', ...place(1, 'b') },
        { kind: 'replica_dropped', ...place(1, 'b') },
      ],
      added,
    );
    expect(moved.collections.get(1)!.shards[1]!.replicas).toEqual([{ node: 'a', state: 'active' }]);
  });

  test.each<[string, ShardMapEvent]>([
    ['there is no node c', { kind: 'node_leaving', node: 'c' }],
    ['node a has replicas', { kind: 'node_left', node: 'a' }],
    ['the next collection has the id 2, not 3', created(3, [['a']])],
    ['each shard needs replicas on different nodes', created(2, [['a', 'a']])],
    ['each shard needs replicas on different nodes', created(2, [['c']])],
    ['each shard needs replicas on different nodes', created(2, [[]])],
    ['there is no collection 2', { kind: 'collection_dropped', collection: 2 }],
    ['collection 1 has no shard 2', { kind: 'replica_added', ...place(2, 'a') }],
    ['there is no node c', { kind: 'replica_added', ...place(1, 'c') }],
    ['node b has a replica already', { kind: 'replica_added', ...place(1, 'b') }],
    ['node a has no replica', { kind: 'replica_activated', ...place(1, 'a') }],
    ['the replica is active already', { kind: 'replica_activated', ...place(1, 'b') }],
    ['it is the last active replica of its shard', { kind: 'replica_deactivated', ...place(1, 'b') }],
    ['it is the last active replica of its shard', { kind: 'replica_dropped', ...place(1, 'b') }],
    [
      'a write cannot wait for more replicas than there are',
      { kind: 'collection_changed', collection: 1, writeConsistencyFactor: 3 },
    ],
    [
      'there is a collection c1',
      { kind: 'aliases_changed', actions: [{ action: 'set', alias: 'c1', collection: 1 }] },
    ],
  ])('that does not fit changes the version only: %s', (reason, event) => {
    const state = after(TWO);
    expect(apply(state, event, 9)).toEqual({ state: { ...state, version: 9 }, ignored: reason });
  });

  test('comes back from its bytes', () => {
    for (const event of [...TWO, { kind: 'replica_added', ...place(1, 'a') } as const]) {
      expect(decodeEvent(encodeEvent(event))).toEqual(event);
    }
  });

  test.each([
    ['no JSON', '{'],
    ['no object', '[]'],
    ['no format', '{"kind":"node_left","node":"a"}'],
    ['a field of another type', '{"format":1,"kind":"node_left","node":1}'],
    ['a missing field', '{"format":1,"kind":"replica_added","collection":1,"shard":0}'],
    ['a list with something else', '{"format":1,"kind":"aliases_changed","actions":[1]}'],
  ])('is none with %s', (_, text) => {
    expect(decodeEvent(Buffer.from(text))).toBeUndefined();
  });

  test.each([
    '{"format":2,"kind":"node_left","node":"a"}',
    '{"format":1,"kind":"shard_split"}',
    '{"format":1,"kind":"constructor"}',
  ])('of a later release is named: %s', (text) => {
    expect(() => decodeEvent(Buffer.from(text))).toThrow(LaterVersionError);
  });
});

describe('placement', () => {
  const shapes = fc.record({
    nodes: fc.uniqueArray(fc.stringMatching(/^[a-z]{1,5}$/), { minLength: 1, maxLength: 8 }),
    shardNumber: fc.integer({ min: 1, max: 12 }),
    replicationFactor: fc.integer({ min: 1, max: 4 }),
  });

  test('has replicas of a shard on different nodes, and as many on each node', () => {
    fc.assert(
      fc.property(shapes, ({ nodes, shardNumber, replicationFactor }) => {
        const state = after(nodes.map(joined));
        const placement = placementOf(state, { id: 1, shardNumber, replicationFactor }, () => true);
        for (const replicas of placement) {
          expect(new Set(replicas).size).toBe(Math.min(replicationFactor, nodes.length));
        }
        const counts = [...replicaCounts(after([created(1, placement, replicationFactor)], state)).values()];
        expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1);
      }),
    );
  });

  test('has nothing on nodes that are not live or are leaving', () => {
    const state = after([joined('a'), joined('b'), joined('c'), { kind: 'node_leaving', node: 'c' }]);
    const placement = placementOf(
      state,
      { id: 1, shardNumber: 2, replicationFactor: 3 },
      (node) => node !== 'b',
    );
    expect(placement).toEqual([['a'], ['a']]);
  });

  test('prefers the same nodes when another one is there', () => {
    const four = preferredNodes(1, 0, ['a', 'b', 'c', 'd']);
    expect(preferredNodes(1, 0, ['d', 'a', 'c']).join()).toBe(four.filter((node) => node !== 'b').join());
    const firsts = Array.from(
      { length: 64 },
      (_, shard) => preferredNodes(1, shard, ['a', 'b', 'c', 'd'])[0],
    );
    expect(new Set(firsts).size).toBe(4);
  });
});

describe('the map of a node', () => {
  function nodes(count: number, faults: ConstructorParameters<typeof MemoryLogService>[2] = {}) {
    const service = new MemoryLogService('test', 1, faults);
    const ignored: string[] = [];
    const maps = Array.from(
      { length: count },
      () => new ShardMap(service.map, { ignored: (_, why) => ignored.push(why) }),
    );
    return { service, maps, ignored, stop: () => Promise.all(maps.map((map) => map.stop())) };
  }

  test('is that of every other node, whoever proposes, while acknowledgements are lost', async () => {
    const faults = { lostAcknowledgements: 0.2, lostMessages: 0.2, longestDelayMs: 2, interruptions: 0.05 };
    const { maps, stop, ignored } = nodes(3, { ...faults, random: seeded(11) });
    await Promise.all(maps.map((map) => map.start()));
    const decisions = await Promise.all(
      Array.from({ length: 30 }, (_, at) =>
        maps[at % 3]!.propose(
          (state) => (state.nodes.size >= 12 ? { refused: 'enough' } : joined(`node ${state.nodes.size}`)),
          LIMITS,
        ),
      ),
    );
    const versions = decisions.flatMap((decision) => ('version' in decision ? [decision.version] : []));
    expect(versions.toSorted((one, other) => one - other)).toEqual(
      Array.from({ length: 12 }, (_, at) => at + 1),
    );
    await Promise.all(maps.map((map) => map.waitFor(12)));
    expect(maps.map((map) => map.state)).toEqual([maps[0]!.state, maps[0]!.state, maps[0]!.state]);
    expect(ignored).toEqual([]);
    await stop();
  });

  test('refuses what does not fit, and publishes nothing', async () => {
    const { maps, stop, service } = nodes(1);
    await maps[0]!.start();
    const decision = await maps[0]!.propose(() => ({ kind: 'node_leaving', node: 'a' }), LIMITS);
    expect(decision).toEqual({ refused: 'there is no node a' });
    expect(service.mapStream.lastSequence).toBe(0);
    await stop();
  });

  test('tells its listeners, and those who wait for a version', async () => {
    const { maps, stop } = nodes(2);
    const [map, other] = [maps[0]!, maps[1]!];
    await Promise.all([map.start(), other.start()]);
    const seen: number[] = [];
    const end = other.onChange(({ version }) => seen.push(version));
    await map.propose(() => joined('a'), LIMITS);
    await other.waitFor(1);
    end();
    await map.propose(() => joined('b'), LIMITS);
    await other.waitFor(2);
    expect(seen).toEqual([1]);
    await expect(other.waitFor(3, AbortSignal.timeout(10))).rejects.toThrow();
    await stop();
    await expect(other.waitFor(3)).rejects.toThrow('the shard map was stopped');
  });

  test('ignores what is no event, and goes on', async () => {
    const { maps, stop, service, ignored } = nodes(1);
    service.mapStream.storeForeign('events', Buffer.from('?'));
    await service.map.publish('events', recordOf('a', '[]'), LIMITS);
    await maps[0]!.start();
    expect(await maps[0]!.propose(() => joined('a'), LIMITS)).toEqual({ version: 3 });
    expect(ignored).toEqual(['it is no record', 'it is no event']);
    await stop();
  });

  test('ends with a clear error at an event of a later release', async () => {
    const { maps, service } = nodes(1);
    const map = maps[0]!;
    await service.map.publish('events', recordOf('a', '{"format":1,"kind":"shard_split"}'), LIMITS);
    await expect(map.start()).rejects.toThrow(/an event shard_split, which a later release of KithDB wrote/);
    await expect(map.ended()).rejects.toThrow(LaterVersionError);
    await expect(map.waitFor(1)).rejects.toThrow(LaterVersionError);
  });

  test('proposes nothing while no log server answers', async () => {
    const { maps, stop, service } = nodes(1);
    await maps[0]!.start();
    service.faults.isDown = true;
    await expect(maps[0]!.propose(() => joined('a'), { timeoutMs: 50 })).rejects.toThrow(LogUnavailableError);
    await stop();
  });
});
