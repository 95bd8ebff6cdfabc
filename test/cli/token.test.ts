import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import pino from 'pino';
import { openAuth } from '../../src/auth';
import { isWellFormedToken } from '../../src/auth/access-token';
import { loadConfig, readFlags } from '../../src/config';
import { fileKey, SETTING_KEYS } from '../../src/config/settings';
import { AUTH_CONFIG, PASSWORD, processAuth } from '../auth/auth-server';
import { ContractServer } from '../contract/contract-server';
import { kithdb, type Outcome, type Surroundings } from './console';

let folder: string;
let dataDir: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kithdb-token-'));
  dataDir = join(folder, 'data');
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

interface Token {
  readonly id: number;
  readonly name: string;
  readonly token?: string;
}

/** What every way to reach access tokens must do; `command` runs a verb with what it needs to be let in. */
async function lifeOfAToken(command: (...argv: string[]) => Promise<Outcome>): Promise<void> {
  const created = await command('create', '--name', 'app', '--permission', 'write, read', '--expires', '2h');
  expect([created.code, created.err]).toEqual([
    0,
    expect.stringMatching(
      /^Access token \d+ \(read,write, until [\d-]+T.*Z\)\. Its value is shown only this once:\n/,
    ),
  ]);
  // The value alone, for scripts.
  expect(isWellFormedToken(created.out.trimEnd())).toBe(true);
  const second = await command('create', '--name', 'other\u001b[31m', '--description', 'é', '--json');
  const other = JSON.parse(second.out) as Token;
  expect(other).toMatchObject({ permission: 'read,write', will_expire: false, description: 'é' });

  const list = JSON.parse((await command('list', '--json')).out) as readonly Token[];
  expect(list.map(({ name }) => name)).toEqual(['app', 'other\u001b[31m']);
  expect(list.every(({ token }) => token === undefined)).toBe(true);
  const table = (await command('list')).out;
  expect(table).toMatch(/^ID +NAME +PERMISSION +CREATED +EXPIRES +DESCRIPTION\n/);
  expect(table).toMatch(/^\d+ +other\\u001b\[31m +read,write +[\d-]+T\S+ +never +é$/m);

  const limits = ['--collections', 'docs:read, tenant-*', '--filter', '{"must":{"has_id":[7]}}'];
  const limited = JSON.parse(
    (await command('create', '--name', 'limited', ...limits, '--json')).out,
  ) as Token;
  expect(limited).toMatchObject({
    collections: [
      { name: 'docs', permission: 'read' },
      { prefix: 'tenant-', permission: 'read,write' },
    ],
    filter: { must: { has_id: [7] } },
  });
  expect((await command('list')).out).toMatch(/ LIMITS .* docs:read, tenant-\*:read\+write, filter\n/s);
  for (const [flags, why] of [
    [['--collections', 'a:b'], /collections\[0\]\.permission must be/],
    [['--collections', '*'], /--collections must be names such as/],
    [['--filter', '[1'], /--filter must be a JSON object/],
    [
      ['--filter', '{"must":{"key":"a","range":{"gt":1e999}}}'],
      /Infinity cannot be sent: must\.range\.gt\n$/,
    ],
    [['--filter', '{"must":{"has_ids":[1]}}'], /filter: .*has_ids/],
    [['--filter', '{"must":{"has_id":[1]}}', '--permission', 'admin'], /cannot have the permission admin/],
  ] as const) {
    expect(await command('create', '--name', 'x', ...flags)).toMatchObject({
      out: '',
      err: expect.stringMatching(why) as string,
    });
  }
  await command('delete', String(limited.id));

  const rotated = JSON.parse((await command('rotate', String(other.id), '--json')).out) as Token;
  expect(rotated).toMatchObject({ id: other.id, name: other.name });
  expect(rotated.token).not.toBe(other.token);
  expect(await command('delete', '--id', String(other.id))).toMatchObject({
    code: 0,
    out: `The access token ${other.id} is deleted.\n`,
  });
  for (const verb of ['rotate', 'delete']) {
    expect(await command(verb, String(other.id))).toEqual({
      code: 1,
      out: '',
      err: 'kithdb: Access token not found\n',
    });
  }
  expect(await command('create', '--name', 'x', '--permission', 'read,own')).toEqual({
    code: 1,
    out: '',
    err: expect.stringMatching(/permission must be a comma-separated list .*"own" is none of them/) as string,
  });
}

const token =
  (where: readonly string[], given: Surroundings = {}) =>
  (...argv: string[]): Promise<Outcome> =>
    kithdb(['token', ...argv, ...where], given);

describe('C11.4 kithdb token', () => {
  const auth = (config: object = {}) =>
    openAuth(
      { ...AUTH_CONFIG, dataDir, tokenStore: undefined, ...config },
      pino({ level: 'silent' }),
      processAuth(),
    );

  it('works on the store of a data directory that no server runs on', async () => {
    await (await auth({ adminPassword: PASSWORD, authEnabled: true })).close();
    await lifeOfAToken(token(['--data-dir', dataDir]));
    const { out } = await kithdb(['token', 'create', '--name', 'kept', '--data-dir', dataDir]);
    const service = await auth();
    expect(await service.identify(`Bearer ${out.trimEnd()}`, undefined)).toMatchObject({
      kind: 'access-token',
    });
    await service.close();
  });

  it('says that nobody is asked for a token while authentication is disabled', async () => {
    await (await auth()).close();
    expect((await kithdb(['token', 'create', '--name', 'x', '--data-dir', dataDir])).err).toMatch(
      /\nkithdb: authentication is disabled: everybody is served without a token until /,
    );
  });

  it('asks the server that runs on the directory, through its control socket', async () => {
    const server = await ContractServer.start([], {
      KITHDB_AUTH_ENABLED: 'true',
      KITHDB_ADMIN_PASSWORD: PASSWORD,
    });
    await lifeOfAToken(token(['--data-dir', server.dataDir]));
    await server.stop();
  });

  it('asks a server over HTTP, with the password of the admin or a token of the permission admin', async () => {
    const server = await ContractServer.start([], {
      KITHDB_AUTH_ENABLED: 'true',
      KITHDB_ADMIN_PASSWORD: PASSWORD,
    });
    const url = ['--url', `http://127.0.0.1:${server.port}`];
    await lifeOfAToken(token(url, { env: { KITHDB_ADMIN_PASSWORD: PASSWORD } }));
    const { out } = await token(url, { env: { KITHDB_ADMIN_PASSWORD: PASSWORD } })(
      'create',
      '--name',
      'root',
      '--permission',
      'admin',
    );
    const env = { KITHDB_TOKEN: out.trimEnd() };
    expect((await token(url, { env })('list')).code).toBe(0);
    // Typed on a terminal.
    const stdin = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => undefined });
    stdin.write(`${PASSWORD}\r`);
    const typed = await token(url, { stdin })('list');
    expect([typed.code, typed.err]).toEqual([0, 'Admin password: \n']);

    expect(await token(url)('list')).toMatchObject({
      code: 2,
      err: 'kithdb: --url needs a credential: KITHDB_TOKEN[_FILE], or KITHDB_ADMIN_PASSWORD[_FILE]\n',
    });
    expect(
      await token(url, { env: { KITHDB_ADMIN_PASSWORD: 'Wrong-horse-7-staple' } })('list'),
    ).toMatchObject({ code: 1 });
    expect(await token(url, { env: { KITHDB_TOKEN: 'wrong' } })('list')).toMatchObject({ code: 1 });
    await server.stop();
  });

  it('sends no password to another machine in the clear', async () => {
    const given = { env: { KITHDB_ADMIN_PASSWORD: PASSWORD } };
    expect(await token(['--url', 'http://db.example:6363'], given)('list')).toMatchObject({
      code: 2,
      err: expect.stringMatching(/The admin password is not sent to db\.example over http/) as string,
    });
  });

  it.each([
    [['create'], 2, /--name NAME is required/],
    [['create', '--name', 'x', '--expires', 'soon'], 2, /--expires must be a time such as 12h or 90d/],
    [
      ['create', '--name', 'x', '--expires', '5000d'],
      1,
      /expires_in_seconds must be a whole number|No server has run/,
    ],
    [
      ['create', '--name', 'x', '--description', 'y'.repeat(1025)],
      2,
      /--description has at most 1024 characters/,
    ],
    [['rotate', 'x'], 2, /--id must be the number of an access token, not x/],
    [['delete'], 2, /--id ID is required/],
    [['list'], 1, /No server has run on .* yet/],
    [['list', '--token-store', 'memory'], 1, /KITHDB_TOKEN_STORE=memory keeps no access tokens/],
    [['list', '--url', 'x'], 2, /--url must be a URL/],
  ])('%j is exit code %i', async (argv, code, message) => {
    expect(await token(['--data-dir', dataDir])(...argv)).toEqual({
      code,
      out: '',
      err: expect.stringMatching(message) as string,
    });
  });

  it('generates a value that a first start takes', async () => {
    const [one, other] = [await kithdb(['token', 'generate']), await kithdb(['token', 'generate'])];
    expect(one.out).not.toBe(other.out);
    expect(isWellFormedToken(one.out.trimEnd())).toBe(true);
    const env = { KITHDB_ACCESS_TOKEN: one.out.trimEnd() };
    expect(loadConfig({ commandLine: readFlags([]), env, terminal: false }).accessToken).toBe(
      one.out.trimEnd(),
    );
  });
});

