/** Who knows of a change of the shard map. */
import type { ShardMap } from '../map/shard-map';
import { pause } from '../pause';
import { repeat, type Repeat } from './heartbeats';
import type { Members } from './members';

/** Events of the map that come together are one heartbeat. */
const NEWS_MS = 10;
/** How long a change waits until all live nodes have it. */
const KNOWN_MS = 2_000;
const POLL_MS = 5;

/** Repeats, and does it soon after each change of the map as well, so that who made it learns who has it. */
export function alsoAfterChanges(map: ShardMap): Repeat {
  return (task, everyMs) => {
    let timer: NodeJS.Timeout | undefined;
    const soon = (): void => {
      timer = undefined;
      task();
    };
    const endChanges = map.onChange(() => {
      timer ??= setTimeout(soon, NEWS_MS);
    });
    const endRepeat = repeat(task, everyMs);
    return () => {
      endChanges();
      endRepeat();
      clearTimeout(timer);
    };
  };
}

/** Resolves when all live nodes have a version of the map, by their heartbeats, or after a while. */
export async function knownBy(
  liveNodes: () => readonly string[],
  members: Pick<Members, 'self' | 'heartbeatOf'>,
  version: number,
  signal: AbortSignal,
): Promise<void> {
  const until = performance.now() + KNOWN_MS;
  const isBehind = (id: string): boolean =>
    id !== members.self && (members.heartbeatOf(id)?.mapVersion ?? 0) < version;
  while (!signal.aborted && performance.now() < until && liveNodes().some(isBehind)) {
    await pause(POLL_MS, signal);
  }
}
