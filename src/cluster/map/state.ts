/** What the shard map says after the events of its stream. */

/** `joining`: it is being filled; `active`: it may answer reads; `inactive`: it may not, and may lack records. */
export type ReplicaState = 'joining' | 'active' | 'inactive';

export interface ReplicaEntry {
  /** Id of the node. */
  readonly node: string;
  readonly state: ReplicaState;
}

export interface ShardEntry {
  /** In the order in which they were added, each on another node. */
  readonly replicas: readonly ReplicaEntry[];
  /** With what it went over to the present stream of its group; absent where it had no other one. */
  readonly origin?: ShardOrigin;
}

/** The state that every replica of a shard had when its records began to come from another stream. */
export interface ShardOrigin {
  /** The position of the last record that had changed it; 0 for none. */
  readonly position: number;
  readonly digest: string;
}

/** The stream of a log group. */
export interface StreamEntry {
  /** 0 of the first; one that takes the place of a lost one has a later epoch. */
  readonly epoch: number;
  /** When the log servers made it, as they write it. */
  readonly created: string;
  /** Every record of it has a later position, and every record of the streams before it an earlier one or this. */
  readonly firstPosition: number;
  /** Why it takes no records any more; absent while it does. */
  readonly lost?: string;
}

export interface CollectionEntry {
  /** 1 of the first collection; a number is never given twice. */
  readonly id: number;
  readonly name: string;
  /** What the engine makes a replica with. */
  readonly configuration: string;
  readonly shardNumber: number;
  /** Wanted number of replicas of each shard. */
  readonly replicationFactor: number;
  /** How many replicas of each shard a write waits for. */
  readonly writeConsistencyFactor: number;
  /** The log group of its writes. */
  readonly group: number;
  /** Whether a change has given it a strict mode; that of its creation is in the configuration. */
  readonly mayBeStrict?: boolean;
  /** Whether a change has given it a key by which points expire; that of its creation is in the configuration. */
  readonly mayExpire?: boolean;
  /** Whether a change has given a sparse vector the modifier `idf`; that of its creation is in the configuration. */
  readonly mayWeigh?: boolean;
  /** A position of the group's stream before its first record. */
  readonly firstPosition: number;
  /** Whether a node brought it into the cluster: no stream has what it had then, only checkpoints do. */
  readonly isAdopted?: boolean;
  readonly shards: readonly ShardEntry[];
}

export interface NodeEntry {
  readonly id: string;
  /** Where it listens for other nodes. */
  readonly address: string;
  /** Version of the map by which it joined. */
  readonly joined: number;
  /** Version of the map from which on it is being emptied. */
  readonly leaving?: number;
  /** Version of the map by which it left. Its id does not join again. */
  readonly left?: number;
}

export interface ShardMapState {
  /** Sequence of the last event; 0 of the empty map. */
  readonly version: number;
  readonly nodes: ReadonlyMap<string, NodeEntry>;
  readonly collections: ReadonlyMap<number, CollectionEntry>;
  /** Ids of collections by name; an alias is no name here. */
  readonly names: ReadonlyMap<string, number>;
  /** Ids of collections by alias. */
  readonly aliases: ReadonlyMap<string, number>;
  readonly nextCollectionId: number;
  /** By log group. */
  readonly streams: ReadonlyMap<number, StreamEntry>;
}

export const EMPTY_MAP: ShardMapState = {
  version: 0,
  nodes: new Map(),
  collections: new Map(),
  names: new Map(),
  aliases: new Map(),
  nextCollectionId: 1,
  streams: new Map(),
};

/** The nodes that have joined and not left. */
export function nodesOf({ nodes }: ShardMapState): NodeEntry[] {
  return [...nodes.values()].filter((node) => node.left === undefined);
}

/** Their ids. */
export function nodeIds(state: ShardMapState): string[] {
  return nodesOf(state).map(({ id }) => id);
}

/** The log group of a collection; undefined where there is no such collection. */
export function groupOf({ collections }: ShardMapState, collection: number): number | undefined {
  return collections.get(collection)?.group;
}

/** The collection with a name or an alias. */
export function collectionNamed(state: ShardMapState, name: string): CollectionEntry | undefined {
  const id = state.names.get(name) ?? state.aliases.get(name);
  return id === undefined ? undefined : state.collections.get(id);
}

export function replicaOn(shard: ShardEntry, node: string): ReplicaEntry | undefined {
  return shard.replicas.find((replica) => replica.node === node);
}
