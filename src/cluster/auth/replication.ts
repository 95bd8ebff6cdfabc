import { createHash } from 'node:crypto';
import type { Logger } from 'pino';
import { AuthStartError } from '../../auth/open';
import type { AuthReplication, ReplicatedNode } from '../../auth/replication';
import {
  EMPTY_CONTENT,
  isGiving,
  isUnused,
  LOG_BEGIN,
  type LocalTokenStore,
  type LogPosition,
  type StoreContent,
} from '../../auth/store/change';
import { SECRET_SETTINGS, StoreDamaged, type TokenStore } from '../../auth/store/port';
import type { RecordLog, StreamState } from '../log/record-log';
import { decodeRecord, encodeRecord, type AuthRecord } from './change-record';
import { AuthFollower } from './follower';
import { BOUNDS, Freshness, type Bounds } from './freshness';
import { publishContent, ReplicatedTokenStore } from './replicated-store';

/** How long a start waits for the next record that it lacks. */
const STALLED_MS = 30_000;

/** The stream of authentication, while it can be reached. */
export interface AuthLog {
  readonly log: RecordLog;
  readonly disconnect: () => Promise<void>;
}

/** Replication over a stream. */
export class LogReplication implements AuthReplication {
  /** @param connect reaches the log and makes its streams; rejects with why it cannot be used */
  constructor(
    private readonly connect: () => Promise<AuthLog>,
    private readonly bounds: Bounds = BOUNDS,
  ) {}

  async join(own: LocalTokenStore, node: ReplicatedNode): Promise<TokenStore> {
    const { log, disconnect } = await this.connect().catch((error: unknown) => {
      throw new AuthStartError(`The log of the cluster cannot be used: ${reasonOf(error)}`, { cause: error });
    });
    try {
      return await this.#follow(own, node, log, disconnect);
    } catch (error) {
      await disconnect();
      throw error instanceof AuthStartError || error instanceof StoreDamaged
        ? error
        : new AuthStartError(`Authentication cannot follow its cluster: ${reasonOf(error)}`, {
            cause: error,
          });
    }
  }

  async #follow(
    own: LocalTokenStore,
    { log: logger, jwtSecret }: ReplicatedNode,
    log: RecordLog,
    disconnect: () => Promise<void>,
  ): Promise<TokenStore> {
    const state = await log.state();
    const { position, seed } = await begin(own, log, state, jwtSecret, this.bounds);
    const listeners: (() => Promise<void>)[] = [];
    const problem = reporter(logger);
    const replicated = async (): Promise<void> => {
      for (const listener of listeners) await listener();
    };
    const follower = new AuthFollower({
      ...{ log, own, created: state.created, position, seed, replicated, problem },
    });
    const freshness = new Freshness(log, state.created, follower, this.bounds, (isOutdated) => {
      if (isOutdated) logger.error('the log of the cluster is silent: until it is not, nobody is served');
      else logger.info('authentication is up to date with its cluster');
    });
    follower.start();
    try {
      await untilCurrent(follower, freshness, state.lastSequence);
    } catch (error) {
      await Promise.all([freshness.stop(), follower.stop()]);
      throw error;
    }
    freshness.start();
    return new ReplicatedTokenStore({
      ...{ own, log, follower, freshness, bounds: this.bounds, jwtSecret, problem, listeners, disconnect },
    });
  }
}

/** Where a store begins to follow, and the operation of the first record where the store gives the cluster its content. */
async function begin(
  own: LocalTokenStore,
  log: RecordLog,
  state: StreamState,
  jwtSecret: string | undefined,
  bounds: Bounds,
): Promise<{ readonly position: LogPosition; readonly seed?: string }> {
  const [position, content] = [await own.logPosition(), await own.content()];
  const gives = position === undefined ? !isUnused(content) : isGiving(position);
  if (gives) {
    const given = jwtSecret === undefined ? content : withoutSecrets(content);
    return { position: LOG_BEGIN, seed: await seeded(given, position?.created, log, state, bounds) };
  }
  if (position !== undefined && position.sequence > 0 && !(await isLost(position, log, state))) {
    // A backup has no secret: then the log is read again, which has it.
    if (jwtSecret !== undefined || content.settings.has('jwt_secret')) return { position };
  }
  await own.apply({ kind: 'replace_all', content: EMPTY_CONTENT }, LOG_BEGIN);
  return { position: LOG_BEGIN };
}

/**
 * Whether the stream of a store was lost, and the one that there is goes on from it.
 * @throws AuthStartError where a store is of another cluster, or its stream was lost and none goes on from it.
 */
async function isLost(
  { stream, created, sequence }: LogPosition,
  log: RecordLog,
  state: StreamState,
): Promise<boolean> {
  if (stream !== log.name) {
    throw new AuthStartError(`The data directory is of a node of another cluster, which follows ${stream}`);
  }
  if (created === state.created && sequence <= state.lastSequence) return false;
  const first = await firstRecord(log, state);
  if (first?.kind !== 'state' || first.lost !== created) {
    throw new AuthStartError(
      `${stream} was lost: this node has it up to ${sequence}, and it now ends at ${state.lastSequence}. Restore the log servers from a backup; or, with this node stopped, let it give the cluster what it knows: kithdb admin repair --older-store, at the node that was stopped last and at no other`,
    );
  }
  return true;
}

/** The first record of a stream; undefined where it has none, or it is something else. */
async function firstRecord(log: RecordLog, state: StreamState): Promise<AuthRecord | undefined> {
  if (state.lastSequence < state.firstSequence) return undefined;
  const reading = new AbortController();
  let first: AuthRecord | undefined;
  const signal = AbortSignal.any([reading.signal, AbortSignal.timeout(STALLED_MS)]);
  await log.read({ fromSequence: state.firstSequence, subjects: ['>'], signal }, ({ payload }) => {
    first ??= decodeRecord(payload);
    reading.abort();
  });
  return first;
}

/** Makes the content of a server that was alone that of the cluster, if that has none. Gives the operation of its record. */
async function seeded(
  content: StoreContent,
  lost: string | undefined,
  log: RecordLog,
  state: StreamState,
  bounds: Bounds,
): Promise<string> {
  const record = { kind: 'state', after: 0, content, ...(lost !== undefined && { lost }) } as const;
  // The same again after a crash: then the record is recognised.
  const operation = createHash('sha256').update(encodeRecord(record)).digest('hex').slice(0, 32);
  if (state.lastSequence === 0) await publishContent(log, record, operation, bounds);
  return operation;
}

function withoutSecrets(content: StoreContent): StoreContent {
  const settings = [...content.settings].filter(([name]) => !SECRET_SETTINGS.has(name));
  return { ...content, settings: new Map(settings) };
}

/** @throws Error where nothing is applied any more. */
async function untilCurrent(
  follower: AuthFollower,
  freshness: Freshness,
  lastSequence: number,
): Promise<void> {
  for (let read = -1; follower.read < lastSequence && follower.read > read;) {
    read = follower.read;
    await follower.reaches(Math.min(read + 1, lastSequence), STALLED_MS);
  }
  const isCurrent = await freshness.catchUp();
  if (isCurrent) return;
  const { failure } = follower;
  throw failure instanceof Error ? failure : new Error('the log does not say what it has');
}

/** Writes a problem to the log once, until another one comes. */
function reporter(logger: Logger): (what: string, error?: unknown) => void {
  let last = '';
  return (what, error) => {
    const text = `${what}: ${reasonOf(error)}`;
    if (text !== last) logger.error({ err: error }, what);
    last = text;
  };
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
