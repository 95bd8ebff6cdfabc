import { randomInt } from 'node:crypto';
import type { AdmissionMemory, Counter } from '../http/admission-memory';
import { MAX_LOOPS } from './limits';
import { Buckets, Parts, SharedActivity, SharedCounter, sharedCounts } from './shared-counts';

/** Words that are enough for everything below and the gauges of the most event loops there may be. */
const WORDS = 32 * 1024;
/** Requests in progress, and open connections: see `LocalRequestCounts`. */
const GAUGES = 2;
/** Answers of one moment may come to more bytes than a word can count. */
const ANSWER_UNIT_BYTES = 64;
const SEEDS = 2 ** 31;

/** What every event loop knows of authentication without asking. */
export type AuthState = 'closed' | 'enabled' | 'disabled';
const AUTH_STATES: readonly AuthState[] = ['closed', 'disabled', 'enabled'];
const STATE = 0;
const GENERATION = 1;

/** Memory that all event loops of the process share: what they count together, and what is in force for all of them. */
export class SharedMemory {
  readonly admission: AdmissionMemory;
  /** Open connections of all event loops. */
  readonly connections: Counter;
  readonly #auth: Int32Array;
  readonly #gauges: Int32Array;

  private constructor(
    readonly buffer: SharedArrayBuffer,
    readonly seed: number,
  ) {
    const parts = new Parts(new Int32Array(buffer));
    const buckets = { networks: new Buckets(seed), credentials: new Buckets(seed) };
    this.#auth = parts.take(2);
    this.#gauges = parts.take(MAX_LOOPS * GAUGES);
    this.connections = new SharedCounter(parts);
    this.admission = {
      activity: new SharedActivity(parts, buckets),
      requests: sharedCounts(parts, buckets),
      bodyBytes: sharedCounts(parts, buckets),
      answerBytes: sharedCounts(parts, buckets, ANSWER_UNIT_BYTES),
      arriving: { bodies: new SharedCounter(parts), bytes: new SharedCounter(parts) },
      isShared: true,
    };
  }

  static create(): SharedMemory {
    return new SharedMemory(new SharedArrayBuffer(WORDS * Int32Array.BYTES_PER_ELEMENT), randomInt(SEEDS));
  }

  /** The memory that another event loop has created. */
  static of({ buffer, seed }: Pick<SharedMemory, 'buffer' | 'seed'>): SharedMemory {
    return new SharedMemory(buffer, seed);
  }

  /** The gauges of one event loop, which only that one changes. */
  gauges(loop: number): Int32Array {
    return this.#gauges.subarray(loop * GAUGES, (loop + 1) * GAUGES);
  }

  /** The state of authentication: closed until it is known. */
  get authState(): AuthState {
    return AUTH_STATES[Atomics.load(this.#auth, STATE)] ?? 'closed';
  }

  /** In force on every event loop when this returns. */
  publish(state: AuthState): void {
    Atomics.store(this.#auth, STATE, AUTH_STATES.indexOf(state));
  }

  /** Changes whenever what was known of credentials counts no more. */
  get credentials(): number {
    return Atomics.load(this.#auth, GENERATION);
  }

  /** Makes everything that an event loop knows of credentials count no more. */
  forgetCredentials(): void {
    Atomics.add(this.#auth, GENERATION, 1);
  }
}
