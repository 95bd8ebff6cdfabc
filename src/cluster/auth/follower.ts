import type { LocalTokenStore, LogPosition, StoreChange } from '../../auth/store/change';
import { StoreDamaged } from '../../auth/store/port';
import { stateReaching } from '../log/reaching';
import { LogChangedError, type LogRecord, type RecordLog } from '../log/record-log';
import { pause } from '../pause';
import { within } from '../waiting';
import {
  decodeRecord,
  encodeRecord,
  LaterAuthRecord,
  type AuthRecord,
  type StateRecord,
} from './change-record';

/** How long a change that the own store does not take, as on a full disk, or a stream that cannot be read, is left alone. */
const RETRY_MS = 500;

/** The record was read, and its change is none: it depends on a state that was another one. */
export class RecordRefused extends Error {
  override readonly name = 'RecordRefused';
}

/** The stream does not begin with what the store of this node can follow. */
export class ForeignStream extends Error {
  override readonly name = 'ForeignStream';
}

/** Why a server that has something of its own may not join. */
export const NOT_FIRST =
  'the cluster has nodes already, and only the first one brings its collections, its admin and its access tokens along: start this node with an empty data directory';

export interface FollowerParts {
  readonly log: RecordLog;
  readonly own: LocalTokenStore;
  /** When the stream was created. */
  readonly created: string;
  /** Where the store is. */
  readonly position: LogPosition;
  /** The operation that the first record must have: that with which this node gives the cluster its content. */
  readonly seed?: string | undefined;
  /** Called after each change, before it counts as made. */
  readonly changed: () => Promise<void>;
  /** Is told of what is in the way of following, and of records that are none. */
  readonly problem: (what: string, error?: unknown) => void;
}

