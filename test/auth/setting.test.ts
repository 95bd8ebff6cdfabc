import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { checkExposure, ExposureError, isPrivateAddress, openAuth } from '../../src/auth';
import { generatePassword } from '../../src/auth/open';
import { refusePassword } from '../../src/auth/password-policy';
import { openStore } from '../../src/auth/store/open';
import { AUTH_CONFIG, bearer, PASSWORD, processAuth, startAuth, type AuthServer } from './auth-server';

const SILENT = pino({ level: 'silent' });

describe('C3.7 changing the setting', () => {
  let server: AuthServer;
  let admin: { Authorization: string };
  beforeAll(async () => {
    server = await startAuth({ adminPassword: PASSWORD });
    admin = bearer(await server.login());
  });
  afterAll(() => server.close());

  it('answers the state after the update in the envelope', async () => {
    for (const enabled of [true, true, false, false]) {
      const { body } = await server.client
        .patch('/auth/enabled')
        .set(admin)
        .send({ enabled, extra: 1 })
        .expect(200);
      expect(body).toEqual({ usage: {}, time: expect.any(Number), status: 'ok', result: enabled });
      expect(server.auth.enabled).toBe(enabled);
      await server.client.get('/collections').expect(enabled ? 401 : 412);
    }
  });

  it.each([true, false])('needs an admin JWT while it is %s', async (enabled) => {
    await server.auth.setEnabled(enabled);
    const { raw } = await server.auth.createToken({
      name: 'n',
      description: null,
      permissions: new Set(['read', 'write', 'admin']),
      lifetimeSeconds: null,
    });
    const patch = (headers: Record<string, string>) =>
      server.client.patch('/auth/enabled').set(headers).send({ enabled: !enabled });
    expect((await patch({}).expect(401)).body).toEqual({
      status: 'error',
      message: 'Invalid or missing authorization token',
    });
    await patch(bearer('nonsense')).expect(401);
    expect((await patch(bearer(raw)).expect(403)).body).toEqual({
      status: 'error',
      message: 'Admin JWT required',
    });
    expect(server.auth.enabled).toBe(enabled);
  });

  it.each([
    [undefined, 'Missing required field: enabled'],
    [{}, 'Missing required field: enabled'],
    [{ enabled: null }, 'Missing required field: enabled'],
    [{ enabled: 'true' }, 'enabled must be a boolean'],
    [{ enabled: 1 }, 'enabled must be a boolean'],
    [{ enabled: [true] }, 'enabled must be a boolean'],
  ])('refuses %j', async (sent, message) => {
    const { body } = await server.client.patch('/auth/enabled').set(admin).send(sent).expect(400);
    expect(body).toEqual({ status: 'error', message });
  });

  it('checks the credential before the body', async () => {
    await server.client.patch('/auth/enabled').send({ enabled: 'x' }).expect(401);
  });

  it('is durable before the answer', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'kithdb-setting-'));
    try {
      const first = await startAuth({ dataDir, tokenStore: undefined, adminPassword: PASSWORD });
      const jwt = await first.login();
      await first.client.patch('/auth/enabled').set(bearer(jwt)).send({ enabled: true }).expect(200);
      await first.close();
      const second = await startAuth({ dataDir, tokenStore: undefined, authEnabled: false });
      expect(second.auth.enabled).toBe(true);
      expect(second.logged.join()).toMatch(/KITHDB_AUTH_ENABLED=false has no effect/);
      await second.close();
      const store = await openStore(dataDir);
      expect(await store.setting('auth_enabled')).toBe('true');
      await store.close();
    } finally {
      rmSync(dataDir, { recursive: true });
    }
  });

  it('keeps memory and store the same when changes overlap', async () => {
    const states = [true, false, true, true, false, true];
    await Promise.all(states.map((enabled) => server.auth.setEnabled(enabled)));
    expect(server.auth.enabled).toBe(true);
    expect(server.auth.decided).toBe(true);
  });
});

