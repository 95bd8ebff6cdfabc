import { gzipSync } from 'node:zlib';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import jwt from 'jsonwebtoken';
import pino from 'pino';
import { settleJwtSecret } from '../../src/auth/jwt-secret';
import { HashingBusy, LocalPasswordHasher } from '../../src/auth/password-hashing';
import { MemoryStore } from '../../src/auth/store/memory';
import { openStore } from '../../src/auth/store/open';
import { bearer, PASSWORD, startAuth, type AuthServer } from './auth-server';

const SECRET = 'a-secret-of-more-than-thirty-two-bytes';
const OTHER_PASSWORD = 'Another-horse-8-staple';
const UNAUTHENTICATED = { status: 'error', message: 'Invalid or missing authorization token' };

let running: AuthServer[] = [];
async function start(...args: Parameters<typeof startAuth>): Promise<AuthServer> {
  const server = await startAuth(...args);
  running.push(server);
  return server;
}
afterEach(async () => {
  await Promise.all(running.map((server) => server.close()));
  running = [];
});

describe('C3.3 the first admin', () => {
  it('is created once, by a local caller', async () => {
    const { client } = await start();
    const created = await client.post('/auth/admin').send({ password: PASSWORD }).expect(200);
    expect(created.body).toEqual({ status: 'success', message: 'User registered successfully' });
    const again = await client.post('/auth/admin').send({ password: OTHER_PASSWORD }).expect(409);
    expect(again.body).toEqual({ status: 'error', message: 'Username already exists' });
    await client.post('/auth/admin/login').send({ password: PASSWORD }).expect(200);
    await client.post('/auth/admin/login').send({ password: OTHER_PASSWORD }).expect(401);
  });

  it('is one even when many are created at once', async () => {
    const { client } = await start();
    const answers = await Promise.all(
      [1, 2, 3, 4].map((n) => client.post('/auth/admin').send({ password: `${PASSWORD}${n}` })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409]);
  });

  it.each([undefined, null, '', '   ', 7, true, ['x'], { a: 1 }])(
    'needs a password that is not %j',
    async (password) => {
      const { client } = await start();
      for (const path of ['/auth/admin', '/auth/admin/reset-password']) {
        const { body } = await client.post(path).send({ password }).expect(400);
        expect(body).toEqual({ status: 'error', message: 'Missing required field: password' });
      }
    },
  );

  it('needs a body, which is JSON', async () => {
    const { client } = await start();
    const missing = { status: 'error', message: 'Missing required field: password' };
    expect((await client.post('/auth/admin').expect(400)).body).toEqual(missing);
    expect((await client.post('/auth/admin').send([]).expect(400)).body).toEqual(missing);
    expect((await client.post('/auth/admin').type('json').send('null').expect(400)).body).toEqual(missing);
    const form = await client.post('/auth/admin').type('form').send({ password: PASSWORD }).expect(415);
    expect(form.body.status).toBe('error');
    expect(form.headers['connection']).toBe('close');
    await client.post('/auth/admin').type('text/plain').send(`{"password":"${PASSWORD}"}`).expect(415);
    const broken = await client.post('/auth/admin').type('json').send('{"password":').expect(400);
    expect(broken.body).toEqual({ status: 'error', message: 'The body is not valid JSON' });
    const large = await client
      .post('/auth/admin')
      .send({ password: 'x'.repeat(70_000) })
      .expect(413);
    expect(large.body).toEqual({ status: 'error', message: 'Request body too large: limit 65536 bytes' });
    const { body } = await client.get('/auth/admin/exists');
    expect(body.result).toBe(false);
  });

  it.each([
    ['Short-1aA', ['at least 12 characters']],
    ['lower-case-77', ['upper-case letter']],
    ['UPPER-CASE-77', ['lower-case letter']],
    ['No-Digits-Here', ['digit']],
    ['NoSpecials1234', ['special character']],
    ['admin', ['at least 12 characters', 'upper-case', 'digit', 'special', 'username']],
    [`Aa1-${'x'.repeat(1021)}`, ['at most 1024 bytes']],
  ])('refuses the password %s with each broken rule', async (password, rules) => {
    const { client } = await start();
    const { body } = await client.post('/auth/admin').send({ password }).expect(400);
    expect(body.status).toBe('error');
    for (const rule of rules) {
      expect(body.message).toContain(rule);
    }
    expect(body.message.split(';')).toHaveLength(rules.length);
  });

  it('takes letters of any script, and ignores other fields', async () => {
    const { client } = await start();
    const password = 'Ключ-ñandú-４2';
    await client.post('/auth/admin').send({ password, username: 'root', __proto__: {} }).expect(200);
    await client.post('/auth/admin/login').send({ password }).expect(200);
  });

  it('comes from KITHDB_ADMIN_PASSWORD at the first start only', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'kithdb-admin-'));
    const stored = { dataDir, tokenStore: undefined };
    try {
      const first = await startAuth({ ...stored, adminPassword: PASSWORD });
      await first.client.post('/auth/admin/login').send({ password: PASSWORD }).expect(200);
      await first.close();
      const second = await startAuth({
        ...stored,
        adminPassword: OTHER_PASSWORD,
        adminPasswordProblem: 'the file is gone',
      });
      await second.client.post('/auth/admin/login').send({ password: OTHER_PASSWORD }).expect(401);
      await second.client.post('/auth/admin/login').send({ password: PASSWORD }).expect(200);
      await second.close();
    } finally {
      rmSync(dataDir, { recursive: true });
    }
    const adminPasswordProblem = 'KITHDB_ADMIN_PASSWORD_FILE must name a readable file';
    await expect(startAuth({ adminPasswordProblem })).rejects.toThrow(adminPasswordProblem);
    await expect(startAuth({ adminPassword: 'weak' })).rejects.toThrow(
      /KITHDB_ADMIN_PASSWORD .*12 characters/,
    );
  });

  it('cannot be created by a remote caller, whatever a proxy calls the client', async () => {
    const { client } = await start();
    const refused = { status: 'error', message: 'This endpoint can only be called from localhost' };
    for (const header of [
      'Forwarded',
      'X-Forwarded',
      'X-Forwarded-For',
      'X-Forwarded-Host',
      'X-Real-IP',
      'X-Client-IP',
      'CF-Connecting-IP',
      'True-Client-IP',
      'Fastly-Client-IP',
      'Fly-Client-IP',
      'Client-IP',
      'Forwarded-For',
      'X-Original-Forwarded-For',
      'X-Cluster-Client-IP',
      'X-Envoy-External-Address',
      'X-Azure-ClientIP',
      'Via',
    ]) {
      const { body } = await client
        .post('/auth/admin')
        .set(header, '127.0.0.1')
        .send({ password: PASSWORD })
        .expect(403);
      expect(body).toEqual(refused);
    }
    const { client: exposed } = await start({ authEnabled: true, adminPassword: PASSWORD });
    const { body } = await exposed
      .post('/auth/admin')
      .set('Host', 'db.example')
      .send({ password: PASSWORD })
      .expect(403);
    expect(body).toEqual(refused);
  });
});

