import type { SqlConnection, SqlRow } from './connection';
import { adminRow, settingRow, tokenRow, type CountedRow } from './digest';
import { SECRET_SETTINGS, type StoredAdmin, type StoredToken } from './port';
import { DIGEST_SETTING } from './schema';

/** A row that the digest counts, as it was read. */
export type StoredRow = {
  /** Its digest, made of what was read. */
  readonly counted: CountedRow;
  /** Whether that is the one that stands in the row. */
  readonly verifies: boolean;
} & (
  | { readonly kind: 'admin'; readonly admin: StoredAdmin }
  | { readonly kind: 'setting'; readonly name: string; readonly value: string }
  | { readonly kind: 'token'; readonly token: StoredToken; readonly digest: Buffer }
);

export const ADMIN_COLUMNS = 'password_hash, generation';
/**
 * The columns of the token table in every schema. Later schemas also have `limits`, so rows are read by `*`.
 */
const TOKEN_COLUMNS = 'id, name, description, digest, permission, created_at, expires_at';
/** Tokens that are read at a time. */
const PAGE = 1000;

/** The admin of a row. */
export function adminOf(row: SqlRow): StoredAdmin {
  return { passwordHash: String(row['password_hash']), generation: String(row['generation']) };
}

/** The access token of a row. */
export function tokenOf(row: SqlRow): StoredToken {
  const { description, expires_at: expiresAt, limits } = row;
  return {
    id: Number(row['id']),
    name: String(row['name']),
    description: typeof description === 'string' ? description : null,
    permission: String(row['permission']),
    createdAt: Number(row['created_at']),
    expiresAt: expiresAt === null ? null : Number(expiresAt),
    ...(typeof limits === 'string' && { limits }),
  };
}

/** The bytes of a column; none where it holds something else. */
export function bytesOf(row: SqlRow, column: string): Buffer {
  const value = row[column];
  return value instanceof Uint8Array ? Buffer.from(value) : Buffer.alloc(0);
}

/** A row of `admin`, with `row_digest`. */
export function storedAdmin(row: SqlRow): StoredRow & { readonly kind: 'admin' } {
  const admin = adminOf(row);
  return { kind: 'admin', admin, ...verified(row, adminRow(admin)) };
}

/** A row of `setting`, with `row_digest`. */
export function storedSetting(row: SqlRow): StoredRow & { readonly kind: 'setting' } {
  const [name, value] = [String(row['name']), String(row['value'])];
  return { kind: 'setting', name, value, ...verified(row, settingRow(name, value)) };
}

/** A row of `access_token`, with `row_digest`. */
export function storedToken(row: SqlRow): StoredRow & { readonly kind: 'token' } {
  const [token, digest] = [tokenOf(row), bytesOf(row, 'digest')];
  return { kind: 'token', token, digest, ...verified(row, tokenRow(token, digest)) };
}

function verified(row: SqlRow, counted: CountedRow): Pick<StoredRow, 'counted' | 'verifies'> {
  return { counted, verifies: bytesOf(row, 'row_digest').equals(counted.digest) };
}

/** Whether a setting is one that the digest counts. */
export function isCounted(name: string): boolean {
  return name !== DIGEST_SETTING && !SECRET_SETTINGS.has(name);
}

/** The settings that the digest counts. */
export async function settingRows(connection: SqlConnection): Promise<readonly StoredRow[]> {
  const rows = await connection.rows('SELECT name, value, row_digest FROM setting ORDER BY name');
  return rows.filter(({ name }) => isCounted(String(name))).map(storedSetting);
}

/** The admin, where there is one. */
export async function adminRows(connection: SqlConnection): Promise<readonly StoredRow[]> {
  const rows = await connection.rows(`SELECT ${ADMIN_COLUMNS}, row_digest FROM admin`);
  return rows.map(storedAdmin);
}

/** The access tokens, a page at a time, in the order of their ids. */
export async function* tokenPages(
  connection: SqlConnection,
): AsyncGenerator<readonly (StoredRow & { readonly kind: 'token' })[]> {
  let last: number | undefined;
  for (;;) {
    // Not by an index: what counts is what stands in the table.
    const rows = await connection.rows(
      `SELECT * FROM access_token NOT INDEXED WHERE id > ? ORDER BY id LIMIT ${PAGE}`,
      [last ?? Number.MIN_SAFE_INTEGER],
    );
    yield rows.map(storedToken);
    last = Number(rows.at(-1)?.['id']);
    if (rows.length < PAGE) {
      return;
    }
  }
}

/** Every row that the digest counts. */
export async function* countedRows(connection: SqlConnection): AsyncGenerator<StoredRow> {
  yield* await settingRows(connection);
  yield* await adminRows(connection);
  for await (const page of tokenPages(connection)) {
    yield* page;
  }
}

/** The highest id that a token ever had. */
export async function lastTokenId(connection: SqlConnection): Promise<number> {
  const [row] = await connection.rows("SELECT seq FROM sqlite_sequence WHERE name = 'access_token'");
  return Number(row?.['seq'] ?? 0);
}

/** Sets the highest id that a token ever had, so that none is used again. */
export async function setLastTokenId(connection: SqlConnection, id: number): Promise<void> {
  await connection.rows("DELETE FROM sqlite_sequence WHERE name = 'access_token'");
  await connection.rows("INSERT INTO sqlite_sequence (name, seq) VALUES ('access_token', ?)", [id]);
}

/** The digest that the store keeps of itself, as text. */
export async function ownDigest(connection: SqlConnection): Promise<string | undefined> {
  const [row] = await connection.rows('SELECT value FROM setting WHERE name = ?', [DIGEST_SETTING]);
  return row && String(row['value']);
}

/** Inserts a row that the digest counts. */
export async function insertRow(connection: SqlConnection, row: StoredRow): Promise<void> {
  const { digest } = row.counted;
  switch (row.kind) {
    case 'admin':
      await connection.rows(`INSERT INTO admin (id, ${ADMIN_COLUMNS}, row_digest) VALUES (1, ?, ?, ?)`, [
        row.admin.passwordHash,
        row.admin.generation,
        digest,
      ]);
      break;
    case 'setting':
      await connection.rows('INSERT INTO setting (name, value, row_digest) VALUES (?, ?, ?)', [
        row.name,
        row.value,
        digest,
      ]);
      break;
    case 'token': {
      const { id, name, description, permission, createdAt, expiresAt, limits } = row.token;
      const values = [id, name, description, row.digest, permission, createdAt, expiresAt, digest];
      await (limits === undefined
        ? connection.rows(
            `INSERT INTO access_token (${TOKEN_COLUMNS}, row_digest) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
            values,
          )
        : connection.rows(
            `INSERT INTO access_token (${TOKEN_COLUMNS}, row_digest, limits) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
            [...values, limits],
          ));
    }
  }
}

/** Stores a text under a name. */
export async function putSetting(
  connection: SqlConnection,
  name: string,
  value: string,
  digest: Buffer | null,
): Promise<void> {
  await connection.rows(
    `INSERT INTO setting (name, value, row_digest) VALUES (?, ?, ?)
     ON CONFLICT (name) DO UPDATE SET value = excluded.value, row_digest = excluded.row_digest`,
    [name, value, digest],
  );
}
