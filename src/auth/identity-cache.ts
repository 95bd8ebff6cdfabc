import type { Identity } from '../http/authorization';

const MAX_KNOWN = 10_000;
const MAX_UNKNOWN = 1000;
/** How long a digest that the store does not know is remembered. */
const UNKNOWN_MS = 1000;

/** An access token as the cache keeps it. */
export interface KnownToken {
  readonly identity: Identity;
  /** Seconds since 1970, null for never: checked at every use. */
  readonly expiresAt: number | null;
}

/** The identity of a token that is not expired at `nowMs`, in milliseconds since 1970; it expires from that second on (C3.15). */
export function aliveAt(token: KnownToken | null, nowMs: number): Identity | null {
  return token === null || (token.expiresAt !== null && nowMs >= token.expiresAt * 1000)
    ? null
    : token.identity;
}

/** Keeps the identities of access tokens by the tokens' digests, so that a request needs no query of the store. */
export interface IdentityCache {
  /** Names this moment: {@link remember} takes only what was looked up since the last {@link clear}. */
  readonly epoch: number;
  /** Empties the cache, and invalidates queries that are still running. */
  clear(): void;
  /** The token, null for one that the store did not have a moment ago, undefined when the store must be queried. */
  find(digest: string): KnownToken | null | undefined;
  /** Keeps the result of a query that began in `epoch`. */
  remember(digest: string, token: KnownToken | null, epoch: number): void;
}

/** An {@link IdentityCache} in the memory of one event loop. */
export class LocalIdentityCache implements IdentityCache {
  #epoch = 0;
  readonly #known = new Map<string, KnownToken>();
  /** When the store was queried for each without a result, in milliseconds. */
  readonly #unknown = new Map<string, number>();

  /**
   * @param now milliseconds, never going back
   * @param cleared is called when it is emptied, before that counts as done
   */
  constructor(
    private readonly now: () => number,
    private readonly cleared: () => void = () => undefined,
  ) {}

  clear(): void {
    this.#epoch += 1;
    this.cleared();
    this.#known.clear();
    this.#unknown.clear();
  }

  get epoch(): number {
    return this.#epoch;
  }

  find(digest: string): KnownToken | null | undefined {
    const known = this.#known.get(digest);
    if (known !== undefined) {
      return known;
    }
    const failedAt = this.#unknown.get(digest);
    return failedAt !== undefined && this.now() - failedAt < UNKNOWN_MS ? null : undefined;
  }

  remember(digest: string, token: KnownToken | null, epoch: number): void {
    if (epoch !== this.#epoch) {
      return;
    }
    if (token === null) {
      this.#unknown.delete(digest);
      this.#unknown.set(digest, this.now());
      dropOldest(this.#unknown, MAX_UNKNOWN);
    } else {
      this.#known.set(digest, token);
      dropOldest(this.#known, MAX_KNOWN);
    }
  }
}

function dropOldest(map: Map<string, unknown>, most: number): void {
  if (map.size > most) {
    const [oldest] = map.keys();
    map.delete(oldest ?? '');
  }
}
