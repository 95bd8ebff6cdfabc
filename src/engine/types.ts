/**
 * The interface of the engine for the rest of the server. Bodies go in as bytes and answers come out as bytes: JavaScript
 * never parses a point.
 */
import type { StrictScope } from './strict-scope';

/** Every operation the engine executes. The name is the stable identifier on both sides of the boundary. */
export const OPERATIONS = [
  'list_collections',
  'collection_info',
  'create_collection',
  'update_collection',
  'delete_collection',
  'collection_exists',
  'upsert_points',
  'retrieve_points',
  'get_point',
  'delete_points',
  'update_vectors',
  'delete_vectors',
  'set_payload',
  'overwrite_payload',
  'delete_payload',
  'clear_payload',
  'batch_update',
  'create_field_index',
  'delete_field_index',
  'search',
  'search_batch',
  'query',
  'query_batch',
  'scroll',
  'count',
  'recommend',
  'recommend_batch',
  'discover',
  'discover_batch',
  'collection_status',
  'flush',
  'optimize',
  'collection_cluster_info',
  'optimizations',
  'facet',
  'matrix_pairs',
  'matrix_offsets',
  'clone_collection',
  'create_vector_name',
  'delete_vector_name',
  'search_groups',
  'query_groups',
  'recommend_groups',
  'list_aliases',
  'collection_aliases',
  'change_aliases',
  'rebuild_index',
  'project_points',
  'sync_points',
  'plan_sync',
  'reembed_vectors',
  'reembedding',
  'commit_reembedding',
  'abort_reembedding',
  // Of no endpoint: what embeds texts anew (`src/models/reembedder.ts`).
  'list_reembeddings',
  'next_texts',
  'fill_vectors',
  // Of no endpoint: what snapshots are made of (`src/snapshots`).
  'link_snapshot',
  'adopt_folders',
  // Of no endpoint: by which a cluster compares replicas, and removes points of theirs (docs/cluster.md).
  'replica_state',
  'remove_expired',
] as const;

export type Operation = (typeof OPERATIONS)[number];

/** One request to the engine. */
export interface EngineRequest {
  readonly operation: Operation;
  /** Collection name after the single percent-decoding; absent only for operations on all collections. */
  readonly collection?: string | undefined;
  /** The point id (`get_point`), the field (`delete_field_index`) or the vector's name from the path, percent-decoded once; for re-embeddings `""` is the unnamed vector. */
  readonly target?: string | undefined;
  /** `wait` of the query string; true when absent (C5). */
  readonly wait?: boolean | undefined;
  /** Seconds until the request is given up with `timeout` (C1.10); the engine's own maximum when absent. */
  readonly timeoutSeconds?: number | undefined;
  /** The most bytes that the answer may have now; beyond them the request fails with `answer_budget`. */
  readonly answerBytes?: number | undefined;
  /** The identity of a write, a UUID: the engine applies it once, and answers a repeat as it answered the first (C25). */
  readonly operationId?: string | undefined;
  /**
   * The place of a write of one collection in a replicated stream, an integer from 1 to 2^33 - 1: its number is the position
   * times 2^20. Writes of a collection are executed one after the other, in the order of their positions; one whose position
   * was passed fails with `position_passed`, unless its `operationId` is known.
   */
  readonly position?: number | undefined;
  /** Whether a write of points is only tried: it is answered as it would be, and changes nothing. It has no position. */
  readonly dryRun?: boolean | undefined;
  /** In a cluster: which limits of strict mode it meets (C4.3); all of them when absent. */
  readonly strictScope?: StrictScope | undefined;
  /** What the caller may reach, as JSON (C15): `{collections?: [{name | prefix, permission}], filter?}`. */
  readonly limits?: string | undefined;
  /** In a cluster: the position that a read must not be behind, as `written` has given it. */
  readonly readAfter?: string | undefined;
  /** In a cluster: takes the position of a write, before the answer. */
  readonly written?: ((position: string) => void) | undefined;
  /** In a cluster: whether shards that cannot be reached may be left out of a read. */
  readonly allowsPartial?: boolean | undefined;
  /** In a cluster: takes the shards that were left out of a read, before the answer. */
  readonly leftOut?: ((shards: readonly number[]) => void) | undefined;
  /** Whose cursors it may use (C22): the same text is the same caller. */
  readonly caller?: string | undefined;
  /** Passes over what is harmless, with warnings in the envelope (C12). */
  readonly isLenient?: boolean | undefined;
  /** Takes more bytes of what the server may hold for this request; false where there are none. */
  readonly hold?: ((bytes: number) => boolean) | undefined;
  /** The request's body, whole, from {@link Engine.receive} of the same engine. */
  readonly body?: IncomingBody | undefined;
  /** Which vectors are packed (`crates/engine/src/json/packed.rs`): those of the body, those of the answer; none when absent. */
  readonly packing?: Packing | undefined;
  /** Whether the body is an Arrow IPC stream, of an upsert (C5.13), in place of JSON. */
  readonly isArrow?: boolean | undefined;
  /** Whether the body has a point of an upsert in each line (C5.14). */
  readonly isLines?: boolean | undefined;
  /**
   * Whether a read may be answered on the calling thread, where the engine finds that it takes at most half a millisecond: a
   * change of threads takes longer than a search.
   */
  readonly mayRunHere?: boolean | undefined;
  /** When the request arrived, in milliseconds of `performance.now()`; the envelope's `time` counts from here. */
  readonly arrivedAt?: number | undefined;
  /**
   * Registers a callback for when nobody waits for the answer any more. The engine then gives the request up, unless it is
   * a write that is logged already; a call after the answer does nothing.
   */
  readonly whenAbandoned?: ((callback: () => void) => void) | undefined;
  /** Takes the profile of a slow search ({@link EngineOptions.slowRequestMs}), before the request is answered. */
  readonly profiled?: ((profile: SearchProfile) => void) | undefined;
}

