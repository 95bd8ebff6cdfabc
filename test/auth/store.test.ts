import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import {
  chmodSync,
  copyFileSync,
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
import { join, sep } from 'node:path';
import { isNoPosix, itUnless } from '../missing';
import { copyStoreAtRest } from '../../src/auth/store/copy';
import { DIGEST_FILE } from '../../src/auth/store/digest-file';
import {
  openStore,
  projectFolder,
  storeExists,
  storePath,
  StoreUnavailable,
  type StoreKind,
} from '../../src/auth/store/open';
import { StoreDamaged, StoreInUse, type NewToken, type TokenStore } from '../../src/auth/store/port';

const folders: string[] = [];
function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'kithdb-store-'));
  folders.push(folder);
  return folder;
}
afterAll(() => {
  for (const folder of folders) {
    rmSync(folder, { recursive: true, force: true });
  }
});

const newToken = (fields: Partial<NewToken> = {}): NewToken => ({
  name: 'a token',
  description: null,
  digest: randomBytes(32),
  permission: 'read',
  createdAt: 1000,
  expiresAt: null,
  ...fields,
});

const hasNodeSqlite = process.getBuiltinModule('node:sqlite') !== undefined;
const kinds: StoreKind[] = ['sqlite3', 'memory', ...(hasNodeSqlite ? (['node-sqlite'] as const) : [])];
const durableKinds = kinds.filter((kind) => kind !== 'memory');

describe.each(kinds)('the %s store', (kind) => {
  let store: TokenStore;
  beforeEach(async () => {
    store = await openStore(newFolder(), kind);
  });
  afterEach(async () => {
    await store.close();
  });

  it('says what it is', () => {
    expect(store.kind).toBe(kind);
  });

  it('has one admin or none', async () => {
    const first = { passwordHash: 'h1', generation: 'g1' };
    const second = { passwordHash: 'h2', generation: 'g2' };
    expect(await store.admin()).toBeUndefined();
    expect(await store.replaceAdmin(first)).toBe(false);
    expect(await store.admin()).toBeUndefined();
    expect(await store.createAdmin(first)).toBe(true);
    expect(await store.createAdmin(second)).toBe(false);
    expect(await store.admin()).toEqual(first);
    expect(await store.replaceAdmin(second)).toBe(true);
    expect(await store.admin()).toEqual(second);
  });

  it('makes one admin of many that are created at once', async () => {
    const results = await Promise.all(
      ['a', 'b', 'c', 'd'].map((name) => store.createAdmin({ passwordHash: name, generation: name })),
    );
    expect(results.filter(Boolean)).toHaveLength(1);
  });

  it('keeps settings by name, exactly', async () => {
    expect(await store.setting('jwt_secret')).toBeUndefined();
    const value = ' ü 😀\n';
    await store.storeSetting('jwt_secret', value);
    await store.storeSetting('auth_enabled', 'true');
    await store.storeSetting('auth_enabled', 'false');
    expect(await store.setting('jwt_secret')).toBe(value);
    expect(await store.setting('auth_enabled')).toBe('false');
  });

  it('lists tokens oldest first and finds them by id and by digest', async () => {
    const given = [newToken(), newToken({ description: 'd 😀', expiresAt: 5000, permission: 'read,admin' })];
    const [first, second] = [await store.createToken(given[0]!), await store.createToken(given[1]!)];
    const { digest, ...fields } = given[1]!;
    expect(second).toEqual({ id: second.id, ...fields });
    expect(second.id).toBeGreaterThan(first.id);
    expect(first.id).toBeGreaterThan(0);
    expect(await store.tokens()).toEqual([first, second]);
    expect(await store.token(second.id)).toEqual(second);
    expect(await store.tokenByDigest(digest)).toEqual(second);
    expect(await store.tokenByDigest(randomBytes(32))).toBeUndefined();
    expect(await store.token(second.id + 1)).toBeUndefined();
  });

  it('never gives an id twice', async () => {
    const { id } = await store.createToken(newToken());
    expect(await store.deleteToken(id)).toBe(true);
    expect(await store.deleteToken(id)).toBe(false);
    expect(await store.token(id)).toBeUndefined();
    expect((await store.createToken(newToken())).id).toBeGreaterThan(id);
  });

  it('replaces the digest of a token that lives, from one second to the next', async () => {
    const old = newToken({ expiresAt: 2000 });
    const { id } = await store.createToken(old);
    const renewed = randomBytes(32);
    expect(await store.replaceDigest(id, renewed, 1999)).toMatchObject({ id, expiresAt: 2000 });
    expect(await store.tokenByDigest(old.digest)).toBeUndefined();
    expect(await store.tokenByDigest(renewed)).toMatchObject({ id });
    expect(await store.replaceDigest(id, randomBytes(32), 2000)).toBeUndefined();
    expect(await store.tokenByDigest(renewed)).toMatchObject({ id });
    expect(await store.replaceDigest(id + 1, randomBytes(32), 0)).toBeUndefined();
  });
});

