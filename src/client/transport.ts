import type { Operation } from '../engine/types';

/**
 * What a client stands on: something that executes operations of the engine, over HTTP, over a socket or in the same
 * process. It knows operations, not methods and paths.
 */
export interface Transport {
  /** Whether `Float32Array`s of a body are sent as their bytes, and not as JSON. */
  readonly packsVectors?: boolean;
  /**
   * Executes one operation and resolves with its envelope, parsed: integers beyond 2^53 are BigInts
   * (`parseJson` of `./json` does it). Rejects
   * - with the `KithError` of the answer's status (`answerError` of `./errors`) when the operation is refused or fails,
   * - with a `ConnectionError` when there is no answer; its `outcomeUnknown` is false when certainly nothing was done,
   * - with `call.signal.reason` when the signal is aborted.
   *
   * It does not repeat what fails: `retrying` of `./retries` does that for any transport.
   */
  execute(call: Call): Promise<Envelope>;
  /** What is at the other end (C9.2). */
  version(signal?: AbortSignal): Promise<VersionInfo>;
  /** Releases what the transport holds, once. Calls that are under way and later ones reject with a `ConnectionError`. */
  close(): Promise<void>;
}

/** A transport that can also give an answer as it came, for those who copy points and need not look at them. */
export interface ByteTransport extends Transport {
  /** As {@link Transport.execute}; resolves with the whole envelope as JSON text in UTF-8. */
  executeBytes(call: Call): Promise<Uint8Array>;
}

/** One operation of the engine. */
export interface Call {
  readonly operation: Operation;
  /** Absent only for operations on all collections. */
  readonly collection?: string | undefined;
  /** The point id (`get_point`), the field (`delete_field_index`) or the vector's name as text, not percent-encoded. */
  readonly target?: string | undefined;
  readonly flags?: CallFlags | undefined;
  /**
   * A JSON value that may hold `Float32Array`s where numbers are listed and BigInts where integers are; `encodeJson` of
   * `./json` writes it. Or JSON text in UTF-8, as a `Uint8Array`. The transport does not change it. Absent where the
   * operation reads no body.
   */
  readonly body?: unknown;
  /** Of an upsert: whether the body is bytes with a point in each line (C5.14). A server that is too old answers 415. */
  readonly isLines?: boolean | undefined;
  /**
   * The operation id of a write: a UUID. A repeated call with the id of an applied write gets its answer again and
   * changes nothing (C25).
   */
  readonly operationId?: string | undefined;
  /** Positions of writes in a cluster that a read must see (C30.4). Without effect on one node. */
  readonly position?: string | undefined;
  /** Called with the shards that a read has left out, where its flags allow that (C30.5). On one node none ever is. */
  readonly onMissingShards?: ((shards: readonly number[]) => void) | undefined;
  /** Vectors of the result are to be `Float32Array`s. */
  readonly float32Vectors?: boolean | undefined;
  /** Aborted when nobody waits for the answer any more: by the caller, or because its deadline has passed. */
  readonly signal?: AbortSignal | undefined;
}

/** The parameters of an operation that HTTP has in the query string (C1.10, C5). Absent ones are the engine's defaults. */
export interface CallFlags {
  readonly wait?: boolean | undefined;
  /** Seconds until the engine gives the request up (408). */
  readonly timeout?: number | undefined;
  /** `weak`, `medium` or `strong`; has no effect on one node. */
  readonly ordering?: string | undefined;
  /** A number, `majority`, `quorum` or `all`; has no effect on one node. */
  readonly consistency?: string | number | undefined;
  /** Whether a read may leave out shards of a cluster that cannot be asked; has no effect on one node. */
  readonly allow_partial?: boolean | undefined;
}

/** The envelope of a success (C1.1). */
export interface Envelope {
  readonly result: unknown;
  /** Seconds that the server took. */
  readonly time?: number | undefined;
}

/** What `GET /` answers (C9.2), with the names that `@qdrant/js-client-rest` has. */
export interface VersionInfo {
  readonly title: string;
  /** The level of Qdrant's API that is served. */
  readonly version: string;
  readonly kithdb_version: string;
}
