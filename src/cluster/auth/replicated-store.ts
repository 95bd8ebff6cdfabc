import { randomUUID } from 'node:crypto';
import type { LocalTokenStore, OutcomeOf, SettingBefore } from '../../auth/store/change';
import {
  ChangeNotConfirmed,
  StoreDamaged,
  type InitialToken,
  type NewToken,
  type StoredAdmin,
  type StoredSetting,
  type StoredToken,
  type TokenStore,
} from '../../auth/store/port';
import {
  LogRefusedError,
  LogUnavailableError,
  OutcomeUnknownError,
  type Published,
  type RecordLog,
} from '../log/record-log';
import { within } from '../waiting';
import { encodeRecord, type AuthRecord, type StateRecord } from './change-record';
import { RecordRefused, type AuthFollower } from './follower';
import type { Bounds, Freshness } from './freshness';

const SUBJECT = 'changes';
const KIND = 'auth';
/** How long a change that the log has waits for this node. */
const APPLY_MS = 5_000;
/** How often the stream is tried to be shortened, where changes of other nodes come between, before a later change does. */
const SHORTENINGS = 5;
/** How long a credential that is not known here waits for what the log may have of it. */
const UNKNOWN_MS = 1_000;

type Change = Exclude<AuthRecord, StateRecord>;

export interface ReplicatedStoreParts {
  readonly own: LocalTokenStore;
  readonly log: RecordLog;
  readonly follower: AuthFollower;
  readonly freshness: Freshness;
  readonly bounds: Bounds;
  /** The secret of this node's settings that signs JWTs. */
  readonly jwtSecret: string | undefined;
  /** Is told of what went wrong and is tried again later. */
  readonly problem: (what: string, error: unknown) => void;
  readonly listeners: (() => Promise<void>)[];
  /** Closes the connection to the log. */
  readonly disconnect: () => Promise<void>;
}

/**
 * The store of authentication of a cluster: changes go to the log, and what this node answers is the store that it makes of
 * their records. Who wins of two changes at once is decided by their order in the log.
 */
export class ReplicatedTokenStore implements TokenStore {
  #shortening: Promise<void> | undefined;

  constructor(private readonly parts: ReplicatedStoreParts) {}

  get kind(): TokenStore['kind'] {
    return this.parts.own.kind;
  }

  get fault(): StoreDamaged | undefined {
    return this.parts.own.fault;
  }

  get isOutdated(): boolean {
    return this.parts.freshness.isOutdated;
  }

  admin(): Promise<StoredAdmin | undefined> {
    return this.parts.own.admin();
  }

  createAdmin(admin: StoredAdmin): Promise<boolean> {
    return this.#change({ kind: 'create_admin', admin });
  }

  replaceAdmin(admin: StoredAdmin, generation?: string): Promise<boolean> {
    return this.#change({ kind: 'replace_admin', admin, generation });
  }

  setting(name: StoredSetting): Promise<string | undefined> {
    const { own, jwtSecret } = this.parts;
    return name === 'jwt_secret' && jwtSecret !== undefined ? Promise.resolve(jwtSecret) : own.setting(name);
  }

  storeSetting(name: StoredSetting, value: string, over?: SettingBefore): Promise<boolean> {
    return this.#change({ kind: 'store_setting', name, value, over });
  }

  createToken(token: NewToken): Promise<StoredToken> {
    return this.#change({ kind: 'create_token', token });
  }

  initialToken(): Promise<InitialToken | undefined> {
    return this.parts.own.initialToken();
  }

  putInitialToken(token: NewToken): Promise<StoredToken> {
    return this.#change({ kind: 'put_initial_token', token });
  }

  tokens(): Promise<readonly StoredToken[]> {
    return this.parts.own.tokens();
  }

  token(id: number): Promise<StoredToken | undefined> {
    return this.parts.own.token(id);
  }

  /** One that is not known may have been made at another node just now: the log is asked before it counts as unknown. */
  async tokenByDigest(digest: Buffer): Promise<StoredToken | undefined> {
    const { own, freshness } = this.parts;
    const known = await own.tokenByDigest(digest);
    if (known !== undefined) return known;
    const caughtUp = await within(freshness.catchUp(), { timeoutMs: UNKNOWN_MS });
    return caughtUp?.value === true ? own.tokenByDigest(digest) : undefined;
  }

  replaceDigest(id: number, digest: Buffer, now: number): Promise<StoredToken | undefined> {
    return this.#change({ kind: 'replace_digest', id, digest, now });
  }

  deleteToken(id: number): Promise<boolean> {
    return this.#change({ kind: 'delete_token', id });
  }

