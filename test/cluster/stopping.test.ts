/** A node that stops while log servers do not answer: nothing waits for them. Where something does, its test never ends. */
import type { JetStreamManager } from '@nats-io/jetstream';
import { getEventListeners } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { MemoryStore } from '../../src/auth/store/memory';
import { ClusterEngine } from '../../src/cluster/cluster-engine';
import { joinWhenPossible } from '../../src/cluster/joining';
import { connectToNats } from '../../src/cluster/log/nats-connection';
import {
  ensureJetStream,
  ensureStream,
  existingStream,
  streamNames,
} from '../../src/cluster/log/nats-streams';
import { OutcomeUnknownError } from '../../src/cluster/log/record-log';
import { ShardMap } from '../../src/cluster/map/shard-map';
import type { ClusterNode } from '../../src/cluster/node';
import { RepeatedWork } from '../../src/cluster/repeated-work';
import { KnownMap } from '../../src/cluster/streams/known-map';
import { openMapStream } from '../../src/cluster/streams/opening';
import { tryEach } from '../../src/cluster/try-each';
import { within } from '../../src/cluster/waiting';
import type { Engine } from '../../src/engine/types';
import { sleep, until } from '../until';
import { replicationOver } from './auth-nodes';
import { MemoryLogService } from './memory-log';

const WAITS_LONG = { timeoutMs: 250_000 };
const log = pino({ level: 'silent' });
const node = { log, jwtSecret: undefined };

/** Whether work waits for something that the signal ends. */
function isAwaiting(signal: AbortSignal): boolean {
  return getEventListeners(signal, 'abort').length > 0;
}

/** Aborts a signal while work that takes it waits for something. */
async function aborting(
  work: (signal: AbortSignal) => Promise<unknown>,
  isWaiting: (signal: AbortSignal) => boolean = isAwaiting,
): Promise<void> {
  const over = new AbortController();
  const done = work(over.signal);
  done.catch(() => undefined);
  // What fails at once has failed by then.
  await sleep(0);
  await until(() => isWaiting(over.signal));
  over.abort(new Error('it stops'));
  await expect(done).rejects.toThrow();
}

describe('work that is repeated', () => {
  it('is given up at the end, all of it at once', async () => {
    const repeated = new RepeatedWork();
    const begun = new Set<string>();
    const waits = (what: string) => (signal: AbortSignal) => {
      begun.add(what);
      return new Promise<void>((_, reject) => {
        signal.addEventListener('abort', () => {
          // Of two that wait for one another, neither would end by itself.
          begun.delete(what);
          void until(() => begun.size === 0).then(() => {
            reject(new Error('it was given up'));
          });
        });
      });
    };
    for (const what of ['one', 'two']) repeated.every(1, what, waits(what));
    await until(() => begun.size === 2);
    await repeated.end();
    expect([...repeated.problems]).toEqual([]);
  });

  it('goes on after an error, also one that was thrown at once', async () => {
    const repeated = new RepeatedWork();
    let fails = true;
    repeated.every(1, 'look', () => {
      if (fails) throw new Error('not yet');
    });
    await until(() => repeated.problems.get('look') === 'not yet');
    fails = false;
    await until(() => repeated.problems.size === 0);
    await repeated.end();
  });

  it('tries everything, and fails with the first error', async () => {
    const done: number[] = [];
    const work = async (item: number): Promise<void> => {
      await sleep(0);
      if (item % 2 === 0) throw new Error(`item ${item}`);
      done.push(item);
    };
    const { signal } = new AbortController();
    await expect(tryEach([1, 2, 3, 4, 5], work, signal)).rejects.toThrow('item 2');
    expect(done).toEqual([1, 3, 5]);
  });
});

