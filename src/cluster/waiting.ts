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
