import type { Logger } from 'pino';
import { LogUnavailableError } from './log/record-log';
import { pause } from './pause';

/** Between two tries. */
const RETRY_MS = 1_000;

/**
 * Joins a cluster; while its log servers are being started, or have no leader yet, again and again.
 * @throws the reason of the signal, or what will not pass
 */
export async function tryAgain(
  join: () => Promise<void>,
  signal: AbortSignal,
  log: Pick<Logger, 'warn'>,
): Promise<void> {
  for (;;) {
    try {
      await join();
      return;
    } catch (error) {
      signal.throwIfAborted();
      if (!isTemporary(error)) throw error;
      log.warn({ err: error }, 'the cluster cannot be joined yet: trying again');
    }
    await pause(RETRY_MS, signal);
    signal.throwIfAborted();
  }
}

function isTemporary(error: unknown): boolean {
  return error instanceof LogUnavailableError || (error as Error).name === 'TimeoutError';
}
