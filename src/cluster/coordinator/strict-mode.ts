import { resultIn } from '../../engine/json-call';
import type { CollectionSize } from '../../engine/strict-scope';
import type { EngineRequest } from '../../engine/types';
import type { CollectionEntry } from '../map/state';
import { mayBeStrict } from './layout';
import type { ReadContext, Reads } from './reads';

/** What a replica says of its size. */
interface ReplicaSize {
  readonly points: number;
  readonly vector_bytes: number;
  readonly payload_bytes: number;
}

/**
 * Strict mode (C4.3): a replica checks a request as a whole, and takes its tokens, before shards are asked for its parts. That
 * is a replica of this node where it has one, so each node counts the rates of its own clients.
 */
export class StrictMode {
  constructor(private readonly reads: Pick<Reads, 'ask' | 'nearestShard'>) {}

  /** Rejects with the error of a request that goes beyond a limit, those on the size of the collection apart. */
  async check(
    entry: CollectionEntry,
    { operation, target, isArrow, isLines, packing, timeoutSeconds }: EngineRequest,
    body: Buffer,
    context: ReadContext,
  ): Promise<void> {
    if (!mayBeStrict(entry)) return;
    const request: EngineRequest = {
      ...{ operation, isArrow, isLines, isLenient: context.request.isLenient },
      ...(packing !== undefined && { packing: { body: packing.body, answer: false } }),
    };
    const strictScope = { kind: 'check', timeoutSeconds } as const;
    const question = { shard: this.reads.nearestShard(entry), operation, target, body, strictScope };
    await this.reads.ask(entry, question, {
      ...context,
      request,
      readAfter: undefined,
      allowsPartial: false,
    });
  }

  /**
   * What the shards other than each have: a write may add to it as long as all of them together are within the limits. Two
   * writes at a time may exceed them together.
   */
  async elsewhere(entry: CollectionEntry, context: ReadContext): Promise<(shard: number) => CollectionSize> {
    const nothing = { points: 0, vectorBytes: 0, payloadBytes: 0 };
    if (!mayBeStrict(entry) || entry.shards.length === 1) return () => nothing;
    const operation = 'replica_state';
    const body = Buffer.from('{"size":true}');
    // It is of the node, not of a caller with limits.
    const own = { ...context, request: { operation } as const, limits: undefined, readAfter: undefined };
    const sizes = await Promise.all(
      entry.shards.map(async (_, shard) => {
        const answer = await this.reads.ask(entry, { shard, operation, body }, own);
        return resultIn(answer) as ReplicaSize;
      }),
    );
    return (shard) =>
      sizes
        .filter((_, other) => other !== shard)
        .reduce(
          (sum, { points, vector_bytes: vectorBytes, payload_bytes: payloadBytes }) => ({
            points: sum.points + points,
            vectorBytes: sum.vectorBytes + vectorBytes,
            payloadBytes: sum.payloadBytes + payloadBytes,
          }),
          nothing,
        );
  }
}
