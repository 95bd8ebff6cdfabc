import { LinkedList, type Entry } from './linked-list';
import { refusal, type Refusal } from './refusal';
import type { AdmissionMemory } from './admission-memory';
import { SharedBudget, shareText, type Client, type Share } from './shares';

/** An answer above this size is watched, and may be refused when too many of them are unread; the others pass always. */
export const LARGE_ANSWER_BYTES = 256 * 1024;

/** How the answers that clients do not read are limited. */
export interface UnreadLimits {
  readonly bytes: number;
  /** While there is more than a half of that, a client that has taken nothing for this time loses its connection. */
  readonly stalledMs: number;
  readonly watchIntervalMs: number;
}

/** An answer that its client has not read whole. */
export interface Unread {
  /** Its client has taken a part of it. */
  progressed(): void;
  /** It is written whole, or its connection is gone; a second call does nothing. */
  release(): void;
}

/** What an answer may take of the memory for unread answers. */
export interface AnswerAllowance {
  readonly bytes: number;
  /** The share that says so, where it is not the limit. */
  readonly share: Share | undefined;
}

/** While unread answers take at most this part of their limit, no client is limited to its share. */
const FEW = 1 / 16;

/**
 * Counts the bytes of answers from the moment that they exist until they are written. An answer that exists is never
 * refused: large ones are limited before they are made, and while there are many bytes, clients that read nothing lose
 * their connections.
 */
export class UnreadAnswers {
  readonly #budget: SharedBudget;
  /** The large ones by the time at which their clients last took something, the longest ago first. */
  readonly #large = new LinkedList<LargeAnswer>();
  #watch: NodeJS.Timeout | undefined;

  constructor(
    private readonly limits: UnreadLimits,
    private readonly memory: AdmissionMemory,
  ) {
    this.#budget = new SharedBudget(limits.bytes, memory.activity, memory.answerBytes);
  }

  get bytes(): number {
    return this.#budget.used;
  }

  /** What the next answer of `client` may have; undefined while there is no need to ask. */
  allowanceFor(client: Client): AnswerAllowance | undefined {
    if (this.#budget.used <= this.limits.bytes * FEW) {
      return undefined;
    }
    const { amount, share } = this.#budget.freeFor(client);
    return { bytes: Math.max(amount, LARGE_ANSWER_BYTES), share };
  }

  /** The refusal of an answer that has more. */
  refuse({ share }: AnswerAllowance): Refusal {
    const whose =
      share === undefined ? `: limit ${this.limits.bytes} bytes` : ` ${shareText(share, ' bytes')}`;
    return refusal('answer_bytes', `Too many bytes of answers that are not read${whose}`);
  }

  /** Holds an answer of `bytes`. `cut` ends the connection of its client. */
  hold(client: Client, bytes: number, cut: () => void): Unread {
    this.#budget.hold(client, bytes);
    const answer =
      bytes <= LARGE_ANSWER_BYTES
        ? new Answer(this.#budget, client, bytes)
        : new LargeAnswer(this.#budget, client, bytes, this.#large, cut);
    answer.progressed();
    // A small one too may be the one with which there are too many bytes.
    if (this.#mayCut()) {
      this.#watch ??= setInterval(() => {
        this.#cutStalled();
      }, this.limits.watchIntervalMs).unref();
    }
    return answer;
  }

  /** Whether there are answers whose clients may lose their connections before the next answer is held. */
  #mayCut(): boolean {
    // Answers of other event loops may come to more than half of the limit at any time.
    return this.#large.size > 0 && (this.memory.isShared || this.#isContended());
  }

  #isContended(): boolean {
    return this.#budget.used > this.limits.bytes / 2;
  }

  #cutStalled(): void {
    const now = performance.now();
    for (const answer of this.#large) {
      if (!this.#isContended() || now - answer.progressedAt < this.limits.stalledMs) {
        break;
      }
      answer.release();
      answer.cut();
    }
    if (!this.#mayCut()) {
      clearInterval(this.#watch);
      this.#watch = undefined;
    }
  }
}

/** An answer that only counts. */
class Answer implements Unread {
  #held = true;

  constructor(
    private readonly budget: SharedBudget,
    private readonly client: Client,
    private readonly bytes: number,
  ) {}

  progressed(): void {
    // Only large answers are watched.
  }

  release(): void {
    if (this.#held) {
      this.#held = false;
      this.budget.hold(this.client, -this.bytes);
    }
  }
}

/** An answer that is watched: its place among the large ones says when its client last took something of it. */
class LargeAnswer extends Answer {
  #watched = true;
  #place: Entry<LargeAnswer> | undefined;
  /** When its client last took something of it, in milliseconds. */
  progressedAt = 0;

  constructor(
    budget: SharedBudget,
    client: Client,
    bytes: number,
    private readonly large: LinkedList<LargeAnswer>,
    readonly cut: () => void,
  ) {
    super(budget, client, bytes);
  }

  override progressed(): void {
    if (this.#watched) {
      this.#place?.remove();
      this.#place = this.large.add(this);
      this.progressedAt = performance.now();
    }
  }

  override release(): void {
    this.#watched = false;
    this.#place?.remove();
    super.release();
  }
}