/** What the searches of a request planned and what that cost, as the log has it (C13). It has nothing of what was searched for. */
export type SearchProfile = Readonly<Record<string, unknown>>;

/** Which vectors cross as 32-bit floats beside the JSON. */
export interface Packing {
  readonly body: boolean;
  readonly answer: boolean;
}

/** Stable codes of what can go wrong. `src/http/errors.ts` alone turns them into a status and a message. */
export type EngineErrorCode =
  | 'bad_request' // details.message names the place
  | 'vectors_config_required'
  | 'missing_field' // details.field
  | 'filter_parse' // details.message
  | 'dimension_mismatch' // details.name, details.expected, details.got
  | 'vector_not_found' // details.name
  | 'collection_not_found' // details.name
  | 'collection_exists' // details.name
  | 'collection_deleted' // details.name
  | 'alias_exists' // details.name: a collection is to be created under the name of an alias
  | 'alias_not_found' // details.name
  | 'model_mismatch' // details.name: the field; details.declared, details.named, details.place
  | 'point_not_found' // details.ids: at most ten, as text; details.total
  | 'point_without_vector' // details.id, as text; details.name
  | 'version_conflict' // details.conflicts: at most ten; details.total
  | 'sync_conflict' // details.message: a sync does not fit to what is stored or staged (C20)
  | 'reembedding_conflict' // details.message: a re-embedding does not allow this (C19)
  | 'reembedding_not_found' // details.name: the field
  | 'collection_forbidden' // the limits of the caller do not allow this in a collection
  | 'points_forbidden' // details.ids: at most ten, as text; details.total: outside the filter of the caller
  | 'cursor_not_found' // no such cursor for this caller, operation and collection (C22)
  | 'not_ready'
  | 'timeout' // details.message
  | 'answer_budget' // the answer has more than `answerBytes` of the request
  | 'needs_json' // a packed body that cannot be read as it is; nothing was done
  | 'cancelled' // the client disconnected
  | 'rate_limited' // details.message; details.retryAfterSeconds
  | 'overloaded' // details.message: a queue or a budget is full
  | 'outcome_unknown' // a repeat of a write whose operation is not kept any more; nothing was done
  | 'position_passed' // a write from a stream whose position its collection has passed; nothing was done
  | 'not_confirmed' // details.id: the operation id of a write that may or may not be applied; none of another change
  | 'unavailable' // details.message: a part of a cluster that this needs cannot do it now; nothing was done
  | 'read_only' // details.message: the server changes nothing
  | 'shard_unavailable' // details.message: of a cluster, no replica of a shard can be asked
  | 'storage_full'
  | 'memory_limit'
  | 'shutting_down'
  | 'collection_fault' // details.message: a quarantined or poisoned collection
  | 'vectors_wanted' // details.inputs: never seen outside of src/engine
  | 'model_failed' // details.name: the model; details.message
  | 'internal' // details.message, free of paths and secrets
  | 'internal_panic';

