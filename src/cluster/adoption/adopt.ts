/** A single node becomes the first node of a cluster: its collections become replicas, graphs included. */
import { randomUUID } from 'node:crypto';
import { executeJson } from '../../engine/json-call';
import type { Engine } from '../../engine/types';
import { bodyOfInfo, type QdrantInfo } from '../../migration/qdrant-config';
import {
  adoptFolders,
  collectionExists,
  collectionNames,
  deleteCollection,
  linkFiles,
} from '../../snapshots/files-of-collections';
import { numbered } from '../coordinator/new-collection';
import type { LogService, RecordLog } from '../log/record-log';
import type { Proposal, ShardMap } from '../map/shard-map';
import { replicaOn, type CollectionEntry, type ShardMapState } from '../map/state';
import { IdentityError, type BroughtContent } from '../membership/identity';
import { replicaFolders } from '../replica/checkpoint';
import { readState } from '../replica/shard-replica';
import { nameOf, shardOfName } from '../shards';

const PROPOSE_MS = 30_000;
/** The subject of records that no replica reads: they move a stream on. */
const FILLER = 'filler';

/** Where collections are adopted. */
export interface AdoptionParts {
  /** The id of this node. */
  readonly node: string;
  readonly dataDir: string;
  readonly engine: Engine;
  readonly logs: LogService;
  readonly map: ShardMap;
  /** Ends it, so that it has to be begun again. */
  readonly signal: AbortSignal;
}

/**
 * What a single node has that is to be brought into a cluster; undefined where it is empty.
 * @throws IdentityError for a collection that cannot be
 */
export async function contentOf(engine: Engine): Promise<BroughtContent | undefined> {
  const collections = await collectionNames(engine);
  if (collections.length === 0) return undefined;
  const clash = collections.find((name) => shardOfName(name) !== undefined);
  if (clash !== undefined) {
    throw new IdentityError(
      `the collection ${clash} has the name of a replica: clone it under another one before this node joins a cluster`,
    );
  }
  const { aliases } = (await executeJson(engine, { operation: 'list_aliases' })) as {
    readonly aliases: readonly { readonly alias_name: string; readonly collection_name: string }[];
  };
  return {
    collections,
    aliases: aliases.map(({ alias_name: alias, collection_name: collection }) => ({ alias, collection })),
  };
}

/**
 * Makes a replica of each collection of a single node, with one shard and one replica, and takes its aliases over. It may be
 * called again after a failure at any point, with the same content.
 */
export async function adopt(parts: AdoptionParts, { collections, aliases }: BroughtContent): Promise<void> {
  for (const name of collections) await adoptOne(parts, name);
  const missing = aliases.filter(({ alias }) => !parts.map.state.aliases.has(alias));
  if (missing.length === 0) return;
  await propose(parts, (state) => ({
    kind: 'aliases_changed',
    actions: missing.flatMap(({ alias, collection: name }) => {
      const collection = state.names.get(name);
      return collection === undefined ? [] : [{ action: 'set' as const, alias, collection }];
    }),
  }));
}

async function adoptOne(parts: AdoptionParts, name: string): Promise<void> {
  const { engine, dataDir } = parts;
  const entry = await entryOf(parts, name);
  const replica = nameOf({ collection: entry.id, shard: 0 });
  if (!(await collectionExists(engine, replica))) {
    await replicaFolders(dataDir).use(async (work) => {
      const folder = await work.below('files');
      await linkFiles(engine, name, folder);
      await adoptFolders(engine, [{ name: replica, folder }]);
    });
  }
  await deleteCollection(engine, name);
}

/** The collection in the map; it is put there where it is not. */
async function entryOf(parts: AdoptionParts, name: string): Promise<CollectionEntry> {
  const { node, engine, logs, map, signal } = parts;
  if (!map.state.names.has(name)) {
    const info = (await executeJson(engine, {
      operation: 'collection_info',
      collection: name,
    })) as QdrantInfo;
    const configuration = JSON.stringify(bodyOfInfo(info).body);
    const { group } = numbered(map.state, logs.groups);
    const { position } = await readState(engine, name);
    const firstPosition = await moveOn(logs.group(group), position, signal);
    await propose(parts, (state) => {
      const number = numbered(state, logs.groups);
      if (number.group !== group) return { refused: `another collection came before ${name}` };
      const one = { shardNumber: 1, replicationFactor: 1, writeConsistencyFactor: 1 };
      const settings = { ...number, name, configuration, firstPosition, ...one, isAdopted: true };
      return { kind: 'collection_created', collection: { ...settings, placement: [[node]] } };
    });
  }
  const entry = map.state.collections.get(map.state.names.get(name) ?? 0);
  const shard = entry?.shards[0];
  if (entry?.isAdopted !== true || shard === undefined || replicaOn(shard, node) === undefined) {
    throw new IdentityError(`the cluster has another collection ${name} already`);
  }
  return entry;
}

/**
 * Has a stream go on behind a position, so that the numbers of its records are beyond those that the collection has used.
 * Returns the last sequence of the stream.
 */
async function moveOn(log: RecordLog, position: number, signal: AbortSignal): Promise<number> {
  for (;;) {
    const { lastSequence } = await log.state(signal);
    if (lastSequence >= position) return lastSequence;
    for (let sequence = lastSequence; sequence < position; sequence += 1) {
      const record = { operation: randomUUID(), epoch: 0, kind: FILLER, payload: new Uint8Array() };
      await log.publish(FILLER, record, { timeoutMs: PROPOSE_MS, signal });
    }
  }
}

async function propose(
  { map, signal }: AdoptionParts,
  make: (state: ShardMapState) => Proposal,
): Promise<void> {
  const decision = await map.change(make, { timeoutMs: PROPOSE_MS, signal });
  if ('refused' in decision)
    throw new IdentityError(`this node cannot join the cluster: ${decision.refused}`);
}
