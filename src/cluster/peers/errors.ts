import { EngineError, type EngineErrorCode, type EngineErrorDetails } from '../../engine/types';
import { isObject } from '../json';

/**
 * Why a node does not execute what another asks for: the shard map of the sender and its own do not agree, its replica is
 * behind the position that is asked for, it has too much to do, it stops.
 */
export type PeerRefusalCode = 'map_version' | 'behind' | 'busy' | 'closing';

/** A refusal of a node, thrown by its handlers. */
export class PeerRefusal extends Error {
  override readonly name = 'PeerRefusal';

  constructor(
    readonly code: PeerRefusalCode,
    /** The version of its shard map, with `map_version`. */
    readonly mapVersion?: number,
  ) {
    super(code);
  }
}

/** A node that gave no answer: it cannot be reached, or it refused for a reason that another node may not have. */
export class PeerUnreachable extends Error {
  override readonly name = 'PeerUnreachable';

  constructor(
    /** Host and port. */
    readonly peer: string,
    readonly reason: string,
    options?: ErrorOptions,
  ) {
    super(`${peer}: ${reason}`, options);
  }
}

/** A node whose shard map does not agree with that of the sender, who has to read up to its version. */
export class MapDiffers extends Error {
  override readonly name = 'MapDiffers';

  constructor(
    readonly peer: string,
    readonly mapVersion: number,
  ) {
    super(`${peer}: its shard map has version ${mapVersion}, and does not agree`);
  }
}

/** Errors of an engine that are about one replica or its node: another may well answer. */
const OF_ONE_REPLICA: ReadonlySet<EngineErrorCode> = new Set([
  'not_ready',
  'shutting_down',
  'overloaded',
  'memory_limit',
  'collection_fault',
  'internal',
  'internal_panic',
]);

/** Whether another replica may answer what failed so. */
export function mayAskAnother(error: unknown): boolean {
  return error instanceof PeerUnreachable || (error instanceof EngineError && OF_ONE_REPLICA.has(error.code));
}

/** Every code of the engine: what a node sends is none of them unless it is here. */
const CODES: Readonly<Record<EngineErrorCode, true>> = {
  bad_request: true,
  vectors_config_required: true,
  missing_field: true,
  filter_parse: true,
  dimension_mismatch: true,
  vector_not_found: true,
  collection_not_found: true,
  collection_exists: true,
  collection_deleted: true,
  alias_exists: true,
  alias_not_found: true,
  model_mismatch: true,
  point_not_found: true,
  point_without_vector: true,
  version_conflict: true,
  sync_conflict: true,
  reembedding_conflict: true,
  reembedding_not_found: true,
  collection_forbidden: true,
  points_forbidden: true,
  cursor_not_found: true,
  not_ready: true,
  timeout: true,
  answer_budget: true,
  needs_json: true,
  cancelled: true,
  rate_limited: true,
  overloaded: true,
  outcome_unknown: true,
  position_passed: true,
  not_confirmed: true,
  unavailable: true,
  read_only: true,
  shard_unavailable: true,
  storage_full: true,
  memory_limit: true,
  shutting_down: true,
  collection_fault: true,
  vectors_wanted: true,
  model_failed: true,
  internal: true,
  internal_panic: true,
};

const TEXTS = ['message', 'name', 'field', 'id', 'declared', 'named', 'model', 'place'] as const;
const NUMBERS = ['expected', 'got', 'total', 'retryAfterSeconds'] as const;
/** Ids and conflicts that an engine lists. */
const MAX_LISTED = 100;

/** An engine's error as JSON. */
export function engineErrorJson({ code, details }: EngineError): object {
  return { kind: 'engine', code, details };
}

/** The error of an engine that a node has sent, with the details that errors have; undefined where it is none. */
export function readEngineError(code: unknown, details: unknown): EngineError | undefined {
  return typeof code === 'string' && Object.hasOwn(CODES, code)
    ? new EngineError(code as EngineErrorCode, readDetails(details))
    : undefined;
}

function readDetails(sent: unknown): EngineErrorDetails {
  const given = isObject(sent) ? sent : {};
  const details: Record<string, unknown> = {};
  for (const name of TEXTS) if (typeof given[name] === 'string') details[name] = given[name];
  for (const name of NUMBERS) if (Number.isFinite(given[name])) details[name] = given[name];
  const { ids, conflicts } = given as { readonly ids?: unknown; readonly conflicts?: unknown };
  if (Array.isArray(ids)) {
    details['ids'] = ids.filter((id) => typeof id === 'string').slice(0, MAX_LISTED);
  }
  if (Array.isArray(conflicts)) {
    details['conflicts'] = conflicts.filter(isConflict).slice(0, MAX_LISTED);
  }
  return details;
}

function isConflict(one: unknown): boolean {
  return isObject(one) && ['id', 'expected', 'found'].every((name) => typeof one[name] === 'string');
}

/** Why a signal that is aborted was. */
export function abortReason(signal: AbortSignal | undefined): Error {
  return signal?.reason instanceof Error ? signal.reason : new EngineError('cancelled');
}

/** Whether a replica cannot answer at the moment, so that another one may be asked, or the same later. */
export function isAway(error: unknown): boolean {
  return error instanceof PeerUnreachable || error instanceof MapDiffers;
}