/** The details of an engine error; which of them are present depends on the code. */
export interface EngineErrorDetails {
  readonly message?: string;
  readonly name?: string;
  readonly field?: string;
  readonly expected?: number;
  readonly got?: number;
  readonly id?: string;
  readonly ids?: readonly string[];
  readonly total?: number;
  /** When there is enough of a rate. */
  readonly retryAfterSeconds?: number;
  /** The model that a vector field declares, and the one that a request names. */
  readonly declared?: string;
  readonly named?: string;
  /** The model whose vectors a `dimension_mismatch` is about, where a model made them. */
  readonly model?: string;
  /** The texts whose vectors are wanted. */
  readonly inputs?: readonly TextInput[];
  /** Points with another version than the request expects; versions as decimal text, 0 of an absent point. */
  readonly conflicts?: readonly { readonly id: string; readonly expected: string; readonly found: string }[];
  /** The part of a batch that the error is about, as a path: `searches[3]`. */
  readonly place?: string;
}

/** An error of the engine, by its stable code. */
export class EngineError extends Error {
  constructor(
    readonly code: EngineErrorCode,
    readonly details: EngineErrorDetails = {},
  ) {
    super(details.message ?? code);
    this.name = 'EngineError';
  }
}

/** The bytes of an answer: a short one as a string with a character (U+0000 to U+00FF) for each byte. */
export type Answer = Buffer | string;

/** The bytes of an answer, whichever form it has. */
export function bytesOf(answer: Answer): Buffer {
  return typeof answer === 'string' ? Buffer.from(answer, 'latin1') : answer;
}

/** Where the engine is between start and stop, and what it served when its last report was made. */
export interface EngineStatus {
  readonly state: 'closed' | 'opening' | 'ready' | 'closing';
  readonly collections: number;
  readonly points: number;
  /** How many collections could not be opened or are damaged, and are quarantined (C10.2). */
  readonly quarantined: number;
  /** What is wrong with them; at most 1,000. */
  readonly faults: readonly { readonly name: string; readonly fault: string }[];
  /** Damage that the log had when the engine was opened: the file, relative to the data directory, and what is wrong. */
  readonly logDamages: readonly { readonly file: string; readonly what: string }[];
  /** Present while it is ready. */
  readonly internals?: EngineInternals;
}

/**
 * What a health issue is about: the disk is full, or little memory is left, and writes that make the data grow are refused
 * until that changes; the log accepts no writes until a restart; a collection is quarantined; a collection accepts no
 * writes until a restart; a checkpoint could not be written or the log could not be cut; files of a deleted collection
 * could not be removed; background work fails because of a defect of the engine, and is tried again.
 */
export const HEALTH_ISSUE_KINDS = [
  'disk_full',
  'memory_limit',
  'log',
  'quarantine',
  'collection',
  'checkpoint',
  'removal',
  'background',
] as const;

/** A fault of an open engine that an operator has to deal with. */
export interface HealthIssue {
  readonly kind: (typeof HEALTH_ISSUE_KINDS)[number];
  /** Its name, where it is that of a collection. */
  readonly collection?: string;
  /** What is wrong; may name files relative to the data directory. */
  readonly what: string;
}

/** The panics of background work of an open engine, which it has caught. */
export interface BackgroundPanics {
  /** How many each task had since the engine was opened. */
  readonly counts: readonly {
    readonly task: string;
    readonly count: number;
    /** How often its thread was taken up again after one. */
    readonly restarts: number;
  }[];
  /** The last ones, oldest first; at most 64. */
  readonly events: readonly {
    /** Grows from panic to panic of this process. */
    readonly number: number;
    readonly task: string;
    /** Its name, where the task worked on one. */
    readonly collection?: string;
    readonly what: string;
  }[];
}

/** What a node knows of its cluster (`GET /cluster`). */
export interface ClusterReport {
  /** The number of this node in Qdrant's reports. */
  readonly peerId: number;
  /** The nodes of the shard map, this one included. */
  readonly peers: readonly ClusterPeer[];
  /** The sequence of the last event of the shard map. */
  readonly mapVersion: number;
  /** Who proposes what failures demand; undefined while this node does not hear itself. */
  readonly proposer: number | undefined;
  readonly replicas: readonly LocalReplica[];
  /** Whether the directory of the node is served without its cluster: the others are not heard. */
  readonly isAlone?: boolean;
}

