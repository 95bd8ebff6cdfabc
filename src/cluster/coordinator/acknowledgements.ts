import type { ReplicaAnswer, ShardOutcome } from '../record/answer';

/** How many answers each shard of a write needs. */
export interface Needed {
  readonly shards: readonly number[];
  /** The answers of so many different nodes. */
  readonly copies: number;
}

/** The outcome in each shard. */
export type Outcomes = ReadonlyMap<number, ShardOutcome>;

/** Somebody who waits for the answers to one write. */
class Waiting {
  readonly #nodes = new Map<number, Set<string>>();
  readonly #outcomes = new Map<number, ShardOutcome>();

  constructor(
    private readonly needed: Needed,
    readonly resolve: (outcomes: Outcomes) => void,
  ) {}

  /** Takes an answer; the outcomes when nothing is missing any more. */
  take({ shard, node, outcome }: ReplicaAnswer): Outcomes | undefined {
    const nodes = this.#nodes.get(shard) ?? new Set();
    this.#nodes.set(shard, nodes.add(node));
    if (!this.#outcomes.has(shard)) this.#outcomes.set(shard, outcome);
    const { shards, copies } = this.needed;
    return shards.every((one) => (this.#nodes.get(one)?.size ?? 0) >= copies) ? this.#outcomes : undefined;
  }
}

/**
 * The answers of replicas to the writes of this coordinator. Answers may come before the acknowledgement of the stream, more
 * than once, and after nobody waits for them. A call that is repeated while the first one waits gets the same answers.
 */
export class Acknowledgements {
  readonly #waiting = new Map<string, Set<Waiting>>();

  /**
   * Resolves when every shard has as many answers as it needs, with one of each: replicas of a shard give the same. Rejects
   * with the reason of `signal` when that is aborted.
   */
  wait(operationId: string, needed: Needed, signal: AbortSignal): Promise<Outcomes> {
    return new Promise((resolve, reject) => {
      const end = (): void => {
        signal.removeEventListener('abort', give);
        all.delete(waiting);
        if (all.size === 0) this.#waiting.delete(operationId);
      };
      const give = (): void => {
        end();
        reject(signal.reason as Error);
      };
      const all = this.#waiting.get(operationId) ?? new Set();
      const waiting = new Waiting(needed, (outcomes) => {
        end();
        resolve(outcomes);
      });
      this.#waiting.set(operationId, all.add(waiting));
      if (signal.aborted) give();
      else signal.addEventListener('abort', give, { once: true });
    });
  }

  /** Takes an answer, which may be nobody's. */
  take(answer: ReplicaAnswer): void {
    for (const waiting of this.#waiting.get(answer.operationId) ?? []) {
      const outcomes = waiting.take(answer);
      if (outcomes !== undefined) waiting.resolve(outcomes);
    }
  }
}
