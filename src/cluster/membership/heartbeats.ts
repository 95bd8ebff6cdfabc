import { randomUUID } from 'node:crypto';
import { decodeHeartbeat, encodeHeartbeat, type Heartbeat } from './heartbeat';
import type { Members } from './members';

export const HEARTBEAT_MS = 500;

/** Reaches all nodes of the cluster, this one as well, and may lose what it is given. */
export interface HeartbeatChannel {
  send(bytes: Uint8Array): void;
  /** Returns what ends the reception. */
  receive(handler: (bytes: Uint8Array) => void): () => void;
}

/** Calls again and again; returns what ends that. */
export type Repeat = (task: () => void, everyMs: number) => () => void;

export const repeat: Repeat = (task, everyMs) => {
  const timer = setInterval(task, everyMs);
  return () => {
    clearInterval(timer);
  };
};

/** What this node says of itself each time. */
export type OwnReport = Omit<Heartbeat, 'start' | 'count'>;

/** Sends the heartbeats of this node, and gives those of all nodes to the members. Returns what ends both. */
export function startHeartbeats(
  channel: HeartbeatChannel,
  members: Members,
  report: () => OwnReport,
  every: Repeat = repeat,
): () => void {
  const start = randomUUID();
  let count = 0;
  const send = (): void => {
    count += 1;
    channel.send(encodeHeartbeat({ ...report(), start, count }));
  };
  const endReception = channel.receive((bytes) => {
    const heartbeat = decodeHeartbeat(bytes);
    if (heartbeat !== undefined) members.receive(heartbeat);
  });
  const endSending = every(send, HEARTBEAT_MS);
  send();
  return () => {
    endSending();
    endReception();
  };
}
