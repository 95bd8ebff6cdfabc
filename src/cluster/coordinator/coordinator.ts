import {
  EngineError,
  type Answer,
  type ClusterControl,
  type Engine,
  type EngineOptions,
  type EngineRequest,
  type Operation,
  type TextModels,
} from '../../engine/types';
import { resultIn } from '../../engine/json-call';
import { bodyFormOf } from '../../engine/native-call';
import {
  joinWrite,
  ShardedRead,
  splitWrite,
  type ShardAsk,
  type ShardedRequest,
} from '../../engine/sharding';
import { PART } from '../../engine/strict-scope';
import { withTextVectors } from '../../engine/texts-in-body';
import { MAX_POSITIONS, parsePosition, positionText, splitPositions } from '../../http/positions';
import type { CollectionEntry, ShardMapState } from '../map/state';
import { WRITES } from '../peers/read-headers';
import type { Members } from '../membership/members';
import { readState } from '../replica/shard-replica';
import { nameOf, type Shard } from '../shards';
import { envelopeOf, unavailable } from './answers';
import type { Collections } from './collections';
import { joinedInfo, type Info } from './info';
import { layoutOf } from './layout';
import { CallerLimits } from './limits';
import { namedIn, type NamedCollections } from './named-collections';
import { recallOutcomes } from './recall';
import { Rehearsal } from './rehearsal';
import type { ReadAfter, ReadContext, Reads } from './reads';
import { shardsReport, type KnownPositions } from './reports';
import { StrictMode } from './strict-mode';
import type { Acknowledgements } from './acknowledgements';
import { Writes, type Deadline, type WriteContext } from './writes';
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
  readonly members: Pick<Members, 'isLive'> & KnownPositions;
  readonly operator: ClusterControl;
  readonly map: () => ShardMapState;
  /** Why a shard takes no writes; undefined where it does. */
  readonly refusalOf: (shard: Shard) => string | undefined;
  /** The limits of the server that differ from their defaults. */
  readonly limits?: EngineOptions['limits'];
  /** The models that requests may have texts of beside those that are built in; none when absent. */
  readonly models?: TextModels | undefined;
}

/** Executes the requests of the clients of this node. */
export class Coordinator {
  /** What publishes records. */
  readonly writes: Writes;
  readonly #strictMode: StrictMode;

  constructor(private readonly parts: CoordinatorParts) {
    const { node, logs, acknowledgements } = parts;
    this.#strictMode = new StrictMode(parts.reads);
    const tried = new Rehearsal(parts.reads, this.#strictMode);
    this.writes = new Writes({
      ...{ node, logs, acknowledgements },
      check: (entry, request, body, context) => this.#checkWrite(entry, request, body, context),
      join: (entry, request, body, answers) =>
        joinWrite(this.#sharded(request, body), layoutOf(entry), answers),
      recall: (collection, write, deadline) => recallOutcomes(parts.reads, collection, write, deadline),
      split: (request, body, entry) => this.#split(request, body, entry),
      rehearse: (collection, write, deadline) => tried.rehearse(collection, write, deadline),
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
      await this.parts.collections.change(entry, body, deadline);
    }
    const context = { limits: limits.ofPoints, deadline };
    const { envelope, at } = await this.#withVectors(request, body, deadline, (whole) =>
      this.writes.execute(entry, request, whole, context),
    );
    const { collection, position: sequence, shards } = at;
    request.written?.(positionText({ collection, sequence, shards }));
    return envelope;
  }

  /** Does something with a body that has the vectors of its texts. */
  #withVectors<T>(
    request: EngineRequest,
    body: Buffer,
    { signal }: Deadline,
    work: (whole: Buffer) => Promise<T>,
  ): Promise<T> {
    return withTextVectors(body, { models: this.parts.models, request, signal }, work);
  }

  #checkWrite(
    entry: CollectionEntry,
    request: EngineRequest,
    body: Buffer,
    context: WriteContext,
  ): Promise<void> {
    const asked = { ...context, request, readAfter: undefined, allowsPartial: false };
    return this.#strictMode.check(entry, request, body, asked);
  }

