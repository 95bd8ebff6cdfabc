import { randomUUID } from 'node:crypto';
import type { Logger } from 'pino';
import type { Identity } from '../http/authorization';
import { digestOf, isWellFormedToken, tokenIn, type Credential } from './access-token';
import type { AdminJwt } from './admin-jwt';
import { aliveAt, type IdentityCache, type KnownToken } from './identity-cache';
import { rotateJwtSecret } from './jwt-secret';
import type { LoginThrottle } from './login-throttle';
import type { PasswordHasher } from './password-hashing';
import { ADMIN_IDENTITY } from './permissions';
import type { EngineCatalog, ServedCatalog } from './store/catalog';
import {
  parseAuthState,
  type AuthState,
  StoreDamaged,
  type InitialToken,
  type StoredAdmin,
  type StoredToken,
  type TokenStore,
} from './store/port';
import { TokenIdentities } from './token-identities';
import { issueToken, reissueToken, type IssuedToken, type TokenRequest } from './tokens';

/** How a login ended. */
export type LoginOutcome =
  | { readonly kind: 'success'; readonly jwt: string; readonly expiresInSeconds: number }
  | { readonly kind: 'wrong' }
  | { readonly kind: 'throttled'; readonly retryAfterSeconds: number };

/** How a change of the password ended. */
export type PasswordReset = 'done' | 'no admin' | 'not allowed';

/** A credential that is good now. */
export interface KnownCredential extends KnownToken {
  /** Whether it is good until the cache of identities is emptied, but for its expiry; otherwise for this request only. */
  readonly isLasting: boolean;
}

/** Authentication: who a caller is, and everything behind the endpoints under `/auth`. */
export interface AuthService {
  /** Whether the store is damaged: then nothing is served but the plain endpoints (C3.8). */
  readonly isClosed: boolean;
  /** Whether this node may lack what other nodes of its cluster have changed: then nothing is served either. */
  readonly isOutdated: boolean;
  /** The durable setting, kept in memory. */
  readonly enabled: boolean;
  /** Whether somebody has decided on the setting; otherwise it counts as disabled (C3.8). */
  readonly decided: boolean;
  readonly adminExists: boolean;
  /** Whether the settings gave an access token once (C11.2): then only a command on this machine creates the admin. */
  readonly hasInitialToken: boolean;
  /**
   * The identity behind the headers: at once from memory, or a promise when the store must be queried. Null for a missing
   * or bad credential. With both headers, `Authorization` counts (C3.1).
   */
  identify(
    authorization: string | undefined,
    apiKey: string | undefined,
  ): Identity | null | Promise<Identity | null>;
  /** The same for another event loop, which keeps what it may. */
  known(credential: Credential): Promise<KnownCredential | null>;
  /** False when there is an admin. @throws HashingBusy */
  createAdmin(password: string): Promise<boolean>;
  /**
   * Ends every JWT issued before. `isAllowed` is asked when the change begins: the credential that the caller showed may
   * have been ended since.
   * @throws HashingBusy
   */
  resetPassword(password: string, isAllowed?: () => boolean): Promise<PasswordReset>;
  /** Replaces the secret that signs JWTs: every one issued before is invalid when it resolves. */
  rotateSecret(): Promise<void>;
  /**
   * `client` is the address for which the attempt counts; `viaUnknownProxy` says that it may be that of many.
   * @throws HashingBusy
   */
  login(password: string, client: string, viaUnknownProxy?: boolean): Promise<LoginOutcome>;
  /** Durable when it resolves, with the state after the update. */
  setEnabled(enabled: boolean): Promise<boolean>;
  /** Enables authentication where nobody has decided on it. */
  enableUndecided(): Promise<void>;
  createToken(request: TokenRequest): Promise<IssuedToken>;
  /** Oldest first. */
  tokens(): Promise<readonly StoredToken[]>;
  /** Replaces the raw value; the old one is invalid when it resolves. */
  rotateToken(id: number): Promise<IssuedToken | 'unknown' | 'expired'>;
  /** The token is invalid when it resolves; false when there was none. */
  deleteToken(id: number): Promise<boolean>;
  /**
   * Compares the store with the catalog of an engine that is ready (C3.8), and keeps that up from then on. It is closed
   * when this resolves where the store is older.
   */
  compareWith(catalog: EngineCatalog): Promise<void>;
  /** Writes a consistent, durable copy of everything to a new file; false when it is only in memory. */
  copyStore(path: string): Promise<boolean>;
  close(): Promise<void>;
}

/** What the service is made of. */
export interface AuthParts {
  readonly store: TokenStore;
  /** The catalog of the engine, with which the store is compared. */
  readonly catalog: Pick<ServedCatalog, 'useEngine'>;
  readonly jwt: AdminJwt;
  readonly hasher: PasswordHasher;
  readonly throttle: LoginThrottle;
  readonly identities: IdentityCache;
  /** Called when authentication was enabled, disabled or closed, before that is answered. */
  readonly changed?: () => void;
  readonly log: Logger;
  readonly jwtTtlSeconds: number;
  /** Milliseconds since 1970. */
  readonly now: () => number;
}

