import { StoreInUse } from '../auth/store/port';
import { CommandError } from './console';

/** Where no server that is ready answers, a process that holds the store is one that starts. Other errors are thrown again. */
export function explainedInUse(error: unknown): never {
  throw error instanceof StoreInUse
    ? new CommandError(
        `${error.message}, and none that is ready answers on it. Is one starting? Then try again`,
      )
    : error;
}
