import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AuthConfig } from '../../src/auth';
import { generateToken } from '../../src/auth/access-token';
import { openStore } from '../../src/auth/store/open';
import { repairStore } from '../../src/auth/store/repair';
import { connectSqlite3 } from '../../src/auth/store/sqlite3';
import { AUTH_CONFIG, bearer, PASSWORD, startAuth, type AuthServer } from './auth-server';

const FIRST = 'the first value, of 36 characters: 1';
const SECOND = '~second-value-of-a-token~';

let dataDir: string;
let running: AuthServer | undefined;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'kithdb-initial-token-'));
});

afterEach(async () => {
  await running?.close();
  running = undefined;
  rmSync(dataDir, { recursive: true });
});

/** Starts on the folder again, with other settings. */
async function start(settings: Partial<AuthConfig> = {}): Promise<AuthServer> {
  await running?.close();
  running = undefined;
  running = await startAuth({ dataDir, tokenStore: undefined, ...settings });
  return running;
}

/** What a token may do: read and write, in the order of the two. A 412 is what passes authentication. */
async function mayDo(token: string): Promise<readonly number[]> {
  const { client } = running!;
  const read = await client.get('/collections/c').set(bearer(token));
  const write = await client.delete('/collections/c').set('api-key', token);
  return [read.status, write.status];
}

const ALL = [412, 412];
const NOTHING = [401, 401];

/** Whether a log has a line with this text. */
function said(text: string | RegExp): boolean {
  return running!.logged.some((line) => (typeof text === 'string' ? line.includes(text) : text.test(line)));
}

