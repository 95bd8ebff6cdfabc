import { LogUnavailableError, StreamMissingError, type LogServers } from '../log/record-log';
import type { Proposal, ShardMap } from '../map/shard-map';
import type { ShardMapState } from '../map/state';
import { pause } from '../pause';
import type { WaitLimits } from '../waiting';
import { MapLostError, type KnownMap } from './known-map';

/** How long a stream may seem to be behind what a node has read: a server that has just become its leader may not know yet. */
const SETTLE_MS = 5_000;
const PAUSE_MS = 500;

/**
 * Makes the stream of the shard map for the first node of a cluster, and compares it with what this node has seen of it. Resolves
 * with when it was created.
 * @throws MapLostError, and the errors of `LogServers.makeMap`
 */
export async function openMapStream(
  servers: LogServers,
  known: KnownMap,
  limits: WaitLimits,
): Promise<string> {
  const { signal } = limits;
  try {
    await servers.makeMap(known.isNew, limits);
    const endMs = performance.now() + SETTLE_MS;
    for (;;) {
      const { created, lastSequence } = await servers.map.state(signal);
      const difference = known.differenceTo({ created, lastSequence });
      if (difference === undefined) return created;
      if (known.isOther(created) || performance.now() >= endMs) throw new MapLostError(difference);
      await pause(PAUSE_MS, signal);
    }
  } catch (error) {
    throw error instanceof StreamMissingError ? new MapLostError(error.message) : error;
  }
}

/**
 * Makes the streams of the log groups that the map does not have yet, and notes them there. One that the map has is not made
 * again: where it is gone, it was lost.
 * @throws LogConfigurationError, LogUnavailableError, OutcomeUnknownError, LogRefusedError
 */
export async function openGroupStreams(
  servers: LogServers,
  map: Pick<ShardMap, 'state' | 'change'>,
  limits: WaitLimits,
): Promise<void> {
  const isUnknown = ({ streams }: ShardMapState, group: number): boolean => !streams.has(group);
  const groups = Array.from({ length: servers.groups }, (_, group) => group);
  const made: { group: number; created: string }[] = [];
  for (const group of groups.filter((one) => isUnknown(map.state, one))) {
    const { created } = await servers.makeGroup(group, { epoch: 0, firstSequence: 1 }, limits);
    made.push({ group, created });
  }
  const event = (state: ShardMapState): Proposal => {
    const streams = made.filter(({ group }) => isUnknown(state, group));
    return streams.length === 0 ? { refused: 'they are known' } : { kind: 'streams_opened', streams };
  };
  await map.change(event, limits);
  if (groups.some((group) => isUnknown(map.state, group)))
    throw new LogUnavailableError('the shard map does not have all streams of the log groups');
}
