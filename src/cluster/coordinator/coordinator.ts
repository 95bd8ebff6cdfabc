import {
  EngineError,
  type Answer,
  type ClusterControl,
  type Engine,
  type EngineRequest,
  type Operation,
} from '../../engine/types';
import { resultIn } from '../../engine/json-call';
import { ShardedRead, splitWrite, type ShardedRequest, type ShardLayout } from '../../engine/sharding';
import { collectionNamed, type CollectionEntry, type ShardMapState } from '../map/state';
import { DRY_RUNS, WRITES } from '../peers/read-headers';
import type { Members } from '../membership/members';
import { readState } from '../replica/shard-replica';
import { nameOf, type Shard } from '../shards';
import { envelopeOf, unavailable } from './answers';
import type { Collections } from './collections';
import { joinedInfo, type Info } from './info';
import { layoutOf } from './layout';
import { CallerLimits } from './limits';
import type { ReadAfter, ReadContext, Reads } from './reads';
import { shardsReport } from './reports';
import type { Acknowledgements, Outcomes } from './acknowledgements';
import { Writes, type Deadline, type PublishedWrite, type WriteParts } from './writes';
import type { LogService } from '../log/record-log';

/** What a cluster does not do for a collection, in the words of a refusal. */
const REFUSED: Partial<Record<Operation, string>> = {
  clone_collection: 'Clones are',
  project_points: 'A projection is',
  sync_points: 'A sync is',
  plan_sync: 'A sync is',
  reembed_vectors: 'Re-embedding is',
  reembedding: 'Re-embedding is',
  commit_reembedding: 'Re-embedding is',
  abort_reembedding: 'Re-embedding is',
  create_vector_name: 'Adding a vector to a collection is',
  delete_vector_name: 'Removing a vector from a collection is',
  link_snapshot: 'Snapshots are',
  adopt_folders: 'Snapshots are',
};

/** What a coordinator is made of. */
export interface CoordinatorParts {
  readonly node: string;
  readonly engine: Engine;
  readonly logs: LogService;
  readonly collections: Collections;
  readonly reads: Reads;
  readonly acknowledgements: Acknowledgements;
  readonly members: Members;
  readonly operator: ClusterControl;
  readonly map: () => ShardMapState;
  /** Why a shard takes no writes; undefined where it does. */
  readonly refusalOf: (shard: Shard) => string | undefined;
}

/** Executes the requests of the clients of this node. */
export class Coordinator {
  readonly #writes: Writes;