interface Awaited {
  readonly resolve: (outcome: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** Applies the records of the stream to the store of this node, one after the other. */
export class AuthFollower {
  readonly #stop = new AbortController();
  readonly #awaited = new Map<string, Awaited>();
  readonly #reaching = new Set<{ readonly sequence: number; readonly done: () => void }>();
  #position: LogPosition;
  /** The sequence up to which the stream was read, messages that are no records included. */
  #read: number;
  /** Whether the next record must be a state, because the ones before it were removed. */
  #needsState = false;
  #failure: unknown;
  #running: Promise<void> | undefined;

  constructor(private readonly parts: FollowerParts) {
    this.#position = parts.position;
    this.#read = parts.position.sequence;
  }

  /** Where the store is. */
  get position(): LogPosition {
    return this.#position;
  }

  get read(): number {
    return this.#read;
  }

  /** Why it has ended; undefined while it follows. */
  get failure(): unknown {
    return this.#failure;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  /**
   * What becomes of the change of an operation, once its record was applied. Rejects with a RecordRefused, or with why nothing
   * is applied any more.
   */
  outcomeOf(operation: string): Promise<unknown> {
    if (this.#failure !== undefined) return Promise.reject(asError(this.#failure));
    return new Promise((resolve, reject) => {
      this.#awaited.set(operation, { resolve, reject });
    });
  }

  /** Nobody waits for the outcome any more. */
  forget(operation: string): void {
    this.#awaited.delete(operation);
  }

  /** Whether the stream was read up to a sequence before the time was over. */
  async reaches(sequence: number, timeoutMs: number): Promise<boolean> {
    if (this.#read >= sequence) return true;
    let waiting = { sequence, done: (): void => undefined };
    const reached = new Promise<void>((done) => {
      waiting = { sequence, done };
      this.#reaching.add(waiting);
    });
    await within(reached, { timeoutMs, signal: this.#stop.signal });
    this.#reaching.delete(waiting);
    return this.#read >= sequence;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    for (;;) {
      try {
        await this.#follow();
      } catch (error) {
        if (isFinal(error)) {
          this.#fail(error);
          return;
        }
        if (!signal.aborted) this.parts.problem('the log of authentication cannot be followed', error);
        await pause(RETRY_MS, signal);
      }
      if (signal.aborted) break;
    }
    this.#fail(new Error('authentication was closed'));
  }

  async #follow(): Promise<void> {
    const { log, problem } = this.parts;
    const from = await this.#from();
    await log.read(
      {
        fromSequence: from,
        subjects: ['>'],
        signal: this.#stop.signal,
        ...(from === this.#position.sequence + 1 &&
          from > 1 && { previousOperation: this.#position.operation }),
        onIgnored: (sequence, why) => {
          problem(`the log of authentication has something else at ${sequence}: ${why}`);
        },
        onPending: (_pending, sequence) => {
          this.#advance(sequence);
        },
      },
      (record) => this.#handle(record),
    );
  }

  /** The sequence to read from: where records are missing, the first one that there is, which must be a state. */
  async #from(): Promise<number> {
    const { log, created } = this.parts;
    const state = await stateReaching(log, this.#position.sequence);
    if (state.created !== created || state.lastSequence < this.#position.sequence) {
      throw new LogChangedError(log.name, 'it was made anew, or went back');
    }
    const next = this.#position.sequence + 1;
    this.#needsState = state.firstSequence > next;
    return Math.max(next, state.firstSequence);
  }

  async #handle({ sequence, firstSequence, operation, payload }: LogRecord): Promise<void> {
    const { log, created, seed, changed } = this.parts;
    if (seed !== undefined && this.#position.sequence === 0 && operation !== seed) {
      throw new ForeignStream(NOT_FIRST);
    }
    const record = decodeRecord(payload);
    if (this.#needsState && record?.kind !== 'state') {
      throw new ForeignStream(`${log.name} begins at ${sequence} with no state of authentication`);
    }
    const position = { stream: log.name, created, sequence, operation };
    const { change, refused } = await this.#untilDone(() => this.#changeOf(record));
    const outcome = await this.#untilDone(() => this.parts.own.apply(change, position));
    this.#position = position;
    this.#needsState = false;
    await this.#untilDone(changed);
    const awaited = this.#awaited.get(operation);
    this.#awaited.delete(operation);
    if (refused !== undefined) awaited?.reject(new RecordRefused(refused));
    else awaited?.resolve(record?.kind === 'state' ? firstSequence : outcome);
  }

  /** The change that a record makes of the store as it is, and why that is none where it is none. */
  async #changeOf(
    record: AuthRecord | undefined,
  ): Promise<{ readonly change: StoreChange; readonly refused?: string }> {
    const nothing = { kind: 'nothing' } as const;
    if (record === undefined) return { change: nothing, refused: 'it is no change' };
    if (record.kind === 'state') return this.#changeToState(record);
    return (await this.#isDigestTaken(record))
      ? { change: nothing, refused: 'another access token has this value' }
      : { change: record };
  }

  /** A state that follows on what this store has is no change, unless this store is not what it should be. */
  async #changeToState(
    record: StateRecord,
  ): Promise<{ readonly change: StoreChange; readonly refused?: string }> {
    const { own, problem } = this.parts;
    const { sequence } = this.#position;
    const replace = { change: { kind: 'replace_all', content: record.content } } as const;
    if (this.#needsState) return replace;
    if (record.after !== sequence) {
      return { change: { kind: 'nothing' }, refused: `it follows on ${record.after}, not on ${sequence}` };
    }
    if (sequence === 0) return replace;
    const present = encodeRecord({ ...record, content: await own.content() });
    if (Buffer.from(present).equals(encodeRecord(record))) return { change: { kind: 'nothing' } };
    problem('the store of authentication is not that of the cluster: it is made anew');
    return replace;
  }

  /** Whether the digest of a record is that of another access token: the store would refuse it as an error. */
  async #isDigestTaken(record: Exclude<AuthRecord, StateRecord>): Promise<boolean> {
    const { own } = this.parts;
    switch (record.kind) {
      case 'create_token':
        return (await own.tokenByDigest(record.token.digest)) !== undefined;
      case 'put_initial_token': {
        const holder = await own.tokenByDigest(record.token.digest);
        return holder !== undefined && holder.id !== (await own.initialToken())?.id;
      }
      case 'replace_digest': {
        const holder = await own.tokenByDigest(record.digest);
        return holder !== undefined && holder.id !== record.id;
      }
      case 'create_admin':
      case 'replace_admin':
      case 'store_setting':
      case 'delete_token':
        return false;
    }
  }

  /** Tries until it is done: a record that was not applied must not be passed over. */
  async #untilDone<T>(work: () => Promise<T>): Promise<T> {
    const { signal } = this.#stop;
    for (;;) {
      try {
        return await work();
      } catch (error) {
        if (signal.aborted || isFinal(error)) throw error;
        this.parts.problem('a change of authentication cannot be applied', error);
        await pause(RETRY_MS, signal);
      }
    }
  }

  #advance(sequence: number): void {
    this.#read = Math.max(this.#read, sequence);
    for (const waiting of this.#reaching) {
      if (waiting.sequence > this.#read) continue;
      this.#reaching.delete(waiting);
      waiting.done();
    }
  }

  #fail(error: unknown): void {
    this.#failure = error;
    if (!this.#stop.signal.aborted) {
      this.parts.problem('the log of authentication is not followed any more', error);
    }
    for (const { reject } of this.#awaited.values()) reject(error);
    this.#awaited.clear();
    for (const { done } of this.#reaching) done();
    this.#reaching.clear();
  }
}

/** Errors that trying again does not mend. */
function isFinal(error: unknown): boolean {
  return (
    error instanceof StoreDamaged ||
    error instanceof LaterAuthRecord ||
    error instanceof ForeignStream ||
    error instanceof LogChangedError
  );
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}
