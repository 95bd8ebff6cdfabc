import { settled } from '../waiting';
import type { StreamState } from './record-log';

/** How long a stream may end before what was read of it. */
const SETTLE_MS = 500;
const PAUSE_MS = 100;

/**
 * The state of a stream, where it reaches a sequence as soon as it does. The server that leads a stream says where it ends, and under
 * load another server delivers a record before the leader has written it.
 */
export function stateReaching(
  stream: { state(): Promise<StreamState> },
  sequence: number,
): Promise<StreamState> {
  const isReached = ({ lastSequence }: StreamState): boolean => lastSequence >= sequence;
  return settled(() => stream.state(), isReached, { settleMs: SETTLE_MS, pauseMs: PAUSE_MS });
}
