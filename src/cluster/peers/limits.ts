/** Bounds of what nodes ask one another. */
export interface PeerLimits {
  /** Of a request. */
  readonly maxBodyBytes: number;
  /** Of all requests that are under way. */
  readonly maxHeldBytes: number;
  /** Requests under way that come from one address. */
  readonly maxRequestsPerPeer: number;
  readonly maxConnections: number;
  readonly headersTimeoutMs: number;
  /** Until a request has arrived whole. */
  readonly requestTimeoutMs: number;
  /** A connection without a request is closed after this. */
  readonly idleMs: number;
  /** A connection whose other end reads nothing of an answer is cut after this. */
  readonly stalledAnswerMs: number;
  /** How long a stop waits for requests that are under way. */
  readonly drainMs: number;
}

export const DEFAULT_PEER_LIMITS: PeerLimits = {
  maxBodyBytes: 64 * 1024 * 1024,
  maxHeldBytes: 256 * 1024 * 1024,
  maxRequestsPerPeer: 1024,
  maxConnections: 2048,
  headersTimeoutMs: 5000,
  requestTimeoutMs: 30_000,
  idleMs: 65_000,
  stalledAnswerMs: 30_000,
  drainMs: 5000,
};

/** Bytes of an answer that is JSON of a node, such as the reason of a refusal. */
export const MAX_JSON_BYTES = 16 * 1024 * 1024;

/** Bytes of the head of a request: the limits of a caller are in it. */
export const MAX_HEAD_BYTES = 64 * 1024;
export const MAX_HEADERS = 32;
