import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { whyOlder } from './catalog';
import {
  CONTENT_SETTINGS,
  LOG_POSITION,
  parsePosition,
  positionText,
  type LocalTokenStore,
  type LogPosition,
  type OutcomeOf,
  type SettingBefore,
  type StoreChange,
  type StoreContent,
  type TokenWithDigest,
} from './change';
import { isBusy, isDamage, isReadOnly, type SqlConnection } from './connection';
import type { StoreDigest } from './digest';
import { DigestFile } from './digest-file';
import { settle, type OpenedFile } from './opening';
import {
  StoreDamaged,
  StoreInUse,
  type InitialToken,
  type NewToken,
  type StoredAdmin,
  type StoredSetting,
  type StoredToken,
} from './port';
import { ownDigest, putSetting } from './rows';
import { DIGEST_SETTING } from './schema';
import { joined, SqlChanges, type Changed } from './sql-changes';
import { SqlRows } from './sql-rows';
import { writeStore } from './writing';

/** The store in a SQLite file. Both libraries write the same file. */
export class SqlStore implements LocalTokenStore {
  readonly isOutdated = false;
  readonly #rows: SqlRows;
  readonly #changes: SqlChanges;
  readonly #listeners: (() => Promise<void>)[] = [];
  #fault: StoreDamaged | undefined;
  /** Whether it was compared with the catalog of the engine. */
  #isCompared = false;
  /** Statements of one connection see a transaction that is under way, so everything runs one after the other. */
  #last: Promise<unknown> = Promise.resolve();

  private constructor(
    private readonly connection: SqlConnection,
    private readonly file: OpenedFile,
    private digest: StoreDigest,
  ) {
    const found = (what: string): StoreDamaged => this.#found(what);
    this.#rows = new SqlRows(connection, found);
    this.#changes = new SqlChanges(connection, this.#rows, found);
  }

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
    return this.#serially(async () => (await this.#rows.admin())?.admin);
  }

  createAdmin(admin: StoredAdmin): Promise<boolean> {
    return this.#make({ kind: 'create_admin', admin });
  }

  replaceAdmin(admin: StoredAdmin, generation?: string): Promise<boolean> {
    return this.#make({ kind: 'replace_admin', admin, generation });
  }

  setting(name: StoredSetting): Promise<string | undefined> {
    return this.#serially(() => this.#rows.value(name));
  }

  storeSetting(name: StoredSetting, value: string, over?: SettingBefore): Promise<boolean> {
    return this.#make({ kind: 'store_setting', name, value, over });
  }

  createToken(token: NewToken): Promise<StoredToken> {
    return this.#make({ kind: 'create_token', token });
  }

  initialToken(): Promise<InitialToken | undefined> {
    return this.#serially(() => this.#rows.initialToken());
  }

  putInitialToken(token: NewToken): Promise<StoredToken> {
    return this.#make({ kind: 'put_initial_token', token });
  }

  tokens(): Promise<readonly StoredToken[]> {
    return this.#serially(async () => {
      const found: StoredToken[] = [];
      for await (const { token } of this.#rows.tokens()) found.push(token);
      return found;
    });
  }

  token(id: number): Promise<StoredToken | undefined> {
    return this.#serially(async () => (await this.#rows.token('id = ?', id))?.token);
  }

  tokenByDigest(digest: Buffer): Promise<StoredToken | undefined> {
    return this.#serially(async () => (await this.#rows.token('digest = ?', digest))?.token);
  }

  replaceDigest(id: number, digest: Buffer, now: number): Promise<StoredToken | undefined> {
    return this.#make({ kind: 'replace_digest', id, digest, now });
  }

  deleteToken(id: number): Promise<boolean> {
    return this.#make({ kind: 'delete_token', id });
  }

  logPosition(): Promise<LogPosition | undefined> {
    return this.#serially(async () => {
      const row = await this.#rows.setting(LOG_POSITION);
      return row && parsePosition(row.value);
    });
  }

  apply<Change extends StoreChange>(change: Change, position: LogPosition): Promise<OutcomeOf<Change>> {
    return this.#make(change, position);
  }

  content(): Promise<StoreContent> {
    return this.#serially(async () => {
      const settings = new Map<StoredSetting, string>();
      for (const name of CONTENT_SETTINGS) {
        const value = await this.#rows.value(name);
        if (value !== undefined) settings.set(name, value);
      }
      const tokens: TokenWithDigest[] = [];
      for await (const { token, digest } of this.#rows.tokens()) tokens.push({ ...token, digest });
      const { lastTokenId } = this.digest;
      return { admin: (await this.#rows.admin())?.admin, settings, tokens, lastTokenId };
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
      const content = { rows: this.#rows.counted(), generation, lastTokenId, schema };
      const copied = await writeStore(path, this.kind, content);
      if (copied.text !== this.digest.text) {
        await rm(path, { force: true });
        throw this.#found('rows are missing, or there are others than were written');
      }
      await new DigestFile(dirname(path)).write(copied);
      return true;
    });
  }

  onChanged(listener: () => Promise<void>): void {
    this.#listeners.push(listener);
  }

  close(): Promise<void> {
    const closing = this.#last.then(() => this.connection.close());
    this.#last = closing.catch(() => undefined);
    return closing;
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
  async #make<Change extends StoreChange>(
    change: Change,
    position?: LogPosition,
  ): Promise<OutcomeOf<Change>> {
    const outcome = await this.#serially(async () => {
      await this.#compare();
      let next: StoreDigest | undefined;
      let result: unknown;
      await this.connection.script('BEGIN IMMEDIATE');
      try {
        const changed = await this.#changed(change, position);
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
      return result as OutcomeOf<Change>;
    });
    // Outside of the queue of calls, because they read the store.
    for (const listener of this.#listeners) await listener();
    return outcome;
  }

  async #changed(change: StoreChange, position: LogPosition | undefined): Promise<Changed<unknown>> {
    const changed = await this.#changes.make(change, this.digest);
    if (position === undefined) return changed;
    const noted = await this.#changes.putSetting(LOG_POSITION, positionText(position));
    return { ...changed, ...joined([changed, noted]) };
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
