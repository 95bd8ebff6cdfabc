import type { Identity } from '../http/authorization';

const MOST_KNOWN = 10_000;
const MOST_UNKNOWN = 1000;
/** How long a digest that the store does not know is remembered. */
const UNKNOWN_MS = 1000;

/** What a digest stands for. */
export interface KnownToken {
  readonly identity: Identity;
  /** Seconds since 1970, null for never: checked at every use. */
  readonly expiresAt: number | null;
}

/**
 * Remembers which digest stands for whom, so that a request costs no look-up. {@link clear} empties it at once and
 * outdates look-ups that are still running.
 */
export class IdentityCache {
  #epoch = 0;
  readonly #known = new Map<string, KnownToken>();
  /** When each was looked up in vain, in milliseconds. */
  readonly #unknown = new Map<string, number>();

  /** @param now milliseconds, never going back */
  constructor(private readonly now: () => number) {}

  /** Outdates everything looked up before. */
  clear(): void {
    this.#epoch += 1;
    this.#known.clear();
    this.#unknown.clear();
  }

  /** A mark of this moment: {@link remember} takes only what was looked up since the last {@link clear}. */
  get epoch(): number {
    return this.#epoch;
  }

  /** The token, null for one that the store did not know a moment ago, undefined when the store must be asked. */
  find(digest: string): KnownToken | null | undefined {
    const known = this.#known.get(digest);
    if (known !== undefined) {
      return known;
    }
    const failedAt = this.#unknown.get(digest);
    return failedAt !== undefined && this.now() - failedAt < UNKNOWN_MS ? null : undefined;
  }

  /** Keeps what the store said in `epoch`. */
  remember(digest: string, token: KnownToken | null, epoch: number): void {
    if (epoch !== this.#epoch) {
      return;
    }
    if (token === null) {
      this.#unknown.delete(digest);
      this.#unknown.set(digest, this.now());
      dropOldest(this.#unknown, MOST_UNKNOWN);
    } else {
      this.#known.set(digest, token);
      dropOldest(this.#known, MOST_KNOWN);
    }
  }
}

function dropOldest(map: Map<string, unknown>, most: number): void {
  if (map.size > most) {
    const [oldest] = map.keys();
    map.delete(oldest ?? '');
  }
}
