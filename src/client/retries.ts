import { setMaxListeners } from 'node:events';
import { ConnectionError, NotReadyError, OverloadedError, UnavailableError } from './errors';
import { withOperationId } from './operation-ids';
import type { ByteTransport, Call, Envelope, Transport, VersionInfo } from './transport';

/** How often and after how long a failed call is tried again. */
export interface RetryPolicy {
  /** Tries after the first one. */
  readonly retries: number;
  /** Before the second try; each later pause is twice as long. */
  readonly firstPauseMs: number;
}

/** What the specification advises for 412 (C10.1). */
export const DEFAULT_RETRIES: RetryPolicy = { retries: 5, firstPauseMs: 500 };

/** The policy of a client; the defaults for what is not given. */
export function retryPolicy(given?: Partial<RetryPolicy>): RetryPolicy {
  return {
    retries: given?.retries ?? DEFAULT_RETRIES.retries,
    firstPauseMs: given?.firstPauseMs ?? DEFAULT_RETRIES.firstPauseMs,
  };
}

/** A server that asks for a longer pause is not waited for: data endpoints ask for 9 seconds at most (C1.5). */
const LONGEST_RETRY_AFTER_SECONDS = 10;

/**
 * How long to pause before the next try, in milliseconds; undefined when the failure is final.
 *
 * 412 and 429 are given before anything is done. A 503 may come when a server stops and the request was executed, so it
 * counts like a lost connection: only what is repeatable is tried again. A request that never reached the server is, too.
 * Operations are repeatable, because writes have ids (`operation-ids.ts`).
 */
export function pauseBefore(
  error: unknown,
  attempt: number,
  repeatable: boolean,
  { retries, firstPauseMs }: RetryPolicy,
): number | undefined {
  if (attempt >= retries) {
    return undefined;
  }
  const pauseMs = firstPauseMs * 2 ** attempt;
  if (error instanceof NotReadyError) {
    return pauseMs;
  }
  if (error instanceof ConnectionError) {
    return error.isPermanent || (error.outcomeUnknown && !repeatable) ? undefined : pauseMs;
  }
  if (error instanceof OverloadedError || (error instanceof UnavailableError && repeatable)) {
    const seconds = error.retryAfterSeconds;
    if (seconds === undefined) {
      return pauseMs;
    }
    return seconds > LONGEST_RETRY_AFTER_SECONDS ? undefined : seconds * 1000;
  }
  return undefined;
}

/** Tries work again while its failures are not final. */
export class Retries {
  readonly #closed = new AbortController();

  constructor(private readonly policy: RetryPolicy) {
    // Every call that pauses listens to it.
    setMaxListeners(0, this.#closed.signal);
  }

  async run<T>(repeatable: boolean, signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await work();
      } catch (error) {
        const pauseMs = pauseBefore(error, attempt, repeatable, this.policy);
        if (pauseMs === undefined) {
          throw error;
        }
        await pause(pauseMs, [this.#closed.signal, ...(signal === undefined ? [] : [signal])]);
        signal?.throwIfAborted();
      }
    }
  }

  /** Ends the pauses. */
  close(): void {
    this.#closed.abort();
  }
}

/** Resolves after a time, or at once when one of the signals is aborted. */
function pause(ms: number, signals: readonly AbortSignal[]): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      for (const signal of signals) {
        signal.removeEventListener('abort', end);
      }
      resolve();
    };
    const timer = setTimeout(end, ms);
    for (const signal of signals) {
      signal.addEventListener('abort', end, { once: true });
      if (signal.aborted) {
        end();
      }
    }
  });
}

/** Repeats the calls of another transport. */
class RetryingTransport<T extends Transport> implements Transport {
  readonly #retries: Retries;

  constructor(
    protected readonly inner: T,
    policy: RetryPolicy,
  ) {
    this.#retries = new Retries(policy);
  }

  execute(call: Call): Promise<Envelope> {
    return this.repeated(call, (named) => this.inner.execute(named));
  }

  version(signal?: AbortSignal): Promise<VersionInfo> {
    return this.#retries.run(true, signal, () => this.inner.version(signal));
  }

  close(): Promise<void> {
    this.#retries.close();
    return this.inner.close();
  }

  protected repeated<R>(call: Call, work: (named: Call) => Promise<R>): Promise<R> {
    const named = withOperationId(call);
    return this.#retries.run(true, call.signal, () => work(named));
  }
}

class RetryingByteTransport extends RetryingTransport<ByteTransport> implements ByteTransport {
  executeBytes(call: Call): Promise<Uint8Array> {
    return this.repeated(call, (named) => this.inner.executeBytes(named));
  }
}

/** A transport that repeats the calls of another one. */
export function retrying(transport: ByteTransport, policy?: RetryPolicy): ByteTransport;
export function retrying(transport: Transport, policy?: RetryPolicy): Transport;
export function retrying(
  transport: Transport | ByteTransport,
  policy: RetryPolicy = DEFAULT_RETRIES,
): Transport {
  return 'executeBytes' in transport
    ? new RetryingByteTransport(transport, policy)
    : new RetryingTransport(transport, policy);
}
