/** The events about the streams of log groups. */
import type { Change } from './apply';
import type { CarriedShard, OpenedStream, ShardMapEvent } from './event';
import type { ShardEntry, ShardMapState, StreamEntry } from './state';

type Event<Kind extends ShardMapEvent['kind']> = Extract<ShardMapEvent, { readonly kind: Kind }>;

export function streamsOpened({ streams }: ShardMapState, opened: readonly OpenedStream[]): Change {
  const after = new Map(streams);
  for (const { group, created } of opened) {
    if (!after.has(group)) after.set(group, { epoch: 0, created, firstPosition: 0 });
  }
  return after.size === streams.size ? 'the streams are known' : { streams: after };
}

export function streamLost(
  { streams }: ShardMapState,
  { group, epoch, reason }: Event<'stream_lost'>,
): Change {
  const before = streams.get(group);
  if (before?.epoch !== epoch) return `the stream of group ${group} is not that of epoch ${epoch}`;
  if (before.lost !== undefined) return 'it is known that it was lost';
  return { streams: new Map(streams).set(group, { ...before, lost: reason }) };
}

export function streamReplaced(state: ShardMapState, event: Event<'stream_replaced'>): Change {
  const { group, epoch, created, firstPosition, shards } = event;
  const before = state.streams.get(group);
  if (before?.lost === undefined) return `the stream of group ${group} was not lost`;
  if (epoch <= before.epoch || firstPosition <= before.firstPosition)
    return 'it is not behind the lost stream';
  const carried = new Map(shards.map((one) => [`${one.collection}/${one.shard}`, one]));
  const collections = new Map(state.collections);
  for (const collection of state.collections.values()) {
    if (collection.group !== group) continue;
    const after: ShardEntry[] = [];
    for (const [number, shard] of collection.shards.entries()) {
      const place = `${collection.id}/${number}`;
      const changed = carriedOver(shard, carried.get(place), firstPosition);
      if (changed === undefined)
        return `no replica of the shard ${place} has the state that it is to go on with`;
      after.push(changed);
    }
    collections.set(collection.id, { ...collection, shards: after });
  }
  const stream: StreamEntry = { epoch, created, firstPosition };
  return { collections, streams: new Map(state.streams).set(group, stream) };
}

/** A shard after its stream was replaced; undefined where no replica has what it is to go on with. */
function carriedOver(
  { replicas }: ShardEntry,
  carried: CarriedShard | undefined,
  firstPosition: number,
): ShardEntry | undefined {
  if (carried === undefined || carried.position > firstPosition) return undefined;
  const { position, digest, nodes } = carried;
  if (!replicas.some(({ node }) => nodes.includes(node))) return undefined;
  return {
    origin: { position, digest },
    replicas: replicas.map((replica) => {
      if (nodes.includes(replica.node)) return { ...replica, state: 'active' };
      return replica.state === 'active' ? { ...replica, state: 'inactive' } : replica;
    }),
  };
}
