import { LinkedList, type Entry } from './linked-list';
import type { Counter } from './admission-memory';
import { refusal, type Refusal } from './refusal';
import { isSame, type Client, type ShareOf } from './shares';

/** A body that has not arrived whole, as its reader knows it. */
export interface ArrivingBody {
  /** Bytes that have arrived. */
  readonly received: number;
  /** Ends the reading, gives back what the body holds, and answers the request. */
  giveUp(refusal: Refusal): void;
}

/** What one arriving body holds. */
export interface HeldBody {
  readonly client: Client;
  readonly body: ArrivingBody;
  /** When its head arrived, in milliseconds. */
  readonly since: number;
  bytes: number;
  /** Its place among the others. */
  place: Entry<HeldBody> | undefined;
}

/** A body younger than this is not called slow while there are older ones. */
const YOUNG_MS = 1000;

/** The bodies that have not arrived whole, and which of them makes room for another one. */
export class ArrivingBodies {
  readonly #bodies = new LinkedList<HeldBody>();

  /** @param counts of all event loops that share the limit */
  constructor(
    private readonly limit: number,
    private readonly counts: { readonly bodies: Counter; readonly bytes: Counter },
  ) {}

  get size(): number {
    return this.counts.bodies.value;
  }

  /** What they hold together. */
  get bytes(): number {
    return this.counts.bytes.value;
  }

  /** Adds a body that arrives from `now` on. At the limit the slowest of this event loop makes room for it. */
  add(client: Client, body: ArrivingBody, now: number): HeldBody {
    if (this.size >= this.limit) {
      const message = `Too many request bodies arrive at once: this was the slowest of ${this.limit}`;
      this.#giveUp(this.#slowest(now), refusal('bodies', message));
    }
    const held: HeldBody = { client, body, since: now, bytes: 0, place: undefined };
    held.place = this.#bodies.add(held);
    this.counts.bodies.add(1);
    return held;
  }

  /** Notes that a body holds more. */
  grow(held: HeldBody, bytes: number): void {
    if (held.place?.isListed === true) {
      held.bytes += bytes;
      this.counts.bytes.add(bytes);
    }
  }

  /** Forgets a body that has arrived or is given up; a second call does nothing. */
  remove(held: HeldBody): void {
    if (held.place !== undefined && this.#bodies.remove(held.place)) {
      this.counts.bodies.add(-1);
      this.counts.bytes.add(-held.bytes);
    }
  }

  /**
   * Gives up the body that has held most for longest, if that is more than `own` would hold with `more` bytes: so the
   * body that holds least is always finished. Where `shared` says so, only a body of the same client. False when there is
   * none.
   */
  makeRoomFor(own: HeldBody, more: number, now: number, why: Refusal, shared?: ShareOf): boolean {
    if (own.place?.isListed !== true) {
      return false;
    }
    let least = (own.bytes + more) * (now - own.since);
    let heaviest: HeldBody | undefined;
    for (const held of this.#bodies) {
      const weight = held.bytes * (now - held.since);
      if (
        held !== own &&
        weight > least &&
        (shared === undefined || isSame(shared, held.client, own.client))
      ) {
        least = weight;
        heaviest = held;
      }
    }
    this.#giveUp(heaviest, why);
    return heaviest !== undefined;
  }

  #giveUp(held: HeldBody | undefined, why: Refusal): void {
    if (held !== undefined) {
      this.remove(held);
      held.body.giveUp(why);
    }
  }

  /** The body with the lowest rate; the oldest when all are young. */
  #slowest(now: number): HeldBody | undefined {
    let slowest: HeldBody | undefined;
    let lowest = Infinity;
    for (const held of this.#bodies) {
      slowest ??= held;
      const ageMs = now - held.since;
      const rate = held.body.received / ageMs;
      if (ageMs >= YOUNG_MS && rate < lowest) {
        lowest = rate;
        slowest = held;
      }
    }
    return slowest;
  }
}
