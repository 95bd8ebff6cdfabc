import { cpSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { mkdirSync, mkdtempSync, renameSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { StoreDamaged } from '../../src/auth';
import { openControl } from '../../src/operations/control';
import { isSampled } from '../sample';
import { kithdb, kithdbHere, type Ended } from './command';
import { NO_TOKENS } from './no-tokens';
import { pointOf, Served } from './served';

let folder: string;
let dataDir: string;
let servers: Served[];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kithdb-backup-'));
  dataDir = join(folder, 'data');
  servers = [];
});
afterEach(async () => {
  await Promise.all(servers.map((server) => server.kill()));
  rmSync(folder, { recursive: true });
});

async function serve(dir = dataDir, start = Served.here): Promise<Served> {
  const server = await start(dir);
  servers.push(server);
  return server;
}

async function ok(...argv: string[]): Promise<string> {
  return succeeded(await kithdbHere(...argv));
}

/** What a command printed that must have succeeded. */
function succeeded({ code, out, err }: Ended): string {
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return out;
}

function dataFiles(dir: string): string[] {
  return (readdirSync(dir, { recursive: true }) as string[]).filter((path) => path.endsWith('.data'));
}

/** Another byte where there was one. */
function damage(path: string): void {
  const bytes = readFileSync(path);
  bytes[bytes.length >> 1]! ^= 1;
  writeFileSync(path, bytes);
}

