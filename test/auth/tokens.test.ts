import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { checksum, digestOf, generateToken, isWellFormedToken } from '../../src/auth/access-token';
import { formatPermissions, parsePermissions, PERMISSIONS } from '../../src/auth/permissions';
import { MemoryStore } from '../../src/auth/store/memory';
import { bearer, PASSWORD, startAuth, type AuthServer } from './auth-server';

const UNAUTHENTICATED = { status: 'error', message: 'Invalid or missing authorization token' };
const NOT_FOUND = { status: 'error', message: 'Access token not found' };
const RFC3339_SECONDS = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

let server: AuthServer;
let admin: { Authorization: string };
let startedAt: number;
beforeAll(async () => {
  server = await startAuth({ authEnabled: true, adminPassword: PASSWORD, tokenStore: 'memory' });
  admin = bearer(await server.login());
  startedAt = server.clock.now;
});
beforeEach(async () => {
  server.clock.now = startedAt;
  await server.auth.setEnabled(true);
});
afterAll(() => server.close());

async function create(fields: object = {}): Promise<{ id: number; token: string }> {
  const { body } = await server.client
    .post('/auth/access_token')
    .set(admin)
    .send({ name: 'n', permission: 'read', ...fields })
    .expect(200);
  return body;
}

/** 412 when the credential may read: the engine of this server is never ready. */
async function readStatus(token: string): Promise<number> {
  return (await server.client.get('/collections').set(bearer(token))).status;
}

