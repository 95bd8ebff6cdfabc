/** With which state shards go on whose stream was lost. */
import type { FrozenReplica } from '../../src/cluster/streams/frozen-replica';
import { planRepair, type FrozenView, type RepairPlan } from '../../src/cluster/streams/repair-plan';
import type { ReplicaEntry, ShardMapState } from '../../src/cluster/map/state';
import { EMPTY_MAP } from '../../src/cluster/map/state';

/** A replica: its position, the digest of its state, and whether the stream has its last record; undefined for a lost node. */
type Given = readonly [position: number, digest: string, isInStream?: boolean] | undefined;

const NODES = ['a', 'b', 'c', 'd', 'e'];

function mapOf(count: number, writeConsistencyFactor: number, states: Record<string, ReplicaEntry['state']>) {
  const replicas = NODES.slice(0, count).map((node) => ({ node, state: states[node] ?? 'active' }) as const);
  const collection = {
    ...{ id: 1, name: 'x', configuration: '{}', shardNumber: 1, group: 0, firstPosition: 0 },
    ...{ replicationFactor: count, writeConsistencyFactor, shards: [{ replicas }] },
  };
  return { ...EMPTY_MAP, collections: new Map([[1, collection]]) } satisfies ShardMapState;
}

function plan(
  given: readonly Given[],
  { copies = 2, hasStore = true, silent = [] as readonly string[], states = {} } = {},
): RepairPlan {
  const view: FrozenView = {
    hasStore,
    stateOf: (node) => (silent.includes(node) ? 'silent' : given[NODES.indexOf(node)] ? 'live' : 'lost'),
    frozenOn: (node, replica): FrozenReplica | undefined => {
      const [position, digest, isInStream = false] = given[NODES.indexOf(node)] ?? [];
      return position === undefined || digest === undefined
        ? undefined
        : { node, replica, group: 0, epoch: 0, position, digest, isInStream };
    },
  };
  return planRepair(mapOf(given.length, copies, states), 0, view);
}

const goesOn = (position: number, digest: string, nodes: readonly string[]): RepairPlan => ({
  shards: [{ collection: 1, shard: 0, position, digest, nodes }],
});

describe('a shard whose stream was lost goes on', () => {
  test('with the state of the most advanced replica, and of those that have the same', () => {
    expect(
      plan([
        [7, 'x'],
        [9, 'y'],
        [9, 'y'],
      ]),
    ).toEqual(goesOn(9, 'y', ['b', 'c']));
    expect(
      plan([
        [0, 'x'],
        [0, 'x'],
        [0, 'x'],
      ]),
    ).toEqual(goesOn(0, 'x', ['a', 'b', 'c']));
  });

  test('of replicas at one position with the state that most have', () => {
    expect(
      plan([
        [9, 'x'],
        [9, 'y'],
        [9, 'y'],
      ]),
    ).toEqual(goesOn(9, 'y', ['b', 'c']));
  });

  test('with records that the stream lost where enough replicas have them, and with those in their places where not', () => {
    // A replica that was behind took records that came in the places of lost ones.
    expect(
      plan([
        [9, 'old'],
        [8, 'older'],
        [12, 'new', true],
      ]),
    ).toEqual(goesOn(9, 'old', ['a']));
    expect(
      plan([
        [9, 'old'],
        [6, 'new', true],
        [7, 'newer', true],
      ]),
    ).toEqual(goesOn(7, 'newer', ['c']));
  });

  test('only when every replica of a node that may come back has said what it has', () => {
    expect(plan([[9, 'x'], [9, 'x'], undefined], { silent: ['c'] })).toEqual({ waitsFor: 'c1-s0 on node c' });
    expect(plan([[9, 'x'], [9, 'x'], undefined])).toEqual(goesOn(9, 'x', ['a', 'b']));
  });

  test('only when an acknowledged write cannot be on missing replicas alone', () => {
    expect(plan([[9, 'x'], undefined, undefined])).toEqual({ waitsFor: 'more replicas of c1-s0' });
    expect(plan([[9, 'x'], undefined], { copies: 2 })).toEqual(goesOn(9, 'x', ['a']));
    expect(plan([[9, 'x'], undefined, undefined], { copies: 3 })).toEqual(goesOn(9, 'x', ['a']));
    expect(plan([undefined])).toEqual({ waitsFor: 'more replicas of c1-s0' });
  });

  test('not where two histories may each have acknowledged writes', () => {
    expect(plan([[9, 'old'], [9, 'new', true], undefined])).toMatchObject({
      waitsFor: expect.stringMatching(/some have records that others lack/),
    });
  });

  test('without a store of checkpoints only where all replicas are equal', () => {
    expect(
      plan(
        [
          [9, 'x'],
          [9, 'x'],
          [9, 'x'],
        ],
        { hasStore: false },
      ),
    ).toEqual(goesOn(9, 'x', ['a', 'b', 'c']));
    expect(
      plan(
        [
          [9, 'x'],
          [8, 'y'],
          [9, 'x'],
        ],
        { hasStore: false },
      ),
    ).toMatchObject({
      waitsFor: expect.stringMatching(/a store of checkpoints/),
    });
  });
});
