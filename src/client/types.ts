import type { components } from './generated';

/** The schemas of `openapi/openapi.yaml`, by their names there. */
export type Schemas = components['schemas'];

/**
 * An id of a point: an unsigned 64-bit integer, which is a BigInt beyond 2^53, or a UUID; in a collection with `ids: "string"` any
 * string of 1 to 256 bytes (C21).
 */
export type PointId = Schemas['PointId'];

/** The parameters of a change of points, which stand among its arguments. */
export interface ChangeFlags {
  /** With true (the default) the change is visible to the next read when the call resolves. */
  readonly wait?: boolean;
  /** Without effect on one node. */
  readonly ordering?: 'weak' | 'medium' | 'strong';
  /** Seconds until the server gives the request up. */
  readonly timeout?: number;
}

/** The parameters of a read of points. */
export interface ReadFlags {
  /** Without effect on one node. */
  readonly consistency?: number | 'majority' | 'quorum' | 'all';
  /** Seconds until the server gives the request up. */
  readonly timeout?: number;
  /**
   * Whether shards of a cluster may be left out where none of their replicas can be asked, which is an `UnavailableError` otherwise
   * (C30.5). `onMissingShards` of the call's options is told which. Without effect on one node.
   */
  readonly allow_partial?: boolean;
}

/** The parameters of a request about a collection. */
export interface CollectionFlags {
  /** Seconds until the server gives the request up. */
  readonly timeout?: number;
}

/** What every method takes as its last argument. */
export interface CallOptions {
  /** Milliseconds until the call is given up with a `DeadlineError`, retries included; 0 for never. */
  readonly timeoutMs?: number;
  /** Gives the call up; it rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /**
   * Of a read: positions in a cluster, as `position` of the client that wrote there has them; it sees these writes too (C30.4). Without
   * effect on one node.
   */
  readonly position?: string;
  /** Of a read with `allow_partial`: called before the result when it lacks shards, with their numbers (C30.5). */
  readonly onMissingShards?: (shards: readonly number[]) => void;
}

/** The field of the answer with this name of the description. */
export type Result<A extends keyof Schemas> = Schemas[A] extends { result: infer R } ? R : never;
