/** What an operator does to a cluster, over HTTP. */
import { EngineError } from '../../src/engine/types';
import { send, startService, type Service } from '../http/harness';

describe('C4.7 the routes of an operator', () => {
  let service: Service;
  let done: unknown[];
  beforeEach(async () => {
    service = await startService();
    done = [];
    service.engine.cluster = {
      removePeer: (...args) => Promise.resolve(void done.push(args)),
      dropReplica: (...args) => Promise.resolve(void done.push(args)),
    };
  });
  afterEach(() => service.close());

  const post = (json: unknown) => send(service, 'POST', '/collections/a%2Fb/cluster', { json });

  it('remove a node, and drop a replica', async () => {
    expect(await send(service, 'DELETE', '/cluster/peer/9007199254740991')).toMatchObject({
      status: 200,
      body: { status: 'ok', result: true },
    });
    expect(await post({ drop_replica: { shard_id: 2, peer_id: 7 } })).toMatchObject({
      status: 200,
      body: { result: true },
    });
    expect(done).toEqual([[9007199254740991], ['a/b', 2, 7]]);
  });

  it('are a 400 on a server that is alone', async () => {
    service.engine.cluster = undefined;
    const message = 'this server is no node of a cluster';
    for (const answer of [
      await send(service, 'DELETE', '/cluster/peer/7'),
      await post({ drop_replica: { shard_id: 2, peer_id: 7 } }),
    ])
      expect(answer).toMatchObject({ status: 400, body: { status: { error: message } } });
  });

  it.each([
    ['x', 'peer_id: expected the number of a peer'],
    ['9007199254740993', 'peer_id: expected the number of a peer'],
    ['-1', 'peer_id: expected the number of a peer'],
  ])('refuse the peer %s', async (peer, error) => {
    expect(await send(service, 'DELETE', `/cluster/peer/${peer}`)).toMatchObject({
      status: 400,
      body: { status: { error } },
    });
    expect(done).toEqual([]);
  });

  it.each([
    [[], 'body: expected an object'],
    [{}, 'body: expected one operation, such as drop_replica'],
    [{ drop_replica: {}, move_shard: {} }, 'body: expected one operation, such as drop_replica'],
    [{ move_shard: { shard_id: 0 } }, 'move_shard: a cluster places its shards by itself'],
    [{ fly: {} }, 'fly: unknown operation, expected drop_replica'],
    [{ drop_replica: 3 }, 'drop_replica: expected an object'],
    [{ drop_replica: { peer_id: 3 } }, 'drop_replica.shard_id: expected a whole number from 0'],
    [{ drop_replica: { shard_id: 0, peer_id: '3' } }, 'drop_replica.peer_id: expected the number of a peer'],
  ])('refuse the body %j', async (body, error) => {
    expect(await post(body)).toMatchObject({ status: 400, body: { status: { error } } });
    expect(done).toEqual([]);
  });

  it('say what the cluster refuses', async () => {
    service.engine.cluster = {
      removePeer: () => Promise.reject(new EngineError('bad_request', { message: 'peer 7 is the last one' })),
      dropReplica: () => Promise.reject(new EngineError('not_confirmed')),
    };
    expect(await send(service, 'DELETE', '/cluster/peer/7')).toMatchObject({
      status: 400,
      body: { status: { error: 'peer 7 is the last one' } },
    });
    expect(await post({ drop_replica: { shard_id: 2, peer_id: 7 } })).toMatchObject({ status: 503 });
  });
});