describe('C3.10 creating an access token', () => {
  it('answers the resource with the raw token', async () => {
    const { body } = await server.client
      .post('/auth/access_token')
      .set(admin)
      .send({ name: 'ci', permission: 'write, read,write', description: 'for tests', unknown: null })
      .expect(200);
    expect(body).toEqual({
      id: expect.any(Number),
      name: 'ci',
      description: 'for tests',
      token: expect.stringMatching(/^kith_[0-9A-Za-z]{49}$/),
      created_at: expect.stringMatching(RFC3339_SECONDS),
      expired_at: null,
      will_expire: false,
      permission: 'read,write',
    });
    expect(Date.parse(body.created_at)).toBe(Math.floor(server.clock.now / 1000) * 1000);
  });

  it('counts the expiry from its creation', async () => {
    const { body } = await server.client.post('/auth/access_token').set(admin).send({
      name: 'ci',
      permission: 'admin',
      description: null,
      will_expire: true,
      expires_in_seconds: 90,
    });
    expect(body).toMatchObject({ description: null, will_expire: true, permission: 'admin' });
    expect(body.expired_at).toMatch(RFC3339_SECONDS);
    expect(Date.parse(body.expired_at) - Date.parse(body.created_at)).toBe(90_000);
  });

  it.each([
    { will_expire: false, expires_in_seconds: 5 },
    { will_expire: null, expires_in_seconds: 'x' },
    { expires_in_seconds: 5 },
  ])('ignores the seconds of a token that does not expire: %j', async (fields) => {
    expect(await create(fields)).toMatchObject({ will_expire: false, expired_at: null });
  });

  const good = { name: 'n', permission: 'read' };
  it.each([
    [{ ...good, name: undefined }, 'Missing required field: name'],
    [{ ...good, name: null }, 'Missing required field: name'],
    [{ ...good, name: '' }, /^name must be .* 1 to 255/],
    [{ ...good, name: 'x'.repeat(256) }, /^name must be/],
    [{ ...good, name: 7 }, /^name must be/],
    [{ ...good, name: ['n'] }, /^name must be/],
    [{ ...good, name: 'a\0b' }, /^name must be/],
    [{ ...good, permission: undefined }, 'Missing required field: permission'],
    [{ ...good, permission: '' }, /^permission must be .*: "" is none of them$/],
    [{ ...good, permission: 'read,' }, /^permission must be .*: "" is none of them$/],
    [{ ...good, permission: 'Read' }, /^permission must be .*: "Read" is none of them$/],
    [{ ...good, permission: 'read, delete ,x' }, /^permission must be .*: "delete" is none of them$/],
    [{ ...good, permission: ['read'] }, /^permission must be [^:]*$/],
    [{ ...good, permission: 'constructor' }, /^permission must be .*: "constructor" is none of them$/],
    [
      { ...good, permission: `read,${'"'.repeat(9000)}` },
      /^permission must be .*: "(?:\\"){64}" is none of them$/,
    ],
    [{ ...good, description: 7 }, /^description must be/],
    [{ ...good, will_expire: 'true' }, /^will_expire must be a boolean/],
    [{ ...good, will_expire: 1 }, /^will_expire must be a boolean/],
    [{ ...good, will_expire: true }, 'Missing required field: expires_in_seconds'],
    [{ ...good, will_expire: true, expires_in_seconds: null }, 'Missing required field: expires_in_seconds'],
    [{ ...good, will_expire: true, expires_in_seconds: 0 }, /^expires_in_seconds must be .* 1 to 315360000/],
    [{ ...good, will_expire: true, expires_in_seconds: -1 }, /^expires_in_seconds must be/],
    [{ ...good, will_expire: true, expires_in_seconds: 1.5 }, /^expires_in_seconds must be/],
    [{ ...good, will_expire: true, expires_in_seconds: '60' }, /^expires_in_seconds must be/],
    [{ ...good, will_expire: true, expires_in_seconds: 315_360_001 }, /^expires_in_seconds must be/],
    [{ ...good, colections: [{ name: 'a', permission: 'read' }] }, /^colections: unknown field$/],
    [{ ...good, wil_expire: true, expires_in_seconds: 5 }, /^wil_expire: unknown field$/],
    [{ nme: 'n', permission: 'read' }, /^nme: unknown field$/],
    [{ ...good, ['x'.repeat(9000)]: 1 }, /^x{64}: unknown field$/],
    [[good], 'Missing required field: name'],
    [undefined, 'Missing required field: name'],
  ])('refuses %j', async (fields, message) => {
    const before = await server.auth.tokens();
    const { body } = await server.client.post('/auth/access_token').set(admin).send(fields).expect(400);
    expect(body).toEqual({ status: 'error', message: expect.stringMatching(message) });
    expect(await server.auth.tokens()).toEqual(before);
  });

  it('C15 refuses a limit that is misspelt, and makes no token without it', async () => {
    const before = await server.auth.tokens();
    const limits = { filtr: { must: { key: 'tenant', match: { value: 7 } } } };
    const { body } = await server.client
      .post('/auth/access_token')
      .set(admin)
      .send({ ...good, ...limits })
      .expect(400);
    expect(body).toEqual({ status: 'error', message: 'filtr: unknown field' });
    expect(await server.auth.tokens()).toEqual(before);
  });

  it('takes names of 255 characters of any kind, twice', async () => {
    const name = '😀'.repeat(255);
    expect(await create({ name })).toMatchObject({ name });
    const { id } = await create({ name, will_expire: true, expires_in_seconds: 315_360_000 });
    const half = await create({ name: 'half \ud83d' });
    const { body } = await server.client.get('/auth/access_tokens').set(admin);
    expect(body.find((token: { id: number }) => token.id === id).name).toBe(name);
    expect(body.find((token: { id: number }) => token.id === half.id)).toMatchObject({
      name: (half as { name?: string }).name,
    });
  });
});

