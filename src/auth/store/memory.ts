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
  readonly #listeners: (() => Promise<void>)[] = [];
  #admin: StoredAdmin | undefined;
  #lastId = 0;
  readonly #settings = new Map<StoredSetting, string>([['auth_enabled', 'undecided']]);
  readonly #tokens = new Map<number, { token: StoredToken; digest: Buffer }>();

  admin(): Promise<StoredAdmin | undefined> {
    return Promise.resolve(this.#admin);
  }

  createAdmin(admin: StoredAdmin): Promise<boolean> {
    return this.#make({ kind: 'create_admin', admin });
  }

  replaceAdmin(admin: StoredAdmin, generation?: string): Promise<boolean> {
    return this.#make({ kind: 'replace_admin', admin, generation });
  }

  setting(name: StoredSetting): Promise<string | undefined> {
    return Promise.resolve(this.#settings.get(name));
  }

  storeSetting(name: StoredSetting, value: string, over?: SettingBefore): Promise<boolean> {
    return this.#make({ kind: 'store_setting', name, value, over });
  }

  createToken(token: NewToken): Promise<StoredToken> {
    return this.#make({ kind: 'create_token', token });
  }

  initialToken(): Promise<InitialToken | undefined> {
    return Promise.resolve(this.#initialToken());
  }

  putInitialToken(token: NewToken): Promise<StoredToken> {
    return this.#make({ kind: 'put_initial_token', token });
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
    return this.#make({ kind: 'replace_digest', id, digest, now });
  }

  deleteToken(id: number): Promise<boolean> {
    return this.#make({ kind: 'delete_token', id });
  }

  logPosition(): Promise<LogPosition | undefined> {
    return Promise.resolve(this.#position);
  }

  apply<Change extends StoreChange>(change: Change, position: LogPosition): Promise<OutcomeOf<Change>> {
    return this.#make(change, position);
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

  async #make<Change extends StoreChange>(
    change: Change,
    position = this.#position,
  ): Promise<OutcomeOf<Change>> {
    const outcome = this.#changed(change);
    this.#position = position;
    for (const listener of this.#listeners) await listener();
    return outcome as OutcomeOf<Change>;
  }

  #changed(change: StoreChange): unknown {
    switch (change.kind) {
      case 'create_admin':
        return this.#replaceAdmin(change.admin, this.#admin === undefined);
      case 'replace_admin':
        return this.#replaceAdmin(change.admin, this.#isAdminOf(change.generation));
      case 'store_setting':
        return this.#storeSetting(change.name, change.value, change.over);
      case 'create_token':
        return this.#createToken(change.token);
      case 'put_initial_token':
        return this.#putInitialToken(change.token);
      case 'replace_digest':
        return this.#replaceDigest(change.id, change.digest, change.now);
      case 'delete_token':
        return this.#tokens.delete(change.id);
      case 'replace_all':
        this.#replaceAll(change.content);
        return undefined;
      case 'nothing':
        return undefined;
    }
  }

  /** Whether there is an admin, and of that generation where one is given. */
  #isAdminOf(generation: string | undefined): boolean {
    return this.#admin !== undefined && (generation === undefined || this.#admin.generation === generation);
  }

  #replaceAdmin(admin: StoredAdmin, mayBe: boolean): boolean {
    if (mayBe) this.#admin = admin;
    return mayBe;
  }

  #storeSetting(name: StoredSetting, value: string, over: SettingBefore | undefined): boolean {
    const isStored = over === undefined || this.#settings.get(name) === over.value;
    if (isStored) this.#settings.set(name, value);
    return isStored;
  }

  #createToken({ digest, ...rest }: NewToken): StoredToken {
    this.#lastId += 1;
    const token = { id: this.#lastId, ...rest };
    this.#tokens.set(token.id, { token, digest });
    return token;
  }

  #initialToken(): InitialToken | undefined {
    const text = this.#settings.get('initial_token');
    return text === undefined ? undefined : parseInitialToken(text);
  }

  #putInitialToken(token: NewToken): StoredToken {
    const entry = this.#tokens.get(this.#initialToken()?.id ?? 0);
    if (entry !== undefined) {
      entry.digest = token.digest;
    }
    const stored = entry?.token ?? this.#createToken(token);
    this.#settings.set('initial_token', initialTokenText({ id: stored.id, digest: token.digest }));
    if (this.#settings.get('auth_enabled') === 'undecided') {
      this.#settings.set('auth_enabled', 'true');
    }
    return stored;
  }

  #replaceDigest(id: number, digest: Buffer, now: number): StoredToken | undefined {
    const entry = this.#tokens.get(id);
    if (entry === undefined || (entry.token.expiresAt !== null && entry.token.expiresAt <= now)) {
      return undefined;
    }
    entry.digest = digest;
    return entry.token;
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

  onChanged(listener: () => Promise<void>): void {
    this.#listeners.push(listener);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
