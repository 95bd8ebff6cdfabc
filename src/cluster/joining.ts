import type { Logger } from 'pino';
import { LogUnavailableError } from './log/record-log';
import { pause } from './pause';

/** Between two tries. */
const RETRY_MS = 1_000;
/** Every so many tries are in the log, beside the first. */
const LOGGED = 30;

/**
 * Joins a cluster; while its log servers are being started, or have no leader yet, again and again.
 * @throws the reason of the signal, or what will not pass
 */
export async function tryAgain<T>(
  join: () => Promise<T>,
  signal: AbortSignal,
  log: Pick<Logger, 'warn'>,
): Promise<T> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await join();
    } catch (error) {
      signal.throwIfAborted();
      if (!isTemporary(error)) throw error;
      const reason = error instanceof Error ? error.message : String(error);
      if (tries % LOGGED === 0) log.warn({ reason }, 'the cluster cannot be joined yet: trying again');
    }
    await pause(RETRY_MS, signal);
    signal.throwIfAborted();
  }
}

function isTemporary(error: unknown): boolean {
  return error instanceof LogUnavailableError || (error as Error).name === 'TimeoutError';
}
