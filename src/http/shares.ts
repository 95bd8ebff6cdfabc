import type { Activity, BudgetCounts } from './admission-memory';

/** Who a request counts for when what the server holds is shared out. */
export interface Client {
  /** The network that it comes from: see `networkOf` of `client-address.ts`. */
  readonly network: string;
  /** The owner of its credential, such as `token 7`; undefined where no credential counts. */
  readonly credential: string | undefined;
}

/** What a share is of, as a message names it. */
export type ShareOf = 'address' | 'credential';

/** Whether two clients are the same as far as a share is concerned. */
export function isSame(of: ShareOf, one: Client, other: Client): boolean {
  return of === 'address' ? one.network === other.network : one.credential === other.credential;
}

/** The share of one client in a budget. */
export interface Share {
  readonly of: ShareOf;
  readonly amount: number;
}

/** The part of a budget up to which clients are not limited to shares. */
const UNCONTENDED = 1 / 2;
/** The part of a budget that the clients of the moment leave for one that comes next. */
const RESERVE = 1 / 8;
/**
 * Something of which the server holds a bounded amount: requests, or bytes. Up to a half of it any client takes what it
 * wants. Beyond that a client holds at most its fair share: what is left after a reserve for newcomers, divided by the
 * clients of the moment. So one client alone may use almost everything, and behind a proxy that is not trusted, where all
 * users are one address, they share what one client alone may use.
 */
export class SharedBudget {
  constructor(
    readonly limit: number,
    private readonly activity: Activity,
    private readonly counts: BudgetCounts,
  ) {}

  get used(): number {
    return this.counts.used.value;
  }

  hasRoomFor(amount: number): boolean {
    return this.used + amount <= this.limit;
  }

  /**
   * The share that `client` would exceed with `more`; undefined when it may have them. `own` is what the request that asks
   * holds already: a share never refuses the only thing that its client has.
   */
  exceededShare(client: Client, more: number, own = 0): Share | undefined {
    if (this.used + more <= this.limit * UNCONTENDED) {
      return undefined;
    }
    return this.#sharesOf(client).find(({ held, share }) => held > own && held + more > share.amount)?.share;
  }

  /** How much more `client` may have now, and the share that says so, where it is not the limit. */
  freeFor(client: Client): { readonly amount: number; readonly share?: Share } {
    const uncontended = this.limit * UNCONTENDED - this.used;
    let free: { amount: number; share?: Share } = { amount: this.limit - this.used };
    for (const { held, share } of this.#sharesOf(client)) {
      const amount = Math.max(share.amount - held, uncontended);
      if (amount < free.amount) {
        free = { amount, share };
      }
    }
    return free;
  }

  /** The shares that bind a client, and what it holds of each. */
  #sharesOf({ network, credential }: Client): readonly { readonly held: number; readonly share: Share }[] {
    const shared = this.limit - Math.floor(this.limit * RESERVE);
    const { networks, credentials } = this.activity;
    const address: Share = { of: 'address', amount: Math.floor(shared / networks) };
    const shares = [{ held: this.counts.byNetwork.of(network), share: address }];
    if (credential !== undefined) {
      const share: Share = { of: 'credential', amount: Math.floor(shared / credentials) };
      shares.unshift({ held: this.counts.byCredential.of(credential), share });
    }
    return shares;
  }

  /**
   * Adds what `client` holds where there is room for it; false where there is none. All event loops that count in the same
   * memory never take more than the limit together.
   */
  take(client: Client, amount: number): boolean {
    const { used } = this.counts;
    if (used.add(amount) > this.limit) {
      used.add(-amount);
      return false;
    }
    this.#note(client, amount);
    return true;
  }

  /** Adds what `client` holds, whether or not there is room; a negative amount gives back. */
  hold(client: Client, amount: number): void {
    this.counts.used.add(amount);
    this.#note(client, amount);
  }

  #note({ network, credential }: Client, amount: number): void {
    this.counts.byNetwork.add(network, amount);
    if (credential !== undefined) {
      this.counts.byCredential.add(credential, amount);
    }
  }
}

/** How a message names what a share is of. */
export function shareText({ of, amount }: Share, unit = ''): string {
  return `from this ${of}: its share is ${amount}${unit} while the server is busy`;
}