/** A node. */
export interface ClusterPeer {
  readonly peerId: number;
  /** Its own id. */
  readonly node: string;
  /** Where it listens for other nodes, with the port. */
  readonly address: string;
  /** `silent`: not live, and not yet lost. */
  readonly state: 'live' | 'silent' | 'lost';
}

/** A replica of this node. */
export interface LocalReplica {
  /** The position of the last record that changed it. */
  readonly position: number;
  /** Messages of its stream that it has not applied. */
  readonly behind: number;
}

/** What the scrub of an open engine has done since the engine was opened, and the damage that opening found. */
export interface ScrubReport {
  /** Finished passes. */
  readonly passes: number;
  /** When the last one finished, in seconds since 1970. */
  readonly finishedAt?: number;
  /** Bytes compared with a checksum. */
  readonly bytes: number;
  readonly dataFailures: number;
  readonly graphFailures: number;
  readonly manifestFailures: number;
  readonly catalogFailures: number;
  readonly logFailures: number;
  /** The last findings, oldest first, but for those of the start that {@link EngineStatus} has. */
  readonly findings: readonly {
    /** Grows from finding to finding of this process. */
    readonly number: number;
    /** Its name, where the file belongs to one. */
    readonly collection?: string;
    /** Relative to the data directory. */
    readonly file: string;
    /** What is wrong, and what was done. */
    readonly what: string;
  }[];
}

/** What is in no index yet. */
export interface IndexBacklog {
  /** Rows of dense fields that are not in the graph. */
  readonly dense: number;
  /** Rows of sparse fields that are in no block of the inverted index. */
  readonly sparse: number;
  /** Points that the builders of field indexes have not read, for each index. */
  readonly field: number;
}

/** How long something took, since the engine was opened. */
export interface Durations {
  /** Upper bounds of the buckets, in seconds. */
  readonly bounds: readonly number[];
  /** How many were in each bucket, and above the last bound; not cumulative. */
  readonly counts: ArrayLike<number>;
  /** The sum of all, in seconds. */
  readonly seconds: number;
}

/** Figures of one collection. */
export interface CollectionFigures {
  readonly name: string;
  readonly points: number;
  readonly memoryBytes: number;
  readonly diskBytes: number;
  readonly backlog: IndexBacklog;
  /** Requests that searched it since it was opened. */
  readonly searches: number;
  /** Writes that were applied since it was created. */
  readonly writes: number;
  /** Absent where none is measured. */
  readonly recall?: Recall;
}

/** A measured recall with its interval of 95 % (C14). */
export interface Recall {
  readonly recall: number;
  readonly low: number;
  readonly high: number;
}

/** Internal figures of an open engine, for operators. */
export interface EngineInternals {
  /** What is held of the memory that is allowed, in bytes; all 0 without a limit. */
  readonly memoryUse: {
    /** What the process may hold, and what it holds, page cache left out. */
    readonly limit: number;
    readonly process: number;
    /** The engine's part of it, and what the engine holds, with what graphs will take for rows that are not in them yet. */
    readonly engineLimit: number;
    readonly engine: number;
    /** Growth that was accepted lately and may not be in the others. */
    readonly charged: number;
  };
  /** Bytes of all collections. */
  readonly memory: {
    /** Original vectors in memory. */
    readonly originals: number;
    /** Original vectors on read-only maps, which are not memory of this process. */
    readonly originalsMapped: number;
    readonly codes: number;
    readonly links: number;
    readonly points: number;
    /** Payloads that no checkpoint has written yet. */
    readonly payloads: number;
    /** As they were when they were last measured, seconds ago. */
    readonly fieldIndexes: number;
  };
  /** Bytes on disk: of the log, and of the files of collections as they were within the last seconds. */
  readonly disk: { readonly log: number; readonly data: number };
  /** Over all collections. */
  readonly indexBacklog: IndexBacklog;
  readonly logSyncs: Durations;
  /** Durations of the checkpoints that wrote something. */
  readonly checkpoints: Durations;
  /** Collections that are asleep (C24). */
  readonly asleep: number;
  /** Durations of the openings of collections that slept. */
  readonly wakes: Durations;
  /** Figures of the first {@link EngineOptions.reportedCollections} collections, in order of creation. */
  readonly collections: readonly CollectionFigures[];
  /** Points that were removed since the engine was opened because their time had come (C17). */
  readonly expiredPoints: number;
  /** Field indexes that the engine made by itself (C23). */
  readonly autoIndexes: number;
  /** Cursors that are open (C22), and the bytes that they hold at most. */
  readonly cursors: number;
  readonly cursorBytes: number;
  /** Counts over searches for the nearest since the engine was opened: by first plan, then what they did. */
  readonly searches: {
    readonly exactScans: number;
    readonly scans: number;
    readonly wideWalks: number;
    readonly twoHopWalks: number;
    /** Plans given up for the next one. */
    readonly fallbacks: number;
    /** Nodes that walks expanded. */
    readonly hops: number;
    /** Rows that walks compared. */
    readonly distances: number;
    /** Vectors that exact searches compared. */
    readonly compared: number;
    /** Rows that scans compared by code. */
    readonly scanned: number;
    /** Rows compared again by their originals. */
    readonly reranked: number;
  };
  /** The lowest recall of any collection's searches; absent where none is measured. */
  readonly recall?: Recall;
  /** Reads that wait for a thread, and threads that run light and heavy ones. */
  readonly reads: { readonly waiting: number; readonly light: number; readonly heavy: number };
  /** The instruction sets in use, such as `avx512`: for original vectors and for codes. */
  readonly kernels: { readonly rows: string; readonly codes: string };
}

