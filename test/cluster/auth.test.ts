/** Authentication on several nodes, as clients see it: what one node changes counts at all others. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { withTokensOffline } from '../../src/auth/offline-tokens';
import { createAdminOffline, resetPasswordOffline } from '../../src/auth/offline-admin';
import { rotateSecretOffline } from '../../src/auth/renewal';
import type * as Hashing from '../../src/auth/password-hashing';
import { DigestFile } from '../../src/auth/store/digest-file';
import { repairStore } from '../../src/auth/store/repair';
import { SqlStore } from '../../src/auth/store/sql-store';
import {
  createAdminLive,
  resetPasswordLive,
  rotateSecretLive,
  tokensLive,
} from '../../src/operations/control-client';

import { BOUNDS } from '../../src/cluster/auth/freshness';
import type { TokenOutcome } from '../../src/operations/token-requests';
import { PASSWORD } from '../operations/guarded';
import { until } from '../until';
import { AuthNodes, Link, type AuthNode } from './auth-nodes';
import { MemoryLogService } from './memory-log';

/** Hashes that cost little: what they prove is tested elsewhere. */
jest.mock('../../src/auth/password-hashing', () => {
  const actual = jest.requireActual<typeof Hashing>('../../src/auth/password-hashing');
  class CheapHasher extends actual.LocalPasswordHasher {
    constructor() {
      super({ memoryKib: 64, passes: 1 });
    }
  }
  return { ...actual, LocalPasswordHasher: CheapHasher };
});

const OTHER = 'Another-horse-8-staple';
/** Of nodes that are not started again: a store in a file syncs each change. */
const IN_MEMORY = { KITHDB_TOKEN_STORE: 'memory' };
const ENABLED = { KITHDB_ADMIN_PASSWORD: PASSWORD, KITHDB_AUTH_ENABLED: 'true' };

let logs: MemoryLogService;
let nodes: AuthNodes;
beforeEach(() => {
  logs = new MemoryLogService();
  nodes = new AuthNodes();
});
afterEach(async () => {
  await nodes.end();
  jest.restoreAllMocks();
});

/** Two nodes with authentication enabled, and the links between them and the log. */
async function two(
  bounds: Parameters<AuthNodes['node']>[1] = {},
  env: Readonly<Record<string, string>> = {},
): Promise<{
  readonly a: AuthNode;
  readonly b: AuthNode;
  readonly toA: Link;
  readonly toB: Link;
  readonly jwt: string;
}> {
  const [toA, toB] = [new Link(logs.authStream), new Link(logs.authStream)];
  const [a, b] = [nodes.node(toA, bounds), nodes.node(toB, bounds)];
  await a.start({ ...ENABLED, ...env });
  await b.start(env);
  return { a, b, toA, toB, jwt: await a.login() };
}

