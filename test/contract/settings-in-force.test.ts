import { startServer, type TemporaryServer } from '../../src/temporary-server';
import { send } from '../http/harness';

const PASSWORD = 'Correct-horse-7-staple';

interface Setting {
  readonly name: string;
  readonly value: unknown;
  readonly from: string | null;
}

describe('C9.5 the settings in force', () => {
  let server: TemporaryServer;
  let jwt: string;
  beforeAll(async () => {
    server = await startServer({
      settings: {
        KITHDB_AUTH_ENABLED: 'true',
        KITHDB_ADMIN_PASSWORD: PASSWORD,
        KITHDB_MAX_COLLECTIONS: '77',
        KITHDB_CORS_ORIGINS: 'https://a.example,https://b.example',
      },
    });
    jwt = (await send(server, 'POST', '/auth/admin/login', { json: { password: PASSWORD } })).body.token;
  });
  afterAll(() => server.stop());

  const ask = (token?: string) =>
    send(server, 'GET', '/settings', {
      ...(token !== undefined && { headers: { authorization: `Bearer ${token}` } }),
    });

  it('C9.5 are told to the admin, each with its origin, and secrets without their values', async () => {
    const { status, text, body } = await ask(jwt);
    expect(status).toBe(200);
    const { settings } = body.result as { settings: readonly Setting[] };
    const of = (name: string): unknown[] => {
      const found = settings.find((setting) => setting.name === name);
      return [found?.value, found?.from];
    };
    expect(of('max_collections')).toEqual([77, 'KITHDB_MAX_COLLECTIONS']);
    expect(of('port')).toEqual([0, '--port']);
    expect(of('cors_origins')).toEqual([['https://a.example', 'https://b.example'], 'KITHDB_CORS_ORIGINS']);
    expect(of('max_named_vectors')).toEqual([64, null]);
    expect(of('tls_cert')).toEqual([null, null]);
    expect(of('admin_password')).toEqual([null, 'KITHDB_ADMIN_PASSWORD']);
    expect(text).not.toContain(PASSWORD);
  });

  it('C9.5 are told to nobody else', async () => {
    expect((await ask()).status).toBe(401);
    const made = await send(server, 'POST', '/auth/access_token', {
      json: { name: 'all', permission: 'read,write,admin' },
      headers: { authorization: `Bearer ${jwt}` },
    });
    expect((await ask(made.body.token)).status).toBe(403);
  });
});
