/** Where a store begins to follow the log of its cluster, and what the log gets of it before. */
import { createHash } from 'node:crypto';
import { AuthStartError } from '../../auth/open';
import {
  EMPTY_CONTENT,
  isGiving,
  isUnused,
  LOG_BEGIN,
  type LocalTokenStore,
  type LogPosition,
  type StoreContent,
} from '../../auth/store/change';
import { SECRET_SETTINGS } from '../../auth/store/port';
import { stateReaching } from '../log/reaching';
import { recordFrom } from '../log/record-from';
import type { RecordLog, StreamState } from '../log/record-log';
import type { BroughtContent } from '../membership/identity';
import { settled } from '../waiting';
import { decodeRecord, encodeRecord, type AuthRecord } from './change-record';
import { NOT_FIRST } from './follower';
import type { Bounds } from './freshness';
import { publishRecord } from './replicated-store';

/** Between two questions whether the stream has something. */
const PAUSE_MS = 250;
/** How long the first record of a stream may take. */
const FIRST_MS = 30_000;

export interface BeginningParts {
  readonly own: LocalTokenStore;
  readonly log: RecordLog;
  readonly state: StreamState;
  /** Whether the cluster has a shard map. */
  readonly hasBegun: boolean;
  /** The collections that the directory brings along, where it is that of a server that was alone. */
  readonly brings: () => Promise<BroughtContent | undefined>;
  /** The secret of the node's settings that signs JWTs. */
  readonly jwtSecret: string | undefined;
  readonly bounds: Bounds;
  /** Ends the questions to the log. */
  readonly signal: AbortSignal | undefined;
}

/** Where a store begins to follow. */
export interface Beginning {
  readonly position: LogPosition;
  /** The operation of the first record, where the store gives the cluster what it has. */
  readonly seed?: string;
}

/**
 * The state of the stream. The first node of a cluster publishes a record before it makes the shard map: while the stream of a
 * cluster that has begun seems to be empty, it is asked again.
 */
export function settledState(
  log: RecordLog,
  hasBegun: boolean,
  { settleMs }: Pick<Bounds, 'settleMs'>,
  signal?: AbortSignal,
): Promise<StreamState> {
  const isSettled = ({ lastSequence }: StreamState): boolean => !hasBegun || lastSequence > 0;
  return settled(() => log.state(signal), isSettled, { settleMs, pauseMs: PAUSE_MS, signal });
}

/**
 * Where a store begins to follow. A store that is refused is left as it is.
 * @throws AuthStartError that says why the node cannot take part
 * @throws IdentityError for a collection that cannot be brought along
 */
export async function begin(parts: BeginningParts): Promise<Beginning> {
  const { own } = parts;
  const position = await own.logPosition();
  if (position === undefined) return firstStart(parts);
  if (isGiving(position)) {
    return { position: LOG_BEGIN, seed: await seeded(await own.content(), parts, position.created) };
  }
  return position.sequence > 0 && !(await isLost(position, parts)) ? { position } : empty(parts);
}

/** Of a store that was never in a cluster. */
async function firstStart(parts: BeginningParts): Promise<Beginning> {
  const { own, hasBegun } = parts;
  const content = await own.content();
  // In memory nothing is kept that a refused start could leave behind: the node itself refuses.
  const brought = own.kind === 'memory' ? undefined : await parts.brings();
  if (isUnused(content) && brought === undefined) return empty(parts);
  if (hasBegun) throw new AuthStartError(NOT_FIRST);
  return { position: LOG_BEGIN, seed: await seeded(content, parts) };
}

/** Of a store that takes all from its cluster. @throws AuthStartError where the cluster has lost that */
async function empty(parts: BeginningParts): Promise<Beginning> {
  const { own, log, state, hasBegun } = parts;
  if (hasBegun && state.lastSequence === 0) {
    throw new AuthStartError(
      `${log.name} is empty, and the cluster has nodes: the admin, the access tokens and the settings in that stream were lost. ${RESTORE}`,
    );
  }
  // The first record of every stream: that it has none says later that it was lost.
  await seeded(EMPTY_CONTENT, parts);
  await own.apply({ kind: 'replace_all', content: EMPTY_CONTENT }, LOG_BEGIN);
  return { position: LOG_BEGIN };
}

const RESTORE =
  'Restore the log servers from a backup. Or let a node that was in the cluster give it what that knows: stop all nodes, run kithdb admin repair --older-store at the node that was stopped last and at no other, and start that node first';

/**
 * Whether the stream of a store was lost, and the one that there is goes on from it.
 * @throws AuthStartError where a store is of another cluster, or its stream was lost and none goes on from it.
 */
async function isLost(
  { stream, created, sequence }: LogPosition,
  { log, state, signal }: BeginningParts,
): Promise<boolean> {
  if (stream !== log.name) {
    throw new AuthStartError(`The data directory is of a node of another cluster, which follows ${stream}`);
  }
  const { lastSequence } = await stateReaching(log, sequence);
  if (created === state.created && sequence <= lastSequence) return false;
  const first = await firstRecord(log, state, signal);
  if (first?.kind !== 'state' || first.lost !== created) {
    throw new AuthStartError(
      `${stream} was lost: this node has it up to ${sequence}, and it now ends at ${lastSequence}. ${RESTORE}`,
    );
  }
  return true;
}

/** The first record of a stream; undefined where it has none, or it is something else. */
async function firstRecord(
  log: RecordLog,
  { firstSequence }: StreamState,
  signal: AbortSignal | undefined,
): Promise<AuthRecord | undefined> {
  const first = await recordFrom(log, { fromSequence: firstSequence }, { timeoutMs: FIRST_MS, signal });
  return first && decodeRecord(first.payload);
}

/**
 * Makes a content that of the cluster, if the stream has none. Gives the operation of its record.
 * @param lost when the stream was created that was lost, where this one goes on from it
 */
async function seeded(
  content: StoreContent,
  { log, state, jwtSecret, bounds, signal }: BeginningParts,
  lost?: string,
): Promise<string> {
  const given = jwtSecret === undefined ? content : withoutSecrets(content);
  const record = { kind: 'state', after: 0, content: given, ...(lost !== undefined && { lost }) } as const;
  // The same again after a crash: then the record is recognised.
  const operation = createHash('sha256').update(encodeRecord(record)).digest('hex').slice(0, 32);
  if (state.lastSequence === 0) await publishRecord(log, record, operation, bounds, signal);
  return operation;
}

function withoutSecrets(content: StoreContent): StoreContent {
  const settings = [...content.settings].filter(([name]) => !SECRET_SETTINGS.has(name));
  return { ...content, settings: new Map(settings) };
}
