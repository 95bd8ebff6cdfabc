import type { Heartbeat, ReplicaReport } from './heartbeat';
import { replicaKey } from './heartbeat';

/** A node whose heartbeat has not changed for this long is asked for nothing. */
export const SILENT_AFTER_MS = 3000;
/** After this long its replicas are replaced. */
export const LOST_AFTER_MS = 30_000;

/** `silent`: not live, and not yet lost. */
export type MemberState = 'live' | 'silent' | 'lost';

interface Heard {
  readonly heartbeat: Heartbeat;
  readonly atMs: number;
}

/**
 * Which nodes are live, by the clock of this process and by nothing else: the times that other machines have play no part.
 *
 * A node hears its own heartbeats as well. While it does not, it is cut off or was stopped, and what it did not hear of others
 * says nothing about them: it judges nobody, and counts the silence of others anew when it hears itself again.
 */
export class Members {
  readonly #heard = new Map<string, Heard>();
  /** From when on silence is counted. */
  #sinceMs: number;

  /**
   * @param self id of this node
   * @param nowMs a monotonic clock
   */
  constructor(
    readonly self: string,
    readonly nowMs: () => number,
  ) {
    this.#sinceMs = nowMs();
  }

  receive(heartbeat: Heartbeat): void {
    const { node, start, count } = heartbeat;
    const last = this.#heard.get(node)?.heartbeat;
    if (last?.start === start && count <= last.count) return;
    const now = this.nowMs();
    if (node === this.self && !this.isConnected) this.#sinceMs = now;
    this.#heard.set(node, { heartbeat, atMs: now });
  }

  /** Whether this node hears itself. */
  get isConnected(): boolean {
    const own = this.#heard.get(this.self);
    return own !== undefined && this.nowMs() - own.atMs < SILENT_AFTER_MS;
  }

  stateOf(node: string): MemberState {
    const heard = this.#heard.get(node);
    const now = this.nowMs();
    if (heard !== undefined && now - heard.atMs < SILENT_AFTER_MS) return 'live';
    const silentSince = Math.max(this.#sinceMs, heard?.atMs ?? 0);
    return this.isConnected && now - silentSince >= LOST_AFTER_MS ? 'lost' : 'silent';
  }

  isLive(node: string): boolean {
    return this.stateOf(node) === 'live';
  }

  /** The last heartbeat of a node, however old. */
  heartbeatOf(node: string): Heartbeat | undefined {
    return this.#heard.get(node)?.heartbeat;
  }

  /** What a live node says of one of its replicas. */
  reportOf(node: string, collection: number, shard: number): ReplicaReport | undefined {
    if (!this.isLive(node)) return undefined;
    return this.heartbeatOf(node)?.replicas.get(replicaKey(collection, shard));
  }

  /** Up to where a live node's replica of a shard has read its stream, also one that has not caught up. */
  positionOf(node: string, collection: number, shard: number): number | undefined {
    if (!this.isLive(node)) return undefined;
    const { replicas, catchingUp } = this.heartbeatOf(node) ?? {};
    const key = replicaKey(collection, shard);
    return replicas?.get(key)?.position ?? catchingUp?.get(key);
  }

  /** The highest position of a replica of some collections that any heartbeat has told, 0 where none has. */
  highestPosition(isOf: (collection: number) => boolean): number {
    let highest = 0;
    for (const { heartbeat } of this.#heard.values()) {
      for (const [key, { position }] of heartbeat.replicas) {
        if (isOf(Number.parseInt(key, 10))) highest = Math.max(highest, position);
      }
    }
    return highest;
  }

  /**
   * Of the nodes of the map the one that proposes what failures demand: the live one with the lowest id. Undefined while this
   * node does not hear itself. Two nodes may each believe to be it: compare-and-set takes the event of one.
   */
  proposer(nodes: readonly string[]): string | undefined {
    if (!this.isConnected) return undefined;
    return nodes.filter((node) => this.isLive(node)).sort()[0];
  }
}
