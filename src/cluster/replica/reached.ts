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
