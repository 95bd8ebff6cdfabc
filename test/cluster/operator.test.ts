/** What operators are answered while a cluster cannot take their changes. */
import { ClusterEngine } from '../../src/cluster/cluster-engine';
import { Operator } from '../../src/cluster/coordinator/operator';
import { peerId } from '../../src/cluster/coordinator/reports';
import { LogUnavailableError, OutcomeUnknownError } from '../../src/cluster/log/record-log';
import { ShardMap } from '../../src/cluster/map/shard-map';
import type { ClusterNode } from '../../src/cluster/node';
import type { Engine } from '../../src/engine/types';
import { MemoryLogService } from './memory-log';

const COLLECTIONS = {
  named: () => {
    throw new Error('no collection is asked for');
  },
};

/** The map of two nodes, whose next event fails. */
async function failing(error: Error): Promise<ShardMap> {
  const servers = new MemoryLogService('test', 1);
  const map = new ShardMap(servers.map, { ignored: () => undefined });
  await map.start();
  for (const node of ['a', 'b'])
    await map.change(() => ({ kind: 'node_joined', node, address: `${node}:1` }), { timeoutMs: 5000 });
  servers.map.publishExpecting = () => Promise.reject(error);
  return map;
}

const FAILURES: readonly (readonly [Error, string])[] = [
  [new LogUnavailableError('no server is there'), 'unavailable'],
  [new OutcomeUnknownError('1'), 'not_confirmed'],
];

test.each(FAILURES)('C30.9 an operator gets the error that a write would get: %s', async (error, code) => {
  const map = await failing(error);
  const operator = new Operator(map, COLLECTIONS);
  await expect(operator.removePeer(peerId('b'))).rejects.toMatchObject({ code });
  await map.stop();
});

test('an event that this node cannot read in time is not confirmed', async () => {
  const map = await failing(new Error('none'));
  map.log.publishExpecting = () => Promise.resolve({ sequence: 1000, isDuplicate: false });
  const event = { kind: 'node_leaving', node: 'b' } as const;
  await expect(map.change(() => event, { timeoutMs: 20 })).rejects.toThrow(OutcomeUnknownError);
  await map.stop();
});

test('a node that answers nothing any more takes nothing of an operator either', () => {
  const node = { refusal: 'upgrade this node', coordinator: undefined } as unknown as ClusterNode;
  const engine = new ClusterEngine({} as Engine, node);
  expect(() => engine.cluster).toThrow(expect.objectContaining({ code: 'unavailable' }));
});