describe('C3.3 resetting the password', () => {
  const reset = (server: AuthServer, headers: Record<string, string> = {}, password = OTHER_PASSWORD) =>
    server.client.post('/auth/admin/reset-password').set(headers).send({ password });

  it('ends every JWT issued before, even in the same second', async () => {
    const server = await start({ adminPassword: PASSWORD });
    const { client } = server;
    const token = await server.login();
    await client.patch('/auth/enabled').set(bearer(token)).send({ enabled: true }).expect(200);
    const done = await reset(server, bearer(token)).expect(200);
    expect(done.body).toEqual({ status: 'success', message: 'Password reset successfully' });
    const { body } = await client
      .patch('/auth/enabled')
      .set(bearer(token))
      .send({ enabled: false })
      .expect(401);
    expect(body).toEqual(UNAUTHENTICATED);
    await client.post('/auth/admin/login').send({ password: PASSWORD }).expect(401);
    await client.post('/auth/admin/login').send({ password: OTHER_PASSWORD }).expect(200);
  });

  it('needs the JWT of the admin whether authentication is enabled or not, and from wherever', async () => {
    const server = await start({ adminPassword: PASSWORD });
    const jwtHeader = bearer(await server.login());
    const { body: token } = await server.client
      .post('/auth/access_token')
      .set(jwtHeader)
      .send({ name: 'all', permission: 'read,write,admin' })
      .expect(200);
    for (const enabled of [false, true]) {
      await server.client.patch('/auth/enabled').set(jwtHeader).send({ enabled }).expect(200);
      expect((await reset(server).expect(401)).body).toEqual(UNAUTHENTICATED);
      expect((await reset(server, bearer('nonsense')).expect(401)).body).toEqual(UNAUTHENTICATED);
      expect((await reset(server, bearer(token.token)).expect(403)).body).toEqual({
        status: 'error',
        message: 'Admin JWT required',
      });
    }
    await server.client.post('/auth/admin/login').send({ password: PASSWORD }).expect(200);
    await reset(server, { ...jwtHeader, Host: 'db.example', 'X-Forwarded-For': '203.0.113.9' }).expect(200);
    await server.client.post('/auth/admin/login').send({ password: OTHER_PASSWORD }).expect(200);
  });

  it('is a 404 without an admin, credential or not, and a 400 for a password that the policy refuses', async () => {
    const server = await start();
    for (const headers of [{}, bearer('nonsense')]) {
      const { body } = await reset(server, headers).expect(404);
      expect(body).toEqual({ status: 'error', message: 'User not found' });
      await reset(server, headers, 'weak').expect(400);
    }
    const { client } = await start({ adminPassword: PASSWORD });
    await client.post('/auth/admin/reset-password').send({ password: 'weak' }).expect(401);
  });

  /** Sends the head of a reset, does `meanwhile`, and then sends the body. */
  async function resetLate(
    server: AuthServer,
    headers: readonly string[],
    meanwhile: () => Promise<unknown>,
  ): Promise<string> {
    const body = JSON.stringify({ password: OTHER_PASSWORD });
    const head = [
      'POST /auth/admin/reset-password HTTP/1.1',
      'Host: localhost',
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
      'Expect: 100-continue',
      'Connection: close',
      ...headers,
    ];
    const socket = connect((server.server.address() as AddressInfo).port, '127.0.0.1');
    socket.write(`${head.join('\r\n')}\r\n\r\n`);
    // The body is asked for when the checks have passed.
    const [asked] = (await once(socket, 'data')) as [Buffer];
    expect(asked.toString()).toMatch(/^HTTP\/1\.1 100 /);
    await meanwhile();
    socket.write(body);
    const [answered] = (await once(socket, 'data')) as [Buffer];
    socket.destroy();
    return answered.toString();
  }

  it('does not replace the password of an admin who was created after the request was checked', async () => {
    const server = await start();
    const answered = await resetLate(server, [], () =>
      server.client.post('/auth/admin').send({ password: PASSWORD }).expect(200),
    );
    expect(answered).toMatch(/^HTTP\/1\.1 401 [^]*Invalid or missing authorization token/);
    await server.client.post('/auth/admin/login').send({ password: PASSWORD }).expect(200);
  });

  it('does not take a JWT that ended while the body was on its way', async () => {
    const server = await start({ adminPassword: PASSWORD });
    const token = await server.login();
    const answered = await resetLate(server, [`Authorization: Bearer ${token}`], () =>
      reset(server, bearer(token), `${PASSWORD}-2`).expect(200),
    );
    expect(answered).toMatch(/^HTTP\/1\.1 401 [^]*WWW-Authenticate: Bearer/i);
    await server.client
      .post('/auth/admin/login')
      .send({ password: `${PASSWORD}-2` })
      .expect(200);
  });
});

