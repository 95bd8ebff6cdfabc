import { rm } from 'node:fs/promises';
import { openConnection, type SqlConnection, type SqlKind } from './connection';
import { DigestBuilder, settingRow, type StoreDigest } from './digest';
import { makeEmptyFile, syncFile } from './file';
import { parseAuthState, type AuthState } from './port';
import {
  countedRows,
  insertRow,
  lastTokenId,
  putSetting,
  setLastTokenId,
  settingRows,
  type StoredRow,
} from './rows';
import {
  DIGEST_SETTING,
  FROM_FORMER_SCHEMA,
  LIMITS_SCHEMA_VERSION,
  SCHEMA,
  SCHEMA_VERSION,
  TO_LIMITS_SCHEMA,
} from './schema';

/** The setting that says whether authentication is enabled, as a row. */
export function authStateRow(value: AuthState): StoredRow {
  return newSettingRow('auth_enabled', value);
}

/** A setting that the digest counts, as a row. */
export function newSettingRow(name: string, value: string): StoredRow {
  return { kind: 'setting', name, value, counted: settingRow(name, value), verifies: true };
}

/** Runs statements in one transaction that no other connection sees a part of. */
export async function inTransaction<T>(connection: SqlConnection, work: () => Promise<T>): Promise<T> {
  await connection.script('BEGIN EXCLUSIVE');
  try {
    const result = await work();
    await connection.script('COMMIT');
    return result;
  } catch (error) {
    await connection.script('ROLLBACK').catch(() => undefined);
    throw error;
  }
}

/** Makes a store of an empty file, in which nobody has decided whether authentication is enabled. */
export function makeNew(connection: SqlConnection, generation: number): Promise<StoreDigest> {
  return inTransaction(connection, async () => {
    await connection.script(SCHEMA);
    const rows = new DigestBuilder();
    const state = authStateRow('undecided');
    rows.add(state.counted);
    await insertRow(connection, state);
    const digest = rows.build(generation, 0);
    await putSetting(connection, DIGEST_SETTING, digest.text, null);
    return digest;
  });
}

/** Gives a sound store of the former schema its digests. What was not stored there was not decided. */
export function completeFormer(connection: SqlConnection): Promise<StoreDigest> {
  return inTransaction(connection, async () => {
    await connection.script(FROM_FORMER_SCHEMA);
    const states = await settingRows(connection);
    if (!states.some((row) => row.kind === 'setting' && parseAuthState(row.value) !== undefined)) {
      await insertRow(connection, authStateRow('undecided'));
    }
    const sums = new DigestBuilder();
    for await (const row of countedRows(connection)) {
      sums.add(row.counted);
      await setRowDigest(connection, row);
    }
    const digest = sums.build(1, await lastTokenId(connection));
    await putSetting(connection, DIGEST_SETTING, digest.text, null);
    return digest;
  });
}

async function setRowDigest(connection: SqlConnection, row: StoredRow): Promise<void> {
  const { digest } = row.counted;
  switch (row.kind) {
    case 'admin':
      await connection.rows('UPDATE admin SET row_digest = ?', [digest]);
      break;
    case 'setting':
      await connection.rows('UPDATE setting SET row_digest = ? WHERE name = ?', [digest, row.name]);
      break;
    case 'token':
      await connection.rows('UPDATE access_token SET row_digest = ? WHERE id = ?', [digest, row.token.id]);
  }
}

/** What a new file is filled with. */
export interface NewContent {
  readonly rows: AsyncIterable<StoredRow>;
  readonly generation: number;
  /** The highest id that a token ever had. */
  readonly lastTokenId: number;
  /** The version of the schema; that of a store without limits where absent. */
  readonly schema?: number;
}

/**
 * Makes a new, private file and fills it, durably, except for the name. Gives its digest.
 * @throws errors after which there is no file.
 */
export async function writeStore(
  path: string,
  kind: SqlKind | undefined,
  content: NewContent,
): Promise<StoreDigest> {
  await makeEmptyFile(path);
  try {
    const digest = await fill(await openConnection(path, kind), content);
    await syncFile(path);
    return digest;
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  }
}

async function fill(connection: SqlConnection, content: NewContent): Promise<StoreDigest> {
  const { rows, generation, lastTokenId: last, schema = SCHEMA_VERSION } = content;
  try {
    // A journal on the disk would have to be removed with the file.
    await connection.script('PRAGMA journal_mode = MEMORY');
    return await inTransaction(connection, async () => {
      await connection.script(SCHEMA);
      if (schema === LIMITS_SCHEMA_VERSION) {
        await connection.script(TO_LIMITS_SCHEMA);
      }
      const sums = new DigestBuilder();
      for await (const row of rows) {
        await insertRow(connection, row);
        sums.add(row.counted);
      }
      await setLastTokenId(connection, last);
      const digest = sums.build(generation, last, schema);
      await putSetting(connection, DIGEST_SETTING, digest.text, null);
      return digest;
    });
  } finally {
    await connection.close();
  }
}