describe.each(durableKinds)('the file of the %s store', (kind) => {
  it('is opened on a disk that is full: nothing is written to a store that has its schema', async () => {
    const [from, to] = [newFolder(), newFolder()];
    const store = await openStore(from, kind);
    await store.storeSetting('jwt_secret', 'x'.repeat(40));
    // As a kill leaves them.
    const names = [storePath('.'), `${storePath('.')}-journal`, DIGEST_FILE];
    names.forEach((name) => {
      copyFileSync(join(from, name), join(to, name));
    });
    await store.close();
    const bytes = (): readonly Buffer[] => names.map((name) => readFileSync(join(to, name)));
    const before = bytes();
    const again = await openStore(to, kind);
    expect(await again.setting('jwt_secret')).toBe('x'.repeat(40));
    expect(bytes()).toEqual(before);
    await again.close();
  });

  it('keeps everything from one start to the next', async () => {
    const folder = newFolder();
    const first = await openStore(folder, kind);
    await first.createAdmin({ passwordHash: 'h', generation: 'g' });
    await first.storeSetting('auth_enabled', 'true');
    const token = newToken();
    const { id } = await first.createToken(token);
    await first.close();
    for (const again of durableKinds) {
      const store = await openStore(folder, again);
      expect(await store.admin()).toEqual({ passwordHash: 'h', generation: 'g' });
      expect(await store.setting('auth_enabled')).toBe('true');
      expect(await store.tokenByDigest(token.digest)).toMatchObject({ id });
      await store.close();
    }
  });

  it('belongs to its user alone, and so do its journal and its digest', async () => {
    const folder = join(newFolder(), 'a', 'b');
    const store = await openStore(folder, kind);
    await store.storeSetting('jwt_secret', 's');
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(statSync(storePath(folder)).mode & 0o777).toBe(0o600);
    expect(statSync(`${storePath(folder)}-journal`).mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, DIGEST_FILE)).mode & 0o777).toBe(0o600);
    await store.close();
    chmodSync(storePath(folder), 0o644);
    await (await openStore(folder, kind)).close();
    expect(statSync(storePath(folder)).mode & 0o777).toBe(0o600);
    expect(await storeExists(folder)).toBe(true);
    expect(await storeExists(newFolder())).toBe(false);
  });

  it('names the parts of its digest, by which a repair of another release finds what they count', async () => {
    const folder = newFolder();
    const store = await openStore(folder, kind);
    await store.storeSetting('jwt_secret', 's');
    await store.createAdmin({ passwordHash: 'h', generation: 'g' });
    const { id } = await store.createToken(newToken());
    await store.close();
    const [line] = readFileSync(join(folder, DIGEST_FILE), 'utf8').split('\n');
    const { parts } = JSON.parse(line!) as { parts: object };
    expect(Object.keys(parts).sort()).toEqual(['admin', 'settings', `tokens/${id}`]);
  });

  it('is used by one opener at a time, and free again after it', async () => {
    const folder = newFolder();
    const store = await openStore(folder, kind);
    await expect(openStore(folder, kind)).rejects.toThrow(StoreInUse);
    await store.createAdmin({ passwordHash: 'h', generation: 'g' });
    await store.close();
    await (await openStore(folder, kind)).close();
  });

  it('is locked by another process until that is killed, and then has all that it acknowledged', async () => {
    const folder = newFolder();
    const child = spawn(process.execPath, [join(__dirname, 'store-child.cjs'), folder, kind], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
    try {
      while (output.split('\n').length < 5) {
        await once(child.stdout, 'data');
      }
      for (const other of durableKinds) {
        await expect(openStore(folder, other)).rejects.toThrow(StoreInUse);
      }
    } finally {
      child.kill('SIGKILL');
      await once(child, 'close');
    }
    const acknowledged = Number(output.trim().split('\n').at(-1));
    const store = await openStore(folder, kind);
    expect(Number(await store.setting('jwt_secret'))).toBeGreaterThanOrEqual(acknowledged);
    await store.close();
  });

  it('refuses a file that a later release wrote', async () => {
    const folder = newFolder();
    const store = await openStore(folder, kind);
    await store.close();
    const path = storePath(folder);
    // The header has user_version at byte 60.
    const bytes = readFileSync(path);
    bytes.writeUInt32BE(99, 60);
    writeFileSync(path, bytes);
    // The digest says that it is damage; a later release writes its own version there.
    await expect(openStore(folder, kind)).rejects.toThrow(/unknown schema 99/);
    const line = readFileSync(join(folder, DIGEST_FILE), 'utf8')
      .split('\n')[0]!
      .replace('"schema":2', '"schema":4');
    const sum = createHash('sha256').update(line).digest('hex');
    writeFileSync(join(folder, DIGEST_FILE), `${line}\n${sum}\n`);
    await expect(openStore(folder, kind)).rejects.toThrow(/later release/);
    rmSync(join(folder, DIGEST_FILE));
    await expect(openStore(folder, kind)).rejects.toThrow(/later release/);
  });

  it('refuses a file that is no store', async () => {
    const folder = newFolder();
    writeFileSync(storePath(folder), 'this is a text and no database, long enough to be read as a header');
    await expect(openStore(folder, kind)).rejects.toThrow();
  });
});

