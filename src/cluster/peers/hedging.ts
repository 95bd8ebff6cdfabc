import { unlessAborted } from '../waiting';
import { mayAskAnother, PeerUnreachable } from './errors';

/** A replica that can be asked. */
export interface AskableReplica {
  /** The id of its node. */
  readonly node: string;
  /** Whether that is this node: it is asked first. */
  readonly isLocal?: boolean;
}

/** Asks one replica; gives up when the signal is aborted. */
export type Ask<R, T> = (replica: R, signal: AbortSignal) => Promise<T>;

/** How replicas are asked. Tests have a clock and a random of their own. */
export interface HedgingOptions {
  /** Milliseconds that only grow. */
  readonly now?: () => number;
  /** From 0 to 1: among replicas that are equally busy. */
  readonly random?: () => number;
  /** Calls back after a time; gives what prevents it. */
  readonly after?: (ms: number, callback: () => void) => () => void;
  /** Requests of others that a node has under way, as far as it is known. */
  readonly loadOf?: (node: string) => number;
}

/** How one thing is asked. */
export interface AskOptions {
  readonly signal?: AbortSignal | undefined;
  /** What is asked, such as an operation: each has its usual time. One for all when absent. */
  readonly kind?: string;
}

const MIN_DELAY_MS = 5;
const MAX_DELAY_MS = 1000;
/** Answers whose times are kept. */
const WINDOW = 512;
/** Fewer do not say what is usual. */
const MIN_ANSWERS = 20;
/** Answers after which the percentile is computed anew. */
const REFRESH = 16;
const MAX_KINDS = 64;
/** One request in so many may be a second one. */
const ASKED_PER_HEDGE = 10;
/** Second requests that may be saved up. */
const MAX_SAVED = 10;

/**
 * Asks one of several replicas, and after the 95th percentile of the usual time another one; the first answer counts
 * (hedged requests: J. Dean and L. Barroso, The Tail at Scale, CACM 2013). At most a tenth of the requests are second ones.
 */
export class Hedging {
  /** Requests under way, by node. */
  readonly #running = new Map<string, number>();
  readonly #times = new Map<string, AnswerTimes>();
  /** A hedge costs `ASKED_PER_HEDGE` of them. */
  #saved = 0;

  constructor(private readonly options: HedgingOptions = {}) {}

  /**
   * The answer of one of the replicas. One that cannot be reached is passed over; when none answers, it rejects with the last
   * error. Any other error is the answer.
   */
  askOne<R extends AskableReplica, T>(
    replicas: readonly R[],
    ask: Ask<R, T>,
    { signal, kind = '' }: AskOptions = {},
  ): Promise<T> {
    this.#saved = Math.min(this.#saved + 1, MAX_SAVED * ASKED_PER_HEDGE);
    const times = this.#timesOf(kind);
    const startedAt = this.#now();
    return this.#firstAnswer(replicas, ask, { signal, times }).then((answer) => {
      // From the first request on: the time of a second one alone would make the usual time ever shorter.
      times.add(this.#now() - startedAt);
      return answer;
    });
  }

  #firstAnswer<R extends AskableReplica, T>(
    replicas: readonly R[],
    ask: Ask<R, T>,
    { signal, times }: { readonly signal: AbortSignal | undefined; readonly times: AnswerTimes },
  ): Promise<T> {
    const [only, ...others] = replicas;
    if (only !== undefined && others.length === 0) return this.#askOnly(only, ask, signal);
    const asking = new Asking(this.#inOrder(replicas), {
      ask: (replica: R, over) => this.#ask(replica, ask, over),
      delayMs: times.delayMs(),
      mayHedge: () => this.#takeHedge(),
      after: this.options.after ?? later,
      signal,
    });
    return asking.answer();
  }

  /** Asks where there is nobody else to ask, and so nothing to give up when another one has answered. */
  async #askOnly<R extends AskableReplica, T>(
    replica: R,
    ask: Ask<R, T>,
    signal = new AbortController().signal,
  ): Promise<T> {
    signal.throwIfAborted();
    return unlessAborted(this.#ask(replica, ask, signal), signal);
  }

  /** This node first, then those with the fewest requests under way. */
  #inOrder<R extends AskableReplica>(replicas: readonly R[]): R[] {
    const { random = Math.random, loadOf = () => 0 } = this.options;
    return replicas
      .map((replica) => ({
        replica,
        isRemote: Number(replica.isLocal !== true),
        load: (this.#running.get(replica.node) ?? 0) + loadOf(replica.node),
        chance: random(),
      }))
      .sort((a, b) => a.isRemote - b.isRemote || a.load - b.load || a.chance - b.chance)
      .map(({ replica }) => replica);
  }

  async #ask<R extends AskableReplica, T>(replica: R, ask: Ask<R, T>, signal: AbortSignal): Promise<T> {
    const { node } = replica;
    this.#running.set(node, (this.#running.get(node) ?? 0) + 1);
    try {
      return await ask(replica, signal);
    } finally {
      const left = (this.#running.get(node) ?? 1) - 1;
      if (left === 0) this.#running.delete(node);
      else this.#running.set(node, left);
    }
  }

  #takeHedge(): boolean {
    if (this.#saved < ASKED_PER_HEDGE) return false;
    this.#saved -= ASKED_PER_HEDGE;
    return true;
  }

  #timesOf(kind: string): AnswerTimes {
    const known = this.#times.get(kind);
    if (known !== undefined) return known;
    const times = new AnswerTimes();
    // Kinds are operations, of which there are not many.
    if (this.#times.size < MAX_KINDS) this.#times.set(kind, times);
    return times;
  }

  #now(): number {
    return this.options.now?.() ?? performance.now();
  }
}

