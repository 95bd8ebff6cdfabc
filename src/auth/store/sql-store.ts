import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { whyOlder } from './catalog';
import { isBusy, isDamage, isReadOnly, type SqlConnection, type SqlRow } from './connection';
import { adminRow, settingRow, tokenRow, type CountedRow, type RowChanges, type StoreDigest } from './digest';
import { DigestFile } from './digest-file';
import { settle, type OpenedFile } from './opening';
import {
  initialTokenText,
  parseInitialToken,
  StoreDamaged,
  StoreInUse,
  type InitialToken,
  type NewToken,
  type StoredAdmin,
  type StoredSetting,
  type StoredToken,
  type TokenStore,
} from './port';
import {
  ADMIN_COLUMNS,
  bytesOf,
  countedRows,
  isCounted,
  ownDigest,
  putSetting,
  storedAdmin,
  storedSetting,
  storedToken,
  tokenOf,
  tokenPages,
  type StoredRow,
} from './rows';
import { DIGEST_SETTING, LIMITS_SCHEMA_VERSION, TO_LIMITS_SCHEMA } from './schema';
import { writeStore } from './writing';

/** What a change did: its result, and the rows that it altered; none where it did nothing. */
interface Changed<T> extends RowChanges {
  readonly result: T;
}

type TokenRow = StoredRow & { readonly kind: 'token' };

/** The store in a SQLite file. Both libraries write the same file. */
export class SqlStore implements TokenStore {
  #fault: StoreDamaged | undefined;
  /** Whether it was compared with the catalog of the engine. */
  #isCompared = false;
  /** Statements of one connection see a transaction that is under way, so everything runs one after the other. */
  #last: Promise<unknown> = Promise.resolve();

  private constructor(
    private readonly connection: SqlConnection,
    private readonly file: OpenedFile,
    private digest: StoreDigest,
  ) {}

  /**
   * Takes over an open connection: locks the file, makes a new store or completes one of the former schema where it may,
   * and verifies all of it.
   * @throws StoreInUse when another process has it open.
   * @throws StoreDamaged when it does not verify, or is no store.
   * @throws FormerSchema
   */
  static async open(connection: SqlConnection, file: OpenedFile): Promise<SqlStore> {
    try {
      return new SqlStore(connection, file, await settle(connection, file));
    } catch (error) {
      await connection.close().catch(() => undefined);
      if (isBusy(error)) {
        throw new StoreInUse(file.path);
      }
      // The system lets this process write the file.
      throw isDamage(error) || isReadOnly(error)
        ? new StoreDamaged(file.path, (error as Error).message)
        : error;
    }
  }

  get kind(): SqlConnection['kind'] {
    return this.connection.kind;
  }

  get fault(): StoreDamaged | undefined {
    return this.#fault;
  }

  admin(): Promise<StoredAdmin | undefined> {
    return this.#serially(async () => (await this.#adminRow())?.admin);
  }

