import { randomUUID } from 'node:crypto';
import { executeJson } from '../engine/json-call';
import type { Engine } from '../engine/types';
import { mayExpire } from './coordinator/layout';
import type { Writes } from './coordinator/writes';
import type { CollectionEntry, ShardMapState } from './map/state';
import { nameOf, type Shard } from './shards';
import { tryEach } from './try-each';

/** How long a removal may take. Its record is in the stream then, or the next look makes another one. */
const REMOVAL_MS = 10_000;

/** What the removal of points uses whose time has come. */
export interface ExpiryParts {
  readonly node: string;
  readonly engine: Engine;
  readonly map: () => ShardMapState;
  readonly isLive: (node: string) => boolean;
  /** Whether this node has a replica of a shard that has caught up. */
  readonly isCurrent: (shard: Shard) => boolean;
  readonly writes: Pick<Writes, 'publish'>;
}

/**
 * Publishes the removal of points whose time has come (C17): replicas hide them from reads by their own clocks and remove none by
 * themselves. For each shard that is the node of the first active replica that is live. Where two believe to be that, one removes
 * what the other has removed. A record names a time, which all replicas compare with what their points say at its position.
 */
export class Expiry {
  constructor(private readonly parts: ExpiryParts) {}

  /** Removes what has come to its end in the shards that this node looks after, about a thousand points of each. */
  async removeDue(signal: AbortSignal): Promise<void> {
    const entries = [...this.parts.map().collections.values()].filter(mayExpire);
    const due = entries.flatMap((entry) => this.#ownShards(entry).map((shard) => [entry, shard] as const));
    await tryEach(due, ([entry, shard]) => this.#removeOf(entry, shard, signal), signal);
  }

  #ownShards({ id: collection, shards }: CollectionEntry): readonly number[] {
    const { node, isLive, isCurrent } = this.parts;
    return shards.flatMap(({ replicas }, shard) => {
      const first = replicas.find((replica) => replica.state === 'active' && isLive(replica.node));
      return first?.node === node && isCurrent({ collection, shard }) ? [shard] : [];
    });
  }

  async #removeOf(entry: CollectionEntry, shard: number, signal: AbortSignal): Promise<void> {
    const { node, engine, writes } = this.parts;
    const request = {
      operation: 'replica_state',
      collection: nameOf({ collection: entry.id, shard }),
    } as const;
    const state = (await executeJson(engine, request, { expired: true })) as {
      readonly expired_until?: number;
    };
    const { expired_until: until } = state;
    if (until === undefined) return;
    const body = Buffer.from(JSON.stringify({ until }));
    const record = {
      ...({ operation: 'remove_expired', isLenient: false, coordinator: node } as const),
      parts: new Map([[shard, body]]),
    };
    const deadline = {
      at: performance.now() + REMOVAL_MS,
      signal: AbortSignal.any([signal, AbortSignal.timeout(REMOVAL_MS)]),
    };
    await writes.publish(entry, randomUUID(), record, deadline);
  }
}
