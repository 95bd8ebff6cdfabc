import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { connect, createServer, Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import pino from 'pino';
import type { PasswordReset } from '../../src/auth/service';
import { makeBackup } from '../../src/operations/backup';
import { openControl, type Control } from '../../src/operations/control';
import { resetPasswordLive, stageLive } from '../../src/operations/control-client';
import { until } from '../until';
import { kithdbWith } from './command';
import { Served } from './served';
import { NO_TOKENS } from './no-tokens';

const PASSWORD = 'Correct-horse-7-staple';
const NEW_PASSWORD = 'Another-horse-8-staple';
const SILENT = pino({ level: 'silent' });

let folder: string;
let dataDir: string;
let control: Control | undefined;
let server: Served | undefined;
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'kithdb-control-')));
  dataDir = join(folder, 'data');
  mkdirSync(dataDir);
});
afterEach(async () => {
  await control?.close();
  await server?.kill();
  [control, server] = [undefined, undefined];
  rmSync(folder, { recursive: true });
});

/** What a server would do for a backup, over one file. */
const staging = {
  stage: () => {
    mkdirSync(join(dataDir, 'staging'));
    writeFileSync(join(dataDir, 'staging', 'file'), 'x');
    return Promise.resolve();
  },
  unstage: () => {
    rmSync(join(dataDir, 'staging'), { recursive: true });
    return Promise.resolve();
  },
  copyStore: () => Promise.resolve(true),
  quarantined: () => Promise.resolve([]),
};

async function open(silenceMs?: number, resetPassword?: () => Promise<PasswordReset>): Promise<void> {
  const services = {
    staging,
    readiness: () => 'ready',
    createAdmin: () => Promise.resolve(true),
    resetPassword: resetPassword ?? (() => Promise.resolve('done' as const)),
    rotateSecret: () => Promise.resolve(true),
    tokens: NO_TOKENS,
    noteBackup: () => Promise.resolve(),
  };
  control = await openControl(dataDir, services, SILENT, silenceMs);
}

const isStaged = (): boolean => existsSync(join(dataDir, 'staging'));

/** A connection that asks for a backup and then does nothing, as that of a stopped process. */
async function stopped(): Promise<{ socket: Socket; received: () => string }> {
  const socket = connect(join(dataDir, 'control.sock'));
  let text = '';
  socket.on('data', (piece: Buffer) => (text += piece.toString()));
  socket.write('{"kind":"backup"}\n');
  await until(() => text.includes('\n'));
  return { socket, received: () => text };
}

describe('the control socket', () => {
  it('is made in a folder that nobody else can enter, and has its mode before it is moved from there', async () => {
    const folders: (readonly [string, number])[] = [];
    const listen = jest.spyOn(Server.prototype, 'listen').mockImplementation(function (
      this: Server,
      ...args: unknown[]
    ) {
      const inside = dirname(String(args[0]));
      folders.push([inside, statSync(inside).mode & 0o777]);
      listen.mockRestore();
      return this.listen(...(args as [string, () => void]));
    });
    const umask = process.umask(0);
    try {
      await open();
    } finally {
      process.umask(umask);
    }
    expect(folders).toEqual([[join(dataDir, 'control.new'), 0o700]]);
    expect(statSync(join(dataDir, 'control.sock')).mode & 0o777).toBe(0o600);
    expect(statSync(join(dataDir, 'control')).mode & 0o777).toBe(0o600);
    expect(readdirSync(dataDir).sort()).toEqual(['control', 'control.sock']);
  });

  it('takes the place of what a killed server left, and leaves nothing itself', async () => {
    mkdirSync(join(dataDir, 'control.new'));
    writeFileSync(join(dataDir, 'control.new', 'control.sock'), '');
    writeFileSync(join(dataDir, 'control.sock'), '');
    await open();
    expect(await resetPasswordLive(dataDir, NEW_PASSWORD)).toBe('done');
    await control?.close();
    control = undefined;
    expect(readdirSync(dataDir)).toEqual([]);
  });

  it.each([
    ['by a short link to a folder with a long path', 'x'.repeat(120), 'link'],
    ['by a long link to a folder with a short path', 'real', 'l'.repeat(120)],
  ])('is reached %s, and past it', async (_, real, link) => {
    const [there, linked] = [join(folder, real), join(folder, link)];
    mkdirSync(there);
    symlinkSync(there, linked);
    for (const [served, asked] of [
      [linked, there],
      [there, linked],
    ] as const) {
      dataDir = served;
      await open();
      expect(await resetPasswordLive(asked, NEW_PASSWORD)).toBe('done');
      await control?.close();
      control = undefined;
      expect(readdirSync(there)).toEqual([]);
    }
  });

  it.each(['nonsense', '{}', '{"kind":"reset password"}', 'null', `{"kind":"${'x'.repeat(9000)}"}`])(
    'refuses the request %.40s',
    async (line) => {
      await open();
      const socket = connect(join(dataDir, 'control.sock'));
      socket.write(`${line}\n`);
      const [answer] = (await once(socket, 'data')) as [Buffer];
      expect(JSON.parse(answer.toString())).toEqual({ error: 'unknown request' });
      socket.destroy();
    },
  );
});

