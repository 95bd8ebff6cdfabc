import { readStrictScope, strictScopeText, type StrictScope } from '../../engine/strict-scope';
import type { Operation } from '../../engine/types';
import type { ReplicaRead } from './handlers';

/** Operations that read one replica, and that nodes execute for one another. */
export const READS: ReadonlySet<Operation> = new Set<Operation>([
  'collection_info',
  'collection_status',
  'optimizations',
  'retrieve_points',
  'get_point',
  'search',
  'search_batch',
  'search_groups',
  'query',
  'query_batch',
  'query_groups',
  'recommend',
  'recommend_batch',
  'recommend_groups',
  'discover',
  'discover_batch',
  'scroll',
  'count',
  'facet',
  'matrix_pairs',
  'matrix_offsets',
  'project_points',
  'replica_state',
]);

/** Writes of points, which nodes only try for one another. */
export const DRY_RUNS: ReadonlySet<Operation> = new Set<Operation>([
  'upsert_points',
  'delete_points',
  'update_vectors',
  'delete_vectors',
  'set_payload',
  'overwrite_payload',
  'delete_payload',
  'clear_payload',
  'batch_update',
]);

/** Writes that the stream of a collection has. */
export const WRITES: ReadonlySet<Operation> = new Set<Operation>([
  ...DRY_RUNS,
  'update_collection',
  'create_field_index',
  'delete_field_index',
]);

/** The version of the shard map of whoever sends a message. */
export const MAP_VERSION = 'kithdb-map-version';
/** The position that a read waits for, and in its answer the position of the replica. */
export const POSITION = 'kithdb-position';

const OPERATION = 'kithdb-operation';
const COLLECTION = 'kithdb-collection';
const TARGET = 'kithdb-target';
const LENIENT = 'kithdb-lenient';
const DRY_RUN = 'kithdb-dry-run';
const OPERATION_ID = 'kithdb-operation-id';
const STRICT_SCOPE = 'kithdb-strict-scope';
const PACKING = 'kithdb-packing';
const ROWS = 'kithdb-rows';
const TIMEOUT = 'kithdb-timeout-ms';
const ANSWER_BYTES = 'kithdb-answer-bytes';
const LIMITS = 'kithdb-limits';
const CALLER = 'kithdb-caller';

/** Headers of a request, or the head of a question in a frame. */
export type ReadHeaders = Readonly<Record<string, string | string[] | undefined>>;

const MAX_TIMEOUT_MS = 3_600_000;
/** Characters of texts, as they are sent. */
const MAX_TEXT = 48 * 1024;

/** A request that no node of this release sends. */
export class BadPeerRequest extends Error {
  override readonly name = 'BadPeerRequest';

  constructor(
    readonly status: number,
    readonly what: string,
  ) {
    super(what);
  }
}

/** The headers of a read. Texts are percent-encoded. Every read of another node has them, so they are made without copies. */
export function headersOfRead(read: ReplicaRead): Record<string, string> {
  const { target, packing, position, operationId, strictScope, answerBytes, limits, caller } = read;
  const headers: Record<string, string> = {
    [OPERATION]: read.operation,
    [COLLECTION]: encodeURIComponent(read.collection),
    [TIMEOUT]: String(read.timeoutMs),
    [MAP_VERSION]: String(read.mapVersion),
  };
  if (target !== undefined) headers[TARGET] = encodeURIComponent(target);
  if (read.isLenient === true) headers[LENIENT] = '1';
  if (read.dryRun === true) headers[DRY_RUN] = '1';
  if (operationId !== undefined) headers[OPERATION_ID] = encodeURIComponent(operationId);
  if (strictScope !== undefined) headers[STRICT_SCOPE] = strictScopeText(strictScope);
  if (packing !== undefined) headers[PACKING] = `${Number(packing.body)}${Number(packing.answer)}`;
  if (read.isArrow === true) headers[ROWS] = 'arrow';
  if (read.isLines === true) headers[ROWS] = 'lines';
  if (position !== undefined) headers[POSITION] = String(position);
  if (answerBytes !== undefined) headers[ANSWER_BYTES] = String(answerBytes);
  if (limits !== undefined) headers[LIMITS] = encodeURIComponent(limits);
  if (caller !== undefined) headers[CALLER] = encodeURIComponent(caller);
  return headers;
}

