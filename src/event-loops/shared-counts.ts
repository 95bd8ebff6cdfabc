import type { Activity, BudgetCounts, Counter, Holdings } from '../http/admission-memory';
import type { Client } from '../http/shares';

/** Clients are told apart by a hash of so many values. Two with the same one share a share. */
const BUCKETS = 4096;
const BITMAP_WORDS = BUCKETS / 32;
/** A client counts for this long after its last request, and up to twice as long. */
const EPOCH_MS = 1000;
/** The epoch of now, the one before, and the next one, whose bitmap is empty. */
const BITMAPS = 3;

/** Hands out parts of shared memory. Every event loop asks for the same parts in the same order. */
export class Parts {
  #next = 0;

  constructor(private readonly words: Int32Array) {}

  /** So many words, which begin with 0. */
  take(words: number): Int32Array {
    const from = this.#next;
    this.#next += words;
    return this.words.subarray(from, this.#next);
  }
}

/** Numbers for names, other ones in each process, so that nobody can choose a name that shares its number with another. */
export class Buckets {
  #name: string | undefined;
  #bucket = 0;

  constructor(private readonly seed: number) {}

  /** FNV-1a. Most names are the one before. */
  of(name: string): number {
    if (name !== this.#name) {
      let hash = this.seed;
      for (let at = 0; at < name.length; at += 1) {
        hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193);
      }
      this.#name = name;
      this.#bucket = (hash ^ (hash >>> 15)) & (BUCKETS - 1);
    }
    return this.#bucket;
  }
}

/** A number in shared memory. It is kept in units, since a word has 32 bits; what is added is rounded up to whole ones. */
export class SharedCounter implements Counter {
  readonly #word: Int32Array;

  constructor(
    parts: Parts,
    private readonly unit = 1,
  ) {
    this.#word = parts.take(1);
  }

  get value(): number {
    return Atomics.load(this.#word, 0) * this.unit;
  }

  add(amount: number): number {
    const units = inUnits(amount, this.unit);
    return (Atomics.add(this.#word, 0, units) + units) * this.unit;
  }
}

/** What clients hold, by their buckets. */
class SharedHoldings implements Holdings {
  readonly #held: Int32Array;

  constructor(
    parts: Parts,
    private readonly buckets: Buckets,
    private readonly unit: number,
  ) {
    this.#held = parts.take(BUCKETS);
  }

  of(client: string): number {
    return Atomics.load(this.#held, this.buckets.of(client)) * this.unit;
  }

  add(client: string, amount: number): void {
    Atomics.add(this.#held, this.buckets.of(client), inUnits(amount, this.unit));
  }
}

/** What is given back takes as many units as what was added. */
function inUnits(amount: number, unit: number): number {
  return unit === 1 ? amount : Math.sign(amount) * Math.ceil(Math.abs(amount) / unit);
}

/** The buckets of networks, and those of credentials. */
export interface ClientBuckets {
  readonly networks: Buckets;
  readonly credentials: Buckets;
}

/** The counts of one budget, in units. What a client gives back must be what it took, unless the unit is 1. */
export function sharedCounts(parts: Parts, { networks, credentials }: ClientBuckets, unit = 1): BudgetCounts {
  return {
    used: new SharedCounter(parts, unit),
    byNetwork: new SharedHoldings(parts, networks, unit),
    byCredential: new SharedHoldings(parts, credentials, unit),
  };
}

const EPOCH = 0;
const COUNT = 1;

/** Counts the clients that have sent a request to any event loop lately, by their buckets. */
class SharedClients {
  readonly #words: Int32Array;
  readonly #bitmaps: Int32Array;
  #lastClient: string | undefined;
  #lastEpoch = 0;

  constructor(
    parts: Parts,
    private readonly buckets: Buckets,
  ) {
    this.#words = parts.take(2);
    this.#bitmaps = parts.take(BITMAPS * BITMAP_WORDS);
  }

  get count(): number {
    return Math.max(1, Atomics.load(this.#words, COUNT));
  }

  note(client: string, epoch: number): void {
    if (client === this.#lastClient && epoch === this.#lastEpoch) {
      return;
    }
    this.#lastClient = client;
    this.#lastEpoch = epoch;
    const now = this.#turnTo(epoch);
    const bucket = this.buckets.of(client);
    const [word, bit] = [bucket >>> 5, 1 << (bucket & 31)];
    const isNew = (Atomics.or(this.#bitmap(now), word, bit) & bit) === 0;
    if (isNew && (Atomics.load(this.#bitmap(now - 1), word) & bit) === 0) {
      Atomics.add(this.#words, COUNT, 1);
    }
  }

  /** Turns to an epoch, unless another event loop has turned to it or a later one; gives the one that counts. */
  #turnTo(epoch: number): number {
    const known = Atomics.load(this.#words, EPOCH);
    if (epoch <= known) {
      return known;
    }
    if (Atomics.compareExchange(this.#words, EPOCH, known, epoch) !== known) {
      return Atomics.load(this.#words, EPOCH);
    }
    if (epoch > known + 1) {
      this.#bitmap(epoch - 1).fill(0);
      this.#bitmap(epoch).fill(0);
    }
    this.#bitmap(epoch + 1).fill(0);
    const [before, now] = [this.#bitmap(epoch - 1), this.#bitmap(epoch)];
    Atomics.store(
      this.#words,
      COUNT,
      before.reduce((bits, word, at) => bits + bitsOf(word | (now[at] ?? 0)), 0),
    );
    return epoch;
  }

  #bitmap(epoch: number): Int32Array {
    const from = (((epoch % BITMAPS) + BITMAPS) % BITMAPS) * BITMAP_WORDS;
    return this.#bitmaps.subarray(from, from + BITMAP_WORDS);
  }
}

function bitsOf(word: number): number {
  let bits = 0;
  for (let left = word; left !== 0; left &= left - 1) {
    bits += 1;
  }
  return bits;
}

/** The clients of the moment of all event loops. */
export class SharedActivity implements Activity {
  readonly #networks: SharedClients;
  readonly #credentials: SharedClients;
  /** Of the clock of this event loop from that of the process, in milliseconds. */
  readonly #offsetMs = Number(process.hrtime.bigint() / 1000n) / 1000 - performance.now();

  constructor(parts: Parts, { networks, credentials }: ClientBuckets) {
    this.#networks = new SharedClients(parts, networks);
    this.#credentials = new SharedClients(parts, credentials);
  }

  get networks(): number {
    return this.#networks.count;
  }

  get credentials(): number {
    return this.#credentials.count;
  }

  note({ network, credential }: Client, now: number): void {
    const epoch = Math.floor((now + this.#offsetMs) / EPOCH_MS);
    this.#networks.note(network, epoch);
    if (credential !== undefined) {
      this.#credentials.note(credential, epoch);
    }
  }
}
