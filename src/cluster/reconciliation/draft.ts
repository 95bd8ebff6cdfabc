import { apply } from '../map/apply';
import type { ReplicaPlace, ShardMapEvent } from '../map/event';
import { replicaCounts, type ReplicaCounts } from '../map/placement';
import {
  nodesOf,
  type CollectionEntry,
  type NodeEntry,
  type ReplicaEntry,
  type ShardMapState,
} from '../map/state';
import type { ReplicaReport } from '../membership/heartbeat';
import type { MemberState } from '../membership/members';

/** What is known of the nodes beside the map: `Members` is one. */
export interface ClusterView {
  stateOf(node: string): MemberState;
  reportOf(node: string, collection: number, shard: number): ReplicaReport | undefined;
}

/** A shard of a collection as the draft has it. */
export interface ShardOfDraft {
  readonly collection: CollectionEntry;
  readonly number: number;
  readonly replicas: readonly ReplicaEntry[];
}

/** The map as it will be once the events so far are applied. */
export class Draft {
  readonly events: ShardMapEvent[] = [];
  #state: ShardMapState;
  readonly #counts: ReplicaCounts;

  constructor(
    state: ShardMapState,
    readonly view: ClusterView,
  ) {
    this.#state = state;
    this.#counts = replicaCounts(state);
  }

  get state(): ShardMapState {
    return this.#state;
  }

  add(event: ShardMapEvent): void {
    const { state, ignored } = apply(this.#state, event, this.#state.version + 1);
    if (ignored !== undefined) throw new Error(`an event does not fit to the map: ${ignored}`);
    this.#state = state;
    this.events.push(event);
    if (event.kind === 'replica_added') this.#count(event, 1);
    if (event.kind === 'replica_dropped') this.#count(event, -1);
  }

  #count({ node }: ReplicaPlace, change: number): void {
    this.#counts.set(node, this.countOf(node) + change);
  }

  /** Replicas of a node. */
  countOf(node: string): number {
    return this.#counts.get(node) ?? 0;
  }

  get counts(): ReplicaCounts {
    return this.#counts;
  }

  /** The nodes that replicas are to be on: those that are neither leaving nor lost. */
  usable(): NodeEntry[] {
    return nodesOf(this.#state).filter((node) => this.isUsable(node.id));
  }

  isUsable(node: string): boolean {
    return !this.isLeaving(node) && this.view.stateOf(node) !== 'lost';
  }

  isLeaving(node: string): boolean {
    return this.#state.nodes.get(node)?.leaving !== undefined;
  }

  /** Whether the stream of a collection takes no records until it is repaired. */
  isStreamLost({ group }: CollectionEntry): boolean {
    return this.#state.streams.get(group)?.lost !== undefined;
  }

  isLost(node: string): boolean {
    return this.view.stateOf(node) === 'lost';
  }

  shard(collectionId: number, number: number): ShardOfDraft | undefined {
    const collection = this.#state.collections.get(collectionId);
    const shard = collection?.shards[number];
    return collection && shard && { collection, number, replicas: shard.replicas };
  }

  /** All shards, as they are when their turn comes. */
  *shards(): Generator<ShardOfDraft> {
    for (const { id, shards } of this.#state.collections.values()) {
      for (const number of shards.keys()) {
        const shard = this.shard(id, number);
        if (shard !== undefined) yield shard;
      }
    }
  }

  /** Replicas that are being filled. */
  joining(): number {
    let count = 0;
    for (const { replicas } of this.shards())
      count += replicas.filter(({ state }) => state === 'joining').length;
    return count;
  }
}
