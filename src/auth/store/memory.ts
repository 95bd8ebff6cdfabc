import {
  CONTENT_SETTINGS,
  type LocalTokenStore,
  type LogPosition,
  type OutcomeOf,
  type SettingBefore,
  type StoreChange,
  type StoreContent,
} from './change';
import {
  initialTokenText,
  parseInitialToken,
  type InitialToken,
  type NewToken,
  type StoredAdmin,
  type StoredSetting,
  type StoredToken,
} from './port';

/** A store in memory, which is lost when the process ends: for tests, and only on request. */
export class MemoryStore implements LocalTokenStore {
  readonly kind = 'memory';
  readonly fault = undefined;
  readonly isOutdated = false;
  #position: LogPosition | undefined;
  #admin: StoredAdmin | undefined;
  #lastId = 0;
  readonly #settings = new Map<StoredSetting, string>([['auth_enabled', 'undecided']]);
  readonly #tokens = new Map<number, { token: StoredToken; digest: Buffer }>();

  admin(): Promise<StoredAdmin | undefined> {
    return Promise.resolve(this.#admin);
  }

  createAdmin(admin: StoredAdmin): Promise<boolean> {
    const absent = this.#admin === undefined;
    this.#admin ??= admin;
    return Promise.resolve(absent);
  }

  replaceAdmin(admin: StoredAdmin, generation = this.#admin?.generation): Promise<boolean> {
    const present = this.#admin !== undefined && this.#admin.generation === generation;
    if (present) {
      this.#admin = admin;
    }
    return Promise.resolve(present);
  }

  setting(name: StoredSetting): Promise<string | undefined> {
    return Promise.resolve(this.#settings.get(name));
  }

  storeSetting(name: StoredSetting, value: string, over?: SettingBefore): Promise<boolean> {
    const isStored = over === undefined || this.#settings.get(name) === over.value;
    if (isStored) this.#settings.set(name, value);
    return Promise.resolve(isStored);
  }

  createToken({ digest, ...rest }: NewToken): Promise<StoredToken> {
    this.#lastId += 1;
    const token = { id: this.#lastId, ...rest };
    this.#tokens.set(token.id, { token, digest });
    return Promise.resolve(token);
  }

  initialToken(): Promise<InitialToken | undefined> {
    const text = this.#settings.get('initial_token');
    return Promise.resolve(text === undefined ? undefined : parseInitialToken(text));
  }

  async putInitialToken(token: NewToken): Promise<StoredToken> {
    const { id } = (await this.initialToken()) ?? { id: 0 };
    const entry = this.#tokens.get(id);
    if (entry !== undefined) {
      entry.digest = token.digest;
    }
    const stored = entry?.token ?? (await this.createToken(token));
    this.#settings.set('initial_token', initialTokenText({ id: stored.id, digest: token.digest }));
    if (this.#settings.get('auth_enabled') === 'undecided') {
      this.#settings.set('auth_enabled', 'true');
    }
    return stored;
  }

  tokens(): Promise<readonly StoredToken[]> {
    return Promise.resolve([...this.#tokens.values()].map(({ token }) => token));
  }

  token(id: number): Promise<StoredToken | undefined> {
    return Promise.resolve(this.#tokens.get(id)?.token);
  }

  tokenByDigest(digest: Buffer): Promise<StoredToken | undefined> {
    const found = [...this.#tokens.values()].find((entry) => entry.digest.equals(digest));
    return Promise.resolve(found?.token);
  }

  replaceDigest(id: number, digest: Buffer, now: number): Promise<StoredToken | undefined> {
    const entry = this.#tokens.get(id);
    if (entry === undefined || (entry.token.expiresAt !== null && entry.token.expiresAt <= now)) {
      return Promise.resolve(undefined);
    }
    entry.digest = digest;
    return Promise.resolve(entry.token);
  }

  deleteToken(id: number): Promise<boolean> {
    return Promise.resolve(this.#tokens.delete(id));
  }

  logPosition(): Promise<LogPosition | undefined> {
    return Promise.resolve(this.#position);
  }

  async apply<Change extends StoreChange>(change: Change, position: LogPosition): Promise<OutcomeOf<Change>> {
    const outcome = await this.#make(change);
    this.#position = position;
    return outcome as OutcomeOf<Change>;
  }

  content(): Promise<StoreContent> {
    const settings = new Map<StoredSetting, string>();
    for (const name of CONTENT_SETTINGS) {
      const value = this.#settings.get(name);
      if (value !== undefined) settings.set(name, value);
    }
    const tokens = [...this.#tokens.values()].map(({ token, digest }) => ({ ...token, digest }));
    return Promise.resolve({ admin: this.#admin, settings, tokens, lastTokenId: this.#lastId });
  }

  #make(change: StoreChange): Promise<unknown> {
    switch (change.kind) {
      case 'create_admin':
        return this.createAdmin(change.admin);
      case 'replace_admin':
        return this.replaceAdmin(change.admin, change.generation);
      case 'store_setting':
        return this.storeSetting(change.name, change.value, change.over);
      case 'create_token':
        return this.createToken(change.token);
      case 'put_initial_token':
        return this.putInitialToken(change.token);
      case 'replace_digest':
        return this.replaceDigest(change.id, change.digest, change.now);
      case 'delete_token':
        return this.deleteToken(change.id);
      case 'replace_all':
        this.#replaceAll(change.content);
        return Promise.resolve(undefined);
      case 'nothing':
        return Promise.resolve(undefined);
    }
  }

  #replaceAll({ admin, settings, tokens, lastTokenId }: StoreContent): void {
    this.#admin = admin;
    this.#lastId = lastTokenId;
    this.#settings.clear();
    for (const [name, value] of settings) this.#settings.set(name, value);
    this.#tokens.clear();
    for (const { digest, ...token } of tokens) this.#tokens.set(token.id, { token, digest });
  }

  compare(): Promise<void> {
    return Promise.resolve();
  }

  copyTo(): Promise<boolean> {
    return Promise.resolve(false);
  }

  onReplicated(): void {
    // What changes it without a cluster is the process that has it.
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
