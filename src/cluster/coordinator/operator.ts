import { EngineError, type ClusterControl } from '../../engine/types';
import type { ShardMapEvent } from '../map/event';
import type { ProposableMap, Refusal } from '../map/shard-map';
import { nodesOf, replicaOn, type ShardMapState } from '../map/state';
import { bad, clientError } from './answers';
import type { Collections } from './collections';
import { peerId } from './reports';

const PROPOSE_MS = 10_000;

/** What operators do to a cluster, as events of the shard map. */
export class Operator implements ClusterControl {
  constructor(
    private readonly map: ProposableMap,
    private readonly collections: Pick<Collections, 'named'>,
  ) {}

  async removePeer(peer: number): Promise<void> {
    await this.#propose((state) => {
      const node = nodeOf(state, peer);
      const staying = nodesOf(state).filter(({ id, leaving }) => id !== node && leaving === undefined);
      if (staying.length === 0) return { refused: `peer ${peer} is the last one` };
      // Said a second time it is no error.
      if (state.nodes.get(node)?.leaving !== undefined) return undefined;
      return { kind: 'node_leaving', node };
    });
  }

  async dropReplica(collection: string, shard: number, peer: number): Promise<void> {
    const { id, name } = this.collections.named(collection);
    await this.#propose((state) => {
      const node = nodeOf(state, peer);
      const entry = state.collections.get(id);
      if (entry === undefined) throw new EngineError('collection_not_found', { name });
      const replicas = entry.shards[shard];
      if (replicas === undefined) return { refused: `shard_id: ${name} has no shard ${shard}` };
      if (replicaOn(replicas, node) === undefined) {
        return { refused: `peer_id: peer ${peer} has no replica of shard ${shard}` };
      }
      return { kind: 'replica_dropped', collection: id, shard, node };
    });
  }

  /** Resolves when the event is in the map of this node, and at once where there is nothing to do. */
  async #propose(make: (state: ShardMapState) => ShardMapEvent | Refusal | undefined): Promise<void> {
    const nothing: Refusal = { refused: '' };
    const limits = { timeoutMs: PROPOSE_MS };
    const decision = await this.map.change((state) => make(state) ?? nothing, limits).catch(rethrown);
    if (decision === nothing) return;
    if ('refused' in decision) throw bad(decision.refused);
  }
}

function rethrown(error: unknown): never {
  throw clientError(error);
}

/** The node that a number stands for. @throws EngineError */
function nodeOf(state: ShardMapState, peer: number): string {
  const node = nodesOf(state).find(({ id }) => peerId(id) === peer);
  if (node === undefined) throw bad(`peer_id: there is no peer ${peer}`);
  return node.id;
}
