import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ServerChild } from '../crash/server-child';
import { until } from '../until';
import { kithdb, kithdbHere, kithdbHereWith } from './command';
import { call, enabled, expectClosed, guarded, guardedChild, login, stopped, type Guarded } from './guarded';

let folder: string;
let dataDir: string;
let store: string;
let server: Guarded | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kithdb-closed-'));
  dataDir = join(folder, 'data');
  store = join(dataDir, 'auth.sqlite3');
});
afterEach(async () => {
  await server?.stop();
  server = undefined;
  await ServerChild.killAll();
  rmSync(folder, { recursive: true });
});

/** Starts a server, and gives its address when it is ready, or closed. */
async function serve(env: NodeJS.ProcessEnv = {}, on = dataDir): Promise<string> {
  server = await guarded(on, { env });
  return server.url;
}

/** Stops it, and gives what it printed and logged. */
async function stop(): Promise<string> {
  const ending = server!;
  server = undefined;
  await stopped(ending);
  return ending.output;
}

describe('C3.8 a server whose store of authentication is damaged', () => {
  it('is closed until it is repaired, whatever is damaged', async () => {
    const { jwt, live, revoked } = await enabled(dataDir);
    const sound = readFileSync(store);
    const damages: readonly (readonly [RegExp, boolean, typeof kithdb, () => void])[] = [
      [
        /the setting auth_enabled is not what was written/,
        true,
        kithdbHere,
        () => {
          const bytes = Buffer.from(sound);
          bytes[bytes.lastIndexOf('true')]! ^= 1;
          writeFileSync(store, bytes);
        },
      ],
      [
        /there is no such file/,
        false,
        // This one is closed, saved and repaired by processes of their own.
        kithdb,
        () => {
          rmSync(store);
        },
      ],
    ];
    for (const [what, isKept, command, damage] of damages) {
      damage();
      server = await (command === kithdb ? guardedChild : guarded)(dataDir);
      const { url } = server;
      expect(server.output).toMatch(/is closed: .*kithdb check.*kithdb admin repair/);
      // The log is written behind what is printed.
      await until(() => /kithdb admin repair.*authentication is closed/.test(server!.output));
      await expectClosed(url, [jwt, live, revoked]);
      // The collections can be saved nevertheless.
      const backup = await command(
        'backup',
        '--data-dir',
        dataDir,
        '--to',
        join(folder, `b${String(what)}`.replaceAll('/', '')),
      );
      expect(backup).toMatchObject({ code: 3, err: expect.stringMatching(/auth\.sqlite3 is damaged/) });
      expect(await command('admin', 'repair', '--data-dir', dataDir)).toMatchObject({ code: 1 });
      await stop();
      const check = await command('check', '--data-dir', dataDir);
      expect(check).toMatchObject({ code: 1, out: expect.stringMatching(what) });
      const repair = await command('admin', 'repair', '--data-dir', dataDir);
      expect(repair).toMatchObject({ code: 0, out: expect.stringMatching(/Authentication is enabled\./) });
      expect((await command('check', '--data-dir', dataDir)).code).toBe(0);
      expect((await command('admin', 'repair', '--data-dir', dataDir)).out).toBe('Nothing to repair.\n');
      expect(readdirSync(join(dataDir, 'salvage')).length).toBeGreaterThan(0);

      const again = await serve();
      for (const [token, status] of [
        [live, isKept ? 200 : 401],
        [revoked, 401],
        [jwt, 401],
        [undefined, 401],
      ] as const) {
        expect((await call(again, 'GET', '/collections', undefined, token)).status).toBe(status);
      }
      await stop();
    }
  });
});

describe('C3.5 the JWT secret', () => {
  it('is in no backup, and a restored directory makes one of its own', async () => {
    const { jwt } = await enabled(dataDir);
    for (const live of [false, true]) {
      const [backup, restored] = [join(folder, `b${String(live)}`), join(folder, `r${String(live)}`)];
      if (live) await serve();
      expect((await kithdbHere('backup', '--data-dir', dataDir, '--to', backup)).code).toBe(0);
      if (live) await stop();
      expect((await kithdbHere('restore', '--from', backup, '--data-dir', restored)).code).toBe(0);
      expect(readFileSync(join(backup, 'data', 'auth.sqlite3')).includes('jwt_secret')).toBe(false);
      const url = await serve({}, restored);
      expect((await call(url, 'GET', '/auth/access_tokens', undefined, jwt)).status).toBe(401);
      expect((await call(url, 'GET', '/auth/access_tokens', undefined, await login(url))).status).toBe(200);
      await stop();
    }
    const url = await serve();
    expect((await call(url, 'GET', '/auth/access_tokens', undefined, jwt)).status).toBe(200);
  });

  it('is rotated while no server runs, and where no setting has it', async () => {
    const { jwt } = await enabled(dataDir);
    const rotate = ['admin', 'rotate-secret', '--data-dir', dataDir];
    for (const name of ['KITHDB_JWT_SECRET', 'SERVICE_JWT_SECRET']) {
      const refused = await kithdbHereWith({ [name]: 'x'.repeat(40) }, ...rotate);
      expect(refused).toMatchObject({ code: 1, err: expect.stringMatching(new RegExp(`setting .*${name}`)) });
    }
    expect(await kithdbHere(...rotate)).toEqual({
      code: 0,
      out: 'The JWT secret is replaced; every login from before is invalid.\n',
      err: '',
    });
    const url = await serve();
    expect((await call(url, 'GET', '/auth/access_tokens', undefined, jwt)).status).toBe(401);
    expect((await call(url, 'GET', '/auth/access_tokens', undefined, await login(url))).status).toBe(200);
  });

  it('is rotated beside a running server, which refuses every JWT from before at once', async () => {
    const { jwt } = await enabled(dataDir);
    const rotate = ['admin', 'rotate-secret', '--data-dir', dataDir];
    const status = async (url: string, token: string) =>
      (await call(url, 'GET', '/auth/access_tokens', undefined, token)).status;
    const running = await serve();
    expect(await status(running, jwt)).toBe(200);
    expect(await kithdbHere(...rotate)).toEqual({
      code: 0,
      out: 'The JWT secret is replaced; every login from before is invalid.\n',
      err: '',
    });
    expect(await status(running, jwt)).toBe(401);
    const later = await login(running);
    expect(await status(running, later)).toBe(200);
    await stop();
    const again = await serve();
    expect([await status(again, jwt), await status(again, later)]).toEqual([401, 200]);
    await stop();

    await serve({ KITHDB_JWT_SECRET: 's'.repeat(40) });
    expect(await kithdbHere(...rotate)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/server cannot replace .* comes from a setting/),
    });
    await stop();
  });

  it('of a setting is used though it was replaced, with a warning', async () => {
    await enabled(dataDir);
    const warning = 'JWT secret of the settings is one that was replaced';
    const [first, second] = ['f'.repeat(40), 's'.repeat(40)];
    for (const [secret, warns] of [
      [first, false],
      [first, false],
      [second, false],
      [first, true],
    ] as const) {
      await serve({ KITHDB_JWT_SECRET: secret });
      expect([secret, (await stop()).includes(warning)]).toEqual([secret, warns]);
    }
    expect((await kithdbHere('admin', 'rotate-secret', '--data-dir', dataDir)).code).toBe(0);
    await serve({ KITHDB_JWT_SECRET: first });
    expect(await stop()).toContain(warning);
  });
});