describe('a data directory', () => {
  it('whose store is not used, because memory was asked for, causes a warning', async () => {
    const folder = newFolder();
    const warn = jest.fn();
    await (await openStore(folder, 'memory', { warn })).close();
    expect(warn).not.toHaveBeenCalled();
    await (await openStore(folder, durableKinds[0])).close();
    await (await openStore(folder, 'memory', { warn })).close();
    expect(warn).toHaveBeenCalledWith(
      expect.stringMatching(/^KITHDB_TOKEN_STORE=memory: the store .* is not used/),
    );
  });

  it('that has data and no store causes a warning: its former admin is unknown', async () => {
    const folder = newFolder();
    const warnings: string[] = [];
    const warn = (warning: string): number => warnings.push(warning);
    mkdirSync(join(folder, 'log'));
    await (await openStore(folder, undefined, { warn })).close();
    expect(warnings).toEqual([
      `There is data in ${folder}, and no auth.sqlite3: authentication begins as at a first start, without the admin and the tokens of before`,
    ]);
    await (await openStore(folder, undefined, { warn })).close();
    expect(warnings).toHaveLength(1);
  });

  it.each(durableKinds)('whose store is damaged is refused with the name of the file (%s)', async (kind) => {
    const folder = newFolder();
    writeFileSync(storePath(folder), Buffer.alloc(8192, 'no database'));
    await expect(openStore(folder, kind)).rejects.toThrow(StoreDamaged);
    await expect(openStore(folder, kind)).rejects.toThrow(`${storePath(folder)} is damaged (`);
  });

  it.each(durableKinds)(
    'that has data does not get a new store for one that lost everything (%s)',
    async (kind) => {
      const folder = newFolder();
      mkdirSync(join(folder, 'log'));
      writeFileSync(storePath(folder), '');
      await expect(openStore(folder, kind)).rejects.toThrow(`${storePath(folder)} is damaged (it is empty)`);
      await expect(copyStoreAtRest(folder, join(folder, 'copy'), kind)).rejects.toThrow(StoreDamaged);
      expect(statSync(storePath(folder)).size).toBe(0);
      // The header has user_version at byte 60.
      const other = newFolder();
      await (await openStore(other, kind)).close();
      const bytes = readFileSync(storePath(other));
      bytes.writeUInt32BE(0, 60);
      writeFileSync(storePath(folder), bytes);
      await expect(openStore(folder, kind)).rejects.toThrow('is damaged (it has no tables of KithDB)');
      await expect(copyStoreAtRest(folder, join(folder, 'copy'), kind)).rejects.toThrow(StoreDamaged);
      rmSync(storePath(folder));
      // Only programs may have opened it: nothing says that there was a store.
      expect(await copyStoreAtRest(folder, join(folder, 'copy'), kind)).toBe(false);
      expect(readdirSync(folder)).toEqual(['log']);
      expect(await copyStoreAtRest(folder, join(folder, 'copy'), 'memory')).toBe(false);
    },
  );

  it.each(durableKinds)('whose first start died before it had a store gets one (%s)', async (kind) => {
    const folder = newFolder();
    writeFileSync(storePath(folder), '');
    expect(await copyStoreAtRest(folder, join(folder, 'copy'), kind)).toBe(false);
    const store = await openStore(folder, kind);
    expect(await store.createAdmin({ passwordHash: 'h', generation: 'g' })).toBe(true);
    await store.close();
  });

  it.each(durableKinds)('leaves no copy of a store that cannot be read whole (%s)', async (kind) => {
    const folder = newFolder();
    const first = await openStore(folder, kind);
    for (let token = 0; token < 300; token += 1) {
      await first.createToken(newToken({ name: `${token} ${'n'.repeat(200)}` }));
    }
    await first.close();
    const found: StoreDamaged[] = [];
    const store = await openStore(folder, kind, { onFault: (fault) => found.push(fault) });
    await damageUnder(store, folder);
    await expect(store.copyTo(join(folder, 'copy'))).rejects.toThrow(StoreDamaged);
    expect(existsSync(join(folder, 'copy'))).toBe(false);
    // From then on it is closed to everything else, too.
    expect(found).toEqual([store.fault]);
    await expect(store.admin()).rejects.toBe(store.fault);
    await store.close();
  });
});

