/** Who a node is, and which nodes are live. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decodeHeartbeat, encodeHeartbeat, type Heartbeat } from '../../src/cluster/membership/heartbeat';
import {
  startHeartbeats,
  type HeartbeatChannel,
  type OwnReport,
} from '../../src/cluster/membership/heartbeats';
import { identityIn, makeIdentity, noteBrought } from '../../src/cluster/membership/identity';
import { Members } from '../../src/cluster/membership/members';

describe('the identity of a node', () => {
  let dataDir: string;

  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'kithdb-identity-'));
  });

  afterEach(() => {
    rmSync(dataDir, { recursive: true });
  });

  test('is made once', async () => {
    expect(await identityIn(dataDir, 'one')).toBeUndefined();
    const first = await makeIdentity(dataDir, 'one');
    expect(first).toEqual({ node: expect.stringMatching(/^[0-9a-f-]{36}$/), cluster: 'one' });
    const text = readFileSync(join(dataDir, 'cluster.json'), 'utf8');
    expect(await identityIn(dataDir, 'one')).toEqual(first);
    expect(readFileSync(join(dataDir, 'cluster.json'), 'utf8')).toBe(text);
    expect(readdirSync(dataDir)).toEqual(['cluster.json']);
  });

  test('is made where a start ended before it was complete', async () => {
    writeFileSync(join(dataDir, 'cluster.json.tmp'), '{"for');
    await makeIdentity(dataDir, 'one');
    expect(readdirSync(dataDir)).toEqual(['cluster.json']);
  });

  test('is of one cluster', async () => {
    await makeIdentity(dataDir, 'one');
    await expect(identityIn(dataDir, 'two')).rejects.toThrow('is of the cluster one, not of two');
  });

  test('keeps what the node brings until that is in the cluster', async () => {
    const brings = { collections: ['birds'], aliases: [{ alias: 'animals', collection: 'birds' }] };
    const made = await makeIdentity(dataDir, 'one', brings);
    expect(await identityIn(dataDir, 'one')).toEqual({ ...made, brings });
    await noteBrought(dataDir, made);
    expect(await identityIn(dataDir, 'one')).toEqual({ node: made.node, cluster: 'one' });
  });

  test.each([
    ['', 'it is not JSON'],
    ['null', 'it does not name a node and its cluster'],
    ['{"format":1,"node":"me","cluster":"one"}', 'it does not name a node and its cluster'],
    [
      '{"format":1,"node":"01234567-89ab-4def-8123-456789abcdef","cluster":"one","brings":[]}',
      'what it brings is no list of collections',
    ],
    ['{"format":2}', 'a later release of KithDB'],
  ])('is not made anew where its file is %j', async (text, reason) => {
    writeFileSync(join(dataDir, 'cluster.json'), text);
    await expect(identityIn(dataDir, 'one')).rejects.toThrow(reason);
    expect(readFileSync(join(dataDir, 'cluster.json'), 'utf8')).toBe(text);
  });
});

/** A clock and the nodes that send heartbeats by it. */
class Simulation {
  nowMs = 5000;
  readonly members = new Members('b', () => this.nowMs);
  readonly counts = new Map<string, number>();

  beat(node: string, start = 'first', changes: Partial<Heartbeat> = {}): void {
    const count = (this.counts.get(node + start) ?? 0) + 1;
    this.counts.set(node + start, count);
    const heartbeat = { address: `${node}:1`, mapVersion: 1, underWay: 0, replicas: new Map(), ...changes };
    this.members.receive({ node, start, count, ...heartbeat });
  }

  /** Lets time pass, in which some nodes are heard. */
  pass(ms: number, nodes: readonly string[]): void {
    for (let passed = 0; passed < ms; passed += 500) {
      this.nowMs += 500;
      for (const node of nodes) this.beat(node);
    }
  }

  states(nodes = ['a', 'b', 'c']): string[] {
    return nodes.map((node) => this.members.stateOf(node));
  }
}

