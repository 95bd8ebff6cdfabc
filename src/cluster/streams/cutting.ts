import type { Logger } from 'pino';
import { MAX_PUBLISH_MS, type LogService, type RecordLog } from '../log/record-log';
import type { ShardMap } from '../map/shard-map';
import type { CollectionEntry } from '../map/state';
import type { Members } from '../membership/members';
import { isProposer } from '../membership/proposer';
import { reachOf } from '../replica/checkpoint-reach';
import { hasNothingAfter } from '../replica/place';
import { nameOf, type Shard } from '../shards';
import type { CheckpointStore } from '../store/checkpoint-store';
import { tryEach } from '../try-each';

/** What cutting streams needs. */
export interface CuttingParts {
  /** The id of this node. */
  readonly node: string;
  readonly store: CheckpointStore;
  readonly logs: LogService;
  readonly map: Pick<ShardMap, 'state' | 'log' | 'waitFor'>;
  readonly members: Members;
  /** How old a record is that may be removed. */
  readonly minAgeMs: number;
  readonly log: Logger;
}

/**
 * Removes from the streams of log groups what nobody needs any more. Records up to a position go where every shard of the group
 * has a checkpoint that reaches so far and that a second node has read back, every replica of a live node has read so far, and
 * they are old enough. The node that proposes for the cluster does it; a second one that believes to be it does the same.
 */
export async function cutStreams(parts: CuttingParts, signal: AbortSignal): Promise<void> {
  if (!isProposer(parts)) return;
  const { map, logs } = parts;
  const groups = Array.from({ length: logs.groups }, (_, group) => group);
  const work = async (group: number): Promise<void> => {
    if (map.state.streams.get(group)?.lost === undefined) await cut(parts, group, signal);
  };
  await tryEach(groups, work, signal);
}

async function cut(parts: CuttingParts, group: number, signal: AbortSignal): Promise<void> {
  const { logs, map, log, minAgeMs } = parts;
  const stream = logs.group(group);
  const { firstSequence, lastSequence, atMs } = await stream.state(signal);
  if (lastSequence < firstSequence) return;
  // A collection with a record up to there is in the map by now: it was created before.
  await map.waitFor((await map.log.state(signal)).lastSequence, signal);
  let end = lastSequence;
  for (const collection of map.state.collections.values()) {
    if (collection.group !== group) continue;
    for (const shard of collection.shards.keys()) {
      end = Math.min(end, await neededAfter(parts, stream, { collection, shard }, signal));
      if (end < firstSequence) return;
    }
  }
  const youngest = await lastBefore(stream, { from: firstSequence, to: end, atMs, minAgeMs }, signal);
  if (youngest < firstSequence) return;
  await stream.truncateBelow(youngest + 1);
  log.info({ stream: stream.name, firstSequence: youngest + 1 }, 'a stream was cut');
}

/** The position up to which a shard needs no record of its stream. */
async function neededAfter(
  { store, map, members }: CuttingParts,
  stream: RecordLog,
  of: { readonly collection: CollectionEntry; readonly shard: number },
  signal: AbortSignal,
): Promise<number> {
  const { id: collection, group, shards } = of.collection;
  const shard: Shard = { collection, shard: of.shard };
  const epoch = map.state.streams.get(group)?.epoch;
  const { checkpoints } = await store.list(nameOf(shard));
  const usable = checkpoints.filter(
    ({ manifest, missing, confirmedBy }) =>
      missing.length === 0 && confirmedBy.length > 0 && reachOf(manifest).epoch === epoch,
  );
  let end = Math.max(0, ...usable.map(({ manifest }) => reachOf(manifest).readTo));
  for (const { node } of shards[of.shard]?.replicas ?? []) {
    const position = members.positionOf(node, collection, of.shard);
    if (position === undefined || position >= end) continue;
    if (!(await hasNothingAfter(stream, shard, position, signal))) end = position;
  }
  return end;
}

/** Sequences of a stream, the time of its server, and the least age of what may be removed. */
interface AgedRange {
  readonly from: number;
  readonly to: number;
  readonly atMs: number;
  readonly minAgeMs: number;
}

/**
 * The last record of a range that is old enough, by the clock of the log servers. A record of several frames may end behind the
 * range and have begun in it, at most the longest time to publish before: what is younger than that at its end stays as well.
 */
async function lastBefore(
  stream: RecordLog,
  { from, to, atMs, minAgeMs }: AgedRange,
  signal: AbortSignal,
): Promise<number> {
  const endMs = (await stream.storedAt(to, signal)) ?? 0;
  const beforeMs = Math.min(atMs - minAgeMs, endMs - Math.min(minAgeMs, MAX_PUBLISH_MS));
  let [known, unknown] = [from - 1, to + 1];
  while (unknown - known > 1) {
    const middle = Math.floor((known + unknown) / 2);
    const storedAtMs = await stream.storedAt(middle, signal);
    if (storedAtMs !== undefined && storedAtMs <= beforeMs) known = middle;
    else unknown = middle;
  }
  return known;
}