/** Damages tokens under an open store, which has to read them from the disk again. */
async function damageUnder(store: TokenStore, folder: string): Promise<void> {
  const { connection } = store as unknown as { connection: { script(sql: string): Promise<void> } };
  await connection.script('PRAGMA shrink_memory');
  const bytes = readFileSync(storePath(folder));
  bytes.fill(0xff, 5 * 4096, bytes.length);
  writeFileSync(storePath(folder), bytes, { flag: 'r+' });
}

const onPosix = itUnless(isNoPosix);

describe('the rights of a data directory', () => {
  onPosix.each([0o755, 0o750, 0o701])('are warned of when others have some: %o', async (mode) => {
    const folder = newFolder();
    chmodSync(folder, mode);
    const warnings: string[] = [];
    await (await openStore(folder, undefined, { warn: (warning) => warnings.push(warning) })).close();
    expect(warnings).toEqual([
      `The data directory ${folder} is open to other users of this machine (mode ${mode.toString(8)}); close it with: chmod 700 ${JSON.stringify(folder)}`,
    ]);
    expect(statSync(folder).mode & 0o777).toBe(mode);
  });

  it('cause no warning when only the owner has any, or when the directory is created', async () => {
    const warn = jest.fn();
    const folder = newFolder();
    await (await openStore(folder, undefined, { warn })).close();
    await (await openStore(join(folder, 'new'), undefined, { warn })).close();
    expect(warn).not.toHaveBeenCalled();
  });
});

describe('choosing a store', () => {
  it('takes a SQLite that loads, and memory only on request', async () => {
    const store = await openStore(newFolder());
    expect(['sqlite3', 'node-sqlite']).toContain(store.kind);
    await store.close();
  });

  it('says how to get one when none loads', async () => {
    const opening = hasNodeSqlite ? undefined : openStore(newFolder(), 'node-sqlite');
    if (opening !== undefined) {
      await expect(opening).rejects.toThrow(StoreUnavailable);
      await expect(opening).rejects.toThrow(/npm explore sqlite3 --prefix .* npx --no node-gyp rebuild/);
    }
    const inside = ['', 'srv', 'app', 'node_modules', 'kithdb'].join(sep);
    expect(projectFolder(inside)).toBe(['', 'srv', 'app'].join(sep));
    const checkout = ['', 'src', 'kithdb'].join(sep);
    expect(projectFolder(checkout)).toBe(['', 'src', 'kithdb'].join(sep));
  });
});
