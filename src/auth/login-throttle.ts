import { isIPv6 } from 'node:net';
import { unmapped } from './loopback';

/** Failures from one address within the window before it has to wait. */
const FREE_FAILURES = 5;
const WINDOW_MS = 60_000;
const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 60_000;
/** Addresses remembered; the one whose last attempt is the oldest is forgotten first. */
const MOST_ADDRESSES = 10_000;
/** Attempts of one address that may wait for others of it to end. */
const MOST_QUEUED = 8;

interface Address {
  /** When recent attempts failed, oldest first, in milliseconds. */
  failures: number[];
  blockedUntil: number;
  /** The pause after the next failure. */
  nextPauseMs: number;
  running: number;
  queue: (() => void)[];
}

/** Permission to try a password. Exactly one of its methods must be called, once. */
export interface Attempt {
  readonly allowed: true;
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
  /** Asks for permission to try a password; `peer` is the address of the socket. */
  attempt(peer: string): Promise<Attempt | Refusal>;
}

/**
 * After five failures from one address within a minute, the address has to wait, for longer with each further failure.
 * The admin is never locked out for good, and waiting uses no thread.
 */
export class LocalLoginThrottle implements LoginThrottle {
  readonly #addresses = new Map<string, Address>();

  /** @param now milliseconds, never going back */
  constructor(private readonly now: () => number) {}

  /**
   * Attempts in progress count as failures, so that concurrent attempts do not get around the limit: those beyond it wait
   * until one has ended.
   */
  async attempt(peer: string): Promise<Attempt | Refusal> {
    const address = this.#find(networkOf(peer));
    for (;;) {
      const now = this.now();
      if (now < address.blockedUntil) {
        return refusal(address.blockedUntil - now);
      }
      this.#forgetOldFailures(address, now);
      const spent = address.failures.length;
      // After a pause has passed one attempt at a time is free.
      const places = Math.max(1, FREE_FAILURES - spent);
      if (address.running < places) {
        address.running += 1;
        return this.#granted(address);
      }
      if (address.queue.length >= MOST_QUEUED) {
        return refusal(FIRST_PAUSE_MS);
      }
      await new Promise<void>((resolve) => address.queue.push(resolve));
    }
  }

  #granted(address: Address): Attempt {
    const end = (): void => {
      address.running -= 1;
      const waiting = address.queue.splice(0);
      for (const wake of waiting) {
        wake();
      }
    };
    return {
      allowed: true,
      succeeded: () => {
        address.failures = [];
        address.nextPauseMs = FIRST_PAUSE_MS;
        address.blockedUntil = 0;
        end();
      },
      failed: () => {
        const now = this.now();
        address.failures.push(now);
        if (address.failures.length >= FREE_FAILURES) {
          address.failures = address.failures.slice(-FREE_FAILURES);
          address.blockedUntil = now + address.nextPauseMs;
          address.nextPauseMs = Math.min(address.nextPauseMs * 2, LONGEST_PAUSE_MS);
        }
        end();
      },
      abandoned: end,
    };
  }

  /** Failures count for a minute after the pause that they caused: after a pause one attempt is free, not five. */
  #forgetOldFailures(address: Address, now: number): void {
    if (now - address.blockedUntil < WINDOW_MS && address.blockedUntil !== 0) {
      return;
    }
    address.failures = address.failures.filter((at) => now - at < WINDOW_MS);
    if (address.failures.length === 0) {
      address.nextPauseMs = FIRST_PAUSE_MS;
      address.blockedUntil = 0;
    }
  }

  #find(network: string): Address {
    const known = this.#addresses.get(network);
    const address: Address = known ?? {
      failures: [],
      blockedUntil: 0,
      nextPauseMs: FIRST_PAUSE_MS,
      running: 0,
      queue: [],
    };
    // Re-inserted, so that the map's order is that of the last attempt.
    this.#addresses.delete(network);
    this.#addresses.set(network, address);
    if (this.#addresses.size > MOST_ADDRESSES) {
      const [oldest] = this.#addresses.keys();
      this.#addresses.delete(oldest ?? '');
    }
    return address;
  }
}

function refusal(waitMs: number): Refusal {
  return { allowed: false, retryAfterSeconds: Math.max(1, Math.ceil(waitMs / 1000)) };
}

/** What counts as one address: an IPv4 address, or the /64 that one IPv6 customer can pick addresses from. */
export function networkOf(peer: string): string {
  const address = unmapped(peer);
  if (!isIPv6(address)) {
    return address;
  }
  const [head = '', tail] = (address.split('%')[0] ?? '').split('::');
  const groups = head === '' ? [] : head.split(':');
  if (tail !== undefined) {
    const end = tail === '' ? [] : tail.split(':');
    groups.push(...Array.from({ length: Math.max(0, 8 - groups.length - end.length) }, () => '0'), ...end);
  }
  return groups
    .slice(0, 4)
    .map((group) => parseInt(group, 16).toString(16))
    .join(':');
}