  createAdmin(admin: StoredAdmin): Promise<boolean> {
    return this.#change(async () => {
      if ((await this.#adminRow()) !== undefined) {
        return { result: false };
      }
      const row = adminRow(admin);
      await this.connection.rows(`INSERT INTO admin (id, ${ADMIN_COLUMNS}, row_digest) VALUES (1, ?, ?, ?)`, [
        admin.passwordHash,
        admin.generation,
        row.digest,
      ]);
      return { result: true, added: [row] };
    });
  }

  replaceAdmin(admin: StoredAdmin): Promise<boolean> {
    return this.#change(async () => {
      const before = await this.#adminRow();
      if (before === undefined) {
        return { result: false };
      }
      const row = adminRow(admin);
      await this.connection.rows('UPDATE admin SET password_hash = ?, generation = ?, row_digest = ?', [
        admin.passwordHash,
        admin.generation,
        row.digest,
      ]);
      return { result: true, removed: [before.counted], added: [row] };
    });
  }

  setting(name: StoredSetting): Promise<string | undefined> {
    return this.#serially(async () => (await this.#settingRow(name))?.value);
  }

  async storeSetting(name: StoredSetting, value: string): Promise<void> {
    await this.#change(async (): Promise<Changed<undefined>> => {
      if (!isCounted(name)) {
        await putSetting(this.connection, name, value, null);
        return { result: undefined };
      }
      return { result: undefined, ...(await this.#putSetting(name, value)) };
    });
  }

  createToken(token: NewToken): Promise<StoredToken> {
    return this.#change(() => this.#insertToken(token));
  }

  initialToken(): Promise<InitialToken | undefined> {
    return this.#serially(() => this.#initialToken());
  }

  putInitialToken(token: NewToken): Promise<StoredToken> {
    return this.#change(async () => {
      const known = await this.#initialToken();
      const before = known && (await this.#tokenRow('id = ?', known.id));
      const changes: Changed<StoredToken>[] = [
        await (before === undefined ? this.#insertToken(token) : this.#setDigest(before, token.digest)),
      ];
      const [{ result }] = changes as [Changed<StoredToken>];
      const kept = initialTokenText({ id: result.id, digest: token.digest });
      changes.push({ result, ...(await this.#putSetting('initial_token', kept)) });
      if ((await this.#settingRow('auth_enabled'))?.value === 'undecided') {
        changes.push({ result, ...(await this.#putSetting('auth_enabled', 'true')) });
      }
      const lastTokenId = Math.max(this.digest.lastTokenId, result.id);
      return {
        result,
        removed: changes.flatMap(({ removed = [] }) => removed),
        added: changes.flatMap(({ added = [] }) => added),
        lastTokenId,
      };
    });
  }

  tokens(): Promise<readonly StoredToken[]> {
    return this.#serially(async () => {
      const found: StoredToken[] = [];
      for await (const page of tokenPages(this.connection)) {
        found.push(...page.map((row) => this.#sound(row).token));
      }
      return found;
    });
  }

  token(id: number): Promise<StoredToken | undefined> {
    return this.#serially(async () => (await this.#tokenRow('id = ?', id))?.token);
  }

  tokenByDigest(digest: Buffer): Promise<StoredToken | undefined> {
    return this.#serially(async () => (await this.#tokenRow('digest = ?', digest))?.token);
  }

  replaceDigest(id: number, digest: Buffer, now: number): Promise<StoredToken | undefined> {
    return this.#change(async () => {
      const before = await this.#tokenRow('id = ?', id);
      if (before === undefined || (before.token.expiresAt !== null && before.token.expiresAt <= now)) {
        return { result: undefined };
      }
      return this.#setDigest(before, digest);
    });
  }

  deleteToken(id: number): Promise<boolean> {
    return this.#change(async () => {
      const before = await this.#tokenRow('id = ?', id);
      if (before === undefined) {
        return { result: false };
      }
      await this.connection.rows('DELETE FROM access_token WHERE id = ?', [id]);
      return { result: true, removed: [before.counted] };
    });
  }

  compare(): Promise<void> {
    return this.#serially(async () => {
      await this.#compare();
      await this.file.catalog.note(this.digest.generation);
    });
  }

  copyTo(path: string): Promise<boolean> {
    return this.#serially(async () => {
      await this.#compare();
      const { generation, lastTokenId, schema } = this.digest;
      const content = { rows: this.#soundRows(), generation, lastTokenId, schema };
      const copied = await writeStore(path, this.kind, content);
      if (copied.text !== this.digest.text) {
        await rm(path, { force: true });
        throw this.#found('rows are missing, or there are others than were written');
      }
      await new DigestFile(dirname(path)).write(copied);
      return true;
    });
  }

  close(): Promise<void> {
    const closing = this.#last.then(() => this.connection.close());
    this.#last = closing.catch(() => undefined);
    return closing;
  }

  async *#soundRows(): AsyncGenerator<StoredRow> {
    for await (const row of countedRows(this.connection)) {
      yield this.#sound(row);
    }
  }

  /** Inserts a token, within a change. */
  async #insertToken(token: NewToken): Promise<Changed<StoredToken>> {
    const { name, description, digest, permission, createdAt, expiresAt, limits } = token;
    const schema = limits === undefined ? this.digest.schema : LIMITS_SCHEMA_VERSION;
    if (schema !== this.digest.schema) {
      await this.connection.script(TO_LIMITS_SCHEMA);
    }
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
    if (stored.id <= this.digest.lastTokenId) {
      throw this.#found(`the id ${stored.id} of a deleted access token came again`);
    }
    const added = await this.#setRowDigest(row);
    return { result: stored, added: [added], lastTokenId: stored.id, schema };
  }

  /** Replaces the digest of a token, within a change. */
  async #setDigest(before: TokenRow, digest: Buffer): Promise<Changed<StoredToken>> {
    const row = tokenRow(before.token, digest);
    await this.connection.rows('UPDATE access_token SET digest = ?, row_digest = ? WHERE id = ?', [
      digest,
      row.digest,
      before.token.id,
    ]);
    return { result: before.token, removed: [before.counted], added: [row] };
  }

  /** Stores a setting that the digest counts, within a change. */
  async #putSetting(name: StoredSetting, value: string): Promise<RowChanges> {
    const before = await this.#settingRow(name);
    const row = settingRow(name, value);
    await putSetting(this.connection, name, value, row.digest);
    return { removed: before === undefined ? [] : [before.counted], added: [row] };
  }

  async #initialToken(): Promise<InitialToken | undefined> {
    const row = await this.#settingRow('initial_token');
    return row && parseInitialToken(row.value);
  }

  async #adminRow(): Promise<(StoredRow & { readonly kind: 'admin' }) | undefined> {
    const [row] = await this.connection.rows(`SELECT ${ADMIN_COLUMNS}, row_digest FROM admin`);
    return row && this.#sound(storedAdmin(row));
  }

  async #settingRow(name: string): Promise<(StoredRow & { readonly kind: 'setting' }) | undefined> {
    const [row] = await this.connection.rows('SELECT name, value, row_digest FROM setting WHERE name = ?', [
      name,
    ]);
    const found = row && storedSetting(row);
    return found === undefined || !isCounted(name) ? found : this.#sound(found);
  }

  async #tokenRow(where: 'id = ?' | 'digest = ?', value: number | Buffer): Promise<TokenRow | undefined> {
    const [row] = await this.connection.rows(`SELECT * FROM access_token WHERE ${where}`, [value]);
    return row && this.#sound(storedToken(row));
  }

  /** Gives the row if its digest verifies: the file may have been damaged after the store was opened. */
  #sound<Row extends StoredRow>(row: Row): Row {
    if (!row.verifies) {
      throw this.#found('a row is not what was written');
    }
    return row;
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

  /** Runs work after all before it, and turns errors of a damaged file into the fault of the store. */
  #serially<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(async () => {
      if (this.#fault !== undefined) {
        throw this.#fault;
      }
      try {
        return await work();
      } catch (error) {
        throw isDamage(error) ? this.#found((error as Error).message) : error;
      }
    });
    this.#last = result.catch(() => undefined);
    return result;
  }

  /** Closes a store that is older than the catalog of the engine. One comparison is enough: it cannot become older later. */
  async #compare(): Promise<void> {
    if (this.#isCompared) return;
    const older = whyOlder(this.digest.generation, await this.file.catalog.generation());
    if (older !== undefined) {
      throw this.#found(older);
    }
    this.#isCompared = true;
  }

  /** Closes the store to all that follows, because it is damaged. */
  #found(what: string): StoreDamaged {
    if (this.#fault === undefined) {
      this.#fault = new StoreDamaged(this.file.path, what);
      this.file.onFault?.(this.#fault);
    }
    return this.#fault;
  }

  /**
   * Makes a change whole, with the digest of what is there after it: the next digest file is prepared, the store commits,
   * the file takes its name, and the catalog of the engine gets the generation. A crash in between leaves a store that is
   * newer than the file, or than the catalog. A store that is older must not get a generation that the catalog has.
   */
  #change<T>(work: () => Promise<Changed<T>>): Promise<T> {
    return this.#serially(async () => {
      await this.#compare();
      let next: StoreDigest | undefined;
      let result: T;
      await this.connection.script('BEGIN IMMEDIATE');
      try {
        const changed = await work();
        ({ result } = changed);
        if (changed.added !== undefined || changed.removed !== undefined) {
          next = this.digest.next(changed);
          await this.file.digestFile.prepare(next);
          await putSetting(this.connection, DIGEST_SETTING, next.text, null);
        }
        await this.connection.script('COMMIT');
      } catch (error) {
        await this.#undo();
        throw error;
      }
      if (next !== undefined) {
        await this.#publish(next);
      }
      return result;
    });
  }

  async #publish(next: StoreDigest): Promise<void> {
    this.digest = next;
    try {
      await this.file.digestFile.publish();
    } catch (error) {
      // The change is in the store. Going on would answer it as failed, and keep it.
      throw this.#found(`${this.file.digestFile.path} cannot be replaced: ${(error as Error).message}`);
    }
    await this.file.catalog.note(next.generation);
  }

  /** Takes back a change that failed. After a commit that failed nobody knows what is on the disk until it is read. */
  async #undo(): Promise<void> {
    await this.connection.script('ROLLBACK').catch(() => undefined);
    await this.file.digestFile.discard().catch(() => undefined);
    const kept = await ownDigest(this.connection).catch(() => undefined);
    if (kept !== this.digest.text) {
      this.#found('a change could neither be made nor taken back');
    }
  }
}
