import { DeadlineError } from './errors';
import type { CallOptions } from './types';

/** setTimeout takes no longer ones. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Runs work that can be given up by the caller's signal or because its time is over. */
export async function withDeadline<T>(
  { signal, timeoutMs = 0 }: CallOptions,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  const controller = new AbortController();
  const giveUp = (): void => {
    controller.abort(signal?.reason);
  };
  signal?.addEventListener('abort', giveUp, { once: true });
  const timer =
    timeoutMs > 0
      ? setTimeout(
          () => {
            controller.abort(new DeadlineError(timeoutMs));
          },
          Math.min(timeoutMs, LONGEST_TIMER_MS),
        )
      : undefined;
  try {
    return await work(controller.signal);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', giveUp);
  }
}