/** What an operator can do where one client locks out all others behind a proxy. */
const UNKNOWN_PROXY =
  '; this address passes on requests of others, who share its limit: if it is a proxy of yours, name it in KITHDB_TRUSTED_PROXIES';

/** Authentication over a store. */
export class StoredAuthService implements AuthService {
  readonly #tokens: TokenIdentities;
  /** Changes of the admin and of the setting run one after the other. */
  #changes: Promise<unknown> = Promise.resolve();
  /** Reading the store again, one time after the other, so that an earlier state never replaces a later one. */
  #refreshes: Promise<unknown> = Promise.resolve();
  #admin: StoredAdmin | undefined;
  #state: AuthState = 'true';
  #initialToken: InitialToken | undefined;

  private constructor(private readonly parts: AuthParts) {
    this.#tokens = new TokenIdentities(parts.store, parts.identities);
  }

  /** The service over an open store. @throws Error where the setting has no value that is known. */
  static async over(parts: AuthParts): Promise<StoredAuthService> {
    const service = new StoredAuthService(parts);
    parts.store.onChanged(async () => {
      service.#tokens.forget();
      await service.#refresh();
    });
    await service.#refresh();
    return service;
  }

  get isClosed(): boolean {
    return this.parts.store.fault !== undefined;
  }

  get isOutdated(): boolean {
    return this.parts.store.isOutdated;
  }

  get enabled(): boolean {
    return this.#state === 'true';
  }

  get decided(): boolean {
    return this.#state !== 'undecided';
  }

  get adminExists(): boolean {
    return this.#admin !== undefined;
  }

  get hasInitialToken(): boolean {
    return this.#initialToken !== undefined;
  }

