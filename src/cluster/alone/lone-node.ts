import type { Logger } from 'pino';
import {
  EngineError,
  type ClusterReport,
  type Engine,
  type EngineOptions,
  type HealthIssue,
  type Operation,
  type TextModels,
} from '../../engine/types';
import { reasonOf } from '../../files/explained';
import { collectionExists } from '../../snapshots/files-of-collections';
import type { RequestExecutor, ServingNode } from '../cluster-engine';
import { Acknowledgements } from '../coordinator/acknowledgements';
import { coordinatorOf } from '../coordinator/assemble';
import type { Coordinator } from '../coordinator/coordinator';
import { clusterReport } from '../coordinator/reports';
import { replicaOn, type ShardMapState } from '../map/state';
import { READS } from '../peers/read-headers';
import { isOfStream, mappedShard } from '../replica/opening';
import type { Progress } from '../replica/progress';
import { ShardReplica } from '../replica/shard-replica';
import { nameOf, type Shard } from '../shards';
import type { NodeIdentity } from '../membership/identity';

/** What the directory of a node says of its cluster. */
export interface SavedNode {
  readonly identity: NodeIdentity;
  /** The shard map as the node saved it. */
  readonly state: ShardMapState;
  /** Up to where its replicas have read their streams. */
  readonly progress: Progress;
}

/** What a lone node is made of. */
export interface LoneNodeParts extends SavedNode {
  readonly log: Pick<Logger, 'warn'>;
  readonly limits?: EngineOptions['limits'];
  readonly models: TextModels | undefined;
}

/** What is answered, or is refused as in a cluster; everything else would change something. */
const ANSWERED: ReadonlySet<Operation> = new Set<Operation>([
  ...READS,
  ...(['list_collections', 'collection_exists', 'collection_cluster_info'] as const),
  ...(['list_aliases', 'collection_aliases', 'plan_sync', 'reembedding'] as const),
]);

/** The replicas of a node's directory, with the shard map that the node saved: reads are answered, and nothing is changed. */
export class LoneNode implements ServingNode {
  readonly refusal = undefined;
  readonly #replicas = new Map<string, ShardReplica>();
  /** Why replicas that the map gives this node are not served, by name. */
  readonly #unserved = new Map<string, string>();
  #coordinator: RequestExecutor | undefined;
  #isStopping = false;

  constructor(private readonly parts: LoneNodeParts) {}

  get coordinator(): RequestExecutor | undefined {
    return this.#isStopping ? undefined : this.#coordinator;
  }

  get collections(): number {
    return this.parts.state.collections.size;
  }

  /** Opens the replicas. */
  async start(engine: Engine): Promise<void> {
    const { state, identity, log } = this.parts;
    for (const { id: collection, shards } of state.collections.values()) {
      for (const [number, entry] of shards.entries()) {
        if (replicaOn(entry, identity.node) === undefined) continue;
        const shard = { collection, shard: number };
        const why = await this.#open(engine, shard).catch(reasonOf);
        if (why === undefined) continue;
        this.#unserved.set(nameOf(shard), why);
        log.warn({ replica: nameOf(shard), reason: why }, 'a replica is not served');
      }
    }
    const coordinator = this.#coordinatorOver(engine);
    this.#coordinator = {
      operator: coordinator.operator,
      execute: async (request, body, deadline) => {
        if (!ANSWERED.has(request.operation)) throw this.#readOnly();
        return coordinator.execute(request, body, deadline);
      },
    };
  }

  /** Opens a replica, or says why it is not served: what the node itself would not have answered from. */
  async #open(engine: Engine, shard: Shard): Promise<string | undefined> {
    const { state, identity, progress } = this.parts;
    const name = nameOf(shard);
    const { entry, stream } = mappedShard(state, shard);
    if (replicaOn(entry, identity.node)?.state !== 'active') return 'it is not active in the shard map';
    if (progress.lackedBy(name) !== undefined) return 'it lacks a record, and was to be made anew';
    if (!(await collectionExists(engine, name))) return 'this directory does not have it';
    if (!(await isOfStream(engine, name, entry, stream))) {
      return 'it does not have the state with which its shard went over to the present stream';
    }
    const replica = await ShardReplica.open(engine, name, shard.shard);
    replica.passTo(progress.of(name));
    this.#replicas.set(name, replica);
    return undefined;
  }

  #coordinatorOver(engine: Engine): Coordinator {
    const { state, identity, limits, models } = this.parts;
    const refuse = (): Promise<never> => Promise.reject(this.#readOnly());
    const { node } = identity;
    return coordinatorOf({
      ...{ node, engine, models, isAlone: true },
      ...(limits !== undefined && { limits }),
      map: { state, change: refuse },
      logs: {
        groups: 0,
        group: () => {
          throw this.#readOnly();
        },
      },
      members: {
        self: node,
        isLive: (id) => id === node,
        heartbeatOf: () => undefined,
        reportOf: (id, collection, shard) =>
          id === node ? this.#replicas.get(nameOf({ collection, shard })) : undefined,
      },
      replicas: { current: (shard) => this.#replicas.get(nameOf(shard)) },
      divergence: { refusalOf: () => undefined },
      peers: { execute: refuse },
      acknowledgements: new Acknowledgements(),
    });
  }

  #readOnly(): EngineError {
    const message = `this server serves the directory of a node of the cluster ${this.parts.identity.cluster} alone, and changes nothing`;
    return new EngineError('read_only', { message });
  }

  /** No other node is heard, and no replica follows its stream. */
  report(): ClusterReport {
    const { state, identity } = this.parts;
    const self = identity.node;
    const members = {
      proposer: () => undefined,
      stateOf: (node: string) => (node === self ? ('live' as const) : ('silent' as const)),
    };
    return { ...clusterReport(state, self, members, []), isAlone: true };
  }

  healthIssues(): readonly HealthIssue[] {
    return [...this.#unserved].map(([name, why]) => ({
      kind: 'collection' as const,
      collection: name,
      what: `the replica is not served: ${why}`,
    }));
  }

  counted<T>(_over: AbortController, work: () => Promise<T>): Promise<T> {
    return work();
  }

  giveUpRequests(): void {
    this.#isStopping = true;
  }

  stop(): Promise<void> {
    this.#isStopping = true;
    return Promise.resolve();
  }
}