describe('C3.11 listing and rotating', () => {
  it('lists oldest first, as a bare array without raw tokens', async () => {
    const first = await create({ name: 'first' });
    const second = await create({ name: 'second' });
    const { body, text } = await server.client.get('/auth/access_tokens').set(admin).expect(200);
    const ids = body.map(({ id }: { id: number }) => id);
    expect(ids).toEqual([...ids].sort((a, b) => a - b));
    expect(ids).toEqual(expect.arrayContaining([first.id, second.id]));
    expect(text).not.toContain('kith_');
    expect({ ...body.at(-1), token: second.token }).toEqual(second);
    expect(body.at(-1)).not.toHaveProperty('token');
  });

  it('rotates: before the answer the old token becomes invalid and the new one valid', async () => {
    const old = await create();
    expect(await readStatus(old.token)).toBe(412);
    const { body } = await server.client.post(`/auth/access_token/${old.id}/rotate`).set(admin).expect(200);
    expect(body).toEqual({ ...old, token: expect.stringMatching(/^kith_/) });
    expect(body.token).not.toBe(old.token);
    expect(await readStatus(old.token)).toBe(401);
    expect(await readStatus(body.token)).toBe(412);
  });

  it.each([{ collections: [{ name: 'a', permission: 'read' }] }, { filtr: {} }, { name: 'other' }])(
    'refuses a rotation with %j, which would not change it, and the old value stays good',
    async (fields) => {
      const { id, token } = await create();
      const rotate = () => server.client.post(`/auth/access_token/${id}/rotate`).set(admin);
      const [field] = Object.keys(fields);
      const { body } = await rotate().send(fields).expect(400);
      expect(body).toEqual({ status: 'error', message: `${field}: unknown field` });
      expect(await readStatus(token)).toBe(412);
      await rotate().send({}).expect(200);
    },
  );

  it('does not rotate an expired token, nor one that is not there', async () => {
    const { id } = await create({ will_expire: true, expires_in_seconds: 60 });
    server.clock.now += 60_000;
    const expired = await server.client.post(`/auth/access_token/${id}/rotate`).set(admin).expect(400);
    expect(expired.body).toEqual({ status: 'error', message: 'Cannot rotate an expired access token' });
    const unknown = await server.client.post('/auth/access_token/999999/rotate').set(admin).expect(404);
    expect(unknown.body).toEqual(NOT_FOUND);
    const bad = await server.client.post('/auth/access_token/x/rotate').set(admin).expect(400);
    expect(bad.body.message).toMatch(/positive integer/);
  });
});

describe('C3.12 deleting', () => {
  it('makes the token invalid before the answer', async () => {
    const { id, token } = await create();
    expect(await readStatus(token)).toBe(412);
    const { body } = await server.client.delete(`/auth/access_token/${id}`).set(admin).expect(200);
    expect(body).toEqual({ status: 'success', message: 'Access token deleted successfully' });
    expect(await readStatus(token)).toBe(401);
    const again = await server.client.delete(`/auth/access_token/${id}`).set(admin).expect(404);
    expect(again.body).toEqual(NOT_FOUND);
  });

  it.each(['0', '-1', 'x', '1.5', '1e3', '%20', '00'])('answers 400 for the id %s', async (id) => {
    const { body } = await server.client.delete(`/auth/access_token/${id}`).set(admin).expect(400);
    expect(body).toEqual({ status: 'error', message: 'The access token id must be a positive integer' });
  });

  it('answers 404 for an id beyond all that were given out', async () => {
    await server.client.delete('/auth/access_token/99999999999999999999999').set(admin).expect(404);
    await server.client.delete('/auth/access_token/123456').set(admin).expect(404);
  });

  it('refuses a request that began its token lookup before the deletion', async () => {
    const { id, token } = await create();
    // The requests run concurrently. Whatever each of them found, none of it may stay in the cache.
    const requests = Array.from({ length: 20 }, () => readStatus(token));
    const deletion = server.client.delete(`/auth/access_token/${id}`).set(admin).expect(200);
    await Promise.all([...requests, deletion]);
    expect(await readStatus(token)).toBe(401);
  });
});

describe('C1.5 a disk that is full', () => {
  // The errors of sqlite3, of Node's own SQLite (with an extended code), and of the system.
  it.each([{ code: 'SQLITE_FULL' }, { code: 'ERR_SQLITE_ERROR', errcode: 13 + 256 }, { code: 'ENOSPC' }])(
    'is a 507 for every write, and no write takes effect: %j',
    async (codes) => {
      const { id, token } = await create();
      const full = (): Promise<never> =>
        Promise.reject(Object.assign(new Error('database or disk is full'), codes));
      const writes = ['createToken', 'replaceDigest', 'deleteToken', 'storeSetting', 'replaceAdmin'] as const;
      const spies = writes.map((write) => jest.spyOn(MemoryStore.prototype, write).mockImplementation(full));
      try {
        const { client } = server;
        for (const answer of [
          await client.delete(`/auth/access_token/${id}`).set(admin),
          await client.post(`/auth/access_token/${id}/rotate`).set(admin),
          await client.post('/auth/access_token').set(admin).send({ name: 'n', permission: 'read' }),
          await client.patch('/auth/enabled').set(admin).send({ enabled: false }),
          await client.post('/auth/admin/reset-password').set(admin).send({ password: PASSWORD }),
        ]) {
          expect([answer.status, answer.body]).toEqual([
            507,
            { status: 'error', message: 'Authentication operation failed: storage full' },
          ]);
          expect(answer.headers['retry-after']).toBe('5');
        }
      } finally {
        spies.forEach((spy) => {
          spy.mockRestore();
        });
      }
      expect(server.auth.enabled).toBe(true);
      expect(await readStatus(token)).toBe(412);
      await server.client.delete(`/auth/access_token/${id}`).set(admin).expect(200);
      expect(await readStatus(token)).toBe(401);
    },
  );
});

