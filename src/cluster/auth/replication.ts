import type { Logger } from 'pino';
import { AuthStartError } from '../../auth/open';
import type { AuthReplication, ReplicatedNode } from '../../auth/replication';
import { reasonOf } from '../../files/explained';
import type { LocalTokenStore } from '../../auth/store/change';
import { StoreDamaged, type TokenStore } from '../../auth/store/port';
import type { RecordLog } from '../log/record-log';
import { IdentityError, type BroughtContent } from '../membership/identity';
import { unlessAborted } from '../waiting';
import { begin, settledState } from './beginning';
import { AuthFollower, ForeignStream } from './follower';
import { BOUNDS, Freshness, type Bounds } from './freshness';
import { ReplicatedTokenStore } from './replicated-store';

/** How long a start waits for the next record that it lacks. */
const STALLED_MS = 30_000;

/** The stream of authentication, while it can be reached. */
export interface AuthLog {
  readonly log: RecordLog;
  /** Whether the cluster has a shard map. */
  readonly hasBegun: (signal?: AbortSignal) => Promise<boolean>;
  readonly disconnect: () => Promise<void>;
}

export interface LogReplicationParts {
  /** Reaches the log and makes its stream; rejects with why it cannot be used. */
  readonly connect: () => Promise<AuthLog>;
  /**
   * The collections that the data directory brings along, where it is that of a server that was alone. Rejects with an
   * IdentityError for a collection that cannot be.
   */
  readonly brings: () => Promise<BroughtContent | undefined>;
  /** `BOUNDS` where absent. */
  readonly bounds?: Bounds;
  /** Ends the start of a node that does not have all yet. */
  readonly signal?: AbortSignal | undefined;
}

/** Replication over a stream. */
export class LogReplication implements AuthReplication {
  constructor(private readonly parts: LogReplicationParts) {}

  async join(own: LocalTokenStore, node: ReplicatedNode): Promise<TokenStore> {
    const connected = await this.parts.connect().catch((error: unknown) => {
      throw new AuthStartError(`The log of the cluster cannot be used: ${reasonOf(error)}`, { cause: error });
    });
    try {
      return await this.#follow(own, node, connected);
    } catch (error) {
      await connected.disconnect();
      if (error instanceof AuthStartError || error instanceof StoreDamaged) throw error;
      const reason = reasonOf(error);
      const isOwn = error instanceof IdentityError || error instanceof ForeignStream;
      throw new AuthStartError(isOwn ? reason : `Authentication cannot follow its cluster: ${reason}`, {
        cause: error,
      });
    }
  }

  async #follow(
    own: LocalTokenStore,
    { log: logger, jwtSecret }: ReplicatedNode,
    { log, hasBegun: begun, disconnect }: AuthLog,
  ): Promise<TokenStore> {
    const { brings, bounds = BOUNDS, signal } = this.parts;
    // In this order: of a cluster that has begun before it is asked for, the stream has a record.
    const hasBegun = await begun(signal);
    const state = await settledState(log, hasBegun, bounds, signal);
    const { position, seed } = await begin({ own, log, state, hasBegun, brings, jwtSecret, bounds, signal });
    const listeners: (() => Promise<void>)[] = [];
    const problem = reporter(logger);
    const changed = async (): Promise<void> => {
      for (const listener of listeners) await listener();
    };
    const follower = new AuthFollower({
      ...{ log, own, created: state.created, position, seed, changed, problem },
    });
    const freshness = new Freshness(log, state.created, follower, bounds, (isOutdated) => {
      if (isOutdated) logger.error('the log of the cluster is silent: until it is not, nobody is served');
      else logger.info('authentication is up to date with its cluster');
    });
    follower.start();
    try {
      await unlessAborted(untilCurrent(follower, freshness, state.lastSequence), signal);
    } catch (error) {
      await Promise.all([freshness.stop(), follower.stop()]);
      throw error;
    }
    freshness.start();
    return new ReplicatedTokenStore({
      ...{ own, log, follower, freshness, bounds, jwtSecret, problem, listeners, disconnect },
    });
  }
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
