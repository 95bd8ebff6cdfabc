import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DIGEST_FILE } from '../../src/auth/store/digest-file';
import { openStore } from '../../src/auth/store/open';
import type { StoredAdmin, TokenStore } from '../../src/auth/store/port';
import { connectSqlite3 } from '../../src/auth/store/sqlite3';

/** Every how many-th call of the disk a change is killed at. */
export const KILL_STEP = Number(process.env['KITHDB_AUTH_KILL_STEP'] ?? 7);

/** The files of a store that hold something. */
export const STORE = 'auth.sqlite3';
export const JOURNAL = `${STORE}-journal`;
export const NAMES: readonly string[] = [STORE, JOURNAL, `${STORE}-wal`, DIGEST_FILE];

/** The files of a store at one moment, by name. */
export type Files = ReadonlyMap<string, Buffer>;

export const FORMER_ADMIN: StoredAdmin = { passwordHash: 'the former password', generation: 'a' };
export const ADMIN: StoredAdmin = { passwordHash: 'the password', generation: 'b' };

/** The SHA-256 that stands for a token. */
export function digest(name: string): Buffer {
  return createHash('sha256').update(name).digest();
}

/** The tokens that work at the end of the history, and those that worked once. */
export const LIVE = ['kept', 'rotated, after', 'reader 0', 'reader 1', 'reader 2', 'initial, after', 'last'];
export const REVOKED = ['deleted', 'rotated, before', 'expired and deleted', 'initial, before'];

async function create(store: TokenStore, name: string, expiresAt: number | null = null): Promise<number> {
  const fields = { name, description: null, permission: 'read,write', createdAt: 1000, expiresAt };
  return (await store.createToken({ ...fields, digest: digest(name) })).id;
}

function putInitial(store: TokenStore, value: string): Promise<unknown> {
  const fields = {
    name: 'initial',
    description: null,
    permission: 'read,write',
    createdAt: 1000,
    expiresAt: null,
  };
  return store.putInitialToken({ ...fields, digest: digest(value) });
}

async function idOf(store: TokenStore, name: string): Promise<number> {
  return (await store.tokenByDigest(digest(name)))!.id;
}

/** Each kind of change, on the store of {@link beginning}; the last makes it one that nobody may enter unasked. */
export const CHANGES: Readonly<Record<string, (store: TokenStore) => Promise<unknown>>> = {
  'an admin': (store) => store.createAdmin(FORMER_ADMIN),
  'a token': (store) => create(store, 'kept'),
  'a token to delete': (store) => create(store, 'deleted'),
  'a token to rotate': (store) => create(store, 'rotated, before'),
  'a token that expires': (store) => create(store, 'expired and deleted', 2000),
  enabling: (store) => store.storeSetting('auth_enabled', 'true'),
  'a reset': (store) => store.replaceAdmin(ADMIN),
  'a secret': (store) => store.storeSetting('jwt_secret', 'a secret'),
  'a rotation': async (store) =>
    store.replaceDigest(await idOf(store, 'rotated, before'), digest('rotated, after'), 1500),
  'a deletion': async (store) => store.deleteToken(await idOf(store, 'deleted')),
  'another deletion': async (store) => store.deleteToken(await idOf(store, 'expired and deleted')),
  'more tokens': async (store) => {
    for (const at of [0, 1, 2]) await create(store, `reader ${at}`);
  },
  'an initial token': (store) => putInitial(store, 'initial, before'),
  'its rotation': (store) => putInitial(store, 'initial, after'),
  'one more token': (store) => create(store, 'last'),
};

/** What a store holds, for comparisons. */
export async function contentOf(store: TokenStore): Promise<unknown> {
  const works = [];
  for (const name of [...LIVE, ...REVOKED]) {
    if ((await store.tokenByDigest(digest(name))) !== undefined) works.push(name);
  }
  return {
    enabled: await store.setting('auth_enabled'),
    initial: await store.initialToken(),
    admin: await store.admin(),
    tokens: await store.tokens(),
    works,
  };
}

export function filesOf(folder: string): Files {
  const there = NAMES.filter((name) => existsSync(join(folder, name)));
  return new Map(there.map((name) => [name, readFileSync(join(folder, name))]));
}

const folders: string[] = [];