describe('C3.13 who may manage tokens', () => {
  const calls: readonly [string, string][] = [
    ['post', '/auth/access_token'],
    ['get', '/auth/access_tokens'],
    ['post', '/auth/access_token/999999/rotate'],
    ['delete', '/auth/access_token/999999'],
  ];

  it.each(calls)(
    '%s %s: 401 without a good credential, 403 without admin, else it is done',
    async (method, path) => {
      const call = (headers: Record<string, string>) =>
        server.client[method as 'post'](path)
          .set(headers)
          .send(path === '/auth/access_token' ? { name: 'n', permission: 'read' } : {});
      for (const headers of [{}, bearer('x'), bearer(generateToken()), { Authorization: 'Basic eDp5' }]) {
        const { status, body, headers: answered } = await call(headers);
        expect([status, body]).toEqual([401, UNAUTHENTICATED]);
        expect(answered['www-authenticate']).toBe('Bearer');
      }
      const { token: reader } = await create({ permission: 'read,write' });
      const refused = await call(bearer(reader));
      expect([refused.status, refused.body]).toEqual([
        403,
        { status: 'error', message: 'Permission denied: admin required' },
      ]);
      const { token: manager } = await create({ permission: 'admin' });
      for (const headers of [admin, bearer(manager), { 'api-key': manager }]) {
        expect([200, 404]).toContain((await call(headers)).status);
      }
    },
  );

  it('C3.9: works while authentication is disabled, with the same credentials only', async () => {
    await server.auth.setEnabled(false);
    const { token: manager } = await create({ permission: 'admin' });
    const { token: reader } = await create({ permission: 'read,write' });
    await server.client.get('/auth/access_tokens').set(bearer(manager)).expect(200);
    for (const headers of [{}, bearer('x'), bearer(reader)]) {
      const { body } = await server.client.get('/auth/access_tokens').set(headers).expect(403);
      expect(body).toEqual({ status: 'error', message: 'Access token API requires auth_enabled=true' });
    }
    await server.client.get('/collections').set(bearer('nonsense')).expect(412);
  });
});

describe('C3.1 and C3.14 using a token', () => {
  it('takes either header and any spelling of the scheme; Authorization counts', async () => {
    const { token } = await create();
    const get = (headers: Record<string, string>) => server.client.get('/collections').set(headers);
    for (const headers of [
      { Authorization: `Bearer ${token}` },
      { Authorization: `bearer ${token}` },
      { Authorization: `BEARER   ${token} ` },
      { 'api-key': token },
      { Authorization: `Bearer ${token}`, 'api-key': 'nonsense' },
    ]) {
      expect((await get(headers)).status).toBe(412);
    }
    for (const headers of [
      { Authorization: token },
      { Authorization: `Basic ${token}` },
      { Authorization: `Bearer${token}` },
      { Authorization: `Bearer ${token} ${token}` },
      { 'api-key': `Bearer ${token}` },
      { Authorization: 'Bearer nonsense', 'api-key': token },
      { Authorization: 'Bearer', 'api-key': token },
    ]) {
      expect((await get(headers)).status).toBe(401);
    }
  });

  it.each(['read', 'write', 'admin'])('%s implies nothing else', async (permission) => {
    const { token } = await create({ permission });
    const statuses = {
      read: (await server.client.get('/collections').set(bearer(token))).status,
      write: (await server.client.put('/collections/c').set(bearer(token)).send({})).status,
      admin: (await server.client.get('/auth/access_tokens').set(bearer(token))).status,
    };
    expect(statuses).toEqual({
      read: 403,
      write: 403,
      admin: 403,
      [permission]: permission === 'admin' ? 200 : 412,
    });
  });

  it('the admin JWT has all three', async () => {
    await server.client.get('/collections').set(admin).expect(412);
    await server.client.put('/collections/c').set(admin).send({}).expect(412);
    await server.client.get('/auth/access_tokens').set(admin).expect(200);
  });

  it('C3.15: is invalid from the second of its expiry on, and stays in the list until deleted', async () => {
    const { id, token } = await create({ will_expire: true, expires_in_seconds: 60 });
    const expiresAt = Math.floor(startedAt / 1000) * 1000 + 60_000;
    server.clock.now = expiresAt - 1;
    expect(await readStatus(token)).toBe(412);
    server.clock.now = expiresAt;
    expect(await readStatus(token)).toBe(401);
    const { body } = await server.client.get('/auth/access_tokens').set(admin);
    expect(body.map((listed: { id: number }) => listed.id)).toContain(id);
    await server.client.delete(`/auth/access_token/${id}`).set(admin).expect(200);
  });
});