  /** Takes what is kept in memory from the store. */
  #refresh(): Promise<void> {
    const refreshed = this.#refreshes.then(async () => {
      const { store, jwt } = this.parts;
      const state = parseAuthState(await store.setting('auth_enabled'));
      if (state === undefined) {
        throw new Error('the setting auth_enabled has no value that is known');
      }
      const [admin, initialToken] = [await store.admin(), await store.initialToken()];
      const secret = await store.setting('jwt_secret');
      if (secret !== undefined) jwt.replaceSecret(secret);
      this.#hold(state, admin, initialToken);
    });
    this.#refreshes = refreshed.catch(() => {
      // What the store has is not known: until it is, authentication is enabled, and no JWT is valid.
      this.#hold('true', undefined, undefined);
    });
    return refreshed;
  }

  #hold(state: AuthState, admin: StoredAdmin | undefined, initialToken: InitialToken | undefined): void {
    const isChanged = state !== this.#state;
    this.#admin = admin;
    this.#state = state;
    this.#initialToken = initialToken;
    if (isChanged) this.parts.changed?.();
  }

  identify(
    authorization: string | undefined,
    apiKey: string | undefined,
  ): Identity | null | Promise<Identity | null> {
    const token = tokenIn({ authorization, apiKey });
    if (token === undefined) {
      return null;
    }
    if (isWellFormedToken(token) || this.#isInitialToken(token)) {
      return this.#identifyAccessToken(token);
    }
    return this.#identifyAdmin(token);
  }

  #identifyAdmin(token: string): Identity | null {
    const admin = this.#admin;
    return admin !== undefined && this.parts.jwt.verify(token, admin.generation) ? ADMIN_IDENTITY : null;
  }

  async known(credential: Credential): Promise<KnownCredential | null> {
    const token = tokenIn(credential);
    if (token === undefined) {
      return null;
    }
    if (isWellFormedToken(token) || this.#isInitialToken(token)) {
      const found = await this.#tokens.find(token);
      return found === null || this.#alive(found) === null ? null : { ...found, isLasting: true };
    }
    const identity = this.#identifyAdmin(token);
    return identity && { identity, expiresAt: null, isLasting: false };
  }

  /** Whether a token is the last value that a setting gave, which has any form. It may not be in force any more. */
  #isInitialToken(token: string): boolean {
    return this.#initialToken?.digest.equals(digestOf(token)) === true;
  }

  #identifyAccessToken(token: string): Identity | null | Promise<Identity | null> {
    const found = this.#tokens.find(token);
    return found instanceof Promise ? found.then((known) => this.#alive(known)) : this.#alive(found);
  }

  #alive(token: KnownToken | null): Identity | null {
    return aliveAt(token, this.parts.now());
  }

  async createAdmin(password: string): Promise<boolean> {
    if (this.#admin !== undefined) {
      return false;
    }
    const admin = await this.#newAdmin(password);
    return this.#change(async () => {
      const created = await this.parts.store.createAdmin(admin);
      if (created) this.parts.log.info('admin created');
      return created;
    });
  }

  async resetPassword(password: string, isAllowed: () => boolean = () => true): Promise<PasswordReset> {
    if (this.#admin === undefined) {
      return 'no admin';
    }
    const admin = await this.#newAdmin(password);
    return this.#change(async () => {
      // Again where another node of a cluster has replaced the admin meanwhile.
      for (let before = this.#admin; before !== undefined; before = this.#admin) {
        if (!isAllowed()) {
          return 'not allowed';
        }
        const isDone = await this.parts.store.replaceAdmin(admin, before.generation);
        if (isDone) {
          this.parts.log.info('admin password reset: every JWT issued before is invalid');
          return 'done';
        }
      }
      return 'no admin';
    });
  }

  rotateSecret(): Promise<void> {
    const { store, log } = this.parts;
    return this.#change(async () => {
      await rotateJwtSecret(store);
      log.info('JWT secret replaced: every JWT issued before is invalid');
    });
  }

  async #newAdmin(password: string): Promise<StoredAdmin> {
    return { passwordHash: await this.parts.hasher.hash(password), generation: randomUUID() };
  }

  async login(password: string, client: string, viaUnknownProxy = false): Promise<LoginOutcome> {
    const { throttle, hasher, jwt, jwtTtlSeconds, log } = this.parts;
    const attempt = await throttle.attempt(client);
    if (!attempt.allowed) {
      log.warn({ client }, `login refused: too many failures${viaUnknownProxy ? UNKNOWN_PROXY : ''}`);
      return { kind: 'throttled', retryAfterSeconds: attempt.retryAfterSeconds };
    }
    // The JWT names the generation that the password was checked against, so a reset in between invalidates it.
    const admin = this.#admin;
    let matches: boolean;
    try {
      matches = await hasher.verify(admin?.passwordHash, password, attempt.recentFailures);
    } catch (error) {
      attempt.abandoned();
      throw error;
    }
    if (admin === undefined || !matches) {
      attempt.failed();
      log.warn({ client }, 'login failed');
      return { kind: 'wrong' };
    }
    attempt.succeeded();
    log.info({ client }, 'login');
    if (hasher.isOutdated(admin.passwordHash)) {
      await this.#rehash(admin, password);
    }
    return { kind: 'success', jwt: jwt.issue(admin.generation), expiresInSeconds: jwtTtlSeconds };
  }

  /** Stores the password hashed with the current parameters. The login succeeds even if that fails. */
  async #rehash(admin: StoredAdmin, password: string): Promise<void> {
    const { hasher, store, log } = this.parts;
    try {
      const renewed = { ...admin, passwordHash: await hasher.hash(password) };
      await this.#change(async () => {
        await store.replaceAdmin(renewed, admin.generation);
      });
    } catch (error) {
      log.warn({ err: error }, 'the password could not be hashed with the current parameters');
    }
  }

  setEnabled(enabled: boolean): Promise<boolean> {
    return this.#change(async () => {
      const state = enabled ? 'true' : 'false';
      await this.parts.store.storeSetting('auth_enabled', state);
      this.parts.log.info(`authentication ${enabled ? 'enabled' : 'disabled'}`);
      return enabled;
    });
  }

  enableUndecided(): Promise<void> {
    return this.#change(async () => {
      const isDone = await this.parts.store.storeSetting('auth_enabled', 'true', { value: 'undecided' });
      if (isDone) this.parts.log.info('authentication enabled');
    });
  }

  /** Runs a change after the earlier ones, whether or not those succeeded. */
  #change<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#changes.then(work, work);
    this.#changes = result.catch(() => undefined);
    return result;
  }

  async createToken(request: TokenRequest): Promise<IssuedToken> {
    const { store, now, log } = this.parts;
    const issued = await issueToken(store, request, now());
    const { id, permission } = issued.stored;
    log.info({ tokenId: id, permission }, 'access token created');
    return issued;
  }

  tokens(): Promise<readonly StoredToken[]> {
    return this.parts.store.tokens();
  }

  async rotateToken(id: number): Promise<IssuedToken | 'unknown' | 'expired'> {
    const { store, now, log } = this.parts;
    const outcome = await reissueToken(store, id, now());
    if (typeof outcome === 'object') {
      log.info({ tokenId: id }, 'access token rotated');
    }
    return outcome;
  }

  async deleteToken(id: number): Promise<boolean> {
    const deleted = await this.parts.store.deleteToken(id);
    if (deleted) {
      this.parts.log.info({ tokenId: id }, 'access token deleted');
    }
    return deleted;
  }

  async compareWith(engine: EngineCatalog): Promise<void> {
    const { catalog, store } = this.parts;
    catalog.useEngine(engine);
    await store.compare().catch((error: unknown) => {
      // It was reported, and closes the server.
      if (!(error instanceof StoreDamaged)) throw error;
    });
  }

  copyStore(path: string): Promise<boolean> {
    return this.parts.store.copyTo(path);
  }

  async close(): Promise<void> {
    await this.#change(() => this.parts.store.close());
  }
}
