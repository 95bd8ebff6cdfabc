import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isNoRoot, itUnless, whyNoTmpfs } from '../missing';
import { kithdb, kithdbAsNobody, kithdbHere, kithdbWith } from './command';
import { Served } from './served';

let folder: string;
let dataDir: string;
let backup: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kithdb-refusals-'));
  dataDir = join(folder, 'data');
  backup = join(folder, 'backup');
  const server = await Served.on(dataDir);
  await server.create('c');
  await server.upsert('c', 0, 3000);
  await server.stop();
  expect((await kithdb('backup', '--data-dir', dataDir, '--to', backup)).code).toBe(0);
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

const asRoot = itUnless(isNoRoot);
const withTmpfs = itUnless(whyNoTmpfs());

/** A file system of that many KiB. */
function smallDisk(name: string, kib: number): string {
  const path = join(folder, name);
  mkdirSync(path);
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${kib}k`, 'kithdb-test', path], { stdio: 'pipe' });
  return path;
}

describe('C11.4 what commands say when they cannot', () => {
  asRoot('names the folder and the cause to a user without access to it', async () => {
    chmodSync(folder, 0o755);
    for (const argv of [
      ['check', '--data-dir', dataDir],
      ['repair', '--data-dir', dataDir],
      ['backup', '--data-dir', dataDir, '--to', join(folder, 'b')],
    ]) {
      const { code, err } = await kithdbAsNobody(...argv);
      expect(code).toBe(argv[0] === 'check' ? 2 : 1);
      expect(err).toMatch(
        /^kithdb: .*\/data: this user has no right to it: run the command as the user of the server \(EACCES\)\n$/,
      );
    }
    const open = join(folder, 'open');
    cpSync(backup, open, { recursive: true });
    execFileSync('chmod', ['-R', 'a+rX', open]);
    const { code, err } = await kithdbAsNobody('restore', '--from', open, '--data-dir', join(folder, 'new'));
    expect({ code, err }).toEqual({
      code: 1,
      err: expect.stringMatching(/^kithdb: Nothing was restored: .*\/new: this user has no right to it.*\n$/),
    });
  });

  asRoot('calls files that this user may not read neither damaged nor a broken disk', async () => {
    const there = join(folder, 'of-nobody');
    execFileSync('chmod', ['711', folder]);
    cpSync(dataDir, there, { recursive: true });
    execFileSync('chown', ['-R', '65534:65534', there]);
    const manifest = 'collections/0000000000000001/MANIFEST';
    execFileSync('chown', ['root', join(there, manifest), join(there, 'auth.sqlite3')]);
    const { code, out } = await kithdbAsNobody('check', '--data-dir', there);
    expect(code).toBe(1);
    for (const file of [manifest, 'auth.sqlite3']) {
      expect(out).toMatch(new RegExp(`${file}.*this user has no right to it.*its owner and its mode`));
    }
    expect(out).not.toMatch(/disk|restore|lost/);
    const { err } = await kithdbAsNobody('repair', '--data-dir', there);
    expect(err).toMatch(/nothing was changed.*MANIFEST.*no right to it: change its owner or its mode/);
    expect(err).not.toMatch(/disk|ddrescue/);
    rmSync(join(there, manifest));
    mkdirSync(join(there, manifest));
    expect((await kithdb('check', '--data-dir', there)).out).toMatch(
      /MANIFEST.*a folder stands in its place/,
    );
    expect((await kithdb('repair', '--data-dir', there)).err).toMatch(
      /a folder stands in the place of the file/,
    );
  });

  withTmpfs(
    'says that the disk of the target is full, and leaves nothing that passes for a backup or a data directory',
    async () => {
      const disk = smallDisk('disk', 300);
      try {
        const to = join(disk, 'b');
        expect(await kithdb('backup', '--data-dir', dataDir, '--to', to)).toEqual({
          code: 1,
          out: '',
          err: expect.stringMatching(
            /^kithdb: There is no backup in .*: .*: its disk is full \(ENOSPC\)\. .*\/b holds a part of it and is no backup: remove it before you try again\n$/,
          ),
        });
        expect(existsSync(join(to, 'BACKUP.json'))).toBe(false);
        rmSync(to, { recursive: true });
        const target = join(disk, 'data');
        expect(await kithdb('restore', '--from', backup, '--data-dir', target)).toEqual({
          code: 1,
          out: '',
          err: expect.stringMatching(
            /^kithdb: Nothing was restored: .*: its disk is full \(ENOSPC\)\. Empty .* and restore again/,
          ),
        });
        expect((await kithdb('check', '--data-dir', target)).err).toMatch(/did not come to its end/);
      } finally {
        execFileSync('umount', [disk]);
      }
    },
  );

  withTmpfs('says which disk has no room for the copy of the store that a check reads', async () => {
    const disk = smallDisk('temporary', 8);
    try {
      const { code, out } = await kithdbWith({ TMPDIR: disk }, 'check', '--data-dir', dataDir);
      expect(code).toBe(2);
      expect(out).toMatch(
        /^unknown: auth\.sqlite3: .* cannot be made \(the disk of .*\/temporary is full\): let TMPDIR name a folder with room for it\./,
      );
    } finally {
      execFileSync('umount', [disk]);
    }
  });

  withTmpfs('reads a read-only data directory, as it was when its server was killed', async () => {
    const disk = smallDisk('read-only', 300_000);
    try {
      const there = join(disk, 'data');
      cpSync(dataDir, there, { recursive: true });
      const server = await Served.on(there);
      await server.upsert('c', 3000, 3100);
      await server.call('POST', '/auth/admin', { password: 'Correct-horse-7-staple' });
      await server.kill();
      execFileSync('mount', ['-o', 'remount,ro', disk]);
      expect((await kithdb('check', '--data-dir', there)).out).toMatch(/^sound: 1 collection/m);
      expect(await kithdb('repair', '--dry-run', '--data-dir', there)).toMatchObject({ code: 0, err: '' });
      const to = join(folder, 'of-read-only');
      expect(await kithdb('backup', '--data-dir', there, '--to', to)).toMatchObject({ code: 0, err: '' });
      const restored = join(folder, 'restored');
      expect((await kithdb('restore', '--from', to, '--data-dir', restored)).code).toBe(0);
      const copy = await Served.on(restored);
      expect(await copy.points('c')).toHaveLength(3100);
      expect(await copy.call('GET', '/auth/admin/exists')).toBe(true);
      await copy.kill();
      const start = await kithdb('serve', '--port', '0', '--data-dir', there);
      expect(start).toMatchObject({ code: 1, err: expect.stringMatching(/its file system is read-only/) });
    } finally {
      execFileSync('umount', [disk]);
    }
  });

  it('makes nothing in a data directory that was taken for a place for backups', async () => {
    const before = readdirSync(dataDir);
    expect(await kithdb('backup', '--data-dir', dataDir, '--to', join(dataDir, 'a', 'b'))).toMatchObject({
      code: 1,
      err: expect.stringMatching(/must not lie in one another/),
    });
    expect(readdirSync(dataDir)).toEqual(before);
  });

  it('serves no backup, and changes nothing in it', async () => {
    const before = readdirSync(backup);
    const password = join(folder, 'password');
    writeFileSync(password, 'Correct-horse-7-staple', { mode: 0o600 });
    for (const argv of [
      ['serve', '--port', '0'],
      ['admin', 'reset-password', '--admin-password-file', password],
    ]) {
      expect(await kithdb(...argv, '--data-dir', backup)).toEqual({
        code: 1,
        out: '',
        err: expect.stringMatching(
          /^kithdb: .*\/backup is a backup and no data directory: `kithdb restore` makes one of it\n$/,
        ),
      });
    }
    expect(readdirSync(backup)).toEqual(before);
  });

  it('says that a link leads nowhere where a folder is to be made', async () => {
    const lnk = join(folder, 'lnk');
    symlinkSync(join(folder, 'gone'), lnk);
    for (const argv of [
      ['backup', '--data-dir', dataDir, '--to', lnk],
      ['restore', '--from', backup, '--data-dir', lnk],
      ['serve', '--port', '0', '--data-dir', lnk],
    ]) {
      const { code, err } = await kithdb(...argv);
      expect({ code, err }).toEqual({
        code: 1,
        err: expect.stringMatching(
          /^kithdb: .*: .*\/lnk: a link that leads to no folder stands in its place/m,
        ),
      });
      expect(err).not.toMatch(/EEXIST/);
    }
  });

  it('makes one backup of several into one folder, and the others do not touch it', async () => {
    for (const live of [false, true]) {
      const to = join(folder, `shared-${String(live)}`);
      const server = live ? await Served.on(dataDir) : undefined;
      const ends = await Promise.all(
        [1, 2, 3].map(() => kithdb('backup', '--data-dir', dataDir, '--to', to)),
      );
      await server?.stop();
      const others = ends.filter(({ code }) => code !== 0);
      expect(others).toHaveLength(2);
      for (const { code, err } of others) {
        expect({ code, err }).toEqual({
          code: 1,
          err: expect.stringMatching(
            /shared-\w+ is not an empty folder: a backup goes into a new or empty one\n$/,
          ),
        });
      }
      const restored = join(folder, `of-shared-${String(live)}`);
      expect((await kithdb('restore', '--from', to, '--data-dir', restored)).code).toBe(0);
    }
  });

  it('backup and restore take the root of a new volume, which has only lost+found', async () => {
    const [volume, other] = [join(folder, 'volume'), join(folder, 'other')];
    for (const root of [volume, other]) mkdirSync(join(root, 'lost+found'), { recursive: true });
    const made = await kithdbHere('backup', '--data-dir', dataDir, '--to', volume);
    expect(made).toMatchObject({ code: 0, err: '' });
    const restored = await kithdbHere('restore', '--from', volume, '--data-dir', other);
    expect(restored).toMatchObject({ code: 0, err: '' });
    expect(existsSync(join(other, 'lost+found'))).toBe(true);
    const again = await kithdbHere('restore', '--from', volume, '--data-dir', other);
    expect(again).toMatchObject({ code: 1, err: expect.stringMatching(/is not empty/) });
    expect((await kithdbHere('check', '--data-dir', other)).code).toBe(0);
  });

  it('ends where no folder can be made, and where there is a file in the way', async () => {
    if (process.platform === 'linux') {
      expect(await kithdb('backup', '--data-dir', dataDir, '--to', '/proc/kithdb')).toMatchObject({
        code: 1,
        err: expect.stringMatching(/There is no backup in \/proc\/kithdb/),
      });
      // Node's own way to make folders never ends there.
      expect(await kithdb('serve', '--port', '0', '--data-dir', '/proc/kithdb/data')).toMatchObject({
        code: 1,
        err: expect.stringMatching(/\/proc\/kithdb/),
      });
    }
    const file = join(folder, 'file');
    writeFileSync(file, '');
    expect(await kithdb('serve', '--port', '0', '--data-dir', join(file, 'data'))).toMatchObject({
      code: 1,
      err: expect.stringMatching(/file\/data/),
    });
    expect(await kithdb('restore', '--from', backup, '--data-dir', file)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/file is no folder/),
    });
    expect(await kithdb('backup', '--data-dir', file, '--to', join(folder, 'b'))).toMatchObject({ code: 1 });
    expect(await kithdb('backup', '--data-dir', join(folder, 'no'), '--to', join(folder, 'b'))).toMatchObject(
      {
        code: 1,
        err: expect.stringMatching(/no cannot be backed up: there is no such folder: is --data-dir right/),
      },
    );
    expect(existsSync(join(folder, 'b'))).toBe(false);
  });
});
