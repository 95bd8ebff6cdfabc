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
}

/** The field of the answer with this name of the description. */
export type Result<A extends keyof Schemas> = Schemas[A] extends { result: infer R } ? R : never;
