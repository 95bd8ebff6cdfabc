/** The events of the shard map, and their bytes: JSON with a version of the format. */
import { objectIn } from '../json';
import { bool, listOf, objectOf, optional, positive, text, whole, type Check } from './checks';
import { isSavedMap, type SavedMap } from './saved';
import type { CollectionEntry, ShardOrigin } from './state';

/** Names a replica. */
export interface ReplicaPlace {
  readonly collection: number;
  readonly shard: number;
  readonly node: string;
}

export type AliasAction =
  | { readonly action: 'set'; readonly alias: string; readonly collection: number }
  | { readonly action: 'delete'; readonly alias: string };

/** A collection with, in place of its shards, where their replicas are to be. */
export interface NewCollection extends Omit<CollectionEntry, 'shards'> {
  /** For each shard the nodes that get a replica, which is active at once, because it has nothing to read. */
  readonly placement: readonly (readonly string[])[];
}

/** A stream of a log group that was made. */
export interface OpenedStream {
  readonly group: number;
  readonly created: string;
}

/** A shard whose group gets another stream. */
export interface CarriedShard extends ShardOrigin {
  readonly collection: number;
  readonly shard: number;
  /** The nodes whose replicas have that state. */
  readonly nodes: readonly string[];
}

export type ShardMapEvent =
  /** A node joins, or one that has joined says that its address is another one. */
  | { readonly kind: 'node_joined'; readonly node: string; readonly address: string }
  /** A node is to be emptied. */
  | { readonly kind: 'node_leaving'; readonly node: string }
  /** A node without replicas leaves for ever. */
  | { readonly kind: 'node_left'; readonly node: string }
  | { readonly kind: 'collection_created'; readonly collection: NewCollection }
  | {
      readonly kind: 'collection_changed';
      readonly collection: number;
      readonly configuration?: string;
      readonly replicationFactor?: number;
      readonly writeConsistencyFactor?: number;
      /** True: it may have a strict mode from now on. */
      readonly mayBeStrict?: boolean;
      /** True: its points may expire from now on. */
      readonly mayExpire?: boolean;
      /** True: a sparse vector may have the modifier `idf` from now on. */
      readonly mayWeigh?: boolean;
    }
  /** With its aliases. */
  | { readonly kind: 'collection_dropped'; readonly collection: number }
  /** All of them in their order, or none. */
  | { readonly kind: 'aliases_changed'; readonly actions: readonly AliasAction[] }
  /** It is `joining`. */
  | ({ readonly kind: 'replica_added' } & ReplicaPlace)
  | ({ readonly kind: 'replica_activated' } & ReplicaPlace)
  | ({ readonly kind: 'replica_deactivated' } & ReplicaPlace)
  | ({ readonly kind: 'replica_dropped' } & ReplicaPlace)
  /** The first streams of log groups were made. */
  | { readonly kind: 'streams_opened'; readonly streams: readonly OpenedStream[] }
  /** The stream of a log group was lost, or has lost records: it takes no more. */
  | { readonly kind: 'stream_lost'; readonly group: number; readonly epoch: number; readonly reason: string }
  /** Another stream takes the place of a lost one. Replicas that are in another state than `shards` says become inactive. */
  | {
      readonly kind: 'stream_replaced';
      readonly group: number;
      readonly epoch: number;
      readonly created: string;
      readonly firstPosition: number;
      readonly shards: readonly CarriedShard[];
    }
  /** The first event of a stream that goes on from a lost one: the map as a node had saved it. */
  | ({ readonly kind: 'map_recovered' } & RecoveredMap);

/** Which stream a new one goes on from, and with what. */
export interface RecoveredMap {
  /** When the lost stream was made, as the log servers wrote it. */
  readonly lost: string;
  /** The sequence of the last event of the lost stream that the map has. */
  readonly lastSequence: number;
  readonly map: SavedMap;
}

export const MAP_FORMAT = 1;

/** A release that is older than the event cannot know what it means. The node must stop, because its map would be wrong. */
export class LaterVersionError extends Error {
  constructor(what: string) {
    super(`the shard map has ${what}, which a later release of KithDB wrote: upgrade this node`);
    this.name = 'LaterVersionError';
  }
}

export function encodeEvent(event: ShardMapEvent): Uint8Array {
  return Buffer.from(JSON.stringify({ format: MAP_FORMAT, ...event }));
}

/**
 * The event that bytes are; undefined for bytes that no release writes.
 * @throws LaterVersionError
 */
export function decodeEvent(payload: Uint8Array): ShardMapEvent | undefined {
  const value = objectIn(payload);
  if (value === undefined) return undefined;
  const { format, kind, ...rest } = value;
  if (typeof format !== 'number' || typeof kind !== 'string') return undefined;
  if (format > MAP_FORMAT) throw new LaterVersionError(`an event of format ${format}`);
  if (!isKind(kind)) throw new LaterVersionError(`an event ${kind}`);
  const hasAll = Object.entries(FIELDS[kind]).every(([name, check]) => check(rest[name]));
  return hasAll ? ({ kind, ...rest } as unknown as ShardMapEvent) : undefined;
}

function isKind(kind: string): kind is ShardMapEvent['kind'] {
  return Object.hasOwn(FIELDS, kind);
}

const newCollection = objectOf({
  id: positive,
  name: text,
  configuration: text,
  shardNumber: positive,
  replicationFactor: positive,
  writeConsistencyFactor: positive,
  group: whole,
  firstPosition: whole,
  isAdopted: optional(bool),
  placement: listOf(listOf(text)),
});

const setAlias = objectOf({ action: (value) => value === 'set', alias: text, collection: positive });
const deleteAlias = objectOf({ action: (value) => value === 'delete', alias: text });
const aliasAction: Check = (value) => setAlias(value) || deleteAlias(value);

const openedStream = objectOf({ group: whole, created: text });
const carriedShard = objectOf({
  collection: positive,
  shard: whole,
  position: whole,
  digest: text,
  nodes: listOf(text),
});

const REPLICA = { collection: positive, shard: whole, node: text };

/** What the fields of each kind must be. */
const FIELDS: Readonly<Record<ShardMapEvent['kind'], Readonly<Record<string, Check>>>> = {
  node_joined: { node: text, address: text },
  node_leaving: { node: text },
  node_left: { node: text },
  collection_created: { collection: newCollection },
  collection_changed: {
    collection: positive,
    configuration: optional(text),
    replicationFactor: optional(positive),
    writeConsistencyFactor: optional(positive),
    mayBeStrict: optional(bool),
    mayExpire: optional(bool),
    mayWeigh: optional(bool),
  },
  collection_dropped: { collection: positive },
  aliases_changed: { actions: listOf(aliasAction) },
  replica_added: REPLICA,
  replica_activated: REPLICA,
  replica_deactivated: REPLICA,
  replica_dropped: REPLICA,
  streams_opened: { streams: listOf(openedStream) },
  stream_lost: { group: whole, epoch: whole, reason: text },
  stream_replaced: {
    group: whole,
    epoch: positive,
    created: text,
    firstPosition: positive,
    shards: listOf(carriedShard),
  },
  map_recovered: { lost: text, lastSequence: positive, map: isSavedMap },
};
