import type { EngineErrorCode, EngineErrorDetails } from '../engine/types';

/**
 * The one error table: every refusal and every failure of the service has its status, its message and its headers
 * here (C1.4, C1.5). A failure is a value, not an exception: the checks return it, and `Exchange.fail` writes it.
 */
export interface Failure {
  readonly status: number;
  readonly message: string;
  /** Whole seconds for `Retry-After`; 1 to 9, since existing clients read one digit. */
  readonly retryAfterSeconds?: number;
  /** Further headers, such as `Allow`. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** What one digit can say. */
const LONGEST_RETRY_AFTER_SECONDS = 9;

type EngineRow = (details: EngineErrorDetails, operationFailed: string) => Failure;

/** Each code of the engine. The second argument is the operation's own prefix from the route table (`Upsert failed`). */
const ENGINE_ERRORS: Readonly<Record<EngineErrorCode, EngineRow>> = {
  bad_request: (details) => badRequest(details.message ?? 'Malformed request'),
  vectors_config_required: () => badRequest('vectors_config is required'),
  missing_field: (details) => badRequest(`Missing required field: ${details.field ?? ''}`),
  filter_parse: (details) => badRequest(`Filter parse error: ${details.message ?? ''}`),
  dimension_mismatch: ({ name = '', expected, got, model }) => {
    const source = model === undefined ? '' : ` (vectors of the model '${model}')`;
    const sizes = `expected ${expected ?? '?'}, got ${got ?? '?'}`;
    return badRequest(`Dimension mismatch for vector '${name}': ${sizes}${source}`);
  },
  vector_not_found: (details) => badRequest(`Vector not found: ${details.name ?? ''}`),
  collection_not_found: (details) => ({
    status: 404,
    message: `Collection not found: ${details.name ?? ''}`,
  }),
  collection_exists: (details) => ({
    status: 409,
    message: `Collection already exists: ${details.name ?? ''}`,
  }),
  collection_deleted: (details) => ({ status: 412, message: `Collection deleted: ${details.name ?? ''}` }),
  alias_exists: ({ name = '' }) =>
    badRequest(`Can't create collection with name ${name}. Alias with the same name already exists`),
  alias_not_found: ({ name = '' }) => ({ status: 404, message: `Alias not found: ${name}` }),
  model_mismatch: ({ name = '', declared = '?', named = '?' }) => ({
    status: 409,
    message: `vector field '${name}' has the model '${declared}', the request names '${named}'`,
  }),
  point_not_found: (details) => ({ status: 404, message: pointNotFound(details) }),
  point_without_vector: ({ id = '?', name = '' }) => ({
    status: 404,
    message: `Vector with name '${name}' for point ${id} not found`,
  }),
  version_conflict: (details) => ({ status: 409, message: versionConflict(details) }),
  sync_conflict: ({ message = '' }) => ({ status: 409, message: `Sync conflict: ${message}` }),
  reembedding_conflict: ({ message = '' }) => ({ status: 409, message: `Re-embedding conflict: ${message}` }),
  reembedding_not_found: ({ name = '' }) => ({
    status: 404,
    message: `Re-embedding not found: vector '${name}' is not being embedded anew`,
  }),
  collection_forbidden: () => noCollectionAccess(),
  points_forbidden: (details) => ({ status: 403, message: pointsForbidden(details) }),
  cursor_not_found: () => ({ status: 404, message: 'Cursor not found: it is unknown or has expired' }),
  not_ready: () => notReady(),
  timeout: (details) => ({
    status: 408,
    message: `Timeout: ${details.message ?? 'the deadline has passed'}`,
  }),
  // Nobody gets this answer: the access log has its status.
  cancelled: () => ({ status: 408, message: 'Timeout: the client has disconnected' }),
  answer_budget: () => overloaded('Too many bytes of answers that are not read'),
  // Nobody gets this answer: who packs vectors sends such a body again, as JSON.
  needs_json: () => ({ status: 500, message: 'A packed body that cannot be read' }),
  // The message says the whole time, which may be minutes; the header as much of it as its readers can.
  rate_limited: ({ message = 'Rate limiting exceeded', retryAfterSeconds = 1 }) => ({
    status: 429,
    message,
    retryAfterSeconds: Math.min(retryAfterSeconds, LONGEST_RETRY_AFTER_SECONDS),
  }),
  overloaded: (details) => overloaded(details.message ?? 'Too many requests in progress'),
  outcome_unknown: () => ({
    status: 409,
    message: 'Outcome unknown: the operation of this call is not kept any more, and nothing was done',
  }),
  // Nobody gets this answer: for a node of a cluster it is a write that was done with before.
  position_passed: (_details, failed) => ({ status: 500, message: `${failed}: internal error` }),
  not_confirmed: ({ id }) => ({
    status: 503,
    message:
      id === undefined
        ? 'Outcome unknown: the change may or may not be done; look before you repeat it'
        : `Outcome unknown: the write may or may not be applied; repeat it with the Idempotency-Key ${id}`,
    retryAfterSeconds: 1,
  }),
  unavailable: ({ message = '' }, failed) => ({
    status: 503,
    message: `${failed}: ${message}`,
    retryAfterSeconds: 1,
  }),
  // Nothing that the client changes about its request, or that time does, makes it succeed.
  read_only: ({ message = 'this server changes nothing' }, failed) => forbidden(`${failed}: ${message}`),
  shard_unavailable: ({ message = 'a shard' }, failed) => ({
    status: 503,
    message: `${failed}: ${message}`,
    retryAfterSeconds: 1,
  }),
  storage_full: (_details, failed) => storageFull(failed),
  memory_limit: (_details, failed) => full(`${failed}: memory limit`),
  shutting_down: () => shuttingDown(),
  collection_fault: (details, failed) => ({
    status: 500,
    message: `${failed}: ${details.message ?? 'the collection is damaged'}`,
  }),
  // The facade of the engine answers it itself.
  vectors_wanted: (_details, failed) => ({ status: 500, message: `${failed}: internal error` }),
  model_failed: ({ name = '', message = 'it failed' }) => ({
    status: 502,
    message: `Model '${name}' failed: ${message}`,
  }),
  internal: (details, failed) => ({
    status: 500,
    message: `${failed}: ${details.message ?? 'internal error'}`,
  }),
  internal_panic: (_details, failed) => ({ status: 500, message: `${failed}: internal error` }),
};

/**
 * The HTTP failure of an engine error. `operationFailed` is the route's prefix, such as `Search failed`; `sentence` is what
 * the dialect says in place of the table, if it does.
 */
export function engineFailure(
  code: EngineErrorCode,
  details: EngineErrorDetails,
  operationFailed: string,
  sentence?: string,
): Failure {
  const failure = Object.hasOwn(ENGINE_ERRORS, code)
    ? ENGINE_ERRORS[code](details, operationFailed)
    : // A code of an engine of another version: its details are not known to be safe.
      ENGINE_ERRORS.internal({}, operationFailed);
  if (sentence !== undefined) {
    return { ...failure, message: sentence };
  }
  return details.place === undefined
    ? failure
    : { ...failure, message: `${details.place}: ${failure.message}` };
}

function pointNotFound(details: EngineErrorDetails): string {
  const ids = details.ids ?? [];
  const total = details.total ?? ids.length;
  const more = total > ids.length ? `, and ${total - ids.length} more` : '';
  return `Point not found: ${ids.join(', ')}${more}`;
}

/** Each point with the version that it has and the one that the request expects (C25); an absent point has none. */
function versionConflict(details: EngineErrorDetails): string {
  const conflicts = details.conflicts ?? [];
  const total = details.total ?? conflicts.length;
  const version = (number: string): string => (number === '0' ? 'absent' : `version ${number}`);
  const points = conflicts.map(
    ({ id, expected, found }) => `${id} (${version(found)}, expected ${version(expected)})`,
  );
  const more = total > points.length ? `, and ${total - points.length} more` : '';
  return `Version conflict: ${points.join(', ')}${more}`;
}

/** Points that a token with a filter may not write, or not like this (C15). */
function pointsForbidden(details: EngineErrorDetails): string {
  const ids = details.ids ?? [];
  const total = details.total ?? ids.length;
  const more = total > ids.length ? `, and ${total - ids.length} more` : '';
  return `Permission denied: outside the filter of the access token: ${ids.join(', ')}${more}`;
}

export function badRequest(message: string): Failure {
  return { status: 400, message };
}

export function unauthenticated(): Failure {
  return {
    status: 401,
    message: 'Invalid or missing authorization token',
    headers: { 'WWW-Authenticate': 'Bearer' },
  };
}

/** The store of authentication is damaged: nobody is served (C3.8). */
export function authenticationClosed(): Failure {
  return {
    status: 500,
    message: 'Authentication operation failed: the store of authentication is damaged',
  };
}

/** What this node of a cluster knows of authentication may be out of date: nobody is served. */
export function authenticationOutdated(): Failure {
  return {
    status: 503,
    message:
      'Authentication operation failed: this node does not hear from the log of its cluster, and may not know what was revoked',
    retryAfterSeconds: 1,
  };
}

export function forbidden(message: string): Failure {
  return { status: 403, message };
}

/** A token with limits does not allow this in a collection, whether it exists or not (C15). */
export function noCollectionAccess(): Failure {
  return forbidden('Permission denied: the access token does not allow this in the collection');
}

export function routeNotFound(method: string, path: string): Failure {
  return { status: 404, message: `Route not found: ${method} ${path}` };
}

export function methodNotAllowed(method: string, path: string, allowed: readonly string[]): Failure {
  const list = allowed.join(', ');
  return {
    status: 405,
    message: `Method not allowed: ${method} ${path} (allowed: ${list})`,
    headers: { Allow: list },
  };
}

/** The engine is not open yet (C10.1). */
export function notReady(): Failure {
  return { status: 412, message: 'Engine not initialized', retryAfterSeconds: 1 };
}

export function bodyTooLarge(limitBytes: number): Failure {
  return { status: 413, message: `Request body too large: limit ${limitBytes} bytes` };
}

/** A compressed body that is more than so many times its size (C1.12). */
export function inflatedTooLarge(times: number): Failure {
  return { status: 413, message: `Request body too large: limit ${times} times its compressed size` };
}

export function malformedGzip(): Failure {
  return badRequest('The body is not valid gzip');
}

export function unsupportedBody(message: string): Failure {
  return { status: 415, message };
}

/** Characters of an unknown coding that its refusal repeats. */
const MAX_ECHOED = 64;

/** A `Content-Encoding` that is not read (C1.12). */
export function unsupportedCoding(coding: string): Failure {
  return {
    status: 415,
    message: `Unsupported content encoding: ${coding.slice(0, MAX_ECHOED)} (gzip or identity)`,
    headers: { 'Accept-Encoding': 'gzip' },
  };
}

/** The body arrived too slowly, or not at all. */
export function bodyTimeout(): Failure {
  return { status: 408, message: 'Timeout: the request body did not arrive in time' };
}

/** An `Expect` header with anything but `100-continue`. */
export function expectationFailed(): Failure {
  return { status: 417, message: 'Unsupported expectation: only 100-continue' };
}

export function overloaded(message: string): Failure {
  return { status: 429, message, retryAfterSeconds: 1 };
}

/** The disk is full; `failed` is the prefix of the operation. */
export function storageFull(failed: string): Failure {
  return full(`${failed}: storage full`);
}

/** The disk or the memory is full: it takes deletions, checkpoints or an operator to change that, which takes a while. */
function full(message: string): Failure {
  return { status: 507, message, retryAfterSeconds: 5 };
}

export function notImplemented(group: string): Failure {
  return { status: 501, message: `Not implemented in this build: ${group}` };
}

export function shuttingDown(): Failure {
  return { status: 503, message: 'Server is shutting down', retryAfterSeconds: 1 };
}

/** An unexpected error: the answer says nothing of its cause, which is logged. */
export function unexpected(): Failure {
  return { status: 500, message: 'Internal server error' };
}
