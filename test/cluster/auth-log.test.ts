/** The records of authentication: their bytes, and stores that end the same whatever happens on the way. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import type { LocalTokenStore } from '../../src/auth/store/change';
import { MemoryStore } from '../../src/auth/store/memory';
import { openStore } from '../../src/auth/store/open';
import { ChangeNotConfirmed, type NewToken, type TokenStore } from '../../src/auth/store/port';
import {
  decodeRecord,
  encodeRecord,
  LaterAuthRecord,
  type AuthRecord,
} from '../../src/cluster/auth/change-record';
import { MessageRefused } from '../../src/cluster/log/message-stream';
import { sleep, until } from '../until';
import { Link, replicationOver } from './auth-nodes';
import { MemoryLogService } from './memory-log';
import { seeded } from './random';

const NODE = { log: pino({ level: 'silent' }), jwtSecret: undefined };
const ADMIN = { passwordHash: 'hash', generation: 'first' };

function newToken(fields: Partial<NewToken> = {}): NewToken {
  return {
    ...{ name: 'a token', description: null, digest: randomBytes(32), permission: 'read' },
    ...{ createdAt: 1000, expiresAt: null },
    ...fields,
  };
}

describe('a record', () => {
  const token = newToken({ description: 'what for', expiresAt: 2000, limits: '{"collections":["a"]}' });
  const settings = new Map([
    ['auth_enabled', 'true'],
    ['jwt_secret', 's'],
  ] as const);
  const records: AuthRecord[] = [
    { kind: 'create_admin', admin: ADMIN },
    { kind: 'replace_admin', admin: ADMIN, generation: 'before' },
    { kind: 'replace_admin', admin: ADMIN, generation: undefined },
    { kind: 'store_setting', name: 'auth_enabled', value: 'true', over: { value: 'undecided' } },
    { kind: 'store_setting', name: 'jwt_secret', value: 'secret', over: { value: undefined } },
    { kind: 'store_setting', name: 'replaced_jwt_secrets', value: '', over: undefined },
    { kind: 'create_token', token },
    { kind: 'put_initial_token', token: newToken() },
    { kind: 'replace_digest', id: 3, digest: randomBytes(32), now: 1500 },
    { kind: 'delete_token', id: 3 },
    {
      ...{ kind: 'state', after: 7 },
      content: { admin: ADMIN, settings, tokens: [{ id: 3, ...token }], lastTokenId: 4 },
    },
    { kind: 'state', after: 0, content: { admin: undefined, settings, tokens: [], lastTokenId: 0 } },
  ];

  test.each(records.map((record) => [record.kind, record] as const))(
    '%s is what was encoded',
    (_, record) => {
      expect(decodeRecord(encodeRecord(record))).toEqual(record);
    },
  );

  test.each(records.map((record) => [record.kind, record] as const))(
    '%s without one of its fields is none, unless it may lack it',
    (_, record) => {
      const fields = JSON.parse(Buffer.from(encodeRecord(record)).toString()) as Record<string, unknown>;
      const needed = Object.keys(fields).filter((name) => !['generation', 'over'].includes(name));
      for (const name of needed) {
        const rest = Object.fromEntries(Object.entries(fields).filter(([other]) => other !== name));
        expect(decodeRecord(Buffer.from(JSON.stringify(rest)))).toBeUndefined();
        expect(decodeRecord(Buffer.from(JSON.stringify({ ...fields, [name]: { no: 1 } })))).toBeUndefined();
      }
    },
  );

  test.each([
    '',
    'text',
    '[]',
    '{}',
    '{"format":1,"kind":"store_setting","name":"auth_enabled","value":"maybe"}',
  ])('is not %j', (text) => {
    expect(decodeRecord(Buffer.from(text))).toBeUndefined();
  });

  test.each(['{"format":2,"kind":"delete_token","id":1}', '{"format":1,"kind":"delete_everything"}'])(
    'of a later release is not guessed: %s',
    (text) => {
      expect(() => decodeRecord(Buffer.from(text))).toThrow(LaterAuthRecord);
    },
  );
});

describe('stores that follow one log', () => {
  const folders: string[] = [];
  afterAll(() => {
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  });

  function fileStore(): Promise<LocalTokenStore> {
    const folder = mkdtempSync(join(tmpdir(), 'kithdb-auth-log-'));
    folders.push(folder);
    return openStore(folder, undefined, { isOfCluster: true });
  }

  /** What a node may be asked for. Digests are of few values, so that two tokens may get the same one. */
  function change(store: TokenStore, random: () => number): Promise<unknown> {
    const id = Math.ceil(random() * 6);
    const digest = Buffer.alloc(32, Math.floor(random() * 20));
    const kinds: (() => Promise<unknown>)[] = [
      () => store.createAdmin({ ...ADMIN, passwordHash: String(random()) }),
      () => store.replaceAdmin({ passwordHash: 'other', generation: String(random()) }),
      () => store.replaceAdmin({ passwordHash: 'third', generation: 'second' }, 'first'),
      () => store.storeSetting('auth_enabled', random() < 0.5 ? 'true' : 'false'),
      () => store.storeSetting('jwt_secret', String(random()), { value: undefined }),
      () => store.createToken(newToken({ digest })),
      () => store.createToken(newToken({ limits: '{"collections":["a"]}' })),
      () => store.putInitialToken(newToken({ digest })),
      () => store.replaceDigest(id, digest, 1500),
      () => store.deleteToken(id),
    ];
    return kinds[Math.floor(random() * kinds.length)]!();
  }

  test.each([1, 2])('are the same in the end, seed %d', async (seed) => {
    const random = seeded(seed);
    const logs = new MemoryLogService('test', 1, {
      ...{ lostMessages: 0.05, lostAcknowledgements: 0.1, duplicates: 0.2, interruptions: 0.05 },
      ...{ longestDelayMs: 1, random },
    });
    const own = [await fileStore(), new MemoryStore(), new MemoryStore()];
    const bounds = { mostRecords: 16, publishMs: 5000, lookMs: 50 };
    const stores = await Promise.all(
      own.map((store) => replicationOver(logs.authStream, bounds).join(store, NODE)),
    );
    for (let round = 0; round < 12; round += 1) {
      await Promise.allSettled(stores.map((store) => change(store, random)));
    }
    Object.assign(logs.faults, { lostMessages: 0, lostAcknowledgements: 0, interruptions: 0, duplicates: 0 });
    // How many of the changes came through is a matter of time.
    const isCut = (): boolean => logs.authStream.messages[0]!.sequence > 1;
    for (let left = 200; left === 200 || (left > 0 && !isCut()); left -= 1) {
      // Another node may still shorten the stream, and remove the record before this node has read it.
      await stores[0]!.storeSetting('auth_enabled', 'true').catch((error: unknown) => {
        expect(error).toEqual(new ChangeNotConfirmed('unknown'));
      });
    }
    expect(isCut()).toBe(true);
    const last = (): number => logs.authStream.lastSequence;
    // Nothing shortens the stream any more.
    await until(async () => {
      const positions = await Promise.all(own.map((store) => store.logPosition()));
      return positions.every((position) => position?.sequence === last());
    });
    // One that comes last, with what the stream has left.
    own.push(await fileStore());
    stores.push(await replicationOver(logs.authStream, bounds).join(own[3]!, NODE));
    const [first, ...others] = await Promise.all(own.map((store) => store.content()));
    expect(first!.lastTokenId).toBeGreaterThan(0);
    for (const content of others) expect(content).toEqual(first);
    await Promise.all(stores.map((store) => store.close()));
  });

  it('are not begun empty where the cluster has nodes and the log has nothing', async () => {
    const logs = new MemoryLogService();
    const begun = replicationOver(logs.authStream, { settleMs: 100 }, { hasBegun: true });
    for (const store of [await fileStore(), new MemoryStore()]) {
      await expect(begun.join(store, NODE)).rejects.toThrow(
        /KITHDB_test_auth is empty, and the cluster has nodes: .* were lost\. .*kithdb admin repair --older-store/,
      );
      expect(await store.logPosition()).toBeUndefined();
    }
    expect(logs.authStream.lastSequence).toBe(0);
    // The first node has made a record, and those that come later find it.
    const first = await replicationOver(logs.authStream).join(new MemoryStore(), NODE);
    expect(logs.authStream.lastSequence).toBe(1);
    const second = await begun.join(new MemoryStore(), NODE);
    await Promise.all([first.close(), second.close()]);
  });

  it('are shortened once, though several nodes find the log too long', async () => {
    const logs = new MemoryLogService();
    const bounds = { mostRecords: 8 };
    const own = [new MemoryStore(), new MemoryStore()];
    const stores = await Promise.all(
      own.map((store) => replicationOver(logs.authStream, bounds).join(store, NODE)),
    );
    const removed = jest.spyOn(logs.authStream, 'removeBelow');
    const [first, second] = stores as [TokenStore, TokenStore];
    await until(async () => {
      await first.createToken(newToken());
      return removed.mock.calls.length === 1;
    });
    // The change waits until the log is shortened.
    await first.createToken(newToken());
    for (const store of [second, first, second]) await store.createToken(newToken());
    await Promise.all(stores.map((store) => store.close()));
    expect(removed).toHaveBeenCalledTimes(1);
  });

  it('answer a change whose record was removed before this node read it as one that may have been made', async () => {
    const logs = new MemoryLogService();
    const link = new Link(logs.authStream);
    const own = new MemoryStore();
    const store = await replicationOver(link).join(own, NODE);
    const other = await replicationOver(logs.authStream, { mostRecords: 8, lookMs: 50 }).join(
      new MemoryStore(),
      NODE,
    );
    const send = logs.authStream.send.bind(logs.authStream);
    const sent = jest.spyOn(logs.authStream, 'send').mockImplementationOnce((message) => {
      link.cut();
      return send(message);
    });
    const change = store.createAdmin(ADMIN).catch((error: unknown) => error);
    await until(() => sent.mock.calls.length === 1);
    const { lastSequence } = logs.authStream;
    await until(async () => {
      await other.createToken(newToken());
      return logs.authStream.messages[0]!.sequence > lastSequence;
    });
    link.mend();
    await until(async () => (await own.logPosition())!.sequence > lastSequence);
    const answer = await Promise.race([change, sleep(2000)]);
    expect(answer).toEqual(new ChangeNotConfirmed('unknown'));
    expect(await store.admin()).toEqual(ADMIN);
    await Promise.all([store.close(), other.close()]);
  });

  it('answer a change that was not published as one that was not made', async () => {
    const logs = new MemoryLogService();
    const store = await replicationOver(logs.authStream, { publishMs: 100 }).join(new MemoryStore(), NODE);
    logs.faults.lostMessages = 1;
    const unknown = store.createAdmin(ADMIN);
    await expect(unknown).rejects.toMatchObject({ name: 'ChangeNotConfirmed', outcome: 'unknown' });
    logs.faults.lostMessages = 0;
    const send = jest.spyOn(logs.authStream, 'send');
    for (const [isFull, outcome] of [
      [true, 'full'],
      [false, 'refused'],
    ] as const) {
      send.mockRejectedValueOnce(new MessageRefused('no', isFull));
      await expect(store.createAdmin(ADMIN)).rejects.toEqual(new ChangeNotConfirmed(outcome));
    }
    logs.faults.isDown = true;
    await expect(store.createAdmin(ADMIN)).rejects.toEqual(new ChangeNotConfirmed('unreachable'));
    Object.assign(logs.faults, { lostMessages: 0, isDown: false });
    expect(await store.createAdmin(ADMIN)).toBe(true);
    await store.close();
  });
});