/** The times of the last answers. */
class AnswerTimes {
  readonly #times: number[] = [];
  #next = 0;
  #unseen = 0;
  #delayMs = MAX_DELAY_MS;

  add(ms: number): void {
    this.#times[this.#next] = ms;
    this.#next = (this.#next + 1) % WINDOW;
    this.#unseen += 1;
  }

  /** After how long another replica is asked: the 95th percentile, within bounds. */
  delayMs(): number {
    const count = this.#times.length;
    if (count >= MIN_ANSWERS && this.#unseen >= REFRESH) {
      this.#unseen = 0;
      const sorted = Float64Array.from(this.#times).sort();
      const percentile = sorted[Math.ceil(count * 0.95) - 1] ?? MAX_DELAY_MS;
      this.#delayMs = Math.min(MAX_DELAY_MS, Math.max(MIN_DELAY_MS, percentile));
    }
    return this.#delayMs;
  }
}

interface AskingOptions<R, T> {
  readonly ask: Ask<R, T>;
  readonly delayMs: number;
  readonly mayHedge: () => boolean;
  readonly after: (ms: number, callback: () => void) => () => void;
  readonly signal: AbortSignal | undefined;
}

/** One for all: an error of its own for each read costs it a stack trace. */
const OVER = new Error('another replica has answered, or nobody waits');

/** One question, and the replicas that were not asked yet. */
class Asking<R, T> {
  readonly #over = new AbortController();
  #running = 0;
  #lastError: unknown;

  constructor(
    private readonly left: R[],
    private readonly options: AskingOptions<R, T>,
  ) {}

  /** The first answer; what is still under way then is aborted. */
  async answer(): Promise<T> {
    const { signal, after, delayMs } = this.options;
    signal?.throwIfAborted();
    let cancel: () => void = () => undefined;
    let abort: () => void = () => undefined;
    try {
      return await new Promise<T>((resolve, reject) => {
        abort = () => {
          reject(reasonOf(signal?.reason));
        };
        signal?.addEventListener('abort', abort, { once: true });
        cancel = after(delayMs, () => {
          if (this.left.length > 0 && this.options.mayHedge()) this.#askNext(resolve, reject);
        });
        this.#askNext(resolve, reject);
      });
    } finally {
      cancel();
      signal?.removeEventListener('abort', abort);
      this.#over.abort(OVER);
    }
  }

  #askNext(resolve: (answer: T) => void, reject: (error: Error) => void): void {
    const replica = this.left.shift();
    if (replica === undefined) {
      reject(reasonOf(this.#lastError ?? new PeerUnreachable('shard', 'there is no replica to ask')));
      return;
    }
    this.#running += 1;
    this.options.ask(replica, this.#over.signal).then(resolve, (error: unknown) => {
      this.#running -= 1;
      if (this.#over.signal.aborted) return;
      this.#lastError = error;
      if (!mayAskAnother(error)) reject(reasonOf(error));
      else if (this.#running === 0) this.#askNext(resolve, reject);
    });
  }
}

function reasonOf(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

function later(ms: number, callback: () => void): () => void {
  const timer = setTimeout(callback, ms);
  return () => {
    clearTimeout(timer);
  };
}
