import type { Logger } from 'pino';
import { DIGESTS, LACKING, type Channel } from '../channel';
import type { ShardMap } from '../map/shard-map';
import { replicaOn } from '../map/state';
import type { Members } from '../membership/members';
import type { LocalReplicas } from '../replica/local-replicas';
import { pause } from '../pause';
import type { PositionedDigest } from '../replica/replica-reader';
import { nameOf, shardOfName, type Shard } from '../shards';
import { decodeDigest, Digests, encodeDigest, type NodeDigest } from './digests';
import { decodeLacking, encodeLacking, Predecessors, type Lacking, type Predecessor } from './predecessors';

const PROPOSE_MS = 5_000;
const RETRY_MS = 1_000;

/** What is wrong with a replica, and at which position, where that is known. */
interface Wrong {
  readonly why: string;
  readonly position: number | undefined;
}

/** What looking for divergence needs. */
export interface DivergenceParts {
  /** The id of this node. */
  readonly node: string;
  readonly channel: Channel;
  readonly map: ShardMap;
  readonly members: Members;
  readonly replicas: LocalReplicas;
  readonly log: Logger;
}

/**
 * Looks for replicas of a shard that differ, in three ways: by digests of their states, by what they say that they applied
 * before a record, and by the last record that changed them, which heartbeats tell. A replica of this node that is wrong is
 * taken out of reads and made anew.
 */
export class Divergence {
  readonly #digests: Digests;
  readonly #predecessors = new Predecessors();
  /** The replicas of shards whose states differ without a majority: at which position, and on which nodes they are. */
  readonly #disputed = new Map<string, { readonly position: number; readonly nodes: readonly string[] }>();
  /** Replicas of this node that are wrong, and stay because no other one of their shards answers. */
  readonly #lastReplicas = new Map<string, Wrong>();
  /** The replicas that are about to be made anew. */
  readonly #replacing = new Set<string>();
  readonly #stop = new AbortController();
  readonly #ends: (() => void)[] = [];

  constructor(private readonly parts: DivergenceParts) {
    this.#digests = new Digests(parts.node);
  }

  /** Begins to take what other nodes tell. Returns what ends that. */
  start(): () => void {
    const { channel } = this.parts;
    this.#ends.push(
      channel.receive(DIGESTS, (bytes) => {
        const digest = decodeDigest(bytes);
        if (digest !== undefined) this.#takeDigest(digest);
      }),
      channel.receive(LACKING, (bytes) => {
        const lacking = decodeLacking(bytes);
        if (lacking !== undefined) this.#takeLacking(lacking);
      }),
    );
    return () => {
      this.#stop.abort();
      for (const end of this.#ends.splice(0)) end();
    };
  }

  /** Tells the others the digest of a replica of this node. */
  tell(digest: PositionedDigest): void {
    this.parts.channel.send(DIGESTS, encodeDigest({ ...digest, node: this.parts.node }));
  }

  /** The digest of a replica of this node at a position, where it is kept. */
  own(replica: string, position: number): NodeDigest | undefined {
    return this.#digests.own(replica, position);
  }

  /** Why a shard takes no writes; undefined where it does. */
  refusalOf(shard: Shard): string | undefined {
    const disputed = this.#disputed.get(nameOf(shard));
    return (
      disputed &&
      `the replicas of shard ${shard.shard} differ at position ${disputed.position}, and none of them is as most are: drop the wrong one`
    );
  }

  /** What an operator must decide, by the names of replicas. */
  problems(): ReadonlyMap<string, string> {
    const problems = new Map<string, string>();
    for (const replica of this.#disputed.keys()) {
      const shard = shardOfName(replica);
      const refusal = shard && this.refusalOf(shard);
      if (refusal !== undefined) problems.set(replica, refusal);
    }
    for (const [replica, { why }] of this.#lastReplicas) {
      problems.set(replica, `${why}, and it stays because no other replica of its shard answers`);
    }
    return problems;
  }

  /** Compares an answer to a write of this coordinator with those of other replicas. */
  compare({ replica, node, position, previous }: Predecessor): void {
    const { channel } = this.parts;
    for (const lacking of this.#predecessors.take({ replica, node, position, previous })) {
      channel.send(LACKING, encodeLacking(lacking));
    }
  }