describe('C11.2 kithdb init', () => {
  const init = (...flags: string[]): Promise<Outcome> =>
    kithdb(['init', '--to', folder, '--data-dir', dataDir, ...flags]);

  it('makes settings, a first token and a data directory, with which a server starts', async () => {
    const { code, out } = await init('--port', '7001');
    expect([code, out]).toEqual([0, expect.stringMatching(/kithdb serve --config .*kithdb\.yaml/)]);
    expect(out).toMatch(
      /systemd takes the settings too.*\n *compose and Kubernetes take the access token only\n$/,
    );
    const [settings, file] = [join(folder, 'kithdb.yaml'), join(folder, 'access-token')];
    expect([settings, file, dataDir].map((path) => statSync(path).mode & 0o777)).toEqual([
      0o600, 0o600, 0o700,
    ]);
    const value = readFileSync(file, 'utf8').trimEnd();
    expect(out).not.toContain(value);
    const config = loadConfig({ commandLine: readFlags(['--config', settings]), env: {}, terminal: false });
    expect(config).toMatchObject({ port: 7001, dataDir, accessToken: value, host: '127.0.0.1' });

    const text = readFileSync(settings, 'utf8');
    for (const key of SETTING_KEYS.filter((one) => one !== 'config')) {
      expect(text).toMatch(new RegExp(`^(?:# )?${fileKey(key)}(?:_file)?: \\S`, 'm'));
    }

    const server = await ContractServer.start([], { KITHDB_CONFIG: settings });
    const url = `http://127.0.0.1:${server.port}`;
    const listed = (env: Record<string, string>) => kithdb(['collections', '--url', url], { env });
    expect(await listed({ KITHDB_TOKEN_FILE: file })).toMatchObject({
      code: 0,
      out: 'There are no collections.\n',
    });
    expect(await listed({})).toMatchObject({ code: 1 });
    await server.stop();
  });

  it.each(['kithdb.yaml', 'access-token'])(
    'replaces nothing: with %s there it makes nothing',
    async (name) => {
      writeFileSync(join(folder, name), 'mine');
      expect(await init()).toEqual({
        code: 1,
        out: '',
        err: `kithdb: ${join(folder, name)} is there already, and nothing was made: --to names another folder\n`,
      });
      expect(readFileSync(join(folder, name), 'utf8')).toBe('mine');
      const others = ['kithdb.yaml', 'access-token', 'data'].filter((other) => other !== name);
      expect(others.filter((other) => existsSync(join(folder, other)))).toEqual([]);
    },
  );

  it('takes the root of a new volume, which has only lost+found', async () => {
    mkdirSync(join(dataDir, 'lost+found'), { recursive: true });
    expect((await init()).code).toBe(0);
    expect(readdirSync(dataDir)).toEqual(['lost+found']);
  });

  it('takes no directory with something in it, and none that a server could not use', async () => {
    mkdirSync(dataDir);
    writeFileSync(join(dataDir, 'BACKUP.json'), '');
    expect(await init()).toMatchObject({ code: 1, err: expect.stringMatching(/is a backup/) as string });
    rmSync(join(dataDir, 'BACKUP.json'));
    writeFileSync(join(dataDir, 'something'), '');
    expect(await init()).toMatchObject({
      code: 1,
      err: expect.stringMatching(/is not empty, and nothing was made/) as string,
    });
    expect(existsSync(join(folder, 'kithdb.yaml'))).toBe(false);
  });

  it('puts nothing beside the data', async () => {
    expect(await kithdb(['init', '--to', dataDir, '--data-dir', dataDir])).toMatchObject({ code: 2 });
    expect(existsSync(dataDir)).toBe(false);
  });

  it('makes no token with --without-token, which only a server for this machine may go without', async () => {
    expect(await init('--without-token', '--host', '0.0.0.0')).toMatchObject({ code: 2 });
    const { code, out } = await init('--without-token', '--json');
    expect([code, JSON.parse(out)]).toEqual([
      0,
      {
        settings: join(folder, 'kithdb.yaml'),
        access_token_file: null,
        data_dir: dataDir,
        url: 'http://127.0.0.1:6363',
      },
    ]);
    expect(existsSync(join(folder, 'access-token'))).toBe(false);
  });
});