describe('what one node changes', () => {
  it('C30.8 counts at the others: tokens, their rotation and deletion, the password, the setting', async () => {
    const { a, b, jwt } = await two({}, IN_MEMORY);
    // A token is valid at the other node from its answer on.
    const first = await a.token(jwt);
    expect(await b.read(first.token)).toBe(200);
    expect(await b.read(jwt)).toBe(200);
    const second = await b.token(jwt, 'two');
    expect([first.id, second.id]).toEqual([1, 2]);
    expect(await a.read(second.token)).toBe(200);
    expect((await a.ask('GET', '/auth/access_tokens', undefined, jwt)).body).toMatchObject([
      { id: 1, name: 'one' },
      { id: 2, name: 'two' },
    ]);
    const rotated = await b.ask('POST', `/auth/access_token/${first.id}/rotate`, undefined, jwt);
    await until(async () => (await a.read(first.token)) === 401);
    expect(await a.read(rotated.body.token)).toBe(200);
    await a.ask('DELETE', `/auth/access_token/${second.id}`, undefined, jwt);
    expect(await a.read(second.token)).toBe(401);
    await until(async () => (await b.read(second.token)) === 401);
    await b.ask('POST', '/auth/admin/reset-password', { password: OTHER }, jwt);
    await until(async () => (await a.read(jwt)) === 401);
    const renewed = await a.login(OTHER);
    expect((await b.ask('PATCH', '/auth/enabled', { enabled: false }, renewed)).status).toBe(200);
    await until(async () => (await a.read()) === 200);
  });

  it('is one admin where two nodes make it at once', async () => {
    const [a, b] = [nodes.node(logs.authStream), nodes.node(logs.authStream)];
    await Promise.all([a.start(IN_MEMORY), b.start(IN_MEMORY)]);
    const made = await Promise.all([
      a.ask('POST', '/auth/admin', { password: PASSWORD }),
      b.ask('POST', '/auth/admin', { password: OTHER }),
    ]);
    expect(made.map(({ status }) => status).sort()).toEqual([200, 409]);
    const [password, wrong] = made[0].status === 200 ? [PASSWORD, OTHER] : [OTHER, PASSWORD];
    for (const node of [a, b]) {
      await until(async () => (await node.ask('POST', '/auth/admin/login', { password })).status === 200);
      expect((await node.ask('POST', '/auth/admin/login', { password: wrong })).status).toBe(401);
    }
  });

  it('is one secret and one token of the settings where nodes start at once', async () => {
    const started = [0, 1, 2].map(() => nodes.node(logs.authStream));
    const env = { ...ENABLED, ...IN_MEMORY, KITHDB_ACCESS_TOKEN: 'a-value-of-the-settings-0123456789' };
    await Promise.all(started.map((node) => node.start(env)));
    const jwt = await started[0]!.login();
    for (const node of started) {
      await until(async () => (await node.read(jwt)) === 200);
      expect(await node.read(env.KITHDB_ACCESS_TOKEN)).toBe(200);
      expect((await node.ask('GET', '/auth/access_tokens', undefined, jwt)).body).toHaveLength(1);
    }
  });

  it('C30.8 leaves the secret of the settings out of the log', async () => {
    const env = { ...ENABLED, ...IN_MEMORY, KITHDB_JWT_SECRET: 'the-secret-of-the-settings-of-all-nodes' };
    const [a, b] = [nodes.node(logs.authStream), nodes.node(logs.authStream)];
    await a.start(env);
    await b.start(env);
    expect(await b.read(await a.login())).toBe(200);
    const records = logs.authStream.messages.map(({ payload }) => Buffer.from(payload).toString());
    expect(records).toHaveLength(3);
    expect(records.join()).not.toMatch(/jwt_secret|the-secret-of/);
  });

  it('comes through the control socket of a running node, and not from beside a stopped one', async () => {
    const { a, b, jwt } = await two();
    const live = await tokensLive(a.dataDir, {
      ...{ kind: 'create token', name: 'cli', permission: 'read', description: null, lifetimeSeconds: null },
    });
    expect(await b.read((live as TokenOutcome).tokens[0]!.token)).toBe(200);
    expect(await createAdminLive(a.dataDir, OTHER)).toMatch(/there is an admin already/);
    expect(await rotateSecretLive(b.dataDir)).toBe('done');
    await until(async () => (await a.read(jwt)) === 401);
    expect(await resetPasswordLive(a.dataDir, OTHER)).toBe('done');
    await until(async () => (await b.ask('POST', '/auth/admin/login', { password: OTHER })).status === 200);
    await a.stop();
    const refusals = [
      () => withTokensOffline(a.dataDir, undefined, (tokens) => tokens.deleteToken(1)),
      () => resetPasswordOffline(a.dataDir, PASSWORD),
      () => createAdminOffline(a.dataDir, PASSWORD),
      () => rotateSecretOffline(a.dataDir, undefined),
    ];
    for (const refused of refusals) {
      await expect(refused()).rejects.toMatchObject({
        name: 'StoreOfCluster',
        message: expect.stringMatching(/belongs to a node of a cluster/),
      });
    }
  });
});