  /** Compares the replicas of this node with what the heartbeats of others say. */
  compareHeartbeats(): void {
    const { map, members, replicas, node: self } = this.parts;
    for (const { shard, replica } of replicas.following()) {
      const entry = map.state.collections.get(shard.collection)?.shards[shard.shard];
      for (const { node } of entry?.replicas ?? []) {
        if (node === self) continue;
        const report = members.reportOf(node, shard.collection, shard.shard);
        const changed = report?.changed ?? 0;
        if (changed > replica.changed && changed <= replica.position) {
          this.#takeLacking({ replica: replica.name, node: self, position: changed });
          break;
        }
      }
    }
    this.#forgetSettled();
    // Another one may answer meanwhile.
    for (const [replica, { why, position }] of this.#lastReplicas) {
      const shard = shardOfName(replica);
      if (shard !== undefined) this.#replace(shard, why, position);
    }
  }

  #takeDigest(digest: NodeDigest): void {
    const { replica, position } = digest;
    const shard = shardOfName(replica);
    const nodes = shard && this.#nodesOf(shard);
    if (shard === undefined || nodes === undefined) return;
    const { majority, outvoted } = this.#digests.take(digest, nodes);
    const before = this.#disputed.get(replica);
    if (majority === 'none') this.#disputed.set(replica, { position, nodes });
    else if (majority === 'found' && before !== undefined && before.position < position)
      this.#disputed.delete(replica);
    if (outvoted.includes(this.parts.node)) this.#replace(shard, 'its state is not that of most', position);
  }

  #takeLacking({ replica, node, position }: Lacking): void {
    const shard = shardOfName(replica);
    if (shard === undefined || node !== this.parts.node) return;
    this.#replace(shard, 'it was not given a record that others have', position);
  }

  /** Has a replica made anew whose files are damaged. */
  noteDamaged(replica: string): void {
    const shard = shardOfName(replica);
    if (shard !== undefined) this.#replace(shard, 'its files are damaged');
  }

  /**
   * Has a replica of this node made anew, and where it is wrong at a position, of what another one has saved from there on. It is
   * inactive in the map before: so it is not the last active one of its shard, and of two that are wrong one stays.
   */
  #replace(shard: Shard, why: string, position?: number): void {
    const { replicas, log } = this.parts;
    const replica = nameOf(shard);
    if (this.#replacing.has(replica)) return;
    this.#replacing.add(replica);
    const replace = async (): Promise<void> => {
      const isInactive = await this.#deactivate(shard);
      if (this.#stop.signal.aborted) return;
      if (isInactive) {
        log.error({ replica, position, why }, 'a replica is made anew');
        this.#lastReplicas.delete(replica);
        this.#digests.forget(replica);
        replicas.remake(shard, position);
      } else if (!this.#lastReplicas.has(replica)) {
        this.#lastReplicas.set(replica, { why, position });
        log.error(
          { replica, position, why },
          'a replica is wrong, and it is the last one of its shard that answers',
        );
      }
    };
    void replace().finally(() => this.#replacing.delete(replica));
  }

  /** Whether a replica of this node is inactive in the map, or gone; it is proposed until the log servers have answered. */
  async #deactivate(shard: Shard): Promise<boolean> {
    const { map, node, log } = this.parts;
    const event = { kind: 'replica_deactivated', ...shard, node } as const;
    const isActive = (): boolean => {
      const entry = map.state.collections.get(shard.collection)?.shards[shard.shard];
      return entry !== undefined && replicaOn(entry, node)?.state === 'active';
    };
    while (isActive() && !this.#stop.signal.aborted) {
      try {
        const decision = await map.propose(() => event, { timeoutMs: PROPOSE_MS, signal: this.#stop.signal });
        if ('refused' in decision) return !isActive();
      } catch (error) {
        log.warn(
          { replica: nameOf(shard), err: error },
          'the shard map does not say yet that a replica is wrong',
        );
        await pause(RETRY_MS, this.#stop.signal);
      }
    }
    return !isActive();
  }

  /** The nodes that have replicas of a shard, in the order of their ids; undefined where there is no such shard. */
  #nodesOf({ collection, shard }: Shard): readonly string[] | undefined {
    const entry = this.parts.map.state.collections.get(collection)?.shards[shard];
    return entry?.replicas.map(({ node }) => node).sort();
  }

  /** A dispute is over when the shard has other replicas, or is gone; the last replica is of interest while it is here. */
  #forgetSettled(): void {
    for (const [replica, { nodes }] of this.#disputed) {
      const shard = shardOfName(replica);
      const now = shard && this.#nodesOf(shard);
      if (now?.join() !== nodes.join()) this.#disputed.delete(replica);
    }
    for (const replica of this.#lastReplicas.keys()) {
      const shard = shardOfName(replica);
      const nodes = shard && this.#nodesOf(shard);
      if (nodes?.includes(this.parts.node) !== true) this.#lastReplicas.delete(replica);
    }
  }
}
