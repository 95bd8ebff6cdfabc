/** The state of the shard map as JSON: what a node saves of it, and what a new stream begins with where the old one was lost. */
import { bool, listOf, objectOf, oneOf, pairOf, optional, positive, text, whole, type Check } from './checks';
import type { CollectionEntry, NodeEntry, ShardMapState, StreamEntry } from './state';

/** All of a state but its version. */
export interface SavedMap {
  readonly nodes: readonly NodeEntry[];
  readonly collections: readonly CollectionEntry[];
  /** Ids of collections by alias. */
  readonly aliases: readonly (readonly [string, number])[];
  readonly nextCollectionId: number;
  /** By log group. */
  readonly streams: readonly (readonly [number, StreamEntry])[];
}

export function savedMapOf({
  nodes,
  collections,
  aliases,
  nextCollectionId,
  streams,
}: ShardMapState): SavedMap {
  return {
    ...{ nodes: [...nodes.values()], collections: [...collections.values()], aliases: [...aliases] },
    ...{ nextCollectionId, streams: [...streams] },
  };
}

/** The state of a saved map. */
export function stateOf(saved: SavedMap, version: number): ShardMapState {
  const { nodes, collections, aliases, nextCollectionId, streams } = saved;
  return {
    version,
    nodes: new Map(nodes.map((node) => [node.id, node])),
    collections: new Map(collections.map((collection) => [collection.id, collection])),
    names: new Map(collections.map(({ name, id }) => [name, id])),
    aliases: new Map(aliases),
    nextCollectionId,
    streams: new Map(streams),
  };
}

const node = objectOf({
  ...{ id: text, address: text, joined: whole },
  ...{ leaving: optional(whole), left: optional(whole) },
});
const replica = objectOf({ node: text, state: oneOf('joining', 'active', 'inactive') });
const shard = objectOf({
  replicas: listOf(replica),
  origin: optional(objectOf({ position: whole, digest: text })),
});
const collection = objectOf({
  ...{ id: positive, name: text, configuration: text },
  ...{ shardNumber: positive, replicationFactor: positive, writeConsistencyFactor: positive },
  ...{ group: whole, firstPosition: whole },
  ...{ mayBeStrict: optional(bool), mayExpire: optional(bool), mayWeigh: optional(bool) },
  isAdopted: optional(bool),
  shards: listOf(shard),
});
const stream = objectOf({ epoch: whole, created: text, firstPosition: whole, lost: optional(text) });

/** Whether parsed JSON is a saved map. */
export const isSavedMap: Check = objectOf({
  nodes: listOf(node),
  collections: listOf(collection),
  aliases: listOf(pairOf(text, positive)),
  nextCollectionId: positive,
  streams: listOf(pairOf(whole, stream)),
});
