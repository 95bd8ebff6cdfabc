/**
 * The map after one more event. Every node applies the same events to the same state, so this depends on nothing else: no
 * time, no settings, no order of a hash table.
 */
import type { AliasAction, NewCollection, ReplicaPlace, ShardMapEvent } from './event';
import { stateOf, type SavedMap } from './saved';
import { streamLost, streamReplaced, streamsOpened } from './apply-streams';
import {
  replicaOn,
  type CollectionEntry,
  type NodeEntry,
  type ReplicaEntry,
  type ReplicaState,
  type ShardEntry,
  type ShardMapState,
} from './state';

export interface Applied {
  readonly state: ShardMapState;
  /** Why the event changed nothing but the version; absent where it was applied. */
  readonly ignored?: string;
}

/** What an event changes, or why it does not fit to the state. */
export type Change = Partial<Omit<ShardMapState, 'version'>> | string;

/** @param sequence of the event in its stream */
export function apply(state: ShardMapState, event: ShardMapEvent, sequence: number): Applied {
  const change = changeBy(state, event, sequence);
  if (typeof change === 'string') return { state: { ...state, version: sequence }, ignored: change };
  return { state: { ...state, ...change, version: sequence } };
}

function changeBy(state: ShardMapState, event: ShardMapEvent, sequence: number): Change {
  switch (event.kind) {
    case 'node_joined':
      return nodeJoined(state, event.node, event.address, sequence);
    case 'node_leaving':
      return nodeChanged(state, event.node, (node) =>
        node.leaving === undefined ? { ...node, leaving: sequence } : 'it is leaving already',
      );
    case 'node_left':
      return nodeLeft(state, event.node, sequence);
    case 'collection_created':
      return collectionCreated(state, event.collection);
    case 'collection_changed':
      return collectionChanged(state, event);
    case 'collection_dropped':
      return collectionDropped(state, event.collection);
    case 'aliases_changed':
      return aliasesChanged(state, event.actions);
    case 'replica_added':
      return replicaAdded(state, event);
    case 'replica_activated':
      return replicaTurned(state, event, 'active');
    case 'replica_deactivated':
      return replicaTurned(state, event, 'inactive');
    case 'replica_dropped':
      return replicaDropped(state, event);
    case 'streams_opened':
      return streamsOpened(state, event.streams);
    case 'stream_lost':
      return streamLost(state, event);
    case 'stream_replaced':
      return streamReplaced(state, event);
    case 'map_recovered':
      return mapRecovered(state, event.map);
  }
}

/** Only the first event of a stream says what the map was before: later ones are made of the map. */
function mapRecovered({ version }: ShardMapState, map: SavedMap): Change {
  if (version > 0) return 'the stream has events before it';
  return stateOf(map, version);
}

function nodeJoined({ nodes }: ShardMapState, id: string, address: string, sequence: number): Change {
  const node = nodes.get(id);
  if (node?.left !== undefined) return `node ${id} has left`;
  return { nodes: new Map(nodes).set(id, { ...(node ?? { id, joined: sequence }), address }) };
}

function nodeChanged(
  { nodes }: ShardMapState,
  id: string,
  changed: (node: NodeEntry) => NodeEntry | string,
): Change {
  const node = nodes.get(id);
  if (node === undefined || node.left !== undefined) return `there is no node ${id}`;
  const after = changed(node);
  return typeof after === 'string' ? after : { nodes: new Map(nodes).set(id, after) };
}

function nodeLeft(state: ShardMapState, id: string, sequence: number): Change {
  const shards = [...state.collections.values()].flatMap((collection) => collection.shards);
  if (shards.some((shard) => replicaOn(shard, id) !== undefined)) return `node ${id} has replicas`;
  return nodeChanged(state, id, (node) => ({ ...node, left: sequence }));
}

function collectionCreated(state: ShardMapState, created: NewCollection): Change {
  const { placement, ...settings } = created;
  const { id, name, shardNumber, replicationFactor, writeConsistencyFactor } = created;
  if (id !== state.nextCollectionId)
    return `the next collection has the id ${state.nextCollectionId}, not ${id}`;
  if (state.names.has(name)) return `there is a collection ${name}`;
  if (state.aliases.has(name)) return `there is an alias ${name}`;
  if (placement.length !== shardNumber) return 'each shard needs a placement';
  if (writeConsistencyFactor > replicationFactor)
    return 'a write cannot wait for more replicas than there are';
  const isPlaced = placement.every(
    (nodes) =>
      nodes.length > 0 &&
      new Set(nodes).size === nodes.length &&
      nodes.every((node) => state.nodes.has(node) && state.nodes.get(node)?.left === undefined),
  );
  if (!isPlaced) return 'each shard needs replicas on different nodes';
  const shards = placement.map((nodes) => ({
    replicas: nodes.map((node) => ({ node, state: 'active' as const })),
  }));
  return {
    collections: new Map(state.collections).set(id, { ...settings, shards }),
    names: new Map(state.names).set(name, id),
    nextCollectionId: id + 1,
  };
}