describe('a node that was away', () => {
  it('C30.8 refuses what was revoked meanwhile before it has served anything', async () => {
    const { a, b, jwt } = await two();
    const [revoked, kept] = [await a.token(jwt), await a.token(jwt, 'kept')];
    expect([await b.read(revoked.token), await b.read(kept.token)]).toEqual([200, 200]);
    await b.stop();
    await a.ask('DELETE', `/auth/access_token/${revoked.id}`, undefined, jwt);
    await b.start();
    expect([await b.read(revoked.token), await b.read(kept.token)]).toEqual([401, 200]);
  });

  it('does not start without the log', async () => {
    const { b, toB } = await two();
    await b.stop();
    toB.cut();
    await expect(b.start()).rejects.toThrow(/the log of the cluster|Authentication cannot follow/i);
    toB.mend();
    await b.start();
  });

  it('gets everything where it begins empty', async () => {
    const { a, b, jwt } = await two();
    const { token } = await a.token(jwt);
    await b.stop();
    rmSync(b.dataDir, { recursive: true });
    await b.start();
    expect([await b.read(token), await b.read(jwt)]).toEqual([200, 200]);
    expect((await b.token(jwt)).id).toBe(2);
  });

  it('ends as the others where it is killed between the log and its own store', async () => {
    const { a, b, jwt } = await two();
    const { id, token } = await a.token(jwt);
    await b.stop();
    const putBack = nodes.copied(b);
    await b.start();
    // Both are applied at this node, and taken back: in the log they stay.
    expect((await b.ask('DELETE', `/auth/access_token/${id}`, undefined, jwt)).status).toBe(200);
    const next = await b.token(jwt, 'next');
    await b.stop();
    putBack();
    await b.start();
    expect([await b.read(token), await b.read(next.token)]).toEqual([401, 200]);
    // Nothing is applied a second time.
    await b.stop();
    await b.start();
    expect((await b.ask('GET', '/auth/access_tokens', undefined, jwt)).body).toMatchObject([{ id: next.id }]);
    expect((await a.token(jwt)).id).toBe(next.id + 1);
  });

  it('applies a record once though its disk was full', async () => {
    const { a, b, jwt } = await two();
    const full = Object.assign(new Error('no space left on device'), { code: 'ENOSPC' });
    const apply = jest.spyOn(SqlStore.prototype, 'apply');
    const prepare = jest.spyOn(DigestFile.prototype, 'prepare').mockRejectedValueOnce(full);
    const { id, token } = await a.token(jwt);
    expect(prepare.mock.results[0]).toMatchObject({ type: 'return' });
    await until(() => apply.mock.calls.length === 3);
    for (const node of [a, b]) {
      await until(async () => (await node.read(token)) === 200);
      expect((await node.ask('GET', '/auth/access_tokens', undefined, jwt)).body).toMatchObject([{ id }]);
    }
  });
});

describe('a log that cannot be reached', () => {
  it('C30.8 keeps nobody from reading for 15 s, and everybody after that', async () => {
    expect(BOUNDS.relyMs).toBe(15_000);
    // Longer here, so that it is the clock of the test that passes the bound.
    const { a, b, toB, jwt } = await two({ relyMs: 60_000 }, IN_MEMORY);
    const [revoked, kept] = [await a.token(jwt), await a.token(jwt, 'kept')];
    expect([await b.read(revoked.token), await b.read(kept.token)]).toEqual([200, 200]);
    toB.cut();
    await a.ask('DELETE', `/auth/access_token/${revoked.id}`, undefined, jwt);
    b.aheadMs = 20_000;
    expect([await b.read(revoked.token), await b.read(kept.token)]).toEqual([200, 200]);
    b.aheadMs = 61_000;
    expect(await b.ask('GET', '/collections', undefined, kept.token)).toMatchObject({
      status: 503,
      body: { status: expect.anything() },
    });
    expect(await b.read(jwt)).toBe(503);
    expect((await b.ask('POST', '/auth/admin/login', { password: PASSWORD })).status).toBe(503);
    expect((await fetch(`${b.url}/readyz`)).status).toBe(503);
    expect((await fetch(`${b.url}/livez`)).status).toBe(200);
    expect(await a.read(kept.token)).toBe(200);
    toB.mend();
    await until(async () => (await b.read(kept.token)) === 200);
    expect(await b.read(revoked.token)).toBe(401);
    expect((await fetch(`${b.url}/readyz`)).status).toBe(200);
  });

  it('lets no change through, and says so', async () => {
    const { a, b, toA, jwt } = await two({ publishMs: 300 }, IN_MEMORY);
    toA.cut();
    const refused = await a.ask('POST', '/auth/access_token', { name: 'x', permission: 'read' }, jwt);
    expect(refused).toMatchObject({
      status: 503,
      body: {
        status: 'error',
        message:
          'Authentication operation failed: the log of the cluster cannot be reached: nothing was changed',
      },
    });
    toA.mend();
    const { id, token } = await a.token(jwt);
    expect([id, await b.read(token)]).toEqual([1, 200]);
    expect((await b.ask('GET', '/auth/access_tokens', undefined, jwt)).body).toHaveLength(1);
  });

  it('answers a change whose acknowledgement was lost', async () => {
    const { a, b, toA, jwt } = await two({}, IN_MEMORY);
    toA.lostAcknowledgements = 1;
    const { token } = await a.token(jwt);
    expect(toA.lostAcknowledgements).toBe(0);
    expect(await b.read(token)).toBe(200);
  });
});

