import { digestOf, tokenIn, type Credential } from '../auth/access-token';
import { aliveAt, LocalIdentityCache } from '../auth/identity-cache';
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
  readonly #identities = new LocalIdentityCache(() => performance.now());
  readonly #lookups = new Map<string, Promise<KnownCredential | null>>();
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
    return this.#lookUp(key, { authorization, apiKey }).then((found) => aliveAt(found, this.now()));
  }

  #forgetWhatIsRevoked(): void {
    const generation = this.memory.credentials;
    if (generation !== this.#generation) {
      this.#generation = generation;
      this.#identities.clear();
      this.#lookups.clear();
    }
  }

  /** Asks once for all requests that need the same credential at the same time. */
  #lookUp(key: string, credential: Credential): Promise<KnownCredential | null> {
    const running = this.#lookups.get(key);
    if (running !== undefined) {
      return running;
    }
    const { epoch } = this.#identities;
    const lookup = this.ask(credential)
      .then((found) => {
        this.#forgetWhatIsRevoked();
        if (found?.isLasting !== false) this.#identities.remember(key, found, epoch);
        return found;
      })
      .finally(() => {
        if (this.#lookups.get(key) === lookup) {
          this.#lookups.delete(key);
        }
      });
    this.#lookups.set(key, lookup);
    return lookup;
  }
}