  async #split(
    request: EngineRequest,
    body: Buffer,
    entry: CollectionEntry,
  ): Promise<ReadonlyMap<number, Buffer>> {
    const bodies = await splitWrite(this.#sharded(request, body), layoutOf(entry));
    for (const [shard, part] of bodies.entries()) {
      const refusal = part === undefined ? undefined : this.parts.refusalOf({ collection: entry.id, shard });
      if (refusal !== undefined) throw new EngineError('unavailable', { message: refusal });
    }
    return new Map(bodies.flatMap((part, shard) => (part === undefined ? [] : [[shard, part] as const])));
  }

  #read(
    entry: CollectionEntry,
    request: EngineRequest,
    body: Buffer,
    limits: CallerLimits,
    deadline: Deadline,
  ): Promise<Answer> {
    const context = this.#contextOf(entry, request, limits, deadline);
    const named = namedIn(this.parts.map(), entry, body, limits);
    return this.#withVectors(request, body, deadline, (whole) =>
      this.#readWhole(entry, whole, named, context),
    );
  }

  async #readWhole(
    entry: CollectionEntry,
    body: Buffer,
    { others, otherNames, refusal }: NamedCollections,
    context: ReadContext,
  ): Promise<Answer> {
    const { request } = context;
    const sharded = { ...this.#sharded(request, body), otherNames };
    const begun = ShardedRead.begin(sharded, layoutOf(entry), others);
    const { read, step } = await begun.catch((error: unknown) => {
      throw refusal(error);
    });
    await this.#strictMode.check(entry, request, body, context);
    const leftOut = new Set<number>();
    const ask = async (question: ShardAsk): Promise<Buffer | undefined> => {
      const { reads, collections } = this.parts;
      const asked = { ...question, operation: question.operation as Operation, strictScope: PART };
      // What is looked up elsewhere is there, or the read fails.
      if (question.collection !== request.collection) {
        const other = collections.named(question.collection);
        return reads.ask(other, asked, { ...context, readAfter: readAfterOf(request.readAfter, other) });
      }
      const answer = await reads.askOrLeaveOut(entry, asked, context);
      if (answer === undefined) leftOut.add(question.shard);
      return answer;
    };
    let next = step;
    while (next.asks !== undefined) next = await read.advance(await Promise.all(next.asks.map(ask)));
    if (leftOut.size > 0) request.leftOut?.([...leftOut].sort((one, other) => one - other));
    return next.envelope;
  }

  #sharded(request: EngineRequest, body: Buffer): ShardedRequest {
    const { limits, models } = this.parts;
    const { operation, collection = '', target, isLenient, arrivedAt } = request;
    return {
      ...{ operation, collection, body, form: bodyFormOf(request), givesOutTexts: models !== undefined },
      ...(target !== undefined && { target }),
      ...(isLenient !== undefined && { isLenient }),
      ...(arrivedAt !== undefined && { arrivedAt }),
      ...(limits !== undefined && { limits }),
    };
  }

  #contextOf(
    entry: CollectionEntry,
    request: EngineRequest,
    limits: CallerLimits,
    deadline: Deadline,
  ): ReadContext {
    return {
      ...{ request, deadline },
      limits: limits.ofPoints,
      readAfter: readAfterOf(request.readAfter, entry),
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

/**
 * The writes of a consistency token, or of several, as far as they are of the collection: the replicas of another one are never at
 * their positions. @throws EngineError
 */
function readAfterOf(text: string | undefined, { id }: CollectionEntry): ReadAfter | undefined {
  if (text === undefined) return undefined;
  const texts = splitPositions(text, MAX_POSITIONS + 1);
  const after = new Map<number, number>();
  for (const position of texts.map(parsePosition)) {
    if (position === undefined || texts.length > MAX_POSITIONS) {
      throw new EngineError('bad_request', {
        message: `KithDB-Position must be as the answer to a write has it, or up to ${MAX_POSITIONS} of them with commas`,
      });
    }
    const { collection, sequence, shards } = position;
    if (collection !== id) continue;
    for (const shard of shards) after.set(shard, Math.max(after.get(shard) ?? 0, sequence));
  }
  return after;
}