describe('C3.4 login', () => {
  it('answers a JWT, its lifetime and a message, without any header', async () => {
    const { client } = await start({ adminPassword: PASSWORD });
    const { body } = await client.post('/auth/admin/login').send({ password: PASSWORD }).expect(200);
    expect(body).toEqual({ token: expect.any(String), message: 'Login successful', expires_in: 3600 });
    const other = await start({ adminPassword: PASSWORD, jwtTtlSeconds: 60 });
    expect((await other.client.post('/auth/admin/login').send({ password: PASSWORD })).body.expires_in).toBe(
      60,
    );
  });

  it('answers a wrong password with the login result, and the same when there is no admin', async () => {
    const wrong = { token: null, message: 'Invalid username or password', expires_in: 0 };
    const { client } = await start({ adminPassword: PASSWORD });
    expect((await client.post('/auth/admin/login').send({ password: 'wrong' }).expect(401)).body).toEqual(
      wrong,
    );
    const { client: empty } = await start();
    expect((await empty.post('/auth/admin/login').send({ password: PASSWORD }).expect(401)).body).toEqual(
      wrong,
    );
  });

  it.each([undefined, null, '', ' \t', 7, false, ['x'], {}])(
    'needs a password that is not %j',
    async (password) => {
      const { client } = await start();
      const { body } = await client.post('/auth/admin/login').send({ password }).expect(400);
      expect(body).toEqual({ status: 'error', message: 'Missing required field: password' });
    },
  );

  it('C1.12 reads a compressed body, counts it inflated, and refuses other codings by name', async () => {
    const { client } = await start({ adminPassword: PASSWORD });
    const login = (body: Buffer, coding: string) =>
      client
        .post('/auth/admin/login')
        .type('json')
        .set('content-encoding', coding)
        .serialize((sent) => sent as unknown as string)
        .send(body);
    const compressed = gzipSync(JSON.stringify({ password: PASSWORD }));
    expect((await login(compressed, 'gzip').expect(200)).body.message).toBe('Login successful');
    expect((await login(compressed.subarray(0, -9), 'gzip').expect(400)).body.message).toBe(
      'Missing required field: password',
    );
    const long = gzipSync(JSON.stringify({ password: PASSWORD, more: 'x'.repeat(70_000) }));
    await login(long, 'gzip').expect(413);
    expect((await login(compressed, 'br').expect(415)).body.message).toBe(
      'Unsupported content encoding: br (gzip or identity)',
    );
  });

  it.each([
    ['no body', 'application/json', ''],
    ['no JSON', 'application/json', 'password=x'],
    ['cut JSON', 'application/json', '{"password": "x'],
    ['a bare string', 'application/json', '"x"'],
    ['another type', 'text/plain', 'hello'],
  ])('takes %s for a missing password', async (_what, type, text) => {
    const { client } = await start();
    const { body } = await client.post('/auth/admin/login').type(type).send(text).expect(400);
    expect(body).toEqual({ status: 'error', message: 'Missing required field: password' });
  });

  it('after five failures is a 429 with Retry-After, for the right password too', async () => {
    const { client } = await start({ adminPassword: PASSWORD });
    for (let attempt = 0; attempt < 5; attempt++) {
      await client.post('/auth/admin/login').send({ password: 'wrong' }).expect(401);
    }
    const refused = await client.post('/auth/admin/login').send({ password: PASSWORD }).expect(429);
    expect(refused.body).toEqual({ status: 'error', message: 'Too many failed logins' });
    expect(refused.headers['retry-after']).toMatch(/^[1-9]\d*$/);
  });

  it('is counted by its outcome, whether the password was wrong or not looked at', async () => {
    const { client, requests } = await start({ adminPassword: PASSWORD });
    await client.post('/auth/admin/login').send({ password: PASSWORD }).expect(200);
    await client.post('/auth/admin/login').send({}).expect(400);
    for (let attempt = 0; attempt < 5; attempt++) {
      await client.post('/auth/admin/login').send({ password: 'wrong' }).expect(401);
    }
    await client.post('/auth/admin/login').send({ password: PASSWORD }).expect(429);
    expect(requests.authentications).toEqual({
      ...{ accepted: 1, unknown: 0, forbidden: 0 },
      ...{ wrong_password: 5, throttled: 1 },
    });
  });

  it('C3.4 counts as throttled where too many passwords are being checked', async () => {
    const { client, requests } = await start({ adminPassword: PASSWORD });
    const verify = jest.spyOn(LocalPasswordHasher.prototype, 'verify').mockRejectedValue(new HashingBusy());
    await client.post('/auth/admin/login').send({ password: PASSWORD }).expect(429);
    verify.mockRestore();
    expect(requests.authentications).toMatchObject({ accepted: 0, wrong_password: 0, throttled: 1 });
  });

  it('lets no more than five guesses through when many come at once', async () => {
    const { client } = await start({ adminPassword: PASSWORD });
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => client.post('/auth/admin/login').send({ password: 'wrong' })),
    );
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 401)).toHaveLength(5);
    expect(statuses.filter((status) => status === 429)).toHaveLength(15);
  });

  const login = ({ client }: AuthServer, password: string, headers: Record<string, string>) =>
    client.post('/auth/admin/login').set(headers).send({ password });

  it('counts the addresses that a trusted proxy names, so that one client locks out no other', async () => {
    const server = await start({ adminPassword: PASSWORD }, { trustedProxies: ['127.0.0.0/8'] });
    const attacker = { 'X-Forwarded-For': '198.51.100.2, 203.0.113.9' };
    const guesses = Array.from({ length: 30 }, () => login(server, 'wrong', attacker));
    const statuses = (await Promise.all(guesses)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 401)).toHaveLength(5);
    await login(server, PASSWORD, attacker).expect(429);
    await login(server, PASSWORD, { 'X-Forwarded-For': '203.0.113.9' }).expect(429);
    await login(server, PASSWORD, { Forwarded: 'for="203.0.113.9:4711"' }).expect(429);
    await login(server, PASSWORD, { 'X-Forwarded-For': '198.51.100.2' }).expect(200);
    await login(server, PASSWORD, { Forwarded: 'for="[2001:db8::7]"' }).expect(200);
    await login(server, PASSWORD, {}).expect(200);
  });

  it('counts the address of a peer that no setting trusts, whatever it says of others', async () => {
    const server = await start({ adminPassword: PASSWORD });
    for (let attempt = 0; attempt < 5; attempt++) {
      await login(server, 'wrong', { 'X-Forwarded-For': `203.0.113.${attempt}` }).expect(401);
    }
    await login(server, PASSWORD, { 'X-Forwarded-For': '203.0.113.77' }).expect(429);
    await login(server, PASSWORD, {}).expect(429);
    expect(server.logged.filter((line) => line.includes('name it in KITHDB_TRUSTED_PROXIES'))).toHaveLength(
      1,
    );
  });

  it('answers the right password of another address while many of one /48 guess', async () => {
    const server = await start({ adminPassword: PASSWORD }, { trustedProxies: ['127.0.0.1/32'] });
    const guess = (n: number) =>
      login(server, 'wrong', { 'X-Forwarded-For': `2001:db8:bad:${n.toString(16)}::1` });
    const guesses = Promise.all(Array.from({ length: 100 }, (_, n) => guess(n)));
    for (let n = 0; n < 5; n++) {
      await login(server, PASSWORD, { 'X-Forwarded-For': `198.51.100.${n}` }).expect(200);
    }
    const statuses = (await guesses).map(({ status }) => status);
    // Of the twenty that are free some may find no place for a hash.
    expect(statuses.filter((status) => status === 401).length).toBeLessThanOrEqual(20);
    expect(new Set(statuses)).toEqual(new Set([401, 429]));
  });

  it('lets ten right logins through at once', async () => {
    const { client } = await start({ adminPassword: PASSWORD });
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => client.post('/auth/admin/login').send({ password: PASSWORD })),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200));
  });

  it('hashes the password anew when the parameters have changed', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'kithdb-rehash-'));
    try {
      const { hash } = await import('@node-rs/argon2');
      const hashCost = { memoryKib: 4096, passes: 2 };
      const hasher = new LocalPasswordHasher(hashCost);
      const outdated = await hash(PASSWORD, { memoryCost: 8192, timeCost: 1 });
      expect(hasher.isOutdated(outdated)).toBe(true);
      const before = await openStore(dataDir);
      await before.createAdmin({ passwordHash: outdated, generation: 'g' });
      await before.close();
      const server = await startAuth({ dataDir, tokenStore: undefined }, { hashCost });
      const token = await server.login();
      expect(server.auth.identify(`Bearer ${token}`, undefined)).toMatchObject({ kind: 'admin-jwt' });
      await server.login();
      await server.close();
      const after = await openStore(dataDir);
      const admin = await after.admin();
      await after.close();
      expect(hasher.isOutdated(admin!.passwordHash)).toBe(false);
      expect(admin!.generation).toBe('g');
    } finally {
      rmSync(dataDir, { recursive: true });
    }
  });

  it('keeps passwords and tokens out of the log', async () => {
    const { client, login, logged } = await start({ adminPassword: PASSWORD, jwtSecret: SECRET });
    const token = await login();
    await client.post('/auth/admin/login').send({ password: 'Wrong-guess-99' });
    expect(logged.length).toBeGreaterThan(0);
    for (const secret of [PASSWORD, 'Wrong-guess-99', SECRET, token]) {
      expect(logged.join()).not.toContain(secret);
    }
  });
});