describe('the end of a node does not wait for', () => {
  let folder: string;
  let servers: MemoryLogService;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'kithdb-stopping-'));
    servers = new MemoryLogService('test', 1);
  });
  afterEach(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  it('a read', async () => {
    servers.faults.isSilent = true;
    const over = new AbortController();
    const reading = servers.map.read(
      { fromSequence: 1, subjects: ['>'], signal: over.signal },
      () => undefined,
    );
    await until(() => isAwaiting(over.signal));
    over.abort();
    await reading;
  });

  it('the place of a read in its stream', async () => {
    const over = new AbortController();
    let isAsked = false;
    servers.mapStream.state = () => {
      isAsked = true;
      return new Promise(() => undefined);
    };
    const reading = servers.map.read(
      { fromSequence: 1, subjects: ['>'], signal: over.signal },
      () => undefined,
    );
    await until(() => isAsked);
    over.abort();
    await reading;
  });

  it('the shard map', async () => {
    servers.faults.isSilent = true;
    const map = new ShardMap(servers.map, { ignored: () => undefined });
    await aborting((signal) => map.start(signal));
    await map.stop();
  });

  it('an event of the map', async () => {
    const map = new ShardMap(servers.map, { ignored: () => undefined });
    await map.start();
    servers.faults.isSilent = true;
    const event = { kind: 'node_joined', node: 'a', address: 'a:1' } as const;
    await aborting(
      (signal) => map.change(() => event, { ...WAITS_LONG, signal }),
      () => servers.mapStream.unanswered > 0,
    );
    await map.stop();
  });

  it('streams that are made', async () => {
    const known = await KnownMap.open(folder);
    servers.faults.isSilent = true;
    await aborting((signal) => openMapStream(servers, known, { ...WAITS_LONG, signal }));
  });

  it('the first record of authentication', async () => {
    const bounds = { settleMs: WAITS_LONG.timeoutMs };
    await aborting((signal) =>
      replicationOver(servers.authStream, bounds, { hasBegun: true, signal }).join(new MemoryStore(), node),
    );
  });

  it('a question for the state of the stream of authentication', async () => {
    servers.faults.isSilent = true;
    await aborting((signal) =>
      replicationOver(servers.authStream, {}, { signal }).join(new MemoryStore(), node),
    );
  });

  it('records of authentication that it lacks', async () => {
    const { authStream } = servers;
    const first = await replicationOver(authStream).join(new MemoryStore(), node);
    await first.close();
    let isRead = false;
    authStream.open = () => {
      isRead = true;
      return new Promise(() => undefined);
    };
    await aborting(
      (signal) => replicationOver(authStream, {}, { signal }).join(new MemoryStore(), node),
      () => isRead,
    );
  });

  it('JetStream', async () => {
    const never = (): Promise<never> => new Promise(() => undefined);
    const fails = (): Promise<never> => Promise.reject(new Error('503'));
    const names = streamNames('test', 'map');
    const settings = { replicas: 1, groups: 1, firstSequence: 1 };
    for (const ask of [never, fails]) {
      const manager = {
        getAccountInfo: ask,
        streams: { info: ask, add: ask },
      } as unknown as JetStreamManager;
      const deadline = (signal: AbortSignal) => ({ atMs: Infinity, signal });
      await aborting((signal) => ensureJetStream(manager, deadline(signal)));
      await aborting((signal) => existingStream(manager, names, settings, deadline(signal)));
      await aborting((signal) => ensureStream(manager, names, settings, deadline(signal)));
    }
  });

  it('a server that takes connections and says nothing', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    const { port } = server.address() as AddressInfo;
    const settings = { servers: [`127.0.0.1:${port}`] };
    const over = new AbortController();
    const connecting = connectToNats(settings, 'test', { timeoutMs: 5000, signal: over.signal });
    over.abort(new Error('it stops'));
    await expect(connecting).rejects.toThrow('it stops');
    server.close();
  });
});

describe('the value of a promise within a time', () => {
  const never = new Promise<undefined>(() => undefined);

  it('is told from none in time, also where it is undefined', async () => {
    expect(await within(Promise.resolve(undefined), WAITS_LONG)).toEqual({ value: undefined });
    expect(await within(never, { timeoutMs: 1 })).toBeUndefined();
    await expect(within(Promise.reject(new Error('no')), WAITS_LONG)).rejects.toThrow('no');
  });

  it('is not waited for once the signal is aborted', async () => {
    const over = new AbortController();
    const limits = { ...WAITS_LONG, signal: over.signal };
    const waiting = within(never, limits);
    over.abort();
    expect(await waiting).toBeUndefined();
    expect(await within(never, limits)).toBeUndefined();
    expect(isAwaiting(over.signal)).toBe(false);
  });
});

it('a join whose outcome is not known is tried again', async () => {
  let tries = 0;
  const join = (): Promise<string> => {
    tries += 1;
    return tries === 1 ? Promise.reject(new OutcomeUnknownError('1')) : Promise.resolve('joined');
  };
  expect(await joinWhenPossible(join, new AbortController().signal, log)).toBe('joined');
});

it('a node that does not end well closes its engine all the same', async () => {
  let isClosed = false;
  const own = {
    close: () => {
      isClosed = true;
      return Promise.resolve();
    },
  } as unknown as Engine;
  const node = { stop: () => Promise.reject(new Error('a part did not end')) } as unknown as ClusterNode;
  await expect(new ClusterEngine(own, node).close()).rejects.toThrow('a part did not end');
  expect(isClosed).toBe(true);
});