  constructor(private readonly parts: CoordinatorParts) {
    const { node, logs, acknowledgements } = parts;
    this.#writes = new Writes({
      ...{ node, logs, acknowledgements },
      recall: (collection, write, deadline) => this.#recall(collection, write, deadline),
      split: (request, body, entry) => this.#split(request, body, entry),
      rehearse: (collection, record, deadline) => this.#rehearse(collection, record, deadline),
    });
  }

  get operator(): ClusterControl {
    return this.parts.operator;
  }

  /** The whole success envelope. @throws EngineError as one node's engine */
  async execute(request: EngineRequest, body: Buffer, deadline: Deadline): Promise<Answer> {
    const { operation } = request;
    const limits = new CallerLimits(request.limits);
    const refused = REFUSED[operation];
    if (refused !== undefined) throw unavailable(refused);
    const answer = await this.#onCollections(request, body, limits, deadline);
    if (answer !== undefined) return answer;
    const entry = this.parts.collections.named(request.collection ?? '');
    // The others are reads and writes of points, told apart below.
    switch (operation as string) {
      case 'collection_info':
      case 'collection_status':
      case 'optimizations':
        return this.#info(entry, request, limits, deadline);
      case 'collection_cluster_info':
        return this.#shards(entry, request);
      case 'flush':
      case 'optimize':
      case 'rebuild_index':
        return this.#everywhere(entry, request, deadline);
      default:
        return WRITES.has(operation)
          ? this.#write(entry, request, body, limits, deadline)
          : this.#read(entry, request, body, limits, deadline);
    }
  }

  /** What is about collections as a whole, or all of them; undefined for other operations. */
  #onCollections(
    request: EngineRequest,
    body: Buffer,
    limits: CallerLimits,
    deadline: Deadline,
  ): Answer | Promise<Answer> | undefined {
    const { collections } = this.parts;
    const { operation, collection: name = '', arrivedAt = performance.now() } = request;
    switch (operation as string) {
      case 'list_collections':
        return collections.list(arrivedAt, limits);
      case 'collection_exists':
        return collections.exists(name, arrivedAt);
      case 'create_collection':
        return collections.create(name, body, arrivedAt, deadline);
      case 'delete_collection':
        return collections.drop(name, arrivedAt, deadline);
      case 'list_aliases':
        return collections.aliases(undefined, arrivedAt, limits);
      case 'collection_aliases':
        return collections.aliases(name, arrivedAt, limits);
      case 'change_aliases':
        return collections.changeAliases(body, arrivedAt, deadline);
      default:
        return undefined;
    }
  }

  async #write(
    entry: CollectionEntry,
    request: EngineRequest,
    body: Buffer,
    limits: CallerLimits,
    deadline: Deadline,
  ): Promise<Answer> {
    if (request.operation === 'update_collection') {
      await this.parts.collections.changeReplication(entry, body, deadline);
    }
    const context = { limits: limits.ofPoints, deadline };
    const { envelope, at } = await this.#writes.execute(entry, request, body, context);
    request.written?.(`${at.group}:${at.position}:${at.shards.join('.')}`);
    return Buffer.from(envelope);
  }

  async #split(
    request: EngineRequest,
    body: Buffer,
    entry: CollectionEntry,
  ): Promise<ReadonlyMap<number, Buffer>> {
    const bodies = await splitWrite(shardedRequest(request, body), layoutOf(entry));
    for (const [shard, part] of bodies.entries()) {
      const refusal = part === undefined ? undefined : this.parts.refusalOf({ collection: entry.id, shard });
      if (refusal !== undefined) throw new EngineError('unavailable', { message: refusal });
    }
    return new Map(bodies.flatMap((part, shard) => (part === undefined ? [] : [[shard, part] as const])));
  }

  /** The outcomes of a record that was published before, as replicas keep them. */
  async #recall(
    entry: CollectionEntry,
    { operationId, position, record }: PublishedWrite,
    deadline: Deadline,
  ): Promise<Outcomes> {
    const { operation, target, isLenient, packing, limits, parts } = record;
    const request: EngineRequest = { operation, isLenient, ...(packing !== undefined && { packing }) };
    const readAfter = { position, shards: new Set(parts.keys()) };
    const context = { request, limits, deadline, readAfter, allowsPartial: false, recalled: operationId };
    const asked = [...parts].map(async ([shard, body]) => {
      const answer = await this.parts.reads.ask(entry, { shard, operation, target, body }, context);
      return [shard, { answer: answer.toString() }] as const;
    });
    try {
      return new Map(await Promise.all(asked));
    } catch (error) {
      // It is too old, or it was refused.
      const isPassed = error instanceof EngineError && error.code === 'position_passed';
      throw isPassed ? new EngineError('outcome_unknown') : error;
    }
  }

  /** Has a replica of each shard try its part. */
  async #rehearse(
    entry: CollectionEntry,
    { operation, target, isLenient, packing, limits, parts }: Parameters<WriteParts['rehearse']>[1],
    deadline: Deadline,
  ): Promise<void> {
    if (!DRY_RUNS.has(operation)) return;
    const request: EngineRequest = {
      operation,
      isLenient,
      dryRun: true,
      ...(packing !== undefined && { packing }),
    };
    const context = { request, limits, deadline, readAfter: undefined, allowsPartial: false };
    await Promise.all(
      [...parts].map(([shard, body]) =>
        this.parts.reads.ask(entry, { shard, operation, target, body }, context),
      ),
    );
  }

  async #read(
    entry: CollectionEntry,
    request: EngineRequest,
    body: Buffer,
    limits: CallerLimits,
    deadline: Deadline,
  ): Promise<Answer> {
    const { read, step } = await ShardedRead.begin(
      shardedRequest(request, body),
      layoutOf(entry),
      this.#others(entry, body, limits),
    );
    const context = this.#contextOf(entry, request, limits, deadline);
    let next = step;
    while (next.asks !== undefined) {
      const answers = await Promise.all(
        next.asks.map((ask) => {
          const asked =
            ask.collection === request.collection ? entry : this.parts.collections.named(ask.collection);
          const question = { ...ask, operation: ask.operation as Operation };
          return this.parts.reads.perhaps(asked, question, context);
        }),
      );
      next = await read.advance(answers);
    }
    return next.envelope;
  }

  /** The layouts of the other collections that the caller may read, where its request may name some. */
  #others(entry: CollectionEntry, body: Buffer, limits: CallerLimits): Readonly<Record<string, ShardLayout>> {
    // `lookup_from` and `with_lookup` are the only places.
    if (!body.includes('lookup')) return {};
    const state = this.parts.map();
    const names = [...state.names.keys(), ...state.aliases.keys()].filter((name) =>
      limits.allows(name, 'read'),
    );
    const others = names.flatMap((name) => {
      const other = collectionNamed(state, name);
      return other === undefined || other.id === entry.id ? [] : [[name, layoutOf(other)] as const];
    });
    return Object.fromEntries(others);
  }

  #contextOf(
    { group }: CollectionEntry,
    request: EngineRequest,
    limits: CallerLimits,
    deadline: Deadline,
  ): ReadContext {
    return {
      ...{ request, deadline },
      limits: limits.ofPoints,
      readAfter: readAfterOf(request.readAfter, group),
      allowsPartial: request.allowsPartial ?? false,
    };
  }

  async #info(
    entry: CollectionEntry,
    request: EngineRequest,
    limits: CallerLimits,
    deadline: Deadline,
  ): Promise<Answer> {
    const context = this.#contextOf(entry, request, limits, deadline);
    const { operation, arrivedAt = performance.now() } = request;
    const answers = await Promise.all(
      entry.shards.map((_, shard) =>
        this.parts.reads.ask(entry, { shard, operation, body: Buffer.alloc(0) }, context),
      ),
    );
    const { shardNumber, replicationFactor, writeConsistencyFactor } = entry;
    const replication = {
      shard_number: shardNumber,
      replication_factor: replicationFactor,
      write_consistency_factor: writeConsistencyFactor,
    };
    const infos = answers.map((answer) => resultIn(answer) as Info);
    return envelopeOf(joinedInfo(infos, replication), arrivedAt);
  }

  /** Has every replica that can be reached do work on its files or graphs; resolves with the envelope of one of them. */
  async #everywhere(entry: CollectionEntry, request: EngineRequest, deadline: Deadline): Promise<Answer> {
    const { operation, arrivedAt = performance.now() } = request;
    const context = {
      request: { operation },
      limits: undefined,
      deadline,
      readAfter: undefined,
      allowsPartial: false,
    };
    const question = { operation, body: Buffer.alloc(0) };
    const asked = entry.shards.flatMap(({ replicas }, shard) =>
      replicas
        .filter(({ node }) => this.parts.members.isLive(node))
        .map(({ node }) => this.parts.reads.askNode(node, entry, { ...question, shard }, context)),
    );
    const [first] = await Promise.all(asked);
    return first ?? envelopeOf(true, arrivedAt);
  }

  async #shards(entry: CollectionEntry, { arrivedAt = performance.now() }: EngineRequest): Promise<Answer> {
    const { node, engine, members } = this.parts;
    const own = entry.shards.flatMap(({ replicas }, shard) =>
      replicas.some((replica) => replica.node === node) ? [shard] : [],
    );
    const states = await Promise.all(
      own.map(async (shard) => {
        const state = await readState(engine, nameOf({ collection: entry.id, shard })).catch(() => undefined);
        return [shard, state?.points] as const;
      }),
    );
    const points = new Map(states);
    return envelopeOf(
      shardsReport(entry, node, members, (shard) => points.get(shard)),
      arrivedAt,
    );
  }
}

function shardedRequest(request: EngineRequest, body: Buffer): ShardedRequest {
  const { operation, collection = '', target, isLenient, isArrow, isLines, packing, arrivedAt } = request;
  const form =
    isArrow === true ? 'arrow' : isLines === true ? 'lines' : packing?.body === true ? 'packed' : 'json';
  return {
    ...{ operation, collection, body, form },
    ...(target !== undefined && { target }),
    ...(isLenient !== undefined && { isLenient }),
    ...(arrivedAt !== undefined && { arrivedAt }),
  };
}

/** The write of a consistency token, where it is of the group of the collection. @throws EngineError */
function readAfterOf(token: string | undefined, group: number): ReadAfter | undefined {
  if (token === undefined) return undefined;
  const [, of, position, shards = ''] = /^(\d{1,6}):(\d{1,15}):(\d{1,5}(?:\.\d{1,5})*)$/.exec(token) ?? [];
  if (of === undefined) {
    throw new EngineError('bad_request', {
      message: 'KithDB-Position must be as the answer to a write has it',
    });
  }
  return Number(of) === group
    ? { position: Number(position), shards: new Set(shards.split('.').map(Number)) }
    : undefined;
}
