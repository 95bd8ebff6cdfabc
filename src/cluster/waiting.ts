/** Waiting that ends when a signal is aborted. */
import { pause } from './pause';

/** How long a caller waits. */
export interface WaitLimits {
  readonly timeoutMs: number;
  /** Ends the wait before that. */
  readonly signal?: AbortSignal | undefined;
}

/** The outcome of a promise; rejects with the reason of the signal, or another one, as soon as that is aborted. */
export function unlessAborted<T>(
  outcome: Promise<T>,
  signal: AbortSignal | undefined,
  reason: () => Error = () => signal?.reason as Error,
): Promise<T> {
  if (signal === undefined) return outcome;
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      reject(reason());
    };
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
    const end = (): void => {
      signal.removeEventListener('abort', abort);
    };
    void outcome.then(resolve, reject).finally(end);
  });
}

/**
 * The value of a promise; undefined where it has none in time, or before the signal is aborted. Rejects where the promise does.
 */
export function within<T>(
  outcome: Promise<T>,
  { timeoutMs, signal }: WaitLimits,
): Promise<{ readonly value: T } | undefined> {
  return new Promise((resolve, reject) => {
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve(undefined);
    };
    const timer = setTimeout(end, timeoutMs);
    const settle = (value: T): void => {
      resolve({ value });
    };
    void outcome.then(settle, reject).finally(end);
    if (signal?.aborted === true) end();
    else signal?.addEventListener('abort', end, { once: true });
  });
}

/** How often something is tried, and what ends that. */
export interface Retries {
  readonly pauseMs: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Tries until it succeeds. After each failure `giveUp` gets its error: it throws where another try is of no use.
 * @throws the reason of the signal once that is aborted
 */
export async function retried<T>(
  work: () => Promise<T>,
  { pauseMs, signal }: Retries,
  giveUp: (error: unknown) => void,
): Promise<T> {
  for (;;) {
    signal?.throwIfAborted();
    try {
      return await work();
    } catch (error) {
      signal?.throwIfAborted();
      giveUp(error);
    }
    await pause(pauseMs, signal);
  }
}

/** How long something may take to settle, and the pause between two looks at it. */
export interface Settling {
  readonly settleMs: number;
  readonly pauseMs: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Looks at something again and again: gives what it has seen where that `isSettled`, or when the time is over.
 * @throws what `look` throws; the reason of the signal once that is aborted
 */
export async function settled<T>(
  look: () => Promise<T>,
  isSettled: (seen: T) => boolean,
  { settleMs, pauseMs, signal }: Settling,
): Promise<T> {
  const endMs = performance.now() + settleMs;
  for (;;) {
    const seen = await unlessAborted(look(), signal);
    if (isSettled(seen) || performance.now() >= endMs) return seen;
    await pause(pauseMs, signal);
    signal?.throwIfAborted();
  }
}
