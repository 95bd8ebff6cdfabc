import { rm } from 'node:fs/promises';
import { makeEmptyFile, syncFile } from './file';
import {
  StoreDamaged,
  StoreInUse,
  type NewToken,
  type StoredAdmin,
  type StoredSetting,
  type StoredToken,
  type TokenStore,
} from './port';

/** A value that is bound to a statement. */
export type SqlValue = string | number | null | Buffer;

/** One SQLite connection, whichever library it comes from. */
export interface SqlConnection {
  readonly kind: 'sqlite3' | 'node-sqlite';
  /** Runs statements without parameters. */
  script(sql: string): Promise<void>;
  /** Runs one statement and gives its rows, those of `RETURNING` included. */
  rows(sql: string, values?: readonly SqlValue[]): Promise<readonly Record<string, unknown>[]>;
  close(): Promise<void>;
}

/** Kept in `user_version`; a store with a higher one was written by a later release. */
const SCHEMA_VERSION = 1;
const NO_SCHEMA = 'it has no tables of KithDB';

/**
 * Exclusive locking makes the open connection the lock of the store: no other process can use it, and the lock goes
 * with the process however that ends. FULL makes every commit durable in WAL mode too.
 */
const PRAGMAS = `
  PRAGMA busy_timeout = 0;
  PRAGMA locking_mode = EXCLUSIVE;
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA foreign_keys = ON;
`;

/** AUTOINCREMENT, so that the id of a deleted token never names another one. */
const SCHEMA = `
  BEGIN EXCLUSIVE;
  CREATE TABLE IF NOT EXISTS admin (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    password_hash TEXT NOT NULL,
    generation TEXT NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS setting (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
  ) STRICT;
  CREATE TABLE IF NOT EXISTS access_token (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    description TEXT,
    digest BLOB NOT NULL UNIQUE CHECK (length(digest) = 32),
    permission TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER
  ) STRICT;
  PRAGMA user_version = ${SCHEMA_VERSION};
  COMMIT;
`;

/** Takes the lock, and writes nothing. */
const LOCK = 'BEGIN EXCLUSIVE; COMMIT;';

const TOKEN_COLUMNS = 'id, name, description, permission, created_at, expires_at';

/** The store in a SQLite file. Both libraries write the same file. */
export class SqlStore implements TokenStore {
  private constructor(
    private readonly connection: SqlConnection,
    private readonly path: string,
  ) {}

  /**
   * Takes over an open connection: locks the file, and gives it its schema where it may be new.
   * @throws StoreInUse when another process has it open.
   * @throws StoreDamaged when it is no database, a damaged one, or one without the schema that is not new.
   */
  static async open(connection: SqlConnection, path: string, mayBeNew: boolean): Promise<SqlStore> {
    try {
      await connection.script(PRAGMAS);
      const [row] = await connection.rows('PRAGMA user_version');
      const version = Number(row?.['user_version'] ?? 0);
      if (version > SCHEMA_VERSION) {
        throw new Error(`${path} was written by a later release of KithDB (schema ${version})`);
      }
      if (version === 0 && !mayBeNew) {
        throw new StoreDamaged(path, NO_SCHEMA);
      }
      // A store that has its schema is not written: a server must start on a full disk.
      await connection.script(version === SCHEMA_VERSION ? LOCK : SCHEMA);
    } catch (error) {
      await connection.close().catch(() => undefined);
      throw isBusy(error) ? new StoreInUse(path) : withPath(error, path);
    }
    return new SqlStore(connection, path);
  }

  get kind(): SqlConnection['kind'] {
    return this.connection.kind;
  }

  async admin(): Promise<StoredAdmin | undefined> {
    const [row] = await this.connection.rows('SELECT password_hash, generation FROM admin');
    return row && { passwordHash: String(row['password_hash']), generation: String(row['generation']) };
  }

  async createAdmin(admin: StoredAdmin): Promise<boolean> {
    const rows = await this.connection.rows(
      'INSERT INTO admin (id, password_hash, generation) VALUES (1, ?, ?) ON CONFLICT DO NOTHING RETURNING id',
      [admin.passwordHash, admin.generation],
    );
    return rows.length === 1;
  }

  async replaceAdmin(admin: StoredAdmin): Promise<boolean> {
    const rows = await this.connection.rows(
      'UPDATE admin SET password_hash = ?, generation = ? WHERE id = 1 RETURNING id',
      [admin.passwordHash, admin.generation],
    );
    return rows.length === 1;
  }

  async setting(name: StoredSetting): Promise<string | undefined> {
    const [row] = await this.connection.rows('SELECT value FROM setting WHERE name = ?', [name]);
    return row && String(row['value']);
  }

  async storeSetting(name: StoredSetting, value: string): Promise<void> {
    await this.connection.rows(
      'INSERT INTO setting (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
      [name, value],
    );
  }