/** A text of a request that a model outside the engine makes the vector of (C16). */
export interface TextInput {
  /** Where it stands in the body, as messages name it. */
  readonly place: string;
  /** The name of the model, as sent. */
  readonly model: string;
  readonly text: string;
  /** The byte of the body before which the vector goes. */
  readonly at: number;
}

/** What making vectors may use, and what it is bounded by. */
export interface VectorsContext {
  /** Aborted when the request is over: its deadline has passed, or nobody waits for its answer. */
  readonly signal: AbortSignal;
  /**
   * Reads the answer of an endpoint for so many texts on a thread of the engine: first the number of components of a vector,
   * then the components of all, 32 bits each, little-endian.
   */
  readonly read: (answer: Buffer, texts: number) => Promise<Buffer>;
  /** Takes bytes of the server's budget for the request. @throws EngineError when there are none. */
  readonly hold: (bytes: number) => void;
}

/** The models that are not built into the engine (C16). */
export interface TextModels {
  /**
   * The vectors of texts in their order: components of 32 bits, little-endian.
   * @throws EngineError `bad_request` for a model that is unknown, `model_failed` with its name for one that fails.
   */
  vectors(inputs: readonly TextInput[], context: VectorsContext): Promise<readonly Buffer[]>;
}

/** How to open the engine. */
export interface EngineOptions {
  readonly dataDir: string;
  /** Threads that answer reads; the number of cores when absent. */
  readonly searchThreads?: number;
  /** What memory is accounted against; nothing when absent. */
  readonly memory?: {
    /** Bytes that the process may hold; those of its control groups or of the machine when absent. */
    readonly limitBytes?: number;
    /** Bytes that the machine has. */
    readonly machineBytes: number;
  };
  /** The limits of C2.7 that are settings. */
  readonly limits?: Partial<EngineLimits>;
  /** How the folder is shared with other processes (C18); as a server has it when absent. */
  readonly sharing?: Sharing;
  /** Names of file systems on which a new folder may be made although they do not keep the promises of one (C18). */
  readonly allowedFileSystems?: readonly string[];
  /** The models that requests may have texts of beside those that are built in; none when absent. */
  readonly models?: TextModels;
  /** Share of the processors that measuring recall may use (C14), 0 for none; a hundredth when absent. */
  readonly calibrationShare?: number;
  /** Collections that {@link EngineInternals} has figures of; none when absent. */
  readonly reportedCollections?: number;
  /** When collections sleep that are not used (C24); as the engine does it when absent. */
  readonly residency?: {
    /** Seconds without a request after which one does; 0 for never. */
    readonly idleSeconds: number;
    /** Bytes of all that are awake above which the longest idle sleep; half of the engine's memory when absent. */
    readonly budgetBytes?: number;
  };
  /** Searches that take half of so many milliseconds in the engine are profiled; none when absent. */
  readonly slowRequestMs?: number;
  /** How files are read in the background for signs of decay; not at all when absent. */
  readonly scrub?: { readonly bytesPerSecond: number; readonly intervalSeconds: number };
  /**
   * Whether the collections are replicas of shards of a cluster: no automatic field indexes are made, points whose time has
   * come are hidden from reads until a write removes them, no re-embedding is begun, and bodies with texts of models have their
   * vectors too. Such an engine has no {@link models}. False when absent.
   */
  readonly isReplica?: boolean;
}

