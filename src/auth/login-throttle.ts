import { networkOf, siteOf } from '../http/client-address';

/** Failures from one address within the window before it has to wait (C3.4). */
const ADDRESS_FAILURES = 5;
/** Failures from all IPv6 addresses of a /48, which one attacker may have, before they have to wait. */
const SITE_FAILURES = 20;
const WINDOW_MS = 60_000;
const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 60_000;
/** Addresses, and sites, that are kept; the one with the oldest last attempt is dropped first. */
const MAX_REMEMBERED = 10_000;
/** Attempts of one address, or site, that may wait for others of it to end. */
const MAX_QUEUED = 8;

/** Permission to try a password. Exactly one of its methods must be called, once. */
export interface Attempt {
  readonly allowed: true;
  /**
   * Failures and running attempts of the same origin, 0 where there are none. Where passwords have to wait to be checked,
   * the lowest come first.
   */
  readonly recentFailures: number;
  succeeded(): void;
  failed(): void;
  /** The attempt ended before the password was checked. */
  abandoned(): void;
}

/** The attempt is refused; the caller may try again after so many whole seconds. */
export interface Refusal {
  readonly allowed: false;
  readonly retryAfterSeconds: number;
}

/** Slows down guessing of passwords (C3.4). */
export interface LoginThrottle {
  /** Asks for permission to try a password; `address` is that of the client, as canonical text. */
  attempt(address: string): Promise<Attempt | Refusal>;
}

/**
 * After five failures from one address within a minute, the address has to wait, for longer with each further failure;
 * all IPv6 addresses of one /48 share a bound of twenty beside it. The admin is never locked out for good, and waiting
 * uses no thread.
 */
export class LocalLoginThrottle implements LoginThrottle {
  readonly #addresses: Origins;
  readonly #sites: Origins;

  /** @param now milliseconds, never going back */
  constructor(private readonly now: () => number) {
    this.#addresses = new Origins(ADDRESS_FAILURES);
    this.#sites = new Origins(SITE_FAILURES);
  }

  /**
   * Attempts in progress count as failures, so that concurrent attempts do not get around the limit: those beyond it wait
   * until one has ended.
   */
  async attempt(address: string): Promise<Attempt | Refusal> {
    const [network, siteName] = [networkOf(address), siteOf(address)];
    const site = siteName === network ? undefined : this.#sites.find(siteName);
    const now = this.now();
    if (site !== undefined && now < site.blockedUntil) {
      // Its addresses need not be remembered: there are more than memory has room for.
      return refusal(site.blockedUntil - now);
    }
    const own = this.#addresses.find(network);
    return this.#attemptFrom(site === undefined ? [own] : [own, site]);
  }

  /** @param origins what the attempt counts for: the address first */
  async #attemptFrom(origins: readonly Origin[]): Promise<Attempt | Refusal> {
    for (;;) {
      const now = this.now();
      const blockedUntil = Math.max(...origins.map((origin) => origin.blockedUntil));
      if (now < blockedUntil) {
        return refusal(blockedUntil - now);
      }
      const full = origins.find((origin) => !origin.hasPlace(now));
      if (full === undefined) {
        return this.#granted(origins);
      }
      if (!(await full.placeFreed())) {
        return refusal(FIRST_PAUSE_MS);
      }
    }
  }

  #granted(origins: readonly Origin[]): Attempt {
    const recentFailures = Math.max(...origins.map((origin) => origin.begin()));
    const end = (): void => {
      origins.forEach((origin) => {
        origin.end();
      });
    };
    return {
      allowed: true,
      recentFailures,
      succeeded: () => {
        // A success says nothing of the other addresses of its site.
        origins[0]?.clearFailures();
        end();
      },
      failed: () => {
        const now = this.now();
        origins.forEach((origin) => {
          origin.fail(now);
        });
        end();
      },
      abandoned: end,
    };
  }
}

/** Origins of attempts by name, at most so many. */
class Origins {
  readonly #known = new Map<string, Origin>();

  constructor(private readonly freeFailures: number) {}

  find(name: string): Origin {
    const origin = this.#known.get(name) ?? new Origin(this.freeFailures);
    // Re-inserted, so that the map's order is that of the last attempt.
    this.#known.delete(name);
    this.#known.set(name, origin);
    if (this.#known.size > MAX_REMEMBERED) {
      const [oldest] = this.#known.keys();
      this.#known.delete(oldest ?? '');
    }
    return origin;
  }
}

/** The attempts of one address or site. */
class Origin {
  /** Milliseconds. */
  blockedUntil = 0;
  /** When recent attempts failed, oldest first, in milliseconds. */
  #failures: number[] = [];
  /** The pause after the next failure. */
  #nextPauseMs = FIRST_PAUSE_MS;
  #running = 0;
  #queue: (() => void)[] = [];

  constructor(private readonly freeFailures: number) {}

  /** Whether one more may run. After a pause has passed one attempt at a time is free. */
  hasPlace(now: number): boolean {
    this.#forgetOldFailures(now);
    return this.#running < Math.max(1, this.freeFailures - this.#failures.length);
  }

  /** Waits until an attempt has ended; false when too many wait already. */
  async placeFreed(): Promise<boolean> {
    if (this.#queue.length >= MAX_QUEUED) {
      return false;
    }
    await new Promise<void>((resolve) => this.#queue.push(resolve));
    return true;
  }

  /** Gives the failures and running attempts before this one. */
  begin(): number {
    const before = this.#failures.length + this.#running;
    this.#running += 1;
    return before;
  }

  end(): void {
    this.#running -= 1;
    const waiting = this.#queue.splice(0);
    for (const wake of waiting) {
      wake();
    }
  }

  fail(now: number): void {
    this.#failures.push(now);
    if (this.#failures.length >= this.freeFailures) {
      this.#failures = this.#failures.slice(-this.freeFailures);
      this.blockedUntil = now + this.#nextPauseMs;
      this.#nextPauseMs = Math.min(this.#nextPauseMs * 2, LONGEST_PAUSE_MS);
    }
  }

  clearFailures(): void {
    this.#failures = [];
    this.#nextPauseMs = FIRST_PAUSE_MS;
    this.blockedUntil = 0;
  }

  /** Failures count for a minute after the pause that they caused: after a pause one attempt is free, not five. */
  #forgetOldFailures(now: number): void {
    if (now - this.blockedUntil < WINDOW_MS && this.blockedUntil !== 0) {
      return;
    }
    this.#failures = this.#failures.filter((at) => now - at < WINDOW_MS);
    if (this.#failures.length === 0) {
      this.#nextPauseMs = FIRST_PAUSE_MS;
      this.blockedUntil = 0;
    }
  }
}

function refusal(waitMs: number): Refusal {
  return { allowed: false, retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)) };
}
