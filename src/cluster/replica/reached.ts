import { EngineError } from '../../engine/types';
import { pause } from '../pause';

/** Between two looks at the position of a replica that a read waits for. */
const POLL_MS = 5;

/** Resolves when a replica is at a position. Rejects with the reason of the signal. */
export async function reached(
  replica: { readonly position: number },
  position: number,
  signal: AbortSignal,
): Promise<void> {
  while (replica.position < position) {
    signal.throwIfAborted();
    await pause(POLL_MS, signal);
  }
}

/** The same of a replica that does not follow its stream. Rejects at once where it is before the position. */
export function requirePosition(replica: { readonly position: number }, position: number): Promise<void> {
  if (replica.position >= position) return Promise.resolve();
  const message = `the replica is at ${replica.position}, before ${position}, and follows no stream`;
  return Promise.reject(new EngineError('timeout', { message }));
}
