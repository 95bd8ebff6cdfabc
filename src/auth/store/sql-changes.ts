import type { StoreChange, StoreContent } from './change';
import type { SqlConnection, SqlRow } from './connection';
import { adminRow, settingRow, tokenRow, type CountedRow, type RowChanges, type StoreDigest } from './digest';
import {
  initialTokenText,
  type NewToken,
  type StoreDamaged,
  type StoredAdmin,
  type StoredToken,
} from './port';
import { ADMIN_COLUMNS, bytesOf, insertRow, isCounted, putSetting, setLastTokenId, tokenOf } from './rows';
import { DIGEST_SETTING, LIMITS_SCHEMA_VERSION, TO_LIMITS_SCHEMA } from './schema';
import type { SqlRows, TokenRow } from './sql-rows';

/** What a change did: its result, and the rows that it altered; none where it did nothing. */
export interface Changed<T> extends RowChanges {
  readonly result: T;
}

type Kind<K extends StoreChange['kind']> = Extract<StoreChange, { readonly kind: K }>;

/** The changes of a store in a SQLite file, each within a transaction that the caller begins and ends. */
export class SqlChanges {
  /** @param found closes the store, and gives the error */
  constructor(
    private readonly connection: SqlConnection,
    private readonly rows: SqlRows,
    private readonly found: (what: string) => StoreDamaged,
  ) {}

  /** @param digest of the store before the change */
  make(change: StoreChange, digest: StoreDigest): Promise<Changed<unknown>> {
    switch (change.kind) {
      case 'create_admin':
        return this.#createAdmin(change.admin);
      case 'replace_admin':
        return this.#replaceAdmin(change);
      case 'store_setting':
        return this.#storeSetting(change);
      case 'create_token':
        return this.#insertToken(change.token, digest);
      case 'put_initial_token':
        return this.#putInitialToken(change.token, digest);
      case 'replace_digest':
        return this.#replaceDigest(change);
      case 'delete_token':
        return this.#deleteToken(change.id);
      case 'replace_all':
        return this.#replaceAll(change.content, digest);
      case 'nothing':
        return Promise.resolve({ result: undefined });
    }
  }

  /** Stores a setting that the digest counts. */
  async putSetting(name: string, value: string): Promise<RowChanges> {
    const before = await this.rows.setting(name);
    const row = settingRow(name, value);
    await putSetting(this.connection, name, value, row.digest);
    return { removed: before === undefined ? [] : [before.counted], added: [row] };
  }

