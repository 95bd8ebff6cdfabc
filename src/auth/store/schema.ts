import type { SqlConnection } from './connection';

/** Kept in `user_version`: the version of a store without a token that has limits. */
export const SCHEMA_VERSION = 2;
/**
 * The version from the first token with limits on (C15), written in the change that makes it. Releases that know no limits
 * refuse it, and until then they can open the store. One with a higher version was written by a later release.
 */
export const LIMITS_SCHEMA_VERSION = 3;
/** The version without digests, whose changes SQLite kept in a log beside the file. */
export const FORMER_SCHEMA_VERSION = 1;

/** The name under which the store keeps its own digest, among the settings. */
export const DIGEST_SETTING = 'digest';

/**
 * Exclusive locking makes the open connection the lock of the store: no other process can use it, and the lock goes
 * with the process however that ends.
 */
export const LOCKING = `
  PRAGMA busy_timeout = 0;
  PRAGMA locking_mode = EXCLUSIVE;
`;

/**
 * A rollback journal and no log: SQLite drops the frames of a log from the first damaged one on, and so takes back
 * commits without a word, while a damaged rollback journal can only damage what a crash left unfinished. FULL makes a
 * commit durable before it is answered: the content before the file, and the end of the journal after it, which with
 * TRUNCATE is a sync of the journal itself, so that no power cut brings back a journal that undoes a commit.
 */
export const JOURNAL = `
  PRAGMA journal_mode = TRUNCATE;
  PRAGMA synchronous = FULL;
`;

/** Takes the lock, and writes nothing. */
export const LOCK = 'BEGIN EXCLUSIVE; COMMIT;';

/**
 * The tables of a new store. AUTOINCREMENT, so that the id of a deleted token never names another one. `row_digest` is
 * the SHA-256 of the rest of the row; the rows that the digest leaves out have none.
 */
export const SCHEMA = `
  CREATE TABLE IF NOT EXISTS admin (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    password_hash TEXT NOT NULL,
    generation TEXT NOT NULL,
    row_digest BLOB
  ) STRICT;
  CREATE TABLE IF NOT EXISTS setting (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL,
    row_digest BLOB
  ) STRICT;
  CREATE TABLE IF NOT EXISTS access_token (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    description TEXT,
    digest BLOB NOT NULL UNIQUE CHECK (length(digest) = 32),
    permission TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    row_digest BLOB
  ) STRICT;
  PRAGMA user_version = ${SCHEMA_VERSION};
`;

/** Makes the tables of the former schema those of this one. */
export const FROM_FORMER_SCHEMA = `
  ALTER TABLE admin ADD COLUMN row_digest BLOB;
  ALTER TABLE setting ADD COLUMN row_digest BLOB;
  ALTER TABLE access_token ADD COLUMN row_digest BLOB;
  PRAGMA user_version = ${SCHEMA_VERSION};
`;

/** Gives a store the column for the limits of access tokens, within a change. */
export const TO_LIMITS_SCHEMA = `
  ALTER TABLE access_token ADD COLUMN limits TEXT;
  PRAGMA user_version = ${LIMITS_SCHEMA_VERSION};
`;

/** The version of the schema of a file; 0 where it has none. */
export async function schemaVersion(connection: SqlConnection): Promise<number> {
  const [row] = await connection.rows('PRAGMA user_version');
  return Number(row?.['user_version'] ?? 0);
}

/** What is wrong with a file that is a database, and no store. */
export const NO_SCHEMA = 'it has no tables of KithDB';