/** A new folder, with files. */
export function folderWith(files: Files = new Map()): string {
  const folder = mkdtempSync(join(tmpdir(), 'kithdb-auth-'));
  folders.push(folder);
  for (const [name, bytes] of files) writeFileSync(join(folder, name), bytes);
  return folder;
}

/** The same folder, with other files. */
export function refill(folder: string, files: Files): void {
  for (const name of NAMES) rmSync(join(folder, name), { force: true });
  for (const [name, bytes] of files) writeFileSync(join(folder, name), bytes);
}

export function removeFolders(): void {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
}

/** Copies what a kill would leave at this moment into a new folder. */
export function killedNow(folder: string): string {
  const left = folderWith();
  for (const name of [...NAMES, `${DIGEST_FILE}.tmp`]) {
    if (existsSync(join(folder, name))) copyFileSync(join(folder, name), join(left, name));
  }
  return left;
}

/** The files after each change, from a new store to the one of which {@link LIVE} and {@link REVOKED} speak. */
export async function history(): Promise<readonly Files[]> {
  const folder = folderWith();
  const store = await openStore(folder, 'sqlite3');
  const after = [filesOf(folder)];
  for (const change of Object.values(CHANGES)) {
    await change(store);
    after.push(filesOf(folder));
  }
  await store.close();
  return after;
}

/** A store as an earlier release left it when it was killed: changes are in SQLite's log. */
export async function formerFiles(): Promise<Files> {
  const folder = folderWith();
  const connection = await connectSqlite3(join(folder, STORE));
  await connection.script(`
    PRAGMA journal_mode = WAL;
    CREATE TABLE admin (id INTEGER PRIMARY KEY CHECK (id = 1), password_hash TEXT NOT NULL, generation TEXT NOT NULL) STRICT;
    CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
    CREATE TABLE access_token (
      id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, description TEXT,
      digest BLOB NOT NULL UNIQUE CHECK (length(digest) = 32), permission TEXT NOT NULL,
      created_at INTEGER NOT NULL, expires_at INTEGER
    ) STRICT;
    PRAGMA user_version = 1;
    INSERT INTO admin VALUES (1, '${ADMIN.passwordHash}', '${ADMIN.generation}');
    INSERT INTO setting VALUES ('jwt_secret', 'a former secret'), ('auth_enabled', 'true');
  `);
  for (const name of ['deleted', ...LIVE]) {
    await connection.rows(
      "INSERT INTO access_token (name, digest, permission, created_at) VALUES (?, ?, 'read,write', 1000)",
      [name, digest(name)],
    );
  }
  await connection.script("DELETE FROM access_token WHERE name = 'deleted'");
  const files = filesOf(folder);
  await connection.close();
  return files;
}

/** Marks a folder as one whose data a server has served. */
export function serveData(folder: string): void {
  mkdirSync(join(folder, 'log'), { recursive: true });
}

/** A rollback journal that makes a store of the same length the older one again: SQLite applies it when it opens. */
export function rollbackJournal(older: Buffer, newer: Buffer): Buffer {
  const pageBytes = newer.readUInt16BE(16);
  const sectorBytes = 512;
  const nonce = 0x1234567;
  const records: Buffer[] = [];
  for (let at = 0; at * pageBytes < older.length; at += 1) {
    const page = older.subarray(at * pageBytes, (at + 1) * pageBytes);
    if (page.equals(newer.subarray(at * pageBytes, (at + 1) * pageBytes))) continue;
    // The checksum takes every 200th byte, from the end.
    let sum = nonce;
    for (let byte = pageBytes - 200; byte > 0; byte -= 200) sum = (sum + page[byte]!) >>> 0;
    const ends = Buffer.alloc(8);
    ends.writeUInt32BE(at + 1, 0);
    ends.writeUInt32BE(sum, 4);
    records.push(Buffer.concat([ends.subarray(0, 4), page, ends.subarray(4)]));
  }
  const header = Buffer.alloc(sectorBytes);
  Buffer.from('d9d505f920a163d7', 'hex').copy(header);
  const fields = [records.length, nonce, older.length / pageBytes, sectorBytes, pageBytes];
  fields.forEach((value, at) => header.writeUInt32BE(value, 8 + 4 * at));
  return Buffer.concat([header, ...records]);
}