describe('members', () => {
  test('are live, silent after three seconds, lost after thirty, and live again', () => {
    const simulation = new Simulation();
    simulation.pass(1000, ['a', 'b', 'c']);
    expect(simulation.states()).toEqual(['live', 'live', 'live']);
    simulation.pass(2500, ['b', 'c']);
    expect(simulation.states()).toEqual(['live', 'live', 'live']);
    simulation.pass(500, ['b', 'c']);
    expect(simulation.states()).toEqual(['silent', 'live', 'live']);
    simulation.pass(26_500, ['b', 'c']);
    expect(simulation.states()).toEqual(['silent', 'live', 'live']);
    simulation.pass(500, ['b', 'c']);
    expect(simulation.states()).toEqual(['lost', 'live', 'live']);
    simulation.beat('a');
    expect(simulation.states()).toEqual(['live', 'live', 'live']);
  });

  test('are not live by a heartbeat that was heard before', () => {
    const simulation = new Simulation();
    simulation.beat('a');
    simulation.beat('b');
    simulation.pass(4000, ['b']);
    simulation.counts.set('afirst', 0);
    simulation.beat('a');
    expect(simulation.states(['a'])).toEqual(['silent']);
    simulation.beat('a', 'second');
    expect(simulation.states(['a'])).toEqual(['live']);
  });

  test('are lost thirty seconds after this node came, where they were never heard', () => {
    const simulation = new Simulation();
    simulation.pass(29_500, ['b']);
    expect(simulation.states()).toEqual(['silent', 'live', 'silent']);
    simulation.pass(1000, ['b']);
    expect(simulation.states()).toEqual(['lost', 'live', 'lost']);
  });

  test('are not judged by a node that is cut off, or was', () => {
    const simulation = new Simulation();
    simulation.pass(1000, ['a', 'b', 'c']);
    simulation.pass(60_000, []);
    expect(simulation.states()).toEqual(['silent', 'silent', 'silent']);
    expect(simulation.members.proposer(['a', 'b', 'c'])).toBeUndefined();
    simulation.pass(500, ['b']);
    expect(simulation.states()).toEqual(['silent', 'live', 'silent']);
    simulation.pass(30_000, ['b', 'c']);
    expect(simulation.states()).toEqual(['lost', 'live', 'live']);
  });

  test('have a proposer: the live node of the map with the lowest id', () => {
    const simulation = new Simulation();
    expect(simulation.members.proposer(['a', 'b'])).toBeUndefined();
    simulation.pass(1000, ['a', 'b', 'c']);
    expect(simulation.members.proposer(['c', 'b', 'a'])).toBe('a');
    expect(simulation.members.proposer(['c', 'b'])).toBe('b');
    simulation.pass(4000, ['b', 'c']);
    expect(simulation.members.proposer(['c', 'b', 'a'])).toBe('b');
    // A node that hears others, but not itself, cannot be heard either.
    simulation.pass(4000, ['a', 'c']);
    expect(simulation.members.proposer(['c', 'b', 'a'])).toBeUndefined();
  });

  test('have a load and replicas, as long as they are live', () => {
    const simulation = new Simulation();
    const report = { position: 7, behind: 2, changed: 6 };
    simulation.beat('a', 'first', { underWay: 5 });
    simulation.beat('b', 'first', { underWay: 3 });
    simulation.beat('c', 'first', { underWay: 3, replicas: new Map([['1/0', report]]) });
    expect(simulation.members.heartbeatOf('a')?.underWay).toBe(5);
    expect(simulation.members.reportOf('c', 1, 0)).toEqual(report);
    expect(simulation.members.reportOf('c', 1, 1)).toBeUndefined();
    simulation.pass(4000, ['a', 'b']);
    expect(simulation.members.reportOf('c', 1, 0)).toBeUndefined();
  });
});

describe('heartbeats', () => {
  const report: OwnReport = {
    node: 'b',
    address: 'b:1',
    mapVersion: 4,
    underWay: 2,
    replicas: new Map([['1/0', { position: 7, behind: 0, changed: 7 }]]),
  };

  test('are sent at once and again, each another one, and are heard by their sender', () => {
    const handlers = new Set<(bytes: Uint8Array) => void>();
    const channel: HeartbeatChannel = {
      send: (bytes) => {
        for (const handler of handlers) handler(bytes);
      },
      receive: (handler) => {
        handlers.add(handler);
        return () => handlers.delete(handler);
      },
    };
    let nowMs = 0;
    let tick = (): void => undefined;
    const members = new Members('b', () => nowMs);
    const end = startHeartbeats(
      channel,
      members,
      () => report,
      (task, everyMs) => {
        expect(everyMs).toBe(500);
        tick = task;
        return () => {
          tick = () => undefined;
        };
      },
    );
    expect(members.heartbeatOf('b')).toMatchObject({ ...report, count: 1 });
    nowMs = 2900;
    tick();
    nowMs = 4000;
    channel.send(Buffer.from('{"node":1}'));
    expect(members.isConnected).toBe(true);
    expect(members.heartbeatOf('b')?.count).toBe(2);
    end();
    tick();
    expect(handlers.size).toBe(0);
  });

  test('come back from their bytes', () => {
    const heartbeat = { ...report, start: 's', count: 3 };
    expect(decodeHeartbeat(encodeHeartbeat(heartbeat))).toEqual(heartbeat);
  });

  test.each(['{', 'null', '{}', '{"node":"a","address":"a","start":"s","count":-1}'])(
    'are none of %s',
    (text) => {
      expect(decodeHeartbeat(Buffer.from(text))).toBeUndefined();
    },
  );
});