describe('the directory of a server that was alone', () => {
  /** A server without a cluster, which has an admin and a token. */
  async function alone(): Promise<{ token: string; jwt: string; node: AuthNode }> {
    const single = nodes.node(undefined);
    await single.start(ENABLED);
    const jwt = await single.login();
    const { token } = await single.token(jwt);
    await single.stop();
    return { token, jwt, node: single };
  }

  /** A node over the directory of a server that was alone. */
  function joining({ dataDir }: AuthNode): AuthNode {
    const node = nodes.node(logs.authStream);
    Object.assign(node, { dataDir });
    return node;
  }

  it('gives a new cluster what it has, also where it is killed meanwhile', async () => {
    const { node: single, token, jwt } = await alone();
    const putBack = nodes.copied(single);
    const first = joining(single);
    await first.start();
    await first.stop();
    // As if it had been killed before it applied its own record.
    putBack();
    await first.start();
    expect(logs.authStream.messages).toHaveLength(1);
    const second = nodes.node(logs.authStream);
    await second.start();
    for (const node of [first, second]) {
      expect([await node.read(token), await node.read(jwt), await node.read()]).toEqual([200, 200, 401]);
    }
  });

  it('is refused by a cluster that has its own, and keeps what it has', async () => {
    await two();
    const { node: single, token } = await alone();
    await expect(joining(single).start()).rejects.toThrow(
      /only the first one brings its collections, its admin and its access tokens/,
    );
    await single.start();
    expect(await single.read(token)).toBe(200);
  });
});

describe('the stream', () => {
  it('is shortened to the state, with which a node begins that lacks what was removed', async () => {
    const { a, b, jwt } = await two({ mostRecords: 8 });
    const { token } = await a.token(jwt, 'first');
    await until(async () => (await b.read(token)) === 200);
    await b.stop();
    const revoked = await a.token(jwt, 'revoked');
    await until(async () => {
      const { id } = await a.token(jwt, 'more');
      await a.ask('DELETE', `/auth/access_token/${id}`, undefined, jwt);
      return logs.authStream.messages[0]!.sequence > 4;
    });
    await a.ask('DELETE', `/auth/access_token/${revoked.id}`, undefined, jwt);
    await b.start();
    expect([await b.read(token), await b.read(revoked.token), await b.read(jwt)]).toEqual([200, 401, 200]);
    expect((await b.ask('GET', '/auth/access_tokens', undefined, jwt)).body).toMatchObject([
      { name: 'first' },
    ]);
  });

  it('may have messages of others, which change nothing', async () => {
    const { a, b, jwt } = await two();
    logs.authStream.storeForeign('changes', Buffer.from('{"kind":"delete_token","id":1}'));
    const { id, token } = await a.token(jwt);
    logs.authStream.storeForeign('changes', Buffer.from(`{"format":1,"kind":"delete_token","id":${id}}`));
    await b.stop();
    await b.start();
    expect([await a.read(token), await b.read(token)]).toEqual([200, 200]);
  });

  it('that was lost keeps a node from starting, and from serving, until one gives what it has', async () => {
    const { a, b, jwt } = await two();
    const { token } = await a.token(jwt);
    expect(await b.read(token)).toBe(200);
    await b.stop();
    logs.authStream.created = '2027-01-01T00:00:00Z';
    logs.authStream.messages = [];
    logs.authStream.lastSequence = 0;
    logs.authStream.interrupt();
    await expect(b.start()).rejects.toThrow(/KITHDB_test_auth was lost: this node has it up to/);
    await until(() => a.logged.some((line) => line.includes('is not followed any more')));
    a.aheadMs = 16_000;
    expect(await a.read(jwt)).toBe(503);
    // The operator has one node give what it has; the others take it.
    await a.stop();
    expect(await repairStore(a.dataDir, 'now', { isOfCluster: true, takesOlder: true })).toMatchObject({
      keptTokens: 1,
      cluster: 'gives',
    });
    await a.start();
    await b.start();
    for (const node of [a, b]) expect([await node.read(token), await node.read(jwt)]).toEqual([200, 401]);
    expect(await b.login()).toBeTruthy();
  });

  it('gives a node back what was damaged there', async () => {
    const { b, jwt } = await two();
    const { token } = await b.token(jwt);
    await b.stop();
    rmSync(join(b.dataDir, 'auth.sqlite3'));
    await b.start();
    expect(await b.read(token)).toBe(500);
    await b.stop();
    expect(await repairStore(b.dataDir, 'now', { isOfCluster: true })).toMatchObject({
      sound: false,
      cluster: 'takes',
    });
    await b.start();
    expect([await b.read(token), await b.read(jwt)]).toEqual([200, 200]);
  });
});
