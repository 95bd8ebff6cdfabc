import { digestOf, tokenIn, type Credential } from '../auth/access-token';
import { aliveAt, LocalIdentityCache } from '../auth/identity-cache';
import { Lookups } from '../auth/lookups';
import type { KnownCredential } from '../auth/service';
import type { Authenticator, Identity } from '../http/authorization';
import type { SharedMemory } from './shared-memory';

/** Who a credential belongs to, as the event loop says that has the store; null for a bad one. */
export type AskFor = (credential: Credential) => Promise<KnownCredential | null>;

/**
 * Authentication of an event loop that does not have its store. What counts for all event loops is read from shared memory at
 * each request; identities of access tokens are kept here as long as nothing was revoked, and every other credential is
 * looked up each time.
 */
export class RemoteAuthenticator implements Authenticator {
  /** Only routes of the event loop that has the store ask for it. */
  readonly adminExists = true;
  /** A node of a cluster has one event loop. */
  readonly isOutdated = false;
  readonly #identities = new LocalIdentityCache(() => performance.now());
  readonly #lookups = new Lookups<KnownCredential | null>();
  /** What the cache holds was looked up since the shared memory had this number. */
  #generation: number;

  constructor(
    private readonly memory: Pick<SharedMemory, 'authState' | 'credentials'>,
    private readonly ask: AskFor,
    private readonly now: () => number = Date.now,
  ) {
    this.#generation = memory.credentials;
  }

  get isClosed(): boolean {
    return this.memory.authState === 'closed';
  }

  get enabled(): boolean {
    return this.memory.authState === 'enabled';
  }

  identify(
    authorization: string | undefined,
    apiKey: string | undefined,
  ): Identity | null | Promise<Identity | null> {
    const token = tokenIn({ authorization, apiKey });
    if (token === undefined) {
      return null;
    }
    this.#forgetWhatIsRevoked();
    const key = digestOf(token).toString('base64');
    const known = this.#identities.find(key);
    if (known !== undefined) {
      return aliveAt(known, this.now());
    }
    const lookup = this.#lookups.share(key, () => this.#lookUp(key, { authorization, apiKey }));
    return lookup.then((found) => aliveAt(found, this.now()));
  }

  #forgetWhatIsRevoked(): void {
    const generation = this.memory.credentials;
    if (generation !== this.#generation) {
      this.#generation = generation;
      this.#identities.clear();
      this.#lookups.clear();
    }
  }

  async #lookUp(key: string, credential: Credential): Promise<KnownCredential | null> {
    const { epoch } = this.#identities;
    const found = await this.ask(credential);
    this.#forgetWhatIsRevoked();
    if (found?.isLasting !== false) this.#identities.remember(key, found, epoch);
    return found;
  }
}