describe('C3.5 the JWT', () => {
  let server: AuthServer;
  let token: string;
  let startedAt: number;
  beforeAll(async () => {
    server = await startAuth({ adminPassword: PASSWORD, jwtSecret: SECRET });
    startedAt = server.clock.now;
    token = await server.login();
  });
  beforeEach(() => {
    server.clock.now = startedAt;
  });
  afterAll(() => server.close());

  async function status(credential: string): Promise<number> {
    return (await server.client.patch('/auth/enabled').set(bearer(credential)).send({ enabled: false }))
      .status;
  }

  it('is HS256 over the UTF-8 bytes of the secret, with every claim', async () => {
    const { header, payload } = jwt.verify(token, SECRET, { complete: true });
    expect(header).toEqual({ alg: 'HS256', typ: 'JWT' });
    expect(payload).toEqual({
      sub: 'admin',
      iss: expect.any(String),
      aud: expect.any(String),
      iat: Math.floor(server.clock.now / 1000),
      exp: Math.floor(server.clock.now / 1000) + 3600,
      jti: expect.any(String),
      gen: expect.any(String),
    });
    expect(await status(token)).toBe(200);
    expect(await server.login()).not.toBe(token);
  });

  it('is invalid after its lifetime', async () => {
    server.clock.now += 3599_000;
    expect(await status(token)).toBe(200);
    server.clock.now += 1000;
    expect(await status(token)).toBe(401);
  });

  it('is invalid after its secret has changed', async () => {
    const other = await start({ adminPassword: PASSWORD, jwtSecret: `${SECRET}!` });
    await other.client.patch('/auth/enabled').set(bearer(token)).send({ enabled: false }).expect(401);
  });

  it.each(['sub', 'iss', 'aud', 'iat', 'exp', 'jti', 'gen'])(
    'is invalid without the claim %s',
    async (claim) => {
      const claims = jwt.decode(token) as Record<string, unknown>;
      expect(await status(sign({ alg: 'HS256', typ: 'JWT' }, claims))).toBe(200);
      expect(await status(sign({ alg: 'HS256', typ: 'JWT' }, { ...claims, [claim]: undefined }))).toBe(401);
      for (const wrong of ['x', 7, null, ['x'], {}]) {
        if (!(claim === 'jti' && wrong === 'x')) {
          expect(await status(sign({ alg: 'HS256', typ: 'JWT' }, { ...claims, [claim]: wrong }))).toBe(401);
        }
      }
    },
  );

  it('is invalid when its life is longer than the setting', async () => {
    const claims = jwt.decode(token) as { iat: number; exp: number };
    const header = { alg: 'HS256', typ: 'JWT' };
    expect(await status(sign(header, { ...claims, exp: claims.iat + 3600 }))).toBe(200);
    expect(await status(sign(header, { ...claims, exp: claims.iat + 3601 }))).toBe(401);
    expect(await status(sign(header, { ...claims, exp: claims.iat + 315_360_000 }))).toBe(401);
  });

  it('is invalid with another algorithm or a header parameter that we never set', async () => {
    const claims = jwt.decode(token) as Record<string, unknown>;
    expect(await status(sign({ alg: 'none', typ: 'JWT' }, claims))).toBe(401);
    expect(await status(`${sign({ alg: 'none' }, claims).split('.').slice(0, 2).join('.')}.`)).toBe(401);
    expect(await status(jwt.sign(claims, SECRET, { algorithm: 'HS512' }))).toBe(401);
    expect(await status(jwt.sign(claims, SECRET, { algorithm: 'HS384' }))).toBe(401);
    for (const extra of [
      { crit: ['b64'], b64: true },
      { jwk: {} },
      { jku: 'http://x' },
      { x5u: 'http://x' },
      { kid: 'k' },
    ]) {
      expect(await status(sign({ alg: 'HS256', typ: 'JWT', ...extra }, claims))).toBe(401);
    }
  });

  it('is invalid when it was issued in the future, beyond a small difference of clocks', async () => {
    server.clock.now -= 5000;
    expect(await status(token)).toBe(200);
    server.clock.now -= 60_000;
    expect(await status(token)).toBe(401);
  });

  it.each(['', '.', '..', 'a.b.c', 'x'.repeat(10_000), '😀'])('a text like %# is none', async (text) => {
    expect(await server.auth.identify(`Bearer ${text}`, undefined)).toBeNull();
    expect(await server.auth.identify(undefined, text)).toBeNull();
  });
});

