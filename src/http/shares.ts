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
/** A client counts for this long after its last request, and up to twice as long. */
const EPOCH_MS = 1000;
/** Clients that are distinguished when they are counted. A share of a budget among more is nothing anyway. */
const MAX_COUNTED = 1024;

/** Counts the clients that have sent a request lately. */
class ActiveClients {
  #now = new Set<string>();
  #before = new Set<string>();
  #since = 0;
  #count = 0;
  #last: string | undefined;

  /** At least 1. */
  get count(): number {
    return Math.max(1, this.#count);
  }

  /** Notes a request of `client` at `now`, in milliseconds that never go back. */
  note(client: string, now: number): void {
    const isNewEpoch = now - this.#since >= EPOCH_MS;
    if (client === this.#last && !isNewEpoch) {
      return;
    }
    this.#last = client;
    if (isNewEpoch) {
      this.#before = now - this.#since < 2 * EPOCH_MS ? this.#now : new Set();
      this.#now = new Set();
      this.#since = now;
      this.#count = this.#before.size;
    }
    if (!this.#now.has(client) && this.#now.size < MAX_COUNTED) {
      this.#now.add(client);
      this.#count += this.#before.has(client) ? 0 : 1;
    }
  }
}

/** The clients of the moment, by network and by credential: what every budget is shared among. */
export class Activity {
  readonly #networks = new ActiveClients();
  readonly #credentials = new ActiveClients();

  get networks(): number {
    return this.#networks.count;
  }

  get credentials(): number {
    return this.#credentials.count;
  }

  /** Notes a request at `now`, in milliseconds that never go back. */
  note({ network, credential }: Client, now: number): void {
    this.#networks.note(network, now);
    if (credential !== undefined) {
      this.#credentials.note(credential, now);
    }
  }
}

/** What one client holds. */
interface Holding {
  readonly client: string;
  amount: number;
}

/** What each client holds of something. */
class Holdings {
  readonly #held = new Map<string, Holding>();
  /** The client of the last change: most changes are of the same one as the one before. It may hold nothing. */
  #last: Holding | undefined;

  of(client: string): number {
    return this.#find(client)?.amount ?? 0;
  }

  add(client: string, amount: number): void {
    let holding = this.#find(client);
    if (holding === undefined) {
      holding = { client, amount: 0 };
      this.#held.set(client, holding);
    }
    holding.amount += amount;
    if (this.#last !== holding) {
      this.#forgetIfEmpty(this.#last);
      this.#last = holding;
    }
  }

  #find(client: string): Holding | undefined {
    return this.#last?.client === client ? this.#last : this.#held.get(client);
  }

  #forgetIfEmpty(holding: Holding | undefined): void {
    if (holding?.amount === 0) {
      this.#held.delete(holding.client);
    }
  }
}

/**
 * Something of which the server holds a bounded amount: requests, or bytes. Up to a half of it any client takes what it
 * wants. Beyond that a client holds at most its fair share: what is left after a reserve for newcomers, divided by the
 * clients of the moment. So one client alone may use almost everything, and behind a proxy that is not trusted, where all
 * users are one address, they share what one client alone may use.
 */
export class SharedBudget {
  #used = 0;
  readonly #byNetwork = new Holdings();
  readonly #byCredential = new Holdings();

  constructor(
    readonly limit: number,
    private readonly activity: Activity,
  ) {}

  get used(): number {
    return this.#used;
  }

  hasRoomFor(amount: number): boolean {
    return this.#used + amount <= this.limit;
  }

  /**
   * The share that `client` would exceed with `more`; undefined when it may have them. `own` is what the request that asks
   * holds already: a share never refuses the only thing that its client has.
   */
  exceededShare(client: Client, more: number, own = 0): Share | undefined {
    if (this.#used + more <= this.limit * UNCONTENDED) {
      return undefined;
    }
    return this.#sharesOf(client).find(({ held, share }) => held > own && held + more > share.amount)?.share;
  }

  /** How much more `client` may have now, and the share that says so, where it is not the limit. */
  freeFor(client: Client): { readonly amount: number; readonly share?: Share } {
    const uncontended = this.limit * UNCONTENDED - this.#used;
    let free: { amount: number; share?: Share } = { amount: this.limit - this.#used };
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
    const shares = [{ held: this.#byNetwork.of(network), share: address }];
    if (credential !== undefined) {
      const share: Share = { of: 'credential', amount: Math.floor(shared / credentials) };
      shares.unshift({ held: this.#byCredential.of(credential), share });
    }
    return shares;
  }

  /** Adds what `client` holds; a negative amount gives back. Whether there is room is for the caller to ask. */
  hold({ network, credential }: Client, amount: number): void {
    this.#used += amount;
    this.#byNetwork.add(network, amount);
    if (credential !== undefined) {
      this.#byCredential.add(credential, amount);
    }
  }
}

/** How a message names what a share is of. */
export function shareText({ of, amount }: Share, unit = ''): string {
  return `from this ${of}: its share is ${amount}${unit} while the server is busy`;
}
