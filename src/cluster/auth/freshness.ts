import type { RecordLog } from '../log/record-log';
import { pause } from '../pause';
import { within } from '../waiting';
import type { AuthFollower } from './follower';

/** The least time between two questions, however many wait for an answer. */
const LEAST_MS = 50;
/** How long one question may take: a log server that has gone does not answer, and the next one is asked again. */
const QUESTION_MS = 2000;

/** Times of a node; milliseconds by a clock that never goes back. */
export interface Bounds {
  readonly now: () => number;
  /** How often a node asks the log whether it has everything. */
  readonly lookMs: number;
  /** How long a node relies on what it knows without hearing from the log that this is all. */
  readonly relyMs: number;
  /** How long a change waits for the log. */
  readonly publishMs: number;
  /** Records from which on the stream is begun anew with the state. */
  readonly mostRecords: number;
  /** How long a stream may seem to be empty: a log server that has just become its leader may not know yet. */
  readonly settleMs: number;
}

export const BOUNDS: Bounds = {
  now: () => performance.now(),
  lookMs: 1_000,
  relyMs: 15_000,
  publishMs: 10_000,
  mostRecords: 1_000,
  settleMs: 5_000,
};

/** Knows when this node had everything that the log had. */
export class Freshness {
  readonly #stop = new AbortController();
  /** Everything that was in the log at this time was applied. */
  #currentAt = -Infinity;
  #askedAt = -Infinity;
  #asking: Promise<boolean> = Promise.resolve(false);
  #next: Promise<boolean> | undefined;
  #looking: Promise<void> | undefined;
  #records = 0;

  /** @param changed is told when the node begins or ceases to be outdated */
  constructor(
    private readonly log: RecordLog,
    private readonly created: string,
    private readonly follower: AuthFollower,
    private readonly bounds: Bounds,
    private readonly changed: (isOutdated: boolean) => void,
  ) {}

  /** Whether the node may lack what was changed longer ago than it may. */
  get isOutdated(): boolean {
    return this.bounds.now() - this.#currentAt > this.bounds.relyMs;
  }

  /** Messages that the stream had when it was asked last. */
  get records(): number {
    return this.#records;
  }

  /** Asks again and again. */
  start(): void {
    this.#looking ??= this.#look();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#looking;
  }

  /**
   * Whether this node has everything that was in the log at the time of the call; false where the log does not say, or what it
   * has could not be applied in time. Callers at one time share one question.
   */
  catchUp(): Promise<boolean> {
    this.#next ??= this.#asking.then(async () => {
      await pause(Math.max(0, this.#askedAt + LEAST_MS - this.bounds.now()), this.#stop.signal);
      this.#next = undefined;
      this.#asking = this.#ask();
      return this.#asking;
    });
    return this.#next;
  }

  async #look(): Promise<void> {
    const { signal } = this.#stop;
    let wasOutdated = this.isOutdated;
    while (!signal.aborted) {
      await this.catchUp();
      if (this.isOutdated !== wasOutdated) {
        wasOutdated = !wasOutdated;
        this.changed(wasOutdated);
      }
      await pause(this.bounds.lookMs, signal);
    }
  }

  async #ask(): Promise<boolean> {
    const { follower, log, created, bounds } = this;
    const at = bounds.now();
    this.#askedAt = at;
    const question = log.state().catch(() => undefined);
    const limits = { timeoutMs: QUESTION_MS, signal: this.#stop.signal };
    const state = (await within(question, limits))?.value;
    if (state?.created !== created || follower.failure !== undefined) return false;
    // A stream that went back has not all that there was.
    if (state.lastSequence < follower.position.sequence) return false;
    this.#records = state.lastSequence + 1 - state.firstSequence;
    if (!(await follower.reaches(state.lastSequence, bounds.relyMs))) return false;
    this.#currentAt = at;
    return true;
  }
}
