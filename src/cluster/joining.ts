import type { Logger } from 'pino';
import { reasonOf } from '../files/explained';
import { LogUnavailableError, OutcomeUnknownError } from './log/record-log';
import { retried } from './waiting';

/** Between two tries. */
const RETRY_MS = 1_000;
/** Every so many tries are in the log, beside the first. */
const LOGGED = 30;

/**
 * Joins a cluster; while its log servers are being started, or have no leader yet, again and again.
 * @throws the reason of the signal, or what will not pass
 */
export function joinWhenPossible<T>(
  join: () => Promise<T>,
  signal: AbortSignal,
  log: Pick<Logger, 'warn'>,
  mayPass: (error: unknown) => boolean = () => false,
): Promise<T> {
  let tries = 0;
  return retried(join, { pauseMs: RETRY_MS, signal }, (error) => {
    if (!isTemporary(error) && !mayPass(error)) throw error;
    if (tries % LOGGED === 0)
      log.warn({ reason: reasonOf(error) }, 'the cluster cannot be joined yet: trying again');
    tries += 1;
  });
}

function isTemporary(error: unknown): boolean {
  return (
    error instanceof LogUnavailableError ||
    // What may have been done is found when it is tried again.
    error instanceof OutcomeUnknownError ||
    (error as Error).name === 'TimeoutError'
  );
}