describe('C3.2 the life of the JWT secret', () => {
  let dataDir: string;
  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'kithdb-secret-'));
  });
  afterEach(() => {
    rmSync(dataDir, { recursive: true });
  });

  async function startedWith(
    jwtSecret: string | undefined,
  ): Promise<{ token: string; accepts: (t: string) => boolean; logged: string[] }> {
    const server = await startAuth({ dataDir, tokenStore: undefined, adminPassword: PASSWORD, jwtSecret });
    const token = await server.login();
    await server.close();
    return {
      token,
      accepts: (other) => server.auth.identify(`Bearer ${other}`, undefined) !== null,
      logged: server.logged,
    };
  }

  it('is generated once and kept', async () => {
    const first = await startedWith(undefined);
    const second = await startedWith(undefined);
    expect(second.accepts(first.token)).toBe(true);
    const store = await openStore(dataDir);
    const secret = await store.setting('jwt_secret');
    await store.close();
    expect(Buffer.from(secret!, 'base64url')).toHaveLength(32);
  });

  it('is the configured one, which is kept, and whose change ends earlier JWTs', async () => {
    const generated = await startedWith(undefined);
    const configured = await startedWith(SECRET);
    expect(configured.accepts(generated.token)).toBe(false);
    const kept = await startedWith(undefined);
    expect(kept.accepts(configured.token)).toBe(true);
    expect(jwt.verify(kept.token, SECRET)).toBeTruthy();
  });

  it('of the settings is warned of when it is among the last 16 that were replaced, and one in force is not one', async () => {
    const store = new MemoryStore();
    const settle = async (number: number) => {
      const warnings: string[] = [];
      const log = pino({ level: 'warn' }, { write: (line: string) => warnings.push(line) });
      await settleJwtSecret(`${SECRET} ${number}`, store, log);
      return warnings.some((line) => line.includes('replaced since'));
    };
    for (let number = 0; number <= 16; number += 1) expect(await settle(number)).toBe(false);
    // In force again, it leaves its place to the one that was replaced first.
    expect(await settle(15)).toBe(true);
    expect(await settle(0)).toBe(true);
    expect(await settle(17)).toBe(false);
    expect(await settle(1)).toBe(false);
  });

  it('is accepted with a warning when it is short', async () => {
    const short = await startedWith('short');
    expect(short.logged.join()).toMatch(/shorter than 32 bytes/);
    expect((await startedWith(SECRET)).logged.join()).not.toMatch(/shorter than/);
  });
});

describe('C3.6 whether the admin exists', () => {
  it('is answered to every caller, in the envelope', async () => {
    const { client } = await start({ authEnabled: true, adminPassword: PASSWORD });
    const { body } = await client
      .get('/auth/admin/exists')
      .set('Authorization', 'Bearer nonsense')
      .expect(200);
    expect(body).toEqual({ usage: {}, time: expect.any(Number), status: 'ok', result: true });
    const { client: empty } = await start();
    expect((await empty.get('/auth/admin/exists')).body.result).toBe(false);
  });
});

function sign(header: object, claims: object): string {
  const encoded = [header, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.');
  return `${encoded}.${createHmac('sha256', SECRET).update(encoded).digest('base64url')}`;
}
