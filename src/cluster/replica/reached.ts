import { EngineError } from '../../engine/types';
import { pause } from '../pause';

/** Between two looks at the position of a replica that a read waits for. */
const POLL_MS = 5;

/** A replica of a shard on this node, as it is now; undefined while there is none that can answer. */
export type CurrentReplica = () => { readonly position: number } | undefined;

/**
 * Waits until a replica is at a position, and resolves with its own; with undefined once there is no replica: one that is made
 * anew takes the place of the one before. Rejects with the reason of the signal.
 */
export async function reached(
  current: CurrentReplica,
  position: number,
  signal: AbortSignal,
): Promise<number | undefined> {
  for (let replica = current(); replica !== undefined; replica = current()) {
    if (replica.position >= position) return replica.position;
    signal.throwIfAborted();
    await pause(POLL_MS, signal);
  }
  return undefined;
}

/** The same of replicas that do not follow their streams. Rejects at once where one is before the position. */
export function requirePosition(current: CurrentReplica, position: number): Promise<number | undefined> {
  const at = current()?.position;
  if (at === undefined || at >= position) return Promise.resolve(at);
  const message = `the replica is at ${at}, before ${position}, and follows no stream`;
  return Promise.reject(new EngineError('timeout', { message }));
}
