import type { Logger } from 'pino';
import { DIGESTS, LACKING, type Channel } from '../channel';
import type { ShardMap } from '../map/shard-map';
import type { Members } from '../membership/members';
import type { LocalReplicas } from '../replica/local-replicas';
import type { PositionedDigest } from '../replica/replica-reader';
import { nameOf, shardOfName, type Shard } from '../shards';
import { decodeDigest, Digests, encodeDigest, type NodeDigest } from './digests';
import { decodeLacking, encodeLacking, Predecessors, type Lacking, type Predecessor } from './predecessors';

const PROPOSE_MS = 5_000;

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
    if (outvoted.includes(this.parts.node)) this.#remake(shard, position, 'its state is not that of most');
  }

  #takeLacking({ replica, node, position }: Lacking): void {
    const shard = shardOfName(replica);
    if (shard === undefined || node !== this.parts.node) return;
    this.#remake(shard, position, 'it was not given a record that others have');
  }

  /** Has a replica of this node made anew from what another one has saved at a position or later. */
  #remake(shard: Shard, position: number, why: string): void {
    const { map, replicas, log, node } = this.parts;
    const replica = nameOf(shard);
    if (!replicas.remake(shard, position)) return;
    log.error({ replica, position, why }, 'a replica diverged: it is made anew');
    this.#digests.forget(replica);
    map
      .propose(() => ({ kind: 'replica_deactivated', ...shard, node }), { timeoutMs: PROPOSE_MS })
      .catch((error: unknown) => {
        // It answers no reads either way: this node does not count it as current.
        log.warn({ replica, err: error }, 'the shard map does not say yet that a replica is made anew');
      });
  }

  /** The nodes that have replicas of a shard, in the order of their ids; undefined where there is no such shard. */
  #nodesOf({ collection, shard }: Shard): readonly string[] | undefined {
    const entry = this.parts.map.state.collections.get(collection)?.shards[shard];
    return entry?.replicas.map(({ node }) => node).sort();
  }

  /** A dispute is over when the shard has other replicas, or is gone. */
  #forgetSettled(): void {
    for (const [replica, { nodes }] of this.#disputed) {
      const shard = shardOfName(replica);
      const now = shard && this.#nodesOf(shard);
      if (now?.join() !== nodes.join()) this.#disputed.delete(replica);
    }
  }
}
