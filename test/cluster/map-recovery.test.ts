/** A map that is too long for one message: it is made anew in several frames, and that may be interrupted between them. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NotDelivered } from '../../src/cluster/log/message-stream';
import { FRAME_BYTES } from '../../src/cluster/log/record-log';
import { ShardMap } from '../../src/cluster/map/shard-map';
import { EMPTY_MAP, type CollectionEntry, type ShardMapState } from '../../src/cluster/map/state';
import { KnownMap } from '../../src/cluster/streams/known-map';
import { planRecovery, recoverMap } from '../../src/cluster/streams/map-recovery';
import { openMapStream } from '../../src/cluster/streams/opening';
import { MemoryLogService } from './memory-log';

const LIMITS = { timeoutMs: 10_000 };
const AT_ONCE = { settleMs: 0 };
let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kithdb-map-recovery-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** A map of three frames. */
function longMap(): ShardMapState {
  const collection: CollectionEntry = {
    ...{ id: 1, name: 'x', configuration: JSON.stringify({ text: 'x'.repeat(2 * FRAME_BYTES) }) },
    ...{ shardNumber: 1, replicationFactor: 1, writeConsistencyFactor: 1, group: 0, firstPosition: 0 },
    shards: [{ replicas: [{ node: 'a', state: 'active' }] }],
  };
  return {
    ...{ ...EMPTY_MAP, version: 5, nextCollectionId: 2 },
    nodes: new Map([['a', { id: 'a', address: 'a:1', joined: 1 }]]),
    collections: new Map([[1, collection]]),
    names: new Map([['x', 1]]),
  };
}

test('C30.13 a map of several frames that was interrupted after the first is no map, and is made anew again', async () => {
  const servers = new MemoryLogService();
  const known = await KnownMap.open(folder);
  await known.note(servers.mapStream.created, longMap());
  servers.mapStream.isMissing = true;
  const over = new AbortController();
  const send = servers.mapStream.send.bind(servers.mapStream);
  const sending = jest.spyOn(servers.mapStream, 'send').mockImplementation(async (message) => {
    if (sending.mock.calls.length === 1) return send(message);
    over.abort(new Error('it stops'));
    throw new NotDelivered('no server is there');
  });
  const plan = await planRecovery(servers, known, AT_ONCE);
  await expect(recoverMap(servers, known, plan, over.signal)).rejects.toThrow();
  sending.mockRestore();
  expect(servers.mapStream.messages).toHaveLength(1);
  await expect(openMapStream(servers, known, LIMITS)).rejects.toThrow(/with no map/);

  const again = await planRecovery(servers, known, AT_ONCE);
  expect(again).toMatchObject({
    hasRemains: true,
    found: expect.stringMatching(/was made anew at .*, and has a part of a map/),
    collections: ['x'],
  });
  await recoverMap(servers, known, again);
  expect(servers.mapStream.messages).toHaveLength(3);
  const { firstSequence } = await openMapStream(servers, known, LIMITS);
  const map = new ShardMap(servers.map, { ignored: () => undefined });
  await map.start(undefined, firstSequence);
  expect({ ...map.state, version: 5 }).toEqual(longMap());
  await map.stop();
});