describe('C11.2 KITHDB_ACCESS_TOKEN', () => {
  it('makes a token at a first start, enables authentication, and needs no admin', async () => {
    const { auth } = await start({ accessToken: FIRST });
    expect([auth.enabled, auth.decided, auth.adminExists]).toEqual([true, true, false]);
    expect(await mayDo(FIRST)).toEqual(ALL);
    expect(await mayDo(SECOND)).toEqual(NOTHING);
    expect(await auth.tokens()).toEqual([
      expect.objectContaining({ id: 1, name: 'initial', permission: 'read,write', expiresAt: null }),
    ]);
    const { body } = await running!.client.get('/auth/access_tokens').set(bearer(FIRST)).expect(403);
    expect(body.status).toBe('error');
    expect(running!.logged.join()).not.toContain(FIRST);
  });

  it('works in memory, beside an admin, and as a token of our own form', async () => {
    const own = generateToken();
    for (const accessToken of [FIRST, own]) {
      const { auth } = await start({ accessToken, adminPassword: PASSWORD, tokenStore: 'memory' });
      expect([auth.enabled, auth.adminExists]).toEqual([true, true]);
      expect(await mayDo(accessToken)).toEqual(ALL);
    }
  });

  it.each([
    ['read', [412, 403]],
    ['write', [403, 412]],
  ] as const)('with KITHDB_ACCESS_TOKEN_PERMISSION=%s has just that', async (accessTokenPermission, may) => {
    await start({ accessToken: FIRST, accessTokenPermission });
    expect(await mayDo(FIRST)).toEqual(may);
    // The permission is that of the first start; a rotation keeps it.
    await start({ accessToken: SECOND });
    expect(await mayDo(SECOND)).toEqual(may);
    expect(said('KITHDB_ACCESS_TOKEN_PERMISSION=read,write has no effect')).toBe(true);
  });

  it('is in force at later starts, with the setting and without it', async () => {
    await start({ accessToken: FIRST });
    await start({ accessToken: FIRST });
    expect(await mayDo(FIRST)).toEqual(ALL);
    expect(said(/KITHDB_ACCESS_TOKEN/)).toBe(false);
    await start();
    expect(await mayDo(FIRST)).toEqual(ALL);
    expect(await running!.auth.tokens()).toHaveLength(1);
  });

  it('is rotated by another value, which says so', async () => {
    await start({ accessToken: FIRST });
    await start({ accessToken: SECOND });
    expect(said('the access token initial was rotated')).toBe(true);
    expect(await mayDo(SECOND)).toEqual(ALL);
    expect(await mayDo(FIRST)).toEqual(NOTHING);
    expect((await running!.auth.tokens()).map(({ id }) => id)).toEqual([1]);
    // The last value counts, not every one that there was.
    await start({ accessToken: FIRST });
    expect(await mayDo(FIRST)).toEqual(ALL);
    expect(await mayDo(SECOND)).toEqual(NOTHING);
  });

  it('never brings back what was rotated since', async () => {
    await start({ accessToken: FIRST });
    const rotated = await running!.auth.rotateToken(1);
    expect(await mayDo(FIRST)).toEqual(NOTHING);
    await start({ accessToken: FIRST });
    expect(said('its access token was rotated since')).toBe(true);
    expect(await mayDo(FIRST)).toEqual(NOTHING);
    expect(await mayDo((rotated as { raw: string }).raw)).toEqual(ALL);
    await start({ accessToken: SECOND });
    expect(await mayDo((rotated as { raw: string }).raw)).toEqual(NOTHING);
    expect(await mayDo(SECOND)).toEqual(ALL);
  });

  it('never brings back what was deleted since; another value makes it anew', async () => {
    await start({ accessToken: FIRST });
    expect(await running!.auth.deleteToken(1)).toBe(true);
    for (const settings of [{ accessToken: FIRST }, {}, { accessToken: FIRST }]) {
      await start(settings);
      expect(await mayDo(FIRST)).toEqual(NOTHING);
    }
    expect(said('its access token was deleted')).toBe(true);
    await start({ accessToken: SECOND });
    expect(said('was made anew')).toBe(true);
    expect(await mayDo(SECOND)).toEqual(ALL);
    expect((await running!.auth.tokens()).map(({ id }) => id)).toEqual([2]);
  });

  it('has no effect where a first start was without it', async () => {
    await start({ authEnabled: true, adminPassword: PASSWORD });
    await start({ accessToken: FIRST });
    expect(said('only a first start makes its token')).toBe(true);
    expect(await mayDo(FIRST)).toEqual(NOTHING);
    // So it stays when the same value comes again.
    await start({ accessToken: FIRST });
    expect(await running!.auth.tokens()).toEqual([]);
  });

  it('does not enable authentication that was disabled', async () => {
    await start({ accessToken: FIRST, adminPassword: PASSWORD });
    await running!.auth.setEnabled(false);
    await start({ accessToken: SECOND });
    expect(running!.auth.enabled).toBe(false);
    expect(said('KITHDB_ACCESS_TOKEN does not enable authentication')).toBe(true);
  });

  it('is refused where another token has the value', async () => {
    await start({ accessToken: FIRST });
    const { raw } = await running!.auth.createToken({
      name: 'other',
      description: null,
      permissions: new Set(['read']),
      lifetimeSeconds: null,
    });
    await expect(start({ accessToken: raw })).rejects.toThrow(/that of the access token 2 already/);
    await start({ accessToken: FIRST });
    expect(await mayDo(FIRST)).toEqual(ALL);
  });

  it('ends the password that an image would make, at later starts too', async () => {
    const image = { authEnabled: true, generateAdminPassword: true };
    for (const settings of [{ ...image, accessToken: FIRST }, image]) {
      await start(settings);
      expect(running!.auth.adminExists).toBe(false);
    }
  });

  it('is kept by a repair that drops another setting', async () => {
    await start({ accessToken: FIRST });
    await running!.close();
    running = undefined;
    const connection = await connectSqlite3(join(dataDir, 'auth.sqlite3'));
    await connection.script("UPDATE setting SET value = 'tsue' WHERE name = 'auth_enabled'");
    await connection.close();
    expect(await repairStore(dataDir, 'now', { kind: 'sqlite3' })).toMatchObject({
      sound: false,
      keptTokens: 1,
    });
    await start({ accessToken: FIRST });
    expect(await mayDo(FIRST)).toEqual(ALL);
    await start({ accessToken: SECOND });
    expect([await mayDo(FIRST), await mayDo(SECOND)]).toEqual([NOTHING, ALL]);
  });

  it('is kept with what became of it by a copy of the store', async () => {
    await start({ accessToken: FIRST });
    const copy = mkdtempSync(join(dataDir, 'copy-'));
    await running!.auth.copyStore(join(copy, 'auth.sqlite3'));
    const store = await openStore(copy);
    expect((await store.initialToken())?.id).toBe(1);
    await store.close();
  });
});

describe('C11.2 POST /auth/admin of a server that was given a token', () => {
  it('answers nobody, with or without the setting; kithdb admin create makes the admin', async () => {
    for (const settings of [{ accessToken: FIRST }, {}]) {
      const { client } = await start(settings);
      for (const credential of [{}, bearer(FIRST)]) {
        const { body } = await client
          .post('/auth/admin')
          .set(credential)
          .send({ password: PASSWORD })
          .expect(403);
        expect(body).toEqual({
          status: 'error',
          message: 'The admin of this server is created with kithdb admin create',
        });
      }
      expect(running!.auth.adminExists).toBe(false);
    }
    // What the control socket calls.
    expect(await running!.auth.createAdmin(PASSWORD)).toBe(true);
    const { body } = await running!.client.post('/auth/admin').send({ password: PASSWORD }).expect(409);
    expect(body.message).toBe('Username already exists');
  });

  it('still answers where no setting gave one', async () => {
    const { client } = await start({ ...AUTH_CONFIG, dataDir, tokenStore: undefined });
    await client.post('/auth/admin').send({ password: PASSWORD }).expect(200);
  });
});
