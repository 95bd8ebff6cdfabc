/** A lost shard map that running nodes make anew, over streams in memory. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { LaterVersionError } from '../../src/cluster/map/event';
import { LogChangedError } from '../../src/cluster/log/record-log';
import { ShardMap } from '../../src/cluster/map/shard-map';
import { Members } from '../../src/cluster/membership/members';
import { KnownMap } from '../../src/cluster/streams/known-map';
import { MapRepair } from '../../src/cluster/streams/map-repair';
import { openMapStream } from '../../src/cluster/streams/opening';
import { MemoryLogService } from './memory-log';

const LIMITS = { timeoutMs: 10_000 };
const LOOKS = 3;
const { signal } = new AbortController();
let folder: string;
const ends: (() => Promise<void>)[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kithdb-map-repair-'));
});
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
  rmSync(folder, { recursive: true, force: true });
});

/** The node `a` of a cluster that has the nodes `a` and `b`. */
async function nodeA() {
  const servers = new MemoryLogService();
  const known = await KnownMap.open(folder);
  const { created } = await openMapStream(servers, known, LIMITS);
  const map = new ShardMap(servers.map, { ignored: () => undefined });
  ends.push(() => map.stop());
  await map.start();
  for (const node of ['a', 'b']) {
    await map.change(() => ({ kind: 'node_joined', node, address: `${node}:1` }), LIMITS);
  }
  const members = new Members('a', () => 0);
  const hears = (node: string, mapVersion: number): void => {
    const heartbeat = { node, address: `${node}:1`, start: 's', count: 1, mapVersion, underWay: 0 };
    members.receive({ ...heartbeat, replicas: new Map() });
  };
  const found = { problem: undefined as string | undefined, failure: undefined as Error | undefined };
  let rejoined = 0;
  const repair = new MapRepair({
    ...{ node: 'a', settleMs: 0, servers, known, created, members, log: pino({ level: 'silent' }) },
    map: {
      get state() {
        return map.state;
      },
      get failure() {
        return found.failure;
      },
      isLast: (record) => map.isLast(record),
    },
    noteMap: () => known.note(created, map.state),
    watch: { mapProblem: () => found.problem },
    rejoin: () => {
      rejoined += 1;
    },
  });
  const look = async (times: number): Promise<number> => {
    for (let time = 0; time < times; time += 1) await repair.look(signal);
    return rejoined;
  };
  return { servers, known, map, hears, found, repair, look };
}

test('C30.13 nothing is done while the map is there, or one release is too old for it', async () => {
  const { look, found } = await nodeA();
  expect(await look(LOOKS + 1)).toBe(0);
  found.problem = 'an event of a later release';
  found.failure = new LaterVersionError('an event');
  expect(await look(LOOKS + 1)).toBe(0);
});

test('C30.13 a map that is whole again is read again, after three looks', async () => {
  const { look, found } = await nodeA();
  found.problem = 'it ends at 0, before 2';
  found.failure = new LogChangedError('KITHDB_test_map', found.problem);
  expect(await look(LOOKS - 1)).toBe(0);
  expect(await look(1)).toBe(1);
});

test('C30.13 a map that cannot be read for another reason, or has other events, is left to the operator', async () => {
  const { look, found, map, servers } = await nodeA();
  found.problem = 'a record is damaged';
  found.failure = new Error(found.problem);
  expect(await look(LOOKS)).toBe(0);
  found.failure = new LogChangedError('KITHDB_test_map', 'it ended before');
  const { version } = map.state;
  await map.stop();
  servers.mapStream.goBackTo(version - 1);
  const other = new ShardMap(servers.map, { ignored: () => undefined });
  ends.push(() => other.stop());
  await other.start();
  await other.change(() => ({ kind: 'node_joined', node: 'c', address: 'c:1' }), LIMITS);
  expect(await look(LOOKS)).toBe(0);
});

test('C30.13 it is not made anew while a node is silent, or by one that has read less than another', async () => {
  const { look, found, hears, map, repair, servers } = await nodeA();
  found.problem = 'it is gone';
  servers.mapStream.isMissing = true;
  hears('a', map.state.version);
  expect(await look(LOOKS)).toBe(0);
  expect(repair.problems()).toEqual([expect.stringMatching(/when all nodes are live, and b is not/)]);
  hears('b', map.state.version + 1);
  expect(await look(LOOKS)).toBe(0);
  expect(repair.problems()).toEqual([]);
  expect(servers.mapStream.isMissing).toBe(true);
});

test('C30.13 one node makes it anew with all that was read, which nodes that have read as much follow', async () => {
  const { look, found, hears, map, known, servers } = await nodeA();
  found.problem = 'it is gone';
  const { version, nodes } = map.state;
  hears('a', version);
  hears('b', version);
  servers.mapStream.isMissing = true;
  expect(await look(LOOKS)).toBe(1);
  expect(servers.mapStream.isMissing).toBe(false);
  const { firstSequence } = await openMapStream(servers, known, LIMITS);
  expect(firstSequence).toBeGreaterThan(version);
  const anew = new ShardMap(servers.map, { ignored: () => undefined });
  ends.push(() => anew.stop());
  await anew.start(undefined, firstSequence);
  expect([...anew.state.nodes]).toEqual([...nodes]);
});
