import type { Client } from './shares';

/** A number that is added to. */
export interface Counter {
  readonly value: number;
  /** The value after it. */
  add(amount: number): number;
}

/** What each client holds of something. */
export interface Holdings {
  of(client: string): number;
  add(client: string, amount: number): void;
}

/** The clients of the moment, by network and by credential: what every budget is shared among. Each is at least 1. */
export interface Activity {
  readonly networks: number;
  readonly credentials: number;
  /** Notes a request at `now`, in milliseconds that never go back. */
  note(client: Client, now: number): void;
}

/** What is held of one budget. */
export interface BudgetCounts {
  readonly used: Counter;
  readonly byNetwork: Holdings;
  readonly byCredential: Holdings;
}

/** Where an admission counts: in the memory of one event loop, or in memory that all event loops of the process share. */
export interface AdmissionMemory {
  readonly activity: Activity;
  readonly requests: BudgetCounts;
  readonly bodyBytes: BudgetCounts;
  readonly answerBytes: BudgetCounts;
  /** Bodies that have not arrived whole, and what they hold. */
  readonly arriving: { readonly bodies: Counter; readonly bytes: Counter };
  /** Whether other event loops count there too. */
  readonly isShared: boolean;
}

/** The memory of one event loop. */
export function localMemory(): AdmissionMemory {
  return {
    activity: new LocalActivity(),
    requests: localCounts(),
    bodyBytes: localCounts(),
    answerBytes: localCounts(),
    arriving: { bodies: new LocalCounter(), bytes: new LocalCounter() },
    isShared: false,
  };
}

function localCounts(): BudgetCounts {
  return { used: new LocalCounter(), byNetwork: new LocalHoldings(), byCredential: new LocalHoldings() };
}

class LocalCounter implements Counter {
  value = 0;

  add(amount: number): number {
    this.value += amount;
    return this.value;
  }
}

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

/** The clients of the moment of one event loop. */
class LocalActivity implements Activity {
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

/** What each client holds, exactly. */
class LocalHoldings implements Holdings {
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
