import { randomUUID } from 'node:crypto';
import type { Operation } from '../engine/types';
import { batchLimits, splitSync, splitUpsert, type BatchLimits } from './batches';
import { withDeadline } from './deadline';
import { BadRequestError, KithError } from './errors';
import { pathOfId } from './path-id';
import type { Snapshot, SnapshotCalls, SnapshotFlags } from './snapshots';
import type { Call, CallFlags, Envelope, Transport, VersionInfo } from './transport';
import type { CallOptions, ChangeFlags, CollectionFlags, PointId, ReadFlags, Result, Schemas } from './types';

/** How a client behaves over any transport. */
export interface ClientOptions {
  /** Milliseconds until a call is given up, where it does not say otherwise; 300,000 when absent, 0 for never. */
  readonly timeoutMs?: number;
  /**
   * Up to how many points and bytes an upsert is one request; a larger one is sent as several, one after the other.
   * When absent, what a server takes at most with its default settings.
   */
  readonly batch?: Partial<BatchLimits>;
  /** Vectors in answers are `Float32Array`s in place of arrays of numbers. */
  readonly float32Vectors?: boolean;
}

const TIMEOUT_MS = 300_000;
/** How long a cursor lives after a page. */
const PAGE_TTL_SECONDS = 60;

type Flags = ChangeFlags & ReadFlags;
type Update = Schemas['UpdateResult'];

/** What the options of a call say to the transport. */
type CallContext = Pick<Call, 'signal' | 'position' | 'onMissingShards'>;

/** What identifies a call besides its body. */
interface Address {
  readonly collection?: string;
  readonly target?: string;
}

/**
 * A database: methods and arguments are those of `QdrantClient` of `@qdrant/js-client-rest`, with the call's options as a
 * last argument of each. Every method rejects with a `KithError`, or with the reason of `options.signal`.
 *
 * Vectors may be `Float32Array`s; in answers they are with `float32Vectors`. Integers beyond 2^53 are BigInts, in arguments and in results.
 */
export class KithClient {
  readonly #transport: Transport;
  readonly #snapshots: SnapshotCalls;
  readonly #timeoutMs: number;
  readonly #batch: BatchLimits;
  readonly #float32Vectors: boolean;

  constructor(
    transport: Transport,
    snapshots: SnapshotCalls,
    { timeoutMs = TIMEOUT_MS, batch, float32Vectors = false }: ClientOptions = {},
  ) {
    this.#float32Vectors = float32Vectors;
    this.#transport = transport;
    this.#snapshots = snapshots;
    this.#timeoutMs = timeoutMs;
    this.#batch = batchLimits(batch);
  }

  /** Releases what the client holds. Calls that are under way and later ones reject with a `ConnectionError`. */
  close(): Promise<void> {
    return this.#transport.close();
  }