/** How a process that is no server shares a folder with others (C18). */
export interface Sharing {
  /** Only this process has it, or none. */
  readonly exclusive: boolean;
  /** It is never the owner, and writes nothing. */
  readonly readOnly: boolean;
  /** How long opening may wait for another process. */
  readonly timeoutMs: number;
}

/** The limits of C2.7. */
export interface EngineLimits {
  readonly maxPointsPerRequest: number;
  readonly maxFilterConditions: number;
  readonly maxPrefetchDepth: number;
  readonly maxPrefetches: number;
  readonly maxResultWindow: number;
  readonly maxNamedVectors: number;
  readonly maxFieldIndexes: number;
  readonly maxCollections: number;
  readonly maxCursors: number;
}

/** A body that is arriving; the engine copies each chunk of it. */
export interface IncomingBody {
  /**
   * Adds a chunk. From then on the body has room for `capacity` bytes, and at least for what it holds. The memory of the
   * chunk may be gone afterwards, unless it is only a part of its `ArrayBuffer`: nothing may read it any more.
   */
  append(piece: Buffer, capacity: number): void;
  /** Releases a body that will not be executed. */
  discard(): void;
}

/** What an operator may do to a cluster. All reject with an {@link EngineError}. */
export interface ClusterControl {
  /**
   * Has a node emptied, which then leaves for ever. Resolves when the cluster has noted it; its replicas move to other nodes
   * afterwards. @param peer the number that stands for the node in reports
   */
  removePeer(peer: number): Promise<void>;
  /** Removes the replica that a node has of a shard; where the shard then has too few, another one is made. */
  dropReplica(collection: string, shard: number, peer: number): Promise<void>;
}

/** The engine as the server uses it. */
export interface Engine {
  /** Of a node of a cluster; undefined for one that is alone. */
  readonly cluster?: ClusterControl | undefined;
  /**
   * Opens the data directory and replays the log; resolves when ready, rejects when the directory is unusable. A warning
   * about its file system, where there is one (C18).
   */
  open(): Promise<string | undefined>;
  /** The number under which other event loops of this process join it while it is open; undefined for one of one loop only. */
  share?(): number;
  /** What this process is in the folder: `owner`, `attached to process 7`, `waiting for an owner`; undefined while not open. */
  role?(): string | undefined;
  /** An empty body, to be filled and then passed to {@link Engine.execute} or discarded. */
  receive(): IncomingBody;
  /** The whole success envelope as JSON bytes; rejects with an {@link EngineError}. */
  execute(request: EngineRequest): Promise<Answer>;
  /**
   * Resolves when the last report, which {@link status}, {@link healthIssues} and {@link panics} read, is at most
   * `maxAgeMs` old (a second when absent). Threads of the engine make the report, since that walks all collections.
   */
  refresh(maxAgeMs?: number): Promise<void>;
  status(): EngineStatus;
  scrub(): ScrubReport;
  /** At most 1,000. */
  healthIssues(): readonly HealthIssue[];
  panics(): BackgroundPanics;
  /** Of a node of a cluster: what it knows of it; undefined before it has joined. */
  clusterReport?(): ClusterReport | undefined;
  /**
   * The generation of the store of authentication that the catalog has noted (C3.8); 0 where none was.
   * @throws EngineError while it is not open in this process.
   */
  authGeneration(): number;
  /**
   * Notes a generation of the store of authentication in the catalog, durably; an earlier one than is noted changes nothing.
   * Rejects with an {@link EngineError}; then the engine tries again.
   */
  noteAuthGeneration(generation: number): Promise<void>;
  /**
   * Hard-links everything that is served into the folder `staging` of the data directory, where it does not change: for a
   * backup. Rejects with an {@link EngineError}.
   */
  stage(): Promise<void>;
  /** Removes the hard links. */
  unstage(): Promise<void>;
  /** Gives up what runs and is not written yet (`shutting_down`), and refuses what comes. */
  giveUpRequests(): void;
  /**
   * Gives up what runs and is not written yet (`shutting_down`), syncs, writes checkpoints for about `timeMs` (what is left
   * stays in the log), releases the directory. Without a time it takes as long as it takes. Idempotent.
   */
  close(timeMs?: number): Promise<void>;
}