describe('C11.4 backup and restore', () => {
  it('copies a server under load: all that was acknowledged before, each collection at one operation', async () => {
    // Here all are processes of their own, as in a backup of a real server.
    const server = await serve(dataDir, Served.on);
    await server.create('steady');
    await server.create('busy');
    await server.upsert('steady', 0, 500);
    await server.call('POST', '/auth/admin', { password: 'Correct-horse-7-staple' });
    let acknowledged = 0;
    const load = { running: true };
    const loading = (async () => {
      // Each request rewrites the same hundred points: a backup in the middle of one would mix generations.
      for (let generation = 1; load.running; generation += 1) {
        await server.upsert('busy', 0, 100, generation);
        acknowledged = generation;
      }
    })();
    while (acknowledged < 20) await new Promise((resolve) => setTimeout(resolve, 5));
    const atLeast = acknowledged;
    succeeded(await kithdb('backup', '--data-dir', dataDir, '--to', join(folder, 'b1')));
    load.running = false;
    await loading;
    expect(readdirSync(dataDir)).not.toContain('staging');
    const restored = join(folder, 'restored');
    succeeded(await kithdb('restore', '--from', join(folder, 'b1'), '--data-dir', restored));
    const check = await kithdb('check', '--data-dir', restored);
    expect(succeeded(check)).toMatch(/^sound: 2 collections/m);
    const copy = await serve(restored);
    expect(await copy.points('steady')).toEqual(Array.from({ length: 500 }, (_, id) => pointOf(id, 0)));
    const busy = await copy.points('busy');
    const generation = busy[0]!.payload.n;
    expect(generation).toBeGreaterThanOrEqual(atLeast);
    expect(busy).toEqual(Array.from({ length: 100 }, (_, id) => pointOf(id, generation)));
    expect(await copy.call('GET', '/auth/admin/exists')).toBe(true);
    const login = await copy.call('POST', '/auth/admin/login', { password: 'Correct-horse-7-staple' });
    expect(login.message).toBe('Login successful');
  });

  it('links to an earlier backup what has not changed, and both are whole', async () => {
    const first = await serve();
    await first.create('old');
    await first.upsert('old', 0, 300);
    await first.stop();
    servers = [];
    const [b1, b2] = [join(folder, 'b1'), join(folder, 'b2')];
    await ok('backup', '--data-dir', dataDir, '--to', b1);
    const second = await serve();
    await second.create('new');
    await second.upsert('new', 0, 50);
    const outcome = JSON.parse(await ok('backup', '--data-dir', dataDir, '--to', b2, '--base', b1, '--json'));
    expect(outcome).toMatchObject({ live: true, quarantined: [] });
    expect(outcome.linked).toBeGreaterThan(0);
    const [data] = dataFiles(b1);
    expect(statSync(join(b1, data!)).ino).toBe(statSync(join(b2, data!)).ino);
    // Nothing is shared with the directory that is served: its decay must not reach the backup.
    expect(statSync(join(b1, data!)).nlink).toBe(2);
    rmSync(b1, { recursive: true });
    const restored = join(folder, 'restored');
    await ok('restore', '--from', b2, '--data-dir', restored);
    const copy = await serve(restored);
    expect(await copy.points('old')).toHaveLength(300);
    expect(await copy.points('new')).toHaveLength(50);
  });

  it('says that what it copied is damaged already, with an exit code of its own', async () => {
    const server = await serve();
    await server.create('c');
    await server.upsert('c', 0, 300);
    await server.stop();
    servers = [];
    const [data] = dataFiles(dataDir);
    damage(join(dataDir, data!));
    const [b1, b2] = [join(folder, 'b1'), join(folder, 'b2')];
    const { code, err } = await kithdbHere('backup', '--data-dir', dataDir, '--to', b1);
    expect({ code, err }).toEqual({
      code: 3,
      err: expect.stringMatching(
        /^kithdb: collections\/0*1\/\w+\.data is damaged in the data directory, and so in the backup: .*\nkithdb: keep earlier backups/,
      ),
    });
    const result = await kithdbHere('backup', '--data-dir', dataDir, '--to', b2, '--json');
    expect(result.code).toBe(3);
    expect(JSON.parse(result.out)).toMatchObject({
      damaged: [{ file: data, missing: false, what: expect.stringMatching(/do not have their checksum/) }],
    });
    // It is still a backup of everything else.
    await ok('restore', '--from', b1, '--data-dir', join(folder, 'restored'));
  });

  describe('of a store of authentication that is damaged', () => {
    const warning =
      /^kithdb: auth\.sqlite3 is damaged in the data directory, and not in the backup: .*auth\.sqlite3 is damaged \(.*\): .* restore this file .*\nkithdb: keep earlier backups/;

    beforeEach(async () => {
      const server = await serve();
      await server.create('c');
      await server.upsert('c', 0, 300);
      await server.stop();
      servers = [];
    });

    async function backedUpWithoutIt(): Promise<void> {
      const backup = join(folder, 'b');
      const { code, err } = await kithdbHere('backup', '--data-dir', dataDir, '--to', backup);
      expect({ code, err }).toEqual({ code: 3, err: expect.stringMatching(warning) });
      const restored = join(folder, 'restored');
      // C11.4: a server of it would serve everybody.
      expect(await kithdbHere('restore', '--from', backup, '--data-dir', restored)).toMatchObject({
        code: 1,
        err: expect.stringMatching(
          /has no store of authentication, and nothing was restored.*--without-auth/,
        ),
      });
      expect(readdirSync(folder)).not.toContain('restored');
      expect(await ok('restore', '--from', backup, '--data-dir', restored, '--without-auth')).toMatch(
        /begins as at a first start/,
      );
      const copy = await serve(restored);
      expect(await copy.points('c')).toHaveLength(300);
      expect(await copy.call('GET', '/auth/admin/exists')).toBe(false);
    }

    it('at rest: everything else is saved', async () => {
      writeFileSync(join(dataDir, 'auth.sqlite3'), Buffer.alloc(8192, 'no database'));
      await backedUpWithoutIt();
    });

    it.each([
      ['empty', /auth\.sqlite3 is damaged \(it is empty\): .* restore this file/],
      [
        'missing',
        /auth\.sqlite3 is damaged \(it is missing or empty, .* generation 1 of it\): .* admin repair/,
      ],
    ])('that is %s: everything else is saved, and no other store is made', async (how, what) => {
      const [path, to] = [join(dataDir, 'auth.sqlite3'), join(folder, 'b')];
      rmSync(path);
      if (how === 'empty') writeFileSync(path, '');
      expect(await kithdbHere('backup', '--data-dir', dataDir, '--to', to)).toMatchObject({
        code: 3,
        err: expect.stringMatching(what),
      });
      const left = (): readonly string[] =>
        readdirSync(dataDir).filter((name) => /^auth\.(?!.*-)/.test(name));
      const before = left();
      expect(before).toEqual(how === 'empty' ? ['auth.digest', 'auth.sqlite3'] : ['auth.digest']);
      await ok('restore', '--from', to, '--data-dir', join(folder, 'restored'), '--without-auth');
      // A store without an admin would open the server to everybody.
      expect(await kithdbHere('admin', 'reset-password', '--data-dir', dataDir)).toMatchObject({ code: 1 });
      expect(left()).toEqual(before);
    });

    it('of a running server: everything else is saved', async () => {
      const staging = join(dataDir, 'staging');
      const granted = {
        stage: () => {
          for (const name of ['catalog', 'collections', 'log']) {
            cpSync(join(dataDir, name), join(staging, name), { recursive: true });
          }
          return Promise.resolve();
        },
        unstage: () => {
          rmSync(staging, { recursive: true });
          return Promise.resolve();
        },
        copyStore: () => Promise.reject(new StoreDamaged(join(dataDir, 'auth.sqlite3'), 'SQLITE_CORRUPT')),
        quarantined: () => Promise.resolve([]),
      };
      const services = {
        staging: granted,
        readiness: () => 'ready',
        createAdmin: () => Promise.resolve(true),
        resetPassword: () => Promise.resolve('no admin' as const),
        rotateSecret: () => Promise.resolve(false),
        tokens: NO_TOKENS,
        noteBackup: () => Promise.resolve(),
      };
      const control = await openControl(dataDir, services, pino({ level: 'silent' }));
      await backedUpWithoutIt();
      await control.close();
    });
  });

  it.each([
    ['at rest', false],
    ['of a running server', true],
  ])('names the segment of the log that is damaged, also the last one: %s', async (_, live) => {
    const server = await serve();
    await server.create('c');
    for (let at = 0; at < 20; at += 1) {
      await server.upsert('c', at * 10, at * 10 + 10);
    }
    if (!live) {
      await server.stop();
      servers = [];
    }
    const segments = readdirSync(join(dataDir, 'log')).filter((name) => name.endsWith('.log'));
    const file = `log/${segments.sort().at(-1)!}`;
    const bytes = readFileSync(join(dataDir, file));
    bytes[4000]! ^= 1;
    // In place: the server goes on with this file.
    writeFileSync(join(dataDir, file), bytes, { flag: 'r+' });
    const [backup, restored] = [join(folder, 'b'), join(folder, 'restored')];
    const result = await kithdbHere('backup', '--data-dir', dataDir, '--to', backup, '--json');
    expect({ code: result.code, ...JSON.parse(result.out) }).toMatchObject({
      code: 3,
      live,
      damaged: [{ file, what: expect.stringMatching(/record/) }],
    });
    await ok('restore', '--from', backup, '--data-dir', restored);
    const { code, out } = await kithdbHere('check', '--data-dir', restored);
    // A clean stop has made checkpoints of it.
    expect({ code, out }).toEqual({ code: live ? 1 : 0, out: expect.stringContaining(file) });
  });

  describe.each([
    ['at rest', false],
    ['of a running server', true],
  ])('%s', (_, live) => {
    let template: string;
    let cutLog: string;
    beforeAll(async () => {
      template = mkdtempSync(join(tmpdir(), 'kithdb-cut-log-'));
      cutLog = join(template, 'data');
      const server = await Served.on(cutLog);
      for (const name of ['c', 'd']) {
        await server.create(name);
        await server.upsert(name, 0, 300);
      }
      await server.kill();
      // A start after a kill begins a new segment of the log, and cuts the old one.
      await (await Served.here(cutLog)).stop();
    });
    afterAll(() => {
      rmSync(template, { recursive: true });
    });

    /** A directory with a log that was cut, and collections c and d: a copy of what was made once. */
    async function prepared(): Promise<void> {
      cpSync(cutLog, dataDir, { recursive: true });
      servers = live ? [await Served.here(dataDir)] : [];
    }

    async function restoredWhole(): Promise<void> {
      const [backup, restored] = [join(folder, 'b'), join(folder, 'restored')];
      const outcome = JSON.parse(await ok('backup', '--data-dir', dataDir, '--to', backup, '--json'));
      expect(outcome).toMatchObject({ live, damaged: [], quarantined: [] });
      await ok('restore', '--from', backup, '--data-dir', restored);
      const copy = await serve(restored);
      for (const name of ['c', 'd']) {
        expect(await copy.points(name)).toEqual(Array.from({ length: 300 }, (_, id) => pointOf(id, 0)));
      }
    }

    const twice = [
      ['removed', ['catalog/CATALOG', 'log/cut']],
      ['damaged', ['collections/CATALOG', 'catalog/cut']],
      ['damaged', ['catalog/CATALOG', 'log/cut']],
      ['removed', ['collections/CATALOG', 'catalog/cut']],
    ] as const;
    it.each(twice.filter((_case, at) => isSampled((at >> 1) + Number(live), 2)))(
      'has what the other of two files says where one is %s: %s',
      async (how, files) => {
        await prepared();
        for (const file of files) {
          if (how === 'removed') rmSync(join(dataDir, file));
          else damage(join(dataDir, file));
        }
        await restoredWhole();
      },
    );

    it('follows links to the folder of a collection and to a file, as a start does', async () => {
      await prepared();
      const elsewhere = join(folder, 'elsewhere');
      mkdirSync(elsewhere);
      const [one, two] = ['1', '2'].map((id) => join(dataDir, 'collections', id.padStart(16, '0')));
      renameSync(one!, join(elsewhere, 'one'));
      symlinkSync(join(elsewhere, 'one'), one!);
      const [name] = dataFiles(two!);
      renameSync(join(two!, name!), join(elsewhere, 'file'));
      symlinkSync('../../../elsewhere/file', join(two!, name!));
      await restoredWhole();
    });
  });

  it('names a collection that is listed and has nothing any more', async () => {
    const server = await serve(dataDir, Served.on);
    for (const name of ['c', 'empty']) await server.create(name);
    await server.upsert('c', 0, 300);
    await server.kill();
    // The log is cut behind the creations: otherwise it has all of them.
    await (await serve()).stop();
    servers = [];
    await ok('backup', '--data-dir', dataDir, '--to', join(folder, 'whole'));
    rmSync(join(dataDir, 'collections', '0000000000000002'), { recursive: true });
    const result = await kithdbHere('backup', '--data-dir', dataDir, '--to', join(folder, 'b'), '--json');
    expect(result.code).toBe(3);
    expect(JSON.parse(result.out).damaged).toEqual([
      { file: 'collections/0000000000000002', what: 'the file MANIFEST is missing', missing: false },
    ]);
  });

  it('names the file that keeps a running server from lease its files', async () => {
    const server = await serve();
    await server.create('c');
    await server.upsert('c', 0, 300);
    await server.stop();
    servers = [];
    await serve();
    const [data] = dataFiles(dataDir);
    renameSync(join(dataDir, data!), join(folder, 'aside'));
    mkdirSync(join(dataDir, data!));
    expect(await kithdbHere('backup', '--data-dir', dataDir, '--to', join(folder, 'b'))).toMatchObject({
      code: 1,
      err: expect.stringMatching(
        new RegExp(`The server cannot make a backup: copy ${data!}: .*move it away, and put the file there`),
      ),
    });
  });

  it('leaves out the space that is kept back, which a server keeps again', async () => {
    const server = await serve();
    await server.create('c');
    await server.upsert('c', 0, 3000);
    const reserves = (dir: string): readonly string[] =>
      readdirSync(dir).filter((name) => name.startsWith('reserve'));
    const kept = async (dir: string): Promise<void> => {
      while (reserves(dir).length < 2) await new Promise((resolve) => setTimeout(resolve, 20));
    };
    await kept(dataDir);
    await server.stop();
    servers = [];
    const [backup, restored] = [join(folder, 'b'), join(folder, 'restored')];
    await ok('backup', '--data-dir', dataDir, '--to', backup);
    expect(readdirSync(join(backup, 'data')).sort()).toEqual([
      'auth.digest',
      'auth.sqlite3',
      'catalog',
      'collections',
      'log',
    ]);
    await ok('restore', '--from', backup, '--data-dir', restored);
    expect(await kithdbHere('repair', '--data-dir', restored)).toMatchObject({ out: 'Nothing to repair.\n' });
    const copy = await serve(restored);
    await copy.upsert('c', 3000, 6000);
    await kept(restored);
    expect(await copy.points('c')).toHaveLength(6000);
  });

  it('does not link to a file of the base that has decayed', async () => {
    const server = await serve();
    await server.create('c');
    await server.upsert('c', 0, 300);
    await server.stop();
    servers = [];
    const [b1, b2] = [join(folder, 'b1'), join(folder, 'b2')];
    await ok('backup', '--data-dir', dataDir, '--to', b1);
    const [data] = dataFiles(b1);
    damage(join(b1, data!));
    await ok('backup', '--data-dir', dataDir, '--to', b2, '--base', b1);
    await ok('restore', '--from', b2, '--data-dir', join(folder, 'restored'));
  });

  it('restores nothing from a backup that is damaged, incomplete or not one, and nothing over data', async () => {
    const server = await serve();
    await server.create('c');
    await server.upsert('c', 0, 10);
    const backup = join(folder, 'b');
    await ok('backup', '--data-dir', dataDir, '--to', backup);
    const target = join(folder, 'restored');
    const refused = async (message: RegExp, ...argv: string[]): Promise<void> => {
      expect(await kithdbHere(...argv)).toMatchObject({
        code: 1,
        out: '',
        err: expect.stringMatching(message),
      });
    };
    await refused(/is not empty/, 'restore', '--from', backup, '--data-dir', dataDir);
    await refused(/is not an empty folder/, 'backup', '--data-dir', dataDir, '--to', backup);
    await refused(/must not lie in one another/, 'backup', '--data-dir', dataDir, '--to', join(dataDir, 'b'));
    await refused(
      /must not lie in one another/,
      'restore',
      '--from',
      backup,
      '--data-dir',
      join(backup, 'data', 'new'),
    );
    expect(readdirSync(join(backup, 'data'))).not.toContain('new');
    await refused(/no finished backup/, 'restore', '--from', folder, '--data-dir', target);
    const [log] = readdirSync(join(backup, 'data', 'log')).filter((name) => name.endsWith('.log'));
    damage(join(backup, 'data', 'log', log!));
    await refused(
      /does not have its checksum.*nothing was restored/,
      'restore',
      '--from',
      backup,
      '--data-dir',
      target,
    );
    const manifest = join(backup, 'BACKUP.json');
    writeFileSync(manifest, readFileSync(manifest, 'utf8').replace('log/', '../x/'));
    await refused(/BACKUP.json is damaged/, 'restore', '--from', backup, '--data-dir', target);
    expect(readdirSync(folder)).not.toContain('restored');
    expect(await kithdbHere('backup', '--data-dir', dataDir)).toMatchObject({
      code: 2,
      err: expect.stringMatching(/--to FOLDER/),
    });
  });

  it('takes an unfinished restore for no data directory', async () => {
    mkdirSync(join(dataDir, 'log'), { recursive: true });
    writeFileSync(join(dataDir, 'RESTORING'), '');
    for (const argv of [['serve', '--port', '0'], ['check'], ['backup', '--to', join(folder, 'b')]]) {
      const { code, err } = await kithdb(...argv, '--data-dir', dataDir);
      expect(code).toBeGreaterThan(0);
      expect(err).toMatch(/did not come to its end/);
    }
    expect(readdirSync(dataDir)).not.toContain('auth.sqlite3');
  });

  it.each(['short', 'l'.repeat(100)])(
    'takes the files of a directory that was copied from one in use, and not those of the latter (%s)',
    async (name) => {
      const original = join(folder, name);
      const server = await serve(original);
      await server.create('c');
      await server.upsert('c', 0, 300);
      cpSync(original, dataDir, { recursive: true, filter: (path) => !path.endsWith('.sock') });
      await server.upsert('c', 300, 400);
      const backup = join(folder, 'b');
      const outcome = JSON.parse(await ok('backup', '--data-dir', dataDir, '--to', backup, '--json'));
      expect(outcome).toMatchObject({ live: false });
      await ok('restore', '--from', backup, '--data-dir', join(folder, 'restored'));
      const copy = await serve(join(folder, 'restored'));
      expect(await copy.points('c')).toHaveLength(300);
      expect(readdirSync(original)).not.toContain('staging');
    },
  );

  it('a backup whose process dies leaves the server nothing to keep', async () => {
    const server = await serve();
    await server.create('c');
    await server.upsert('c', 0, 10);
    const { connect } = await import('node:net');
    const { socket } = JSON.parse(readFileSync(join(dataDir, 'control'), 'utf8'));
    const first = connect(join(dataDir, socket));
    first.write('{"kind":"backup"}\n');
    const answer = JSON.parse(
      await new Promise((resolve) =>
        first.once('data', (piece) => {
          resolve(String(piece));
        }),
      ),
    );
    const { dev, ino } = statSync(join(dataDir, 'staging'), { bigint: true });
    expect(answer).toEqual({
      staged: 'staging',
      identity: `${dev}:${ino}`,
      silenceMs: 60_000,
      hasStore: true,
      quarantined: [],
    });
    expect(await kithdbHere('backup', '--data-dir', dataDir, '--to', join(folder, 'b'))).toMatchObject({
      code: 1,
      err: expect.stringMatching(/another backup of this server is running/),
    });
    first.destroy();
    while (readdirSync(dataDir).includes('staging')) await new Promise((resolve) => setTimeout(resolve, 5));
    rmSync(join(folder, 'b'), { recursive: true });
    await ok('backup', '--data-dir', dataDir, '--to', join(folder, 'b'));
  });
});
