import type { Writes } from '../../src/cluster/coordinator/writes';
import { Expiry } from '../../src/cluster/expiry';
import type { CollectionEntry, ReplicaEntry } from '../../src/cluster/map/state';
import { EMPTY_MAP } from '../../src/cluster/map/state';
import { nameOf } from '../../src/cluster/shards';
import { EngineError, type Engine, type EngineRequest } from '../../src/engine/types';

type Published = Parameters<Writes['publish']>;

const active = (node: string): ReplicaEntry => ({ node, state: 'active' });

/** A collection of which the points may expire, or not. */
function collection(
  id: number,
  replicas: readonly (readonly ReplicaEntry[])[],
  key?: string,
): CollectionEntry {
  const configuration = JSON.stringify({
    vectors: { size: 2, distance: 'Dot' },
    ...(key !== undefined && { expire_at_key: key }),
  });
  return {
    ...{ id, name: `c${id}`, configuration, group: 0, firstPosition: 0 },
    ...{ shardNumber: replicas.length, replicationFactor: 2, writeConsistencyFactor: 1 },
    shards: replicas.map((of) => ({ replicas: of })),
  };
}

/** What a node publishes, of which replicas have points that are due by a time. */
async function published(
  node: string,
  collections: readonly CollectionEntry[],
  due: Readonly<Record<string, number>>,
  {
    live = ['a', 'b'],
    behind = [],
    failing = [],
  }: { readonly live?: string[]; readonly behind?: string[]; readonly failing?: string[] } = {},
): Promise<readonly Published[]> {
  const all: Published[] = [];
  const engine = {
    receive: () => ({ append: () => undefined, discard: () => undefined }),
    execute: ({ operation, collection: name = '' }: EngineRequest) => {
      expect(operation).toBe('replica_state');
      if (failing.includes(name)) return Promise.reject(new EngineError('collection_fault'));
      return Promise.resolve(JSON.stringify({ result: { position: 1, expired_until: due[name] } }));
    },
  } as unknown as Engine;
  const expiry = new Expiry({
    ...{ node, engine },
    map: () => ({ ...EMPTY_MAP, collections: new Map(collections.map((entry) => [entry.id, entry])) }),
    isLive: (one) => live.includes(one),
    isCurrent: (shard) => !behind.includes(nameOf(shard)),
    writes: {
      publish: (...given) => {
        all.push(given);
        return Promise.resolve({ outcomes: new Map(), position: 1 });
      },
    },
  });
  const removing = expiry.removeDue(new AbortController().signal);
  if (failing.length > 0) await expect(removing).rejects.toThrow();
  else await removing;
  return all;
}

const [first, second] = [0, 1].map((shard) => nameOf({ collection: 1, shard })) as [string, string];

describe('points whose time has come', () => {
  const entry = collection(
    1,
    [
      [active('a'), active('b')],
      [active('b'), active('a')],
    ],
    'until',
  );

  it('are removed by a record of the shard, by the node of its first replica', async () => {
    const due = { [first]: 5, [second]: 7 };
    for (const [node, shard, until] of [
      ['a', 0, 5],
      ['b', 1, 7],
    ] as const) {
      const records = await published(node, [entry], due);
      expect(records).toHaveLength(1);
      const [of, operationId, { operation, parts, coordinator }] = records[0]!;
      expect([of, operation, coordinator]).toEqual([entry, 'remove_expired', node]);
      expect(operationId).toMatch(/^[0-9a-f-]{36}$/);
      expect([...parts].map(([at, body]) => [at, String(body)])).toEqual([[shard, `{"until":${until}}`]]);
    }
  });

  it('are removed in other shards where one cannot say what is due', async () => {
    const due = { [first]: 5, [second]: 7 };
    expect(await published('b', [entry], due, { live: ['b'], failing: [first] })).toHaveLength(1);
  });

  it('are not looked for where there are none, nor in a collection whose points do not expire', async () => {
    expect(await published('a', [entry], {})).toEqual([]);
    const lasting = collection(1, [[active('a')]]);
    expect(await published('a', [lasting], { [first]: 5 })).toEqual([]);
    expect(await published('a', [{ ...lasting, mayExpire: true }], { [first]: 5 })).toHaveLength(1);
  });

  it('are removed by another node where the first is not there, or may not be asked', async () => {
    const due = { [first]: 5, [second]: 7 };
    expect(await published('b', [entry], due, { live: ['b'] })).toHaveLength(2);
    const joining: ReplicaEntry = { node: 'a', state: 'joining' };
    expect(await published('b', [collection(1, [[joining, active('b')]], 'until')], due)).toHaveLength(1);
    expect(await published('b', [entry], due, { live: ['b'], behind: [second] })).toHaveLength(1);
  });
});