  /** What the client is connected to. */
  versionInfo(options?: CallOptions): Promise<VersionInfo> {
    return this.timed(options, (signal) => this.#transport.version(signal));
  }

  // Collections

  getCollections(options?: CallOptions): Promise<Result<'CollectionsAnswer'>> {
    return this.#run('list_collections', {}, {}, options);
  }

  getCollection(collection: string, options?: CallOptions): Promise<Schemas['CollectionInfo']> {
    return this.#run('collection_info', { collection }, {}, options);
  }

  /** `{exists}`. */
  collectionExists(collection: string, options?: CallOptions): Promise<Result<'ExistsAnswer'>> {
    return this.#run('collection_exists', { collection }, {}, options);
  }

  /** True. A name that is taken is a `ConflictError`. */
  createCollection(
    collection: string,
    config: Schemas['CreateCollection'] & CollectionFlags,
    options?: CallOptions,
  ): Promise<boolean> {
    return this.#run('create_collection', { collection }, config, options);
  }

  /** Deletes the collection of this name, if there is one, then creates it. */
  async recreateCollection(
    collection: string,
    config: Schemas['CreateCollection'] & CollectionFlags,
    options?: CallOptions,
  ): Promise<boolean> {
    const { timeout } = config;
    await this.deleteCollection(collection, timeout === undefined ? {} : { timeout }, options);
    return this.createCollection(collection, config, options);
  }

  updateCollection(
    collection: string,
    changes: Schemas['UpdateCollection'] & CollectionFlags = {},
    options?: CallOptions,
  ): Promise<boolean> {
    return this.#run('update_collection', { collection }, changes, options);
  }

  /** True: a collection of the same state under another name (C26). A name that is taken is a `ConflictError`. */
  cloneCollection(
    collection: string,
    args: Schemas['CloneCollection'] & CollectionFlags,
    options?: CallOptions,
  ): Promise<boolean> {
    return this.#run('clone_collection', { collection }, args, options);
  }

  /** Whether there was one. */
  deleteCollection(collection: string, args: CollectionFlags = {}, options?: CallOptions): Promise<boolean> {
    return this.#run('delete_collection', { collection }, args, options);
  }

  // Points

  /**
   * Inserts or replaces points. What is larger than a server takes is sent in several batches, one after the other, each
   * all or nothing by itself; the result is that of the last one. When one of them fails, `storedPoints` of the error says
   * how many points the ones before it have stored.
   */
  async upsert(
    collection: string,
    args: Schemas['UpsertPoints'] & ChangeFlags,
    options?: CallOptions,
  ): Promise<Update> {
    const batches = splitUpsert(args, this.#batch, this.#transport.packsVectors);
    if (batches === undefined) {
      return this.#run('upsert_points', { collection }, args, options);
    }
    return this.timed(options, async (signal) => {
      let result: Update = { operation_id: 0, status: 'completed' };
      let stored = 0;
      for (const { body, points } of batches) {
        try {
          result = await this.#call<Update>('upsert_points', { collection }, body, { signal });
        } catch (error) {
          if (error instanceof KithError) {
            error.storedPoints = stored;
          }
          throw error;
        }
        stored += points;
      }
      return result;
    });
  }

  retrieve(
    collection: string,
    args: Schemas['RetrievePoints'] & ReadFlags,
    options?: CallOptions,
  ): Promise<Schemas['Record'][]> {
    return this.#run('retrieve_points', { collection }, args, options);
  }

  /**
   * One point with its payload and its vectors. As in a path, a string of digits is the integer; `retrieve` takes such a string
   * as it is (C21).
   */
  getPoint(
    collection: string,
    id: PointId,
    args: ReadFlags = {},
    options?: CallOptions,
  ): Promise<Schemas['Record']> {
    return this.#run('get_point', { collection, target: pathOfId(id) }, args, options);
  }

  delete(
    collection: string,
    args: Schemas['SelectPoints'] & ChangeFlags,
    options?: CallOptions,
  ): Promise<Update> {
    return this.#run('delete_points', { collection }, args, options);
  }

  updateVectors(
    collection: string,
    args: Schemas['UpdateVectors'] & ChangeFlags,
    options?: CallOptions,
  ): Promise<Update> {
    return this.#run('update_vectors', { collection }, args, options);
  }

  deleteVectors(
    collection: string,
    args: Schemas['DeleteVectors'] & ChangeFlags,
    options?: CallOptions,
  ): Promise<Update> {
    return this.#run('delete_vectors', { collection }, args, options);
  }

  setPayload(
    collection: string,
    args: Schemas['SetPayload'] & ChangeFlags,
    options?: CallOptions,
  ): Promise<Update> {
    return this.#run('set_payload', { collection }, args, options);
  }

  overwritePayload(
    collection: string,
    args: Schemas['SetPayload'] & ChangeFlags,
    options?: CallOptions,
  ): Promise<Update> {
    return this.#run('overwrite_payload', { collection }, args, options);
  }

  deletePayload(
    collection: string,
    args: Schemas['DeletePayload'] & ChangeFlags,
    options?: CallOptions,
  ): Promise<Update> {
    return this.#run('delete_payload', { collection }, args, options);
  }

  clearPayload(
    collection: string,
    args: Schemas['SelectPoints'] & ChangeFlags,
    options?: CallOptions,
  ): Promise<Update> {
    return this.#run('clear_payload', { collection }, args, options);
  }

  /** Several changes in their order, all or nothing together. */
  batchUpdate(
    collection: string,
    args: Schemas['BatchUpdate'] & ChangeFlags,
    options?: CallOptions,
  ): Promise<Update[]> {
    return this.#run('batch_update', { collection }, args, options);
  }

  /**
   * Makes the points that match `scope` those of the source, all or nothing: adds, updates, leaves alone what has the same
   * hash, deletes the rest (C20). What is larger than a server takes is sent in parts, of which the last one applies all.
   */
  async sync(
    collection: string,
    args: Schemas['SyncSource'] & ChangeFlags,
    options?: CallOptions,
  ): Promise<Schemas['SyncResult']> {
    const parts = splitSync(args.points, this.#batch, this.#transport.packsVectors);
    if (parts === undefined) {
      return this.#run('sync_points', { collection }, args, options);
    }
    const { if_revision, ...common } = args;
    const source = { ...common, sync_id: randomUUID() };
    return this.timed(options, async (signal) => {
      let staged = 0;
      for (const points of parts.slice(0, -1)) {
        const part = { ...source, points };
        ({ staged } = await this.#call<Schemas['StagedPoints']>('sync_points', { collection }, part, {
          signal,
        }));
      }
      const last = { ...source, points: parts.at(-1), last: true, staged, if_revision };
      return this.#call<Schemas['SyncResult']>('sync_points', { collection }, last, { signal });
    });
  }

  /** One part of a source, of which `sync_id` says which; the part with `last: true` applies all of them. */
  syncPart(
    collection: string,
    args: Schemas['SyncPart'] & ChangeFlags,
    options?: CallOptions,
  ): Promise<Schemas['StagedPoints'] | Schemas['SyncResult']> {
    return this.#run('sync_points', { collection }, args, options);
  }

  /** Which points of a source are new or changed, and so need content, and what a sync would do. Changes nothing. */
  planSync(
    collection: string,
    args: Schemas['PlanSync'] & ReadFlags,
    options?: CallOptions,
  ): Promise<Schemas['SyncPlan']> {
    return this.#run('plan_sync', { collection }, args, options);
  }

  createPayloadIndex(
    collection: string,
    args: Schemas['CreateFieldIndex'] & ChangeFlags,
    options?: CallOptions,
  ): Promise<Update> {
    return this.#run('create_field_index', { collection }, args, options);
  }

  deletePayloadIndex(
    collection: string,
    field: string,
    args: ChangeFlags = {},
    options?: CallOptions,
  ): Promise<Update> {
    return this.#run('delete_field_index', { collection, target: field }, args, options);
  }

  // Reads

  query(
    collection: string,
    args: Schemas['QueryRequest'] & ReadFlags,
    options?: CallOptions,
  ): Promise<Schemas['QueryResult']> {
    return this.#run('query', { collection }, args, options);
  }

  queryBatch(
    collection: string,
    args: Schemas['QueryBatch'] & ReadFlags,
    options?: CallOptions,
  ): Promise<Schemas['QueryResult'][]> {
    return this.#run('query_batch', { collection }, args, options);
  }

  /** The hits, best first; `query` can do more. */
  search(
    collection: string,
    args: Schemas['SearchRequest'] & ReadFlags,
    options?: CallOptions,
  ): Promise<Schemas['Hits']> {
    return this.#run('search', { collection }, args, options);
  }

  searchBatch(
    collection: string,
    args: Schemas['SearchBatch'] & ReadFlags,
    options?: CallOptions,
  ): Promise<Schemas['Hits'][]> {
    return this.#run('search_batch', { collection }, args, options);
  }

  /** A page of points, and the offset of the next one or null. */
  scroll(
    collection: string,
    args: Schemas['ScrollRequest'] & ReadFlags = {},
    options?: CallOptions,
  ): Promise<Result<'PageAnswer'>> {
    return this.#run('scroll', { collection }, args, options);
  }

  /**
   * The pages of a scroll, all of the view that the first one saw (C22). A page must be asked for within `cursor.ttl` seconds
   * after the one before, 60 when absent.
   */
  scrollPages(
    collection: string,
    args: Schemas['ScrollRequest'] & ReadFlags = {},
    options?: CallOptions,
  ): AsyncGenerator<Result<'PageAnswer'>['points']> {
    return this.#pages('scroll', collection, args, options, (result: Result<'PageAnswer'>) => result.points);
  }

  /** The pages of a search, as of {@link scrollPages}. */
  searchPages(
    collection: string,
    args: Schemas['PagedSearchRequest'] & ReadFlags,
    options?: CallOptions,
  ): AsyncGenerator<Schemas['Hits']> {
    return this.#pages('search', collection, args, options, (hits: Schemas['Hits']) => hits);
  }

  /** The pages of a query, as of {@link scrollPages}. */
  queryPages(
    collection: string,
    args: Schemas['PagedQueryRequest'] & ReadFlags,
    options?: CallOptions,
  ): AsyncGenerator<Schemas['QueryResult']['points']> {
    return this.#pages('query', collection, args, options, (result: Schemas['QueryResult']) => result.points);
  }

  count(
    collection: string,
    args: Schemas['CountRequest'] & ReadFlags = {},
    options?: CallOptions,
  ): Promise<Result<'CountAnswer'>> {
    return this.#run('count', { collection }, args, options);
  }

  /** The values of a field, and how many points hold each. */
  facet(
    collection: string,
    args: Schemas['FacetRequest'] & ReadFlags,
    options?: CallOptions,
  ): Promise<Result<'FacetAnswer'>> {
    return this.#run('facet', { collection }, args, options);
  }

  /** What a query finds, and what it did (C13). `params.why` names points whose place is to be explained. */
  async explain(
    collection: string,
    args: Schemas['QueryRequest'] & ReadFlags,
    options?: CallOptions,
  ): Promise<{ result: Result<'QueryAnswer'>; explain: Schemas['Explanation'] }> {
    const explained = { ...args, params: { ...args.params, explain: true } };
    const envelope = await this.timed(options, (signal) =>
      this.#envelope('query', { collection }, explained, contextOf(signal, options)),
    );
    const { result, explain } = envelope as Envelope & { readonly explain?: unknown };
    return { result, explain } as { result: Result<'QueryAnswer'>; explain: Schemas['Explanation'] };
  }

  /** Each point of a random sample with its nearest others. */
  searchMatrixPairs(
    collection: string,
    args: Schemas['MatrixRequest'] & ReadFlags = {},
    options?: CallOptions,
  ): Promise<Result<'MatrixPairsAnswer'>> {
    return this.#run('matrix_pairs', { collection }, args, options);
  }

  /** The distance matrix of a sample as a sparse matrix: offsets and scores. */
  searchMatrixOffsets(
    collection: string,
    args: Schemas['MatrixRequest'] & ReadFlags = {},
    options?: CallOptions,
  ): Promise<Result<'MatrixOffsetsAnswer'>> {
    return this.#run('matrix_offsets', { collection }, args, options);
  }

  /** A random sample of points as places of a plane, in which those whose vectors are near each other are near. */
  projectPoints(
    collection: string,
    args: Schemas['ProjectionRequest'] & ReadFlags = {},
    options?: CallOptions,
  ): Promise<Result<'ProjectionAnswer'>> {
    return this.#run('project_points', { collection }, args, options);
  }

  /** Adds a vector to a collection that has points; the same definition again changes nothing. */
  createVectorName(
    collection: string,
    vector: string,
    config: Schemas['VectorNameConfig'],
    args: ChangeFlags = {},
    options?: CallOptions,
  ): Promise<Update> {
    return this.#run('create_vector_name', { collection, target: vector }, { ...args, ...config }, options);
  }

  /** Removes a vector with what points have in it. */
  deleteVectorName(
    collection: string,
    vector: string,
    args: ChangeFlags = {},
    options?: CallOptions,
  ): Promise<Update> {
    return this.#run('delete_vector_name', { collection, target: vector }, args, options);
  }

  /**
   * Begins to embed the texts of a vector field with another model, in the background (C19); `''` is the unnamed vector.
   * Searches go on with the old vectors until {@link commitReembedding}.
   */
  reembed(
    collection: string,
    vector: string,
    args: Schemas['ReembedRequest'] & ChangeFlags,
    options?: CallOptions,
  ): Promise<Update> {
    return this.#run('reembed_vectors', { collection, target: inPath(vector) }, args, options);
  }

  /** How far the re-embedding of a vector field is. A `NotFoundError` where there is none. */
  getReembedding(collection: string, vector: string, options?: CallOptions): Promise<Schemas['Reembedding']> {
    return this.#run('reembedding', { collection, target: inPath(vector) }, {}, options);
  }

  /** Puts the new vectors in the place of the old ones. A `ConflictError` while some are missing, unless that is allowed. */
  commitReembedding(
    collection: string,
    vector: string,
    args: Schemas['CommitReembedding'] & ChangeFlags = {},
    options?: CallOptions,
  ): Promise<Update> {
    return this.#run('commit_reembedding', { collection, target: inPath(vector) }, args, options);
  }

  /** Gives up the re-embedding of a vector field, which stays as it is. */
  abortReembedding(
    collection: string,
    vector: string,
    args: ChangeFlags = {},
    options?: CallOptions,
  ): Promise<Update> {
    return this.#run('abort_reembedding', { collection, target: inPath(vector) }, args, options);
  }

  /** One node has all of the collection. */
  collectionClusterInfo(
    collection: string,
    options?: CallOptions,
  ): Promise<Result<'CollectionClusterAnswer'>> {
    return this.#run('collection_cluster_info', { collection }, {}, options);
  }

  /** What waits to be optimised. */
  getOptimizations(collection: string, options?: CallOptions): Promise<Result<'OptimizationsAnswer'>> {
    return this.#run('optimizations', { collection }, {}, options);
  }

  // What a server answers in the dialect `qdrant` only (C12); otherwise each rejects with a `NotImplementedError`.

  /** `query` does the same in every dialect. */
  recommend(
    collection: string,
    args: Schemas['RecommendRequest'] & ReadFlags,
    options?: CallOptions,
  ): Promise<Schemas['Hits']> {
    return this.#run('recommend', { collection }, args, options);
  }

  recommendBatch(
    collection: string,
    args: Schemas['RecommendBatch'] & ReadFlags,
    options?: CallOptions,
  ): Promise<Schemas['Hits'][]> {
    return this.#run('recommend_batch', { collection }, args, options);
  }

  /** `query` does the same in every dialect. */
  discoverPoints(
    collection: string,
    args: Schemas['DiscoverRequest'] & ReadFlags,
    options?: CallOptions,
  ): Promise<Schemas['Hits']> {
    return this.#run('discover', { collection }, args, options);
  }

  discoverBatchPoints(
    collection: string,
    args: Schemas['DiscoverBatch'] & ReadFlags,
    options?: CallOptions,
  ): Promise<Schemas['Hits'][]> {
    return this.#run('discover_batch', { collection }, args, options);
  }

  /** True when the log is synced and a checkpoint has all that the collection had. */
  flushCollection(collection: string, args: CollectionFlags = {}, options?: CallOptions): Promise<boolean> {
    return this.#run('flush', { collection }, args, options);
  }

  /** True when the collection is green. */
  optimizeCollection(
    collection: string,
    args: CollectionFlags = {},
    options?: CallOptions,
  ): Promise<boolean> {
    return this.#run('optimize', { collection }, args, options);
  }

  /** True when the graphs are built anew. */
  rebuildCollectionIndex(
    collection: string,
    args: CollectionFlags = {},
    options?: CallOptions,
  ): Promise<boolean> {
    return this.#run('rebuild_index', { collection }, args, options);
  }

  collectionStatus(collection: string, options?: CallOptions): Promise<Result<'CollectionStatusAnswer'>> {
    return this.#run('collection_status', { collection }, {}, options);
  }

  /** The best groups of hits that have a value in common, best first. */
  queryGroups(
    collection: string,
    args: Schemas['QueryGroupsRequest'] & ReadFlags,
    options?: CallOptions,
  ): Promise<Schemas['GroupsResult']> {
    return this.#run('query_groups', { collection }, args, options);
  }

  /** `queryGroups` can do more. */
  searchPointGroups(
    collection: string,
    args: Schemas['SearchGroupsRequest'] & ReadFlags,
    options?: CallOptions,
  ): Promise<Schemas['GroupsResult']> {
    return this.#run('search_groups', { collection }, args, options);
  }

  /** `queryGroups` does the same. */
  recommendPointGroups(
    collection: string,
    args: Schemas['RecommendGroupsRequest'] & ReadFlags,
    options?: CallOptions,
  ): Promise<Schemas['GroupsResult']> {
    return this.#run('recommend_groups', { collection }, args, options);
  }

  getAliases(options?: CallOptions): Promise<Result<'AliasesAnswer'>> {
    return this.#run('list_aliases', {}, {}, options);
  }

  getCollectionAliases(collection: string, options?: CallOptions): Promise<Result<'AliasesAnswer'>> {
    return this.#run('collection_aliases', { collection }, {}, options);
  }

  /** True when all actions are done, in their order; after an error none is. */
  updateCollectionAliases(
    args: Schemas['ChangeAliases'] & CollectionFlags,
    options?: CallOptions,
  ): Promise<boolean> {
    return this.#run('change_aliases', {}, args, options);
  }

  // Snapshots (C12). Of a server that answers in the dialect `qdrant`; otherwise each rejects with a `NotImplementedError`.
  // Making and recovering one may take as long as its disk does: `timeoutMs` says how long a call waits.

  /** The snapshots of a collection. */
  listSnapshots(collection: string, options?: CallOptions): Promise<Snapshot[]> {
    return this.timed(options, (signal) => this.#snapshots.list(ownerOf(collection), signal));
  }

  /** Makes a snapshot of a collection. */
  createSnapshot(collection: string, args: SnapshotFlags = {}, options?: CallOptions): Promise<Snapshot> {
    return this.timed(options, (signal) => this.#snapshots.create(ownerOf(collection), signal, args));
  }

  /** True. A name that is not in the list is a `NotFoundError`. */
  deleteSnapshot(
    collection: string,
    name: string,
    args: SnapshotFlags = {},
    options?: CallOptions,
  ): Promise<boolean> {
    return this.timed(options, (signal) =>
      this.#snapshots.remove(ownerOf(collection), snapshotNamed(name), signal, args),
    );
  }

  /** True: the collection is what the snapshot of that name had, or was made of it. */
  recoverSnapshot(
    collection: string,
    args: Schemas['SnapshotRecover'],
    options?: CallOptions,
  ): Promise<boolean> {
    return this.timed(options, (signal) => this.#snapshots.recover(ownerOf(collection), args, signal));
  }

  /** The snapshots of all collections. */
  listFullSnapshots(options?: CallOptions): Promise<Snapshot[]> {
    return this.timed(options, (signal) => this.#snapshots.list('all', signal));
  }

  /** Makes a snapshot of all collections. */
  createFullSnapshot(args: SnapshotFlags = {}, options?: CallOptions): Promise<Snapshot> {
    return this.timed(options, (signal) => this.#snapshots.create('all', signal, args));
  }

  /** True. A name that is not in the list is a `NotFoundError`. */
  deleteFullSnapshot(name: string, args: SnapshotFlags = {}, options?: CallOptions): Promise<boolean> {
    return this.timed(options, (signal) => this.#snapshots.remove('all', snapshotNamed(name), signal, args));
  }

  /** True: every collection of a snapshot of all is what it was. A server requires the admin's JWT for it. */
  recoverFullSnapshot(args: Schemas['SnapshotRecover'], options?: CallOptions): Promise<boolean> {
    return this.timed(options, (signal) => this.#snapshots.recover('all', args, signal));
  }

  /** Runs work under the deadline and the signal of a call. */
  protected timed<T>(
    options: CallOptions | undefined,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    return withDeadline({ ...options, timeoutMs: options?.timeoutMs ?? this.#timeoutMs }, work);
  }

  #run<T>(operation: Operation, address: Address, args: object, options?: CallOptions): Promise<T> {
    return this.timed(options, (signal) =>
      this.#call<T>(operation, address, args, contextOf(signal, options)),
    );
  }

  async #call<T>(operation: Operation, address: Address, args: object, context: CallContext): Promise<T> {
    return (await this.#envelope(operation, address, args, context)).result as T;
  }

  /** The pages of a read, one after the other. */
  async *#pages<T>(
    operation: 'scroll' | 'search' | 'query',
    collection: string,
    args: ReadFlags & { readonly cursor?: { readonly ttl: number } | null | undefined },
    options: CallOptions | undefined,
    pointsOf: (result: never) => T,
  ): AsyncGenerator<T> {
    const { timeout, consistency } = args;
    const flags = {
      ...(timeout !== undefined && { timeout }),
      ...(consistency !== undefined && { consistency }),
    };
    let body: object = { ...args, cursor: args.cursor ?? { ttl: PAGE_TTL_SECONDS } };
    for (;;) {
      const asked = body;
      const envelope = await this.timed(options, (signal) =>
        this.#envelope(operation, { collection }, asked, contextOf(signal, options)),
      );
      yield pointsOf(envelope.result as never);
      const { next_cursor: cursor } = envelope as Envelope & { readonly next_cursor?: string | null };
      if (typeof cursor !== 'string') return;
      body = { ...flags, cursor };
    }
  }

  /** Executes an operation whose flags stand among its arguments, and gives its envelope. */
  async #envelope(
    operation: Operation,
    address: Address,
    args: object,
    context: CallContext,
  ): Promise<Envelope> {
    const { collection, target } = address;
    if ('collection' in address) mustBeName('collection', collection);
    if ('target' in address) mustBeName(targetOf(operation), target);
    const { wait, ordering, consistency, timeout, allow_partial, ...body } = args as Flags;
    const flags: CallFlags = { wait, ordering, consistency, timeout, allow_partial };
    const vectors = this.#float32Vectors ? { float32Vectors: true } : {};
    return this.#transport.execute({ operation, ...address, flags, body, ...context, ...vectors });
  }
}

function contextOf(signal: AbortSignal, options: CallOptions = {}): CallContext {
  const { position, onMissingShards } = options;
  return { signal, position, onMissingShards };
}

function ownerOf(collection: string): { readonly collection: string } {
  mustBeName('collection', collection);
  return { collection };
}

function snapshotNamed(name: string): string {
  mustBeName('snapshot', name);
  return name;
}

/** The name of a vector in the path of its re-embedding: the unnamed one has quotes, which no name has. */
function inPath(vector: string): string {
  return vector === '' ? '""' : vector;
}

/** What the `target` of an operation is to its caller. */
function targetOf(operation: Operation): string {
  if (operation === 'get_point') return 'id';
  return operation === 'delete_field_index' ? 'field' : 'vector';
}

/** Half of a character that UTF-16 writes in two: UTF-8, and so a path, has no place for it. */
const LONE_SURROGATE = /\p{Surrogate}/u;

/** @throws BadRequestError for what no path can have. */
function mustBeName(what: string, name: unknown): void {
  if (typeof name !== 'string' || name === '') {
    throw new BadRequestError(`The ${what} of a call must be a string of at least one character`, 400);
  }
  if (LONE_SURROGATE.test(name)) {
    throw new BadRequestError(
      `The ${what} of a call has half of a surrogate pair, which is no character`,
      400,
    );
  }
}