describe('C11.4 a backup that is stopped', () => {
  it('loses the files after a while, and is told why; the next one gets them', async () => {
    await open(300);
    const { socket, received } = await stopped();
    expect(isStaged()).toBe(true);
    await once(socket, 'close');
    expect(isStaged()).toBe(false);
    const [granted, refused] = received().trim().split('\n');
    expect(JSON.parse(granted!)).toMatchObject({ staged: 'staging', silenceMs: 300 });
    expect(JSON.parse(refused!)).toEqual({
      error:
        'the command of the backup has sent nothing for 0.3 s, so its files were removed: was it stopped? Start it again',
    });
    const next = await stageLive(dataDir);
    await next?.end();
    expect(isStaged()).toBe(false);
  });

  /** A server that lends a folder and does what a test says; no time passes in it. */
  async function lease(silenceMs: number, granted: (socket: Socket) => void): Promise<Server> {
    mkdirSync(join(dataDir, 'staging'));
    const { dev, ino } = statSync(join(dataDir, 'staging'), { bigint: true });
    const answer = {
      staged: 'staging',
      identity: `${dev}:${ino}`,
      silenceMs,
      hasStore: true,
      quarantined: [],
    };
    const lender = createServer((socket) => {
      socket.once('data', () => {
        socket.write(`${JSON.stringify(answer)}\n`);
        granted(socket);
      });
    });
    lender.listen(join(dataDir, 'control.sock'));
    await once(lender, 'listening');
    writeFileSync(join(dataDir, 'control'), '{"socket":"control.sock"}');
    return lender;
  }

  it('shows that it lives while it runs', async () => {
    let signs = 0;
    const lender = await lease(60, (socket) => {
      socket.on('data', (piece: Buffer) => (signs += piece.length));
    });
    const staged = await stageLive(dataDir);
    await until(() => signs >= 3);
    await staged?.end();
    lender.close();
  });

  it('reads a reason of which a character comes in two pieces', async () => {
    const reason = Buffer.from('{"error":"größer als der Vorrat"}\n');
    const cut = reason.indexOf('ö') + 1;
    const lender = await lease(60_000, (socket) => {
      // It arrives with the line before, and the rest later.
      socket.write(reason.subarray(0, cut));
      setTimeout(() => socket.end(reason.subarray(cut)), 100);
    });
    try {
      const staged = await stageLive(dataDir);
      await expect(staged?.lost).rejects.toThrow('The server has ended the backup: größer als der Vorrat');
    } finally {
      lender.close();
    }
  });

  it('fails with the reason of the server, however its copy fails', async () => {
    const lender = await lease(60_000, (socket) => {
      socket.end('{"error":"nothing was sent"}\n');
    });
    const staged = await stageLive(dataDir);
    const reason = 'The server has ended the backup: nothing was sent';
    await expect(staged?.lost).rejects.toThrow(reason);
    await expect(staged?.end()).rejects.toThrow(reason);
    const to = join(folder, 'backup');
    mkdirSync(join(dataDir, 'log'));
    const request = { dataDir, to, tokenStore: undefined };
    await expect(makeBackup(request)).rejects.toThrow(reason);
    lender.close();
  });
});

it('says on the control socket whether data endpoints are served, for the health check of the image', async () => {
  await open();
  const { socket } = JSON.parse(readFileSync(join(dataDir, 'control'), 'utf8'));
  const asking = connect(join(dataDir, socket));
  asking.write('{"kind":"health"}\n');
  const [answer] = (await once(asking, 'data')) as [Buffer];
  // `crates/health` compares these bytes.
  expect(answer.toString()).toBe('{"health":"ready"}\n');
  asking.destroy();
});

