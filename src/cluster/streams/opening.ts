import { recordFrom } from '../log/record-from';
import {
  LogUnavailableError,
  StreamMissingError,
  type LogServers,
  type RecordLog,
  type StreamOrigin,
} from '../log/record-log';
import { decodeEvent, type RecoveredMap, type ShardMapEvent } from '../map/event';
import type { Proposal, ShardMap } from '../map/shard-map';
import type { ShardMapState } from '../map/state';
import { settled, type WaitLimits } from '../waiting';
import { MapLostError, type KnownMap } from './known-map';

/** How long a stream may seem to be behind what a node has read: a server that has just become its leader may not know yet. */
const SETTLE_MS = 5_000;
const PAUSE_MS = 500;
const READ_MS = 30_000;

/** What was seen of the stream of the map. */
interface SeenStream {
  readonly created: string;
  /** Whether it is another one than the node has read. */
  readonly isOther: boolean;
  /** How it differs from what the node has read. */
  readonly difference: string | undefined;
}

/**
 * Makes the stream of the shard map for the first node of a cluster, and compares it with what this node has seen of it. One that
 * goes on from a lost stream is taken where this node has read no more of that.
 * @throws MapLostError, and the errors of `LogServers.makeMap`
 */
export async function openMapStream(
  servers: LogServers,
  known: KnownMap,
  limits: WaitLimits,
): Promise<StreamOrigin> {
  const { signal } = limits;
  try {
    const origin = await servers.makeMap({ isNew: known.isNew, firstSequence: 1 }, limits);
    const recovered = origin.firstSequence > 1 ? await recoveryIn(servers.map, signal) : undefined;
    const look = async (): Promise<SeenStream> => {
      const { created, lastSequence } = await servers.map.state(signal);
      const isOther = known.isOther(created);
      const difference =
        isOther && recovered !== undefined
          ? known.differenceToRecovered(recovered)
          : known.differenceTo({ created, lastSequence });
      return { created, isOther, difference };
    };
    const { created, difference } = await settled(
      look,
      (seen) => seen.isOther || seen.difference === undefined,
      { settleMs: SETTLE_MS, pauseMs: PAUSE_MS, signal },
    );
    if (difference !== undefined) throw new MapLostError(difference);
    return { ...origin, created };
  } catch (error) {
    throw error instanceof StreamMissingError ? new MapLostError(error.message) : error;
  }
}

/**
 * What a stream goes on from that does not begin with the first event of a map.
 * @throws MapLostError where it does not say so
 */
async function recoveryIn(stream: RecordLog, signal?: AbortSignal): Promise<RecoveredMap> {
  const { firstSequence } = await stream.state(signal);
  const event = await firstEvent(stream, firstSequence, signal);
  if (event?.kind === 'map_recovered') return event;
  throw new MapLostError(
    `its stream begins at ${firstSequence} with no map; kithdb cluster recover-map, which was interrupted, has to run again`,
  );
}

/** The event that a stream begins with; undefined where it has no whole record, or one of something else. */
async function firstEvent(
  stream: RecordLog,
  fromSequence: number,
  signal: AbortSignal | undefined,
): Promise<ShardMapEvent | undefined> {
  const first = await recordFrom(stream, { fromSequence }, { timeoutMs: READ_MS, signal });
  return first && decodeEvent(first.payload);
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