function collectionChanged(
  state: ShardMapState,
  event: Extract<ShardMapEvent, { readonly kind: 'collection_changed' }>,
): Change {
  const before = state.collections.get(event.collection);
  if (before === undefined) return noCollection(event.collection);
  const after: CollectionEntry = {
    ...before,
    configuration: event.configuration ?? before.configuration,
    replicationFactor: event.replicationFactor ?? before.replicationFactor,
    writeConsistencyFactor: event.writeConsistencyFactor ?? before.writeConsistencyFactor,
    ...(event.mayBeStrict === true && { mayBeStrict: true }),
    ...(event.mayExpire === true && { mayExpire: true }),
    ...(event.mayWeigh === true && { mayWeigh: true }),
  };
  if (after.writeConsistencyFactor > after.replicationFactor) {
    return 'a write cannot wait for more replicas than there are';
  }
  return { collections: new Map(state.collections).set(before.id, after) };
}

function collectionDropped({ collections, names, aliases }: ShardMapState, id: number): Change {
  if (!collections.has(id)) return noCollection(id);
  const others = <Key>(entries: ReadonlyMap<Key, unknown>): Set<Key> =>
    new Set([...entries].filter(([, collection]) => collection !== id).map(([key]) => key));
  const [keptNames, keptAliases] = [others(names), others(aliases)];
  return {
    collections: new Map([...collections].filter(([other]) => other !== id)),
    names: new Map([...names].filter(([name]) => keptNames.has(name))),
    aliases: new Map([...aliases].filter(([alias]) => keptAliases.has(alias))),
  };
}

function aliasesChanged(state: ShardMapState, actions: readonly AliasAction[]): Change {
  const aliases = new Map(state.aliases);
  for (const action of actions) {
    const { alias } = action;
    if (action.action === 'delete') {
      aliases.delete(alias);
    } else {
      if (state.names.has(alias)) return `there is a collection ${alias}`;
      if (!state.collections.has(action.collection)) return noCollection(action.collection);
      aliases.set(alias, action.collection);
    }
  }
  return { aliases };
}

function replicaAdded(state: ShardMapState, { collection, shard, node }: ReplicaPlace): Change {
  const entry = state.nodes.get(node);
  if (entry === undefined || entry.left !== undefined) return `there is no node ${node}`;
  if (entry.leaving !== undefined) return `node ${node} is leaving`;
  return shardChanged(state, collection, shard, (before) => {
    if (replicaOn(before, node) !== undefined) return `node ${node} has a replica already`;
    return { ...before, replicas: [...before.replicas, { node, state: 'joining' }] };
  });
}

function replicaTurned(
  state: ShardMapState,
  { collection, shard, node }: ReplicaPlace,
  to: ReplicaState,
): Change {
  return shardChanged(state, collection, shard, (before) => {
    const replica = replicaOn(before, node);
    if (replica === undefined) return `node ${node} has no replica`;
    if (replica.state === to) return `the replica is ${to} already`;
    if (isLastActive(before, replica)) return 'it is the last active replica of its shard';
    const replicas = before.replicas.map((other) => (other === replica ? { node, state: to } : other));
    return { ...before, replicas };
  });
}

function replicaDropped(state: ShardMapState, { collection, shard, node }: ReplicaPlace): Change {
  return shardChanged(state, collection, shard, (before) => {
    const replica = replicaOn(before, node);
    if (replica === undefined) return `node ${node} has no replica`;
    if (isLastActive(before, replica)) return 'it is the last active replica of its shard';
    return { ...before, replicas: before.replicas.filter((other) => other !== replica) };
  });
}

function isLastActive({ replicas }: ShardEntry, replica: ReplicaEntry): boolean {
  return (
    replica.state === 'active' && replicas.every((other) => other === replica || other.state !== 'active')
  );
}

function shardChanged(
  state: ShardMapState,
  id: number,
  number: number,
  changed: (shard: ShardEntry) => ShardEntry | string,
): Change {
  const collection = state.collections.get(id);
  if (collection === undefined) return noCollection(id);
  const shard = collection.shards[number];
  if (shard === undefined) return `collection ${id} has no shard ${number}`;
  const after = changed(shard);
  if (typeof after === 'string') return after;
  const shards = collection.shards.map((other) => (other === shard ? after : other));
  return { collections: new Map(state.collections).set(id, { ...collection, shards }) };
}

function noCollection(id: number): string {
  return `there is no collection ${id}`;
}