describe('C11.2, C11.4 kithdb admin create', () => {
  const create = (password = PASSWORD) =>
    kithdbWith({ KITHDB_ADMIN_PASSWORD: password }, 'admin', 'create', '--data-dir', dataDir);
  const created = { code: 0, out: 'The admin is created.\n', err: '' };

  it('creates the admin beside a running server, once', async () => {
    server = await Served.on(dataDir);
    expect(await create()).toEqual(created);
    await server.call('POST', '/auth/admin/login', { password: PASSWORD });
    expect(await create(NEW_PASSWORD)).toMatchObject({
      code: 1,
      err: 'kithdb: The server cannot create the admin: there is an admin already: kithdb admin reset-password gives it another password\n',
    });
    await server.call('POST', '/auth/admin/login', { password: PASSWORD });
  });

  it('creates it while no server runs, once', async () => {
    expect(await create()).toMatchObject({ code: 1, err: expect.stringMatching(/No server has run on/) });
    server = await Served.on(dataDir);
    await server.stop();
    expect(await create('short')).toMatchObject({ code: 1, err: expect.stringMatching(/12 characters/) });
    expect(await create()).toEqual(created);
    expect(await create(NEW_PASSWORD)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/There is an admin already/),
    });
    server = await Served.on(dataDir);
    await server.call('POST', '/auth/admin/login', { password: PASSWORD });
  });
});

describe('C3.3, C11.4 kithdb admin reset-password beside a running server', () => {
  const reset = (dir = dataDir) =>
    kithdbWith({ KITHDB_ADMIN_PASSWORD: NEW_PASSWORD }, 'admin', 'reset-password', '--data-dir', dir);

  it('replaces the password and ends every JWT at once, without a restart', async () => {
    server = await Served.on(dataDir);
    expect(await reset()).toMatchObject({
      code: 1,
      err: 'kithdb: The server cannot reset the password: there is no admin yet: kithdb admin create makes it\n',
    });
    await server.call('POST', '/auth/admin', { password: PASSWORD });
    const { token } = await server.call('POST', '/auth/admin/login', { password: PASSWORD });
    expect(await reset()).toEqual({
      code: 0,
      out: 'The admin password is reset; every login from before is invalid.\n',
      err: '',
    });
    await expect(server.call('POST', '/auth/admin/login', { password: PASSWORD })).rejects.toThrow(/401/);
    await server.call('POST', '/auth/admin/login', { password: NEW_PASSWORD });
    const answer = await fetch(`${server.url}/auth/enabled`, {
      method: 'PATCH',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: '{"enabled":true}',
    });
    expect(answer.status).toBe(401);
  });

  it('does not reach the server from which the directory was copied', async () => {
    const served = join(folder, 'l'.repeat(100));
    server = await Served.on(served);
    await server.call('POST', '/auth/admin', { password: PASSWORD });
    const { socket } = JSON.parse(readFileSync(join(served, 'control'), 'utf8'));
    expect(socket).toMatch(/^\//);
    rmSync(dataDir, { recursive: true });
    // The server replaces files meanwhile: a new one may be there when it is listed, and gone when it is read.
    cpSync(served, dataDir, { recursive: true, filter: (path) => !path.endsWith('.new') });
    expect(await resetPasswordLive(dataDir, NEW_PASSWORD)).toBeUndefined();
    await server.call('POST', '/auth/admin/login', { password: PASSWORD });
    expect((await reset()).code).toBe(0);
    await server.call('POST', '/auth/admin/login', { password: PASSWORD });
  });

  it('says what the server answered, and that it ended without an answer', async () => {
    await open(undefined, () => Promise.reject(Object.assign(new Error('full'), { code: 'ENOSPC' })));
    expect(await resetPasswordLive(dataDir, NEW_PASSWORD)).toMatch(
      /^the disk of the data directory .* is full/,
    );
    await control?.close();
    await open(undefined, async () => {
      await control?.close();
      control = undefined;
      return 'done';
    });
    expect(await resetPasswordLive(dataDir, NEW_PASSWORD)).toMatch(/ended before it answered/);
  });

  it('takes the longest password', async () => {
    const taken: string[] = [];
    const services = {
      staging,
      readiness: () => 'ready',
      createAdmin: () => Promise.resolve(true),
      resetPassword: (password: string) => {
        taken.push(password);
        return Promise.resolve('done' as const);
      },
      rotateSecret: () => Promise.resolve(true),
      tokens: NO_TOKENS,
      noteBackup: () => Promise.resolve(),
    };
    control = await openControl(dataDir, services, SILENT);
    const longest = `Aa1${'\u0001'.repeat(1021)}`;
    expect(await resetPasswordLive(dataDir, longest)).toBe('done');
    expect(await resetPasswordLive(dataDir, 'Ünï-cödé 7 pässwörd')).toBe('done');
    expect(taken).toEqual([longest, 'Ünï-cödé 7 pässwörd']);
  });
});