describe('C3.10 the format of a token', () => {
  it('is kith_, 43 characters of base62 and their checksum', () => {
    fc.assert(
      fc.property(fc.constant(undefined), () => {
        const token = generateToken();
        expect(token).toMatch(/^kith_[0-9A-Za-z]{43}[0-9A-Za-z]{6}$/);
        expect(token.slice(-6)).toBe(checksum(token.slice(5, 48)));
        expect(isWellFormedToken(token)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it('has a CRC32 in base62 (digits, A–Z, a–z), most significant first, zero-padded', () => {
    // CRC32 of "123456789" is 0xCBF43926.
    let rest = 0xcbf43926;
    let expected = '';
    while (rest > 0) {
      expected =
        '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'.charAt(rest % 62) + expected;
      rest = Math.floor(rest / 62);
    }
    expect(checksum('123456789')).toBe(expected.padStart(6, '0'));
    expect(checksum('')).toBe('000000');
  });

  it('uses every character about equally often', () => {
    const counts = new Map<string, number>();
    for (let i = 0; i < 3000; i++) {
      for (const character of generateToken().slice(5, 48)) {
        counts.set(character, (counts.get(character) ?? 0) + 1);
      }
    }
    expect(counts.size).toBe(62);
    // 129,000 characters, 2,081 of each expected: six standard deviations are 272.
    expect(Math.min(...counts.values())).toBeGreaterThan(1800);
    expect(Math.max(...counts.values())).toBeLessThan(2360);
  });

  it('finds every single mistyped character and every swap of neighbours', () => {
    const character = fc.constantFrom(
      ...Array.from('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'),
    );
    fc.assert(
      fc.property(fc.integer({ min: 5, max: 53 }), character, (at, other) => {
        const token = generateToken();
        const changed = token.slice(0, at) + other + token.slice(at + 1);
        expect(isWellFormedToken(changed)).toBe(changed === token);
        const [a, b] = [token.charAt(at - 1), token.charAt(at)];
        const swapped = token.slice(0, at - 1) + b + a + token.slice(at + 1);
        expect(isWellFormedToken(swapped)).toBe(swapped === token);
      }),
    );
  });

  it('takes no other text for a token', () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        expect(isWellFormedToken(text)).toBe(false);
        expect(isWellFormedToken(`kith_${text}`)).toBe(false);
      }),
    );
    expect(isWellFormedToken(`${generateToken()}\n`)).toBe(false);
  });

  it('is stored as its SHA-256', () => {
    expect(digestOf('kith_x')).toEqual(createHash('sha256').update('kith_x').digest());
  });

  it('C3.10: permissions are read in any order and written in one', () => {
    const spaces = fc.constantFrom('', ' ', '  ');
    const listed = fc.array(fc.tuple(spaces, fc.constantFrom(...PERMISSIONS), spaces), {
      minLength: 1,
      maxLength: 6,
    });
    fc.assert(
      fc.property(listed, (names) => {
        const parsed = parsePermissions(names.map((parts) => parts.join('')).join(','));
        expect(parsed).toEqual(new Set(names.map(([, name]) => name)));
        const written = formatPermissions(parsed!);
        expect(formatPermissions(parsePermissions(written)!)).toBe(written);
        expect('read,write,admin').toMatch(new RegExp(written.replaceAll(',', '.*')));
      }),
    );
  });
});