  async createToken(token: NewToken): Promise<StoredToken> {
    const { name, description, digest, permission, createdAt, expiresAt } = token;
    const [row] = await this.connection.rows(
      `INSERT INTO access_token (name, description, digest, permission, created_at, expires_at)
       VALUES (?, ?, ?, ?, ?, ?) RETURNING ${TOKEN_COLUMNS}`,
      [name, description, digest, permission, createdAt, expiresAt],
    );
    if (row === undefined) {
      throw new Error('the store returned no row for a new access token');
    }
    return tokenOf(row);
  }

  async tokens(): Promise<readonly StoredToken[]> {
    const rows = await this.connection.rows(`SELECT ${TOKEN_COLUMNS} FROM access_token ORDER BY id`);
    return rows.map(tokenOf);
  }

  async token(id: number): Promise<StoredToken | undefined> {
    const [row] = await this.connection.rows(`SELECT ${TOKEN_COLUMNS} FROM access_token WHERE id = ?`, [id]);
    return row && tokenOf(row);
  }

  async tokenByDigest(digest: Buffer): Promise<StoredToken | undefined> {
    const [row] = await this.connection.rows(`SELECT ${TOKEN_COLUMNS} FROM access_token WHERE digest = ?`, [
      digest,
    ]);
    return row && tokenOf(row);
  }

  async replaceDigest(id: number, digest: Buffer, now: number): Promise<StoredToken | undefined> {
    const [row] = await this.connection.rows(
      `UPDATE access_token SET digest = ? WHERE id = ? AND (expires_at IS NULL OR expires_at > ?)
       RETURNING ${TOKEN_COLUMNS}`,
      [digest, id, now],
    );
    return row && tokenOf(row);
  }

  async deleteToken(id: number): Promise<boolean> {
    const rows = await this.connection.rows('DELETE FROM access_token WHERE id = ? RETURNING id', [id]);
    return rows.length === 1;
  }

  async copyTo(path: string): Promise<boolean> {
    await makeEmptyFile(path);
    try {
      await this.connection.rows('VACUUM INTO ?', [path]);
    } catch (error) {
      await rm(path, { force: true });
      throw withPath(error, this.path);
    }
    await syncFile(path);
    return true;
  }

  close(): Promise<void> {
    return this.connection.close();
  }
}

function tokenOf(row: Record<string, unknown>): StoredToken {
  const { description, expires_at: expiresAt } = row;
  return {
    id: Number(row['id']),
    name: String(row['name']),
    description: typeof description === 'string' ? description : null,
    permission: String(row['permission']),
    createdAt: Number(row['created_at']),
    expiresAt: expiresAt === null ? null : Number(expiresAt),
  };
}

/**
 * What SQLite finds wrong with the file of a connection; nothing when the store is sound.
 * @throws errors that are not about the file: no memory, or no room for SQLite's own files.
 */
export async function problemsOf(connection: SqlConnection): Promise<readonly string[]> {
  try {
    const rows = await connection.rows('PRAGMA integrity_check(20)');
    const found = rows.map((row) => String(row['integrity_check']));
    if (found.length !== 1 || found[0] !== 'ok') {
      return found;
    }
    const [row] = await connection.rows('PRAGMA user_version');
    return Number(row?.['user_version'] ?? 0) === 0 ? [NO_SCHEMA] : [];
  } catch (error) {
    if (SURROUNDINGS.has(primaryCode(error))) {
      throw error;
    }
    return [(error as Error).message];
  }
}

/** SQLITE_PERM, _NOMEM, _READONLY, _IOERR, _FULL and _CANTOPEN: errors of the system, not of the file's content. */
const SURROUNDINGS: ReadonlySet<number | undefined> = new Set([3, 7, 8, 10, 13, 14]);

/** The plain code of an error of SQLite, in either library: extended ones have it in their last byte. */
function primaryCode(error: unknown): number | undefined {
  const { errcode, errno } = error as { readonly errcode?: number; readonly errno?: number };
  const code = errcode ?? errno;
  return code === undefined || code < 0 ? undefined : code & 0xff;
}

/** SQLITE_CORRUPT and SQLITE_NOTADB, as either library reports them. */
const DAMAGED: ReadonlySet<unknown> = new Set(['SQLITE_CORRUPT', 'SQLITE_NOTADB', 11, 26]);

/** The error with the name of the file, where the file is damaged. */
function withPath(error: unknown, path: string): unknown {
  const { code, errcode, message } = error as { code?: string; errcode?: number; message: string };
  // Extended codes of SQLite have the plain one in their last byte.
  const isDamaged = DAMAGED.has(code) || (errcode !== undefined && DAMAGED.has(errcode & 0xff));
  return isDamaged ? new StoreDamaged(path, message) : error;
}

/** SQLITE_BUSY, as either library reports it. */
function isBusy(error: unknown): boolean {
  const { code, errcode, message } = error as { code?: string; errcode?: number; message?: string };
  return code === 'SQLITE_BUSY' || errcode === 5 || message === 'database is locked';
}