/** The read of headers, checked. @throws BadPeerRequest */
export function readOfHeaders(headers: ReadHeaders, allowed: ReadonlySet<Operation>): ReplicaRead {
  const operation = single(headers, OPERATION);
  const dryRun = flag(headers, DRY_RUN);
  const operationId = text(headers, OPERATION_ID);
  const strictScope = scopeOf(headers);
  const rows = oneOf(headers, ROWS, ['arrow', 'lines']);
  const known: ReadonlySet<string> =
    operationId !== undefined ? WRITES : dryRun === true ? DRY_RUNS : allowed;
  const isChecked =
    strictScope?.kind === 'check' && operationId === undefined && WRITES.has(operation as Operation);
  if (operation === undefined || !(known.has(operation) || isChecked)) throw bad(OPERATION);
  const timeoutMs = required(number(headers, TIMEOUT), TIMEOUT);
  if (timeoutMs < 1 || timeoutMs > MAX_TIMEOUT_MS) throw bad(TIMEOUT);
  return {
    operation: operation as Operation,
    collection: required(text(headers, COLLECTION), COLLECTION),
    target: text(headers, TARGET),
    isLenient: flag(headers, LENIENT),
    dryRun,
    operationId,
    strictScope,
    packing: packingOf(headers),
    isArrow: rows === 'arrow' ? true : undefined,
    isLines: rows === 'lines' ? true : undefined,
    timeoutMs,
    position: number(headers, POSITION),
    mapVersion: required(number(headers, MAP_VERSION), MAP_VERSION),
    answerBytes: number(headers, ANSWER_BYTES),
    limits: text(headers, LIMITS),
    caller: text(headers, CALLER),
  };
}

/** True where the header is there; undefined where it is not. */
function flag(headers: ReadHeaders, name: string): true | undefined {
  return oneOf(headers, name, ['1']) === undefined ? undefined : true;
}

function scopeOf(headers: ReadHeaders): StrictScope | undefined {
  const sent = single(headers, STRICT_SCOPE);
  return sent === undefined ? undefined : required(readStrictScope(sent), STRICT_SCOPE);
}

function packingOf(headers: ReadHeaders): ReplicaRead['packing'] {
  const flags = oneOf(headers, PACKING, ['00', '01', '10', '11']);
  return flags === undefined ? undefined : { body: flags.startsWith('1'), answer: flags.endsWith('1') };
}

/** A whole number of decimal digits, such as a position; undefined where the header is missing. */
export function number(headers: ReadHeaders, name: string): number | undefined {
  const sent = single(headers, name);
  if (sent === undefined) return undefined;
  const value = /^(?:0|[1-9][0-9]{0,15})$/.test(sent) ? Number(sent) : NaN;
  if (!Number.isSafeInteger(value)) throw bad(name);
  return value;
}

function text(headers: ReadHeaders, name: string): string | undefined {
  const sent = single(headers, name);
  if (sent === undefined) return undefined;
  if (sent.length > MAX_TEXT) throw bad(name);
  try {
    const decoded = decodeURIComponent(sent);
    if (encodeURIComponent(decoded) === sent) return decoded;
  } catch {
    // It is refused below.
  }
  throw bad(name);
}

function oneOf(headers: ReadHeaders, name: string, values: readonly string[]): string | undefined {
  const sent = single(headers, name);
  if (sent !== undefined && !values.includes(sent)) throw bad(name);
  return sent;
}

/** A header; Node joins those that are sent twice, and no value of this table has a comma and a space. */
function single(headers: ReadHeaders, name: string): string | undefined {
  const sent = headers[name];
  if (Array.isArray(sent)) throw bad(name);
  return sent;
}

function required<T>(value: T | undefined, name: string): T {
  if (value === undefined) throw bad(name);
  return value;
}

function bad(name: string): BadPeerRequest {
  return new BadPeerRequest(400, `the header ${name} is missing or malformed`);
}
