import {
  initialTokenText,
  parseInitialToken,
  type InitialToken,
  type NewToken,
  type StoredAdmin,
  type StoredSetting,
  type StoredToken,
  type TokenStore,
} from './port';

/** A store in memory, which is lost when the process ends: for tests, and only on request. */
export class MemoryStore implements TokenStore {
  readonly kind = 'memory';
  readonly fault = undefined;
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

  replaceAdmin(admin: StoredAdmin): Promise<boolean> {
    const present = this.#admin !== undefined;
    if (present) {
      this.#admin = admin;
    }
    return Promise.resolve(present);
  }

  setting(name: StoredSetting): Promise<string | undefined> {
    return Promise.resolve(this.#settings.get(name));
  }

  storeSetting(name: StoredSetting, value: string): Promise<void> {
    this.#settings.set(name, value);
    return Promise.resolve();
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

  compare(): Promise<void> {
    return Promise.resolve();
  }

  copyTo(): Promise<boolean> {
    return Promise.resolve(false);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
