import { randomUUID } from 'node:crypto';
import { LogUnavailableError, OutcomeUnknownError, type LogRecord, type RecordLog } from '../log/record-log';
import type { WaitLimits } from '../waiting';
import { apply } from './apply';
import { decodeEvent, encodeEvent, type ShardMapEvent } from './event';
import { EMPTY_MAP, type ShardMapState } from './state';

export const MAP_SUBJECT = 'events';
export const MAP_KIND = 'map';

/** Why an event is not to be proposed. */
export interface Refusal {
  readonly refused: string;
}

export type Proposal = ShardMapEvent | Refusal;

/** What became of a proposal: the version at which it is in the map, or why it is not. */
export type Decision = { readonly version: number } | Refusal;

export interface ShardMapOptions {
  /** Is told of each event that did not fit to the state, and of messages that are none. */
  readonly ignored: (version: number, why: string) => void;
}

/** The map, as what proposes events needs it. */
export type ProposableMap = Pick<ShardMap, 'state' | 'change'>;

interface Waiting {
  readonly version: number;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** The shard map of this node: the state after the events that it has read. */
export class ShardMap {
  #state = EMPTY_MAP;
  /** The operation of the last record; undefined where the last message was none. */
  #lastOperation: string | undefined;
  readonly #waiting = new Set<Waiting>();
  readonly #listeners = new Set<(state: ShardMapState) => void>();
  readonly #stop = new AbortController();
  #failure: unknown;
  #running: Promise<void> | undefined;

  constructor(
    readonly log: RecordLog,
    readonly options: ShardMapOptions,
  ) {}

  get state(): ShardMapState {
    return this.#state;
  }

  /** Whether a record is the one at the version of this map. */
  isLast({ sequence, operation }: LogRecord): boolean {
    return sequence === this.#state.version && operation === this.#lastOperation;
  }

  /** Why the map can no longer be read; undefined while it can. */
  get failure(): Error | undefined {
    return this.#failure === undefined ? undefined : asError(this.#failure);
  }

  /**
   * Reads the stream from its first event on, and returns when it has what the stream had at the time of the call.
   * @param firstSequence that the log servers gave the stream when it was made
   */
  async start(signal?: AbortSignal, firstSequence = 1): Promise<void> {
    if (this.#running === undefined) {
      this.#running = this.#run(firstSequence);
      // Who calls `ended` gets the error.
      this.#running.catch(() => undefined);
    }
    const { lastSequence } = await this.log.state(signal);
    await this.waitFor(lastSequence, signal);
  }

  /**
   * Rejects when the map can no longer be read, with a LaterVersionError or an error of the log: the node must stop.
   * Resolves after `stop`.
   */
  async ended(): Promise<void> {
    await this.#running;
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running?.catch(() => undefined);
  }

  async #run(fromSequence: number): Promise<void> {
    const { signal } = this.#stop;
    try {
      const onIgnored = (sequence: number, why: string): void => {
        this.#lastOperation = undefined;
        this.#advance({ ...this.#state, version: sequence }, why);
      };
      await this.log.read({ fromSequence, subjects: ['>'], signal, onIgnored }, (record) => {
        this.#handle(record);
      });
      this.#fail(new Error('the shard map was stopped'));
    } catch (error) {
      this.#fail(error);
      throw error;
    }
  }

  #fail(error: unknown): void {
    this.#failure = error;
    for (const { reject } of this.#waiting) reject(error);
    this.#waiting.clear();
  }

  #handle({ sequence, operation, payload }: LogRecord): void {
    this.#lastOperation = operation;
    const event = decodeEvent(payload);
    if (event === undefined) {
      this.#advance({ ...this.#state, version: sequence }, 'it is no event');
    } else {
      const { state, ignored } = apply(this.#state, event, sequence);
      this.#advance(state, ignored);
    }
  }

  #advance(state: ShardMapState, ignored: string | undefined): void {
    this.#state = state;
    if (ignored !== undefined) this.options.ignored(state.version, ignored);
    for (const waiting of this.#waiting) {
      if (waiting.version > state.version) continue;
      this.#waiting.delete(waiting);
      waiting.resolve();
    }
    for (const listener of this.#listeners) listener(state);
  }

  /** Resolves when the map has a version. */
  waitFor(version: number, signal?: AbortSignal): Promise<void> {
    if (this.#state.version >= version) return Promise.resolve();
    if (this.#failure !== undefined) return Promise.reject(asError(this.#failure));
    if (signal?.aborted === true) return Promise.reject(asError(signal.reason));
    return new Promise((resolve, reject) => {
      const waiting: Waiting = { version, resolve: settle(resolve), reject: settle(reject) };
      const abort = (): void => {
        this.#waiting.delete(waiting);
        waiting.reject(asError(signal?.reason));
      };
      function settle<Args extends unknown[]>(done: (...args: Args) => void): (...args: Args) => void {
        return (...args) => {
          signal?.removeEventListener('abort', abort);
          done(...args);
        };
      }
      this.#waiting.add(waiting);
      signal?.addEventListener('abort', abort, { once: true });
    });
  }

  /** Calls a listener after each event; returns what ends that. */
  onChange(listener: (state: ShardMapState) => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  /**
   * Proposes the event that is made of the state, again with the state of that time whenever another event came between.
   * An event that would not fit to the state is refused with the reason, and not published.
   * @throws OutcomeUnknownError, LogUnavailableError, LogRefusedError
   */
  async propose(
    makeEvent: (state: ShardMapState) => Proposal,
    { timeoutMs, signal }: WaitLimits,
  ): Promise<Decision> {
    const endMs = performance.now() + timeoutMs;
    const either = eitherOf(timeoutMs, signal);
    for (;;) {
      const state = this.#state;
      const event = makeEvent(state);
      if ('refused' in event) return event;
      const next = state.version + 1;
      const { ignored } = apply(state, event, next);
      if (ignored !== undefined) return { refused: ignored };
      const record = { operation: randomUUID(), epoch: 0, kind: MAP_KIND, payload: encodeEvent(event) };
      const limits = { timeoutMs: Math.max(1, endMs - performance.now()), signal: either };
      const published = await this.log.publishExpecting(MAP_SUBJECT, record, state.version, limits);
      const version = published === 'conflict' ? next : published.sequence;
      const isRead = await this.#hasRead(version, either);
      // It is in the map of every node, whether this one has read it or not: it was made of the state before it.
      if (published !== 'conflict') return { version };
      if (!isRead) throw new LogUnavailableError('the shard map kept changing until the deadline');
    }
  }

  /**
   * The same, and waits until this node has the event.
   * @throws as `propose`: OutcomeUnknownError also where the event is in the map, and this node could not read it in time
   */
  async change(
    makeEvent: (state: ShardMapState) => Proposal,
    { timeoutMs, signal }: WaitLimits,
  ): Promise<Decision> {
    const either = eitherOf(timeoutMs, signal);
    const decision = await this.propose(makeEvent, { timeoutMs, signal });
    if ('version' in decision && !(await this.#hasRead(decision.version, either)))
      throw new OutcomeUnknownError(`${decision.version} of the shard map`);
    return decision;
  }

  async #hasRead(version: number, signal: AbortSignal): Promise<boolean> {
    try {
      await this.waitFor(version, signal);
      return true;
    } catch (error) {
      if (this.#failure !== undefined) throw error;
      return false;
    }
  }
}

function eitherOf(timeoutMs: number, signal: AbortSignal | undefined): AbortSignal {
  const timeout = AbortSignal.timeout(Math.ceil(timeoutMs));
  return signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}
