import { randomBytes } from 'node:crypto';
import { AuthStartError } from './open';
import type { AuthReplication, ReplicatedNode } from './replication';
import type { LocalTokenStore } from './store/change';
import {
  StoreReadOnly,
  type InitialToken,
  type StoreDamaged,
  type StoredAdmin,
  type StoredSetting,
  type StoredToken,
  type TokenStore,
} from './store/port';

/**
 * The store of a node whose directory is served without its cluster: it says what it had when the node stopped, and every change
 * is refused.
 */
export class ReadOnlyReplication implements AuthReplication {
  /**
   * @param isOpen whether authentication was decided to be off by the settings: then it does not matter that the directory knows
   *   nothing of it
   */
  constructor(private readonly isOpen: boolean) {}

  async join(own: LocalTokenStore, { jwtSecret }: ReplicatedNode): Promise<TokenStore> {
    const { sequence = 0 } = (await own.logPosition()) ?? {};
    // A store that never followed its cluster would say that authentication is disabled.
    if (sequence === 0 && !this.isOpen) {
      throw new AuthStartError(
        'The data directory has no store of authentication that followed its cluster: give KITHDB_AUTH_ENABLED=false to serve it to everybody who reaches this server',
      );
    }
    const secret = jwtSecret ?? (await own.setting('jwt_secret')) ?? randomBytes(32).toString('base64url');
    return new ReadOnlyTokenStore(own, secret);
  }
}

class ReadOnlyTokenStore implements TokenStore {
  readonly isOutdated = false;

  constructor(
    private readonly own: LocalTokenStore,
    private readonly jwtSecret: string,
  ) {}

  get kind(): TokenStore['kind'] {
    return this.own.kind;
  }

  get fault(): StoreDamaged | undefined {
    return this.own.fault;
  }

  admin(): Promise<StoredAdmin | undefined> {
    return this.own.admin();
  }

  setting(name: StoredSetting): Promise<string | undefined> {
    return name === 'jwt_secret' ? Promise.resolve(this.jwtSecret) : this.own.setting(name);
  }

  initialToken(): Promise<InitialToken | undefined> {
    return this.own.initialToken();
  }

  tokens(): Promise<readonly StoredToken[]> {
    return this.own.tokens();
  }

  token(id: number): Promise<StoredToken | undefined> {
    return this.own.token(id);
  }

  tokenByDigest(digest: Buffer): Promise<StoredToken | undefined> {
    return this.own.tokenByDigest(digest);
  }

  createAdmin(): Promise<never> {
    return refuse();
  }

  replaceAdmin(): Promise<never> {
    return refuse();
  }

  storeSetting(): Promise<never> {
    return refuse();
  }

  createToken(): Promise<never> {
    return refuse();
  }

  putInitialToken(): Promise<never> {
    return refuse();
  }

  replaceDigest(): Promise<never> {
    return refuse();
  }

  deleteToken(): Promise<never> {
    return refuse();
  }

  compare(): Promise<void> {
    return this.own.compare();
  }

  copyTo(path: string): Promise<boolean> {
    return this.own.copyTo(path);
  }

  onChanged(): void {
    // Nothing changes what it has.
  }

  close(): Promise<void> {
    return this.own.close();
  }
}

function refuse(): Promise<never> {
  return Promise.reject(new StoreReadOnly());
}