describe('C3.8 the initial state', () => {
  it('is disabled, and not yet decided on', async () => {
    const auth = await openAuth(AUTH_CONFIG, SILENT, processAuth());
    expect([auth.enabled, auth.decided]).toEqual([false, false]);
  });

  it('is enabled by KITHDB_AUTH_ENABLED=true, which needs an admin password', async () => {
    const auth = await openAuth(
      { ...AUTH_CONFIG, authEnabled: true, adminPassword: PASSWORD },
      SILENT,
      processAuth(),
    );
    expect([auth.enabled, auth.decided]).toEqual([true, true]);
    await expect(openAuth({ ...AUTH_CONFIG, authEnabled: true }, SILENT, processAuth())).rejects.toThrow(
      /KITHDB_AUTH_ENABLED=true needs an admin.*KITHDB_ADMIN_PASSWORD/,
    );
  });

  it('stays enabled without the password at the next start', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'kithdb-initial-'));
    try {
      const config = { ...AUTH_CONFIG, dataDir, tokenStore: undefined, authEnabled: true };
      await (await openAuth({ ...config, adminPassword: PASSWORD }, SILENT, processAuth())).close();
      const auth = await openAuth(config, SILENT, processAuth());
      expect(auth.enabled).toBe(true);
      await auth.close();
    } finally {
      rmSync(dataDir, { recursive: true });
    }
  });

  it('makes a password and shows it once where the image asks for that', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'kithdb-image-'));
    try {
      const config = {
        ...AUTH_CONFIG,
        dataDir,
        tokenStore: undefined,
        authEnabled: true,
        generateAdminPassword: true,
      };
      const shown: string[] = [];
      const showPassword = (password: string): void => void shown.push(password);
      const first = await openAuth(config, SILENT, processAuth(), { showPassword });
      expect(shown).toHaveLength(1);
      expect(await first.login(shown[0]!, '127.0.0.1')).toMatchObject({ kind: 'success' });
      await first.close();
      const second = await openAuth(config, SILENT, processAuth(), { showPassword });
      await second.close();
      expect(shown).toHaveLength(1);
    } finally {
      rmSync(dataDir, { recursive: true });
    }
  });

  it('makes no password where one is given or authentication stays disabled', async () => {
    const showPassword = jest.fn();
    const config = { ...AUTH_CONFIG, generateAdminPassword: true };
    await openAuth({ ...config, authEnabled: true, adminPassword: PASSWORD }, SILENT, processAuth(), {
      showPassword,
    });
    expect((await openAuth(config, SILENT, processAuth(), { showPassword })).adminExists).toBe(false);
    expect(showPassword).not.toHaveBeenCalled();
  });

  it('prints the password with what changes it, which needs the server stopped', async () => {
    const written: string[] = [];
    const write = jest.spyOn(process.stdout, 'write').mockImplementation((text) => {
      written.push(String(text));
      return true;
    });
    try {
      const config = { ...AUTH_CONFIG, authEnabled: true, generateAdminPassword: true };
      await (await openAuth(config, SILENT, processAuth())).close();
    } finally {
      write.mockRestore();
    }
    expect(written.join('')).toMatch(/only this once:\n\n {4}\S{29}\n\n.*kithdb admin reset-password/);
  });

  it('makes passwords that the policy accepts, all different', () => {
    const passwords = Array.from({ length: 200 }, generatePassword);
    expect(passwords.map(refusePassword).filter((refused) => refused !== undefined)).toEqual([]);
    expect(new Set(passwords).size).toBe(200);
  });
});

describe('C3.8 an address that other machines can reach', () => {
  const exposed = { host: '0.0.0.0', insecureNoAuth: false };

  it('is refused at a first start with authentication disabled', () => {
    for (const host of ['0.0.0.0', '::', '192.168.1.5', 'db.example']) {
      expect(() => checkExposure({ ...exposed, host }, { enabled: false, decided: false })).toThrow(
        ExposureError,
      );
    }
    expect(() => checkExposure(exposed, { enabled: false, decided: false })).toThrow(
      /0\.0\.0\.0.*\n.*KITHDB_ACCESS_TOKEN.*\n.*KITHDB_AUTH_ENABLED=true.*\n.*--insecure-no-auth/,
    );
  });

  it('is refused at later starts too, until an admin has decided', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'kithdb-exposed-'));
    try {
      for (let start = 0; start < 2; start++) {
        const auth = await openAuth(
          { ...AUTH_CONFIG, dataDir, tokenStore: undefined },
          SILENT,
          processAuth(),
        );
        expect(() => checkExposure(exposed, auth)).toThrow(ExposureError);
        await auth.close();
      }
    } finally {
      rmSync(dataDir, { recursive: true });
    }
  });

  it('is allowed with a warning when a setting allows it, or when an admin disabled authentication', () => {
    const allowed = checkExposure({ ...exposed, insecureNoAuth: true }, { enabled: false, decided: false });
    expect(allowed).toEqual([expect.stringMatching(/^Authentication is disabled/)]);
    expect(checkExposure(exposed, { enabled: false, decided: true })).toHaveLength(1);
  });

  it('is allowed with authentication enabled, and a loopback address without it', () => {
    expect(checkExposure(exposed, { enabled: true, decided: true })).toEqual([]);
    for (const host of ['127.0.0.1', '127.3.2.1', '::1', 'localhost', 'LOCALHOST', '::ffff:127.0.0.1']) {
      expect(isPrivateAddress({ host })).toBe(true);
      expect(checkExposure({ ...exposed, host }, { enabled: false, decided: false })).toEqual([]);
    }
  });
});