  async #createAdmin(admin: StoredAdmin): Promise<Changed<boolean>> {
    if ((await this.rows.admin()) !== undefined) {
      return { result: false };
    }
    const row = adminRow(admin);
    await this.connection.rows(`INSERT INTO admin (id, ${ADMIN_COLUMNS}, row_digest) VALUES (1, ?, ?, ?)`, [
      admin.passwordHash,
      admin.generation,
      row.digest,
    ]);
    return { result: true, added: [row] };
  }

  async #replaceAdmin({ admin, generation }: Kind<'replace_admin'>): Promise<Changed<boolean>> {
    const before = await this.rows.admin();
    if (before === undefined || (generation !== undefined && generation !== before.admin.generation)) {
      return { result: false };
    }
    const row = adminRow(admin);
    await this.connection.rows('UPDATE admin SET password_hash = ?, generation = ?, row_digest = ?', [
      admin.passwordHash,
      admin.generation,
      row.digest,
    ]);
    return { result: true, removed: [before.counted], added: [row] };
  }

  async #storeSetting({ name, value, over }: Kind<'store_setting'>): Promise<Changed<boolean>> {
    if (over !== undefined && (await this.rows.value(name)) !== over.value) {
      return { result: false };
    }
    if (isCounted(name)) {
      return { result: true, ...(await this.putSetting(name, value)) };
    }
    await putSetting(this.connection, name, value, null);
    return { result: true };
  }

  async #putInitialToken(token: NewToken, digest: StoreDigest): Promise<Changed<StoredToken>> {
    const known = await this.rows.initialToken();
    const before = known && (await this.rows.token('id = ?', known.id));
    const first = await (before === undefined
      ? this.#insertToken(token, digest)
      : this.#setDigest(before, token.digest));
    const { result } = first;
    const changes: RowChanges[] = [first];
    const kept = initialTokenText({ id: result.id, digest: token.digest });
    changes.push(await this.putSetting('initial_token', kept));
    if ((await this.rows.value('auth_enabled')) === 'undecided') {
      changes.push(await this.putSetting('auth_enabled', 'true'));
    }
    const lastTokenId = Math.max(digest.lastTokenId, result.id);
    return { ...joined(changes), result, lastTokenId, schema: first.schema ?? digest.schema };
  }

  async #replaceDigest({
    id,
    digest,
    now,
  }: Kind<'replace_digest'>): Promise<Changed<StoredToken | undefined>> {
    const before = await this.rows.token('id = ?', id);
    if (before === undefined || (before.token.expiresAt !== null && before.token.expiresAt <= now)) {
      return { result: undefined };
    }
    return this.#setDigest(before, digest);
  }

  async #deleteToken(id: number): Promise<Changed<boolean>> {
    const before = await this.rows.token('id = ?', id);
    if (before === undefined) {
      return { result: false };
    }
    await this.connection.rows('DELETE FROM access_token WHERE id = ?', [id]);
    return { result: true, removed: [before.counted] };
  }

  async #insertToken(token: NewToken, before: StoreDigest): Promise<Changed<StoredToken>> {
    const { name, description, digest, permission, createdAt, expiresAt, limits } = token;
    const schema = await this.#raised(before, limits !== undefined);
    const columns = 'name, description, digest, permission, created_at, expires_at';
    const values = [name, description, digest, permission, createdAt, expiresAt];
    const [row] = await (limits === undefined
      ? this.connection.rows(
          `INSERT INTO access_token (${columns}) VALUES (?, ?, ?, ?, ?, ?) RETURNING *`,
          values,
        )
      : this.connection.rows(
          `INSERT INTO access_token (${columns}, limits) VALUES (?, ?, ?, ?, ?, ?, ?) RETURNING *`,
          [...values, limits],
        ));
    if (row === undefined) {
      throw new Error('the store returned no row for a new access token');
    }
    const stored = tokenOf(row);
    if (stored.id <= before.lastTokenId) {
      throw this.found(`the id ${stored.id} of a deleted access token came again`);
    }
    const added = await this.#setRowDigest(row);
    return { result: stored, added: [added], lastTokenId: stored.id, schema };
  }

  /** The version of the schema, which has a place for limits where they are needed. */
  async #raised(before: StoreDigest, hasLimits: boolean): Promise<number> {
    if (!hasLimits || before.schema === LIMITS_SCHEMA_VERSION) return before.schema;
    await this.connection.script(TO_LIMITS_SCHEMA);
    return LIMITS_SCHEMA_VERSION;
  }

  /** Replaces the digest of a token. */
  async #setDigest(before: TokenRow, digest: Buffer): Promise<Changed<StoredToken>> {
    const row = tokenRow(before.token, digest);
    await this.connection.rows('UPDATE access_token SET digest = ?, row_digest = ? WHERE id = ?', [
      digest,
      row.digest,
      before.token.id,
    ]);
    return { result: before.token, removed: [before.counted], added: [row] };
  }

  /** Gives a row of a token that was just inserted its digest, which has its id. */
  async #setRowDigest(row: SqlRow): Promise<CountedRow> {
    const stored = tokenOf(row);
    const counted = tokenRow(stored, bytesOf(row, 'digest'));
    await this.connection.rows('UPDATE access_token SET row_digest = ? WHERE id = ?', [
      counted.digest,
      stored.id,
    ]);
    return counted;
  }

  async #replaceAll(content: StoreContent, before: StoreDigest): Promise<Changed<undefined>> {
    const { admin, settings, tokens, lastTokenId } = content;
    const removed: CountedRow[] = [];
    for await (const { counted } of this.rows.counted()) removed.push(counted);
    await this.connection.rows('DELETE FROM admin');
    await this.connection.rows('DELETE FROM setting WHERE name <> ?', [DIGEST_SETTING]);
    await this.connection.rows('DELETE FROM access_token');
    const hasLimits = tokens.some(({ limits }) => limits !== undefined);
    const schema = await this.#raised(before, hasLimits);
    const added: CountedRow[] = [];
    if (admin !== undefined) added.push(...((await this.#createAdmin(admin)).added ?? []));
    for (const [name, value] of settings) {
      const stored = await this.#storeSetting({ kind: 'store_setting', name, value, over: undefined });
      added.push(...(stored.added ?? []));
    }
    for (const { digest, ...token } of tokens) {
      const counted = tokenRow(token, digest);
      await insertRow(this.connection, { kind: 'token', token, digest, counted, verifies: true });
      added.push(counted);
    }
    await setLastTokenId(this.connection, lastTokenId);
    return { result: undefined, removed, added, lastTokenId, schema };
  }
}

/** Several alterations of rows, one after the other, as one. */
export function joined(changes: readonly RowChanges[]): RowChanges {
  return {
    removed: changes.flatMap(({ removed = [] }) => removed),
    added: changes.flatMap(({ added = [] }) => added),
  };
}