  compare(): Promise<void> {
    return this.parts.own.compare();
  }

  copyTo(path: string): Promise<boolean> {
    return this.parts.own.copyTo(path);
  }

  onChanged(listener: () => Promise<void>): void {
    this.parts.listeners.push(listener);
  }

  async close(): Promise<void> {
    const { freshness, follower, own, disconnect } = this.parts;
    await Promise.all([freshness.stop(), follower.stop()]);
    await this.#shortening;
    await disconnect().finally(() => own.close());
  }

  /** Publishes a change, and gives what it did when this node has applied it. @throws ChangeNotConfirmed */
  async #change<C extends Change>(change: C): Promise<OutcomeOf<C>> {
    // A state follows on the record before it, which no change of this node is to be.
    await this.#shortening;
    const outcome = (await this.#publish(change, randomUUID())) as OutcomeOf<C>;
    if (this.parts.freshness.records > this.parts.bounds.mostRecords) {
      this.#shortening ??= this.#shorten().finally(() => {
        this.#shortening = undefined;
      });
    }
    return outcome;
  }

  async #publish(record: AuthRecord, operation: string): Promise<unknown> {
    const { log, follower, bounds } = this.parts;
    if (follower.failure !== undefined) throw whyNotFollowed(follower.failure, 'unreachable');
    const applied = follower.outcomeOf(operation);
    const published = publishRecord(log, record, operation, bounds);
    try {
      // A record that is read back was published, acknowledged or not.
      return await Promise.race([applied, published.then(({ sequence }) => this.#inTime(applied, sequence))]);
    } catch (error) {
      throw error === follower.failure ? whyNotFollowed(error, 'unknown') : error;
    } finally {
      follower.forget(operation);
      applied.catch(() => undefined);
      published.catch(() => undefined);
    }
  }

  /**
   * What a change that is in the log did.
   * @throws ChangeNotConfirmed where this node does not apply it in time, or finds a later state in the place of its record
   */
  async #inTime(applied: Promise<unknown>, sequence: number): Promise<unknown> {
    const passed = this.parts.follower.reaches(sequence, APPLY_MS).then(() => {
      throw new ChangeNotConfirmed('unknown');
    });
    return Promise.race([applied, passed]);
  }

  /** Publishes the state, and removes the records before it: a node that comes then begins with it. */
  async #shorten(): Promise<void> {
    const { freshness, bounds } = this.parts;
    for (let attempt = 0; attempt < SHORTENINGS; attempt += 1) {
      // Another node may have done it since this one asked the log.
      if (!(await freshness.catchUp()) || freshness.records <= bounds.mostRecords) return;
      try {
        await this.#publishState();
        await freshness.catchUp();
        return;
      } catch (error) {
        if (error instanceof RecordRefused) continue;
        this.parts.problem('the log of authentication could not be shortened', error);
        return;
      }
    }
  }

  /** @throws RecordRefused where another record came between */
  async #publishState(): Promise<void> {
    const { own, log, follower } = this.parts;
    const { sequence: after } = follower.position;
    const content = await own.content();
    if (follower.position.sequence !== after) throw new RecordRefused('the state has changed');
    const firstSequence = await this.#publish({ kind: 'state', after, content }, randomUUID());
    await log.truncateBelow(firstSequence as number);
  }
}

/** Publishes a record. A repeat with the same operation changes nothing. @throws ChangeNotConfirmed */
export async function publishRecord(
  log: RecordLog,
  record: AuthRecord,
  operation: string,
  { publishMs: timeoutMs }: Pick<Bounds, 'publishMs'>,
  signal?: AbortSignal,
): Promise<Published> {
  const published = { operation, epoch: 0, kind: KIND, payload: encodeRecord(record) };
  try {
    return await log.publish(SUBJECT, published, { timeoutMs, signal });
  } catch (error) {
    throw whyNotMade(error);
  }
}

/** Why a change was not answered by a node that applies nothing any more. */
function whyNotFollowed(failure: unknown, outcome: 'unreachable' | 'unknown'): unknown {
  return failure instanceof StoreDamaged ? failure : new ChangeNotConfirmed(outcome, { cause: failure });
}

function whyNotMade(error: unknown): unknown {
  if (error instanceof OutcomeUnknownError) return new ChangeNotConfirmed('unknown', { cause: error });
  if (error instanceof LogUnavailableError) return new ChangeNotConfirmed('unreachable', { cause: error });
  if (!(error instanceof LogRefusedError)) return error;
  return new ChangeNotConfirmed(error.isFull ? 'full' : 'refused', { cause: error });
}
