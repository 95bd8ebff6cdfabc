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
interface Held {
  readonly client: Client;
  readonly body: ArrivingBody;
  /** When its head arrived, in milliseconds. */
  readonly since: number;
  bytes: number;
}

/** A body younger than this is not called slow while there are older ones. */
const YOUNG_MS = 1000;

/** The bodies that have not arrived whole, and which of them makes room for another one. */
export class ArrivingBodies {
  readonly #bodies = new Map<ArrivingBody, Held>();

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
  add(client: Client, body: ArrivingBody, now: number): void {
    if (this.size >= this.limit) {
      const message = `Too many request bodies arrive at once: this was the slowest of ${this.limit}`;
      this.#giveUp(this.#slowest(now), refusal('bodies', message));
    }
    this.#bodies.set(body, { client, body, since: now, bytes: 0 });
    this.counts.bodies.add(1);
  }

  /** Notes that a body holds more. */
  grow(body: ArrivingBody, bytes: number): void {
    const held = this.#bodies.get(body);
    if (held !== undefined) {
      held.bytes += bytes;
      this.counts.bytes.add(bytes);
    }
  }

  /** Forgets a body that has arrived or is given up; a second call does nothing. */
  remove(body: ArrivingBody): void {
    const held = this.#bodies.get(body);
    if (held !== undefined) {
      this.#bodies.delete(body);
      this.counts.bodies.add(-1);
      this.counts.bytes.add(-held.bytes);
    }
  }

  /**
   * Gives up the body that has held most for longest, if that is more than `body` would hold with `more` bytes: so the
   * body that holds least is always finished. Where `shared` says so, only a body of the same client. False when there is
   * none.
   */
  makeRoomFor(body: ArrivingBody, more: number, now: number, why: Refusal, shared?: ShareOf): boolean {
    const own = this.#bodies.get(body);
    if (own === undefined) {
      return false;
    }
    let least = (own.bytes + more) * (now - own.since);
    let heaviest: Held | undefined;
    for (const held of this.#bodies.values()) {
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

  #giveUp(held: Held | undefined, why: Refusal): void {
    if (held !== undefined) {
      this.remove(held.body);
      held.body.giveUp(why);
    }
  }

  /** The body with the lowest rate; the oldest when all are young. */
  #slowest(now: number): Held | undefined {
    let slowest: Held | undefined;
    let lowest = Infinity;
    for (const held of this.#bodies.values()) {
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
