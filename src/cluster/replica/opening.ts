import type { Engine } from '../../engine/types';
import { collectionExists } from '../../snapshots/files-of-collections';
import type { LogService } from '../log/record-log';
import type { CollectionEntry, ShardEntry, ShardMapState, StreamEntry } from '../map/state';
import type { Shard } from '../shards';
import type { CheckpointReach } from './checkpoint-reach';
import type { Progress } from './progress';
import { bodyOf } from '../engine-body';
import { readState, ShardReplica } from './shard-replica';

/** A replica that lacks so many records is rather made of a checkpoint than of all of them. */
const MANY_RECORDS = 1000;

/** What a replica is to be made of. */
export interface WantedCheckpoint extends CheckpointReach {
  /** The position of a record that the replica was not given: a checkpoint of another node has to have it. */
  readonly lacked?: number;
}

/** Fills a replica that the stream cannot fill from its beginning. */
export interface ReplicaSource {
  /**
   * Makes the engine's collection from the newest checkpoint of the shard that is of the wanted epoch and reaches at least
   * as far, in the place of one that is there. Resolves with how far it reaches; undefined where there is none.
   */
  restore(
    shard: Shard,
    name: string,
    wanted: WantedCheckpoint,
    signal: AbortSignal,
  ): Promise<number | undefined>;
}

/** What replicas are opened with. */
export interface OpeningParts {
  readonly engine: Engine;
  readonly logs: LogService;
  readonly map: { readonly state: ShardMapState };
  readonly progress: Progress;
  readonly source: ReplicaSource;
}

/** A shard as the map has it, with its collection and the stream of its writes. */
export interface MappedShard {
  readonly collection: CollectionEntry;
  readonly entry: ShardEntry;
  readonly stream: StreamEntry;
  /** Every record of the shard in that stream has a later position. */
  readonly firstPosition: number;
}

/** A shard of the map. @throws Error where the map does not have it */
export function mappedShard(
  { collections, streams }: ShardMapState,
  { collection: id, shard }: Shard,
): MappedShard {
  const collection = collections.get(id);
  const entry = collection?.shards[shard];
  if (collection === undefined || entry === undefined) throw new Error(`the collection ${id} is gone`);
  const stream = streams.get(collection.group);
  if (stream === undefined) throw new Error(`the stream of log group ${collection.group} is not known yet`);
  const firstPosition = Math.max(collection.firstPosition, stream.firstPosition);
  return { collection, entry, stream, firstPosition };
}

/** Opens the replicas that the engine has, and makes the others. */
export class ReplicaOpening {
  constructor(private readonly parts: OpeningParts) {}

  /** The replica that the engine has, in whatever state. */
  async asItIs(shard: Shard, name: string): Promise<ShardReplica | undefined> {
    const { engine } = this.parts;
    return (await collectionExists(engine, name)) ? ShardReplica.open(engine, name, shard.shard) : undefined;
  }

  /**
   * Opens the replica that the engine has, or makes it: from the beginning of its stream, or from a checkpoint. `lacksRecords`
   * says that the stream does not have the records any more that the replica needs next.
   * @throws Error where it is to be made of a checkpoint, and there is none. What the engine has stays then.
   */
  async open(shard: Shard, name: string, lacksRecords: boolean, signal: AbortSignal): Promise<ShardReplica> {
    const { engine, progress } = this.parts;
    const { collection, entry, stream, firstPosition } = mappedShard(this.parts.map.state, shard);
    // A replica that is wrong was perhaps not deleted before the process ended.
    const lacked = progress.lackedBy(name);
    const exists = await collectionExists(engine, name);
    const isUsable = exists && lacked === undefined && !lacksRecords;
    if (isUsable && (await isOfStream(engine, name, entry, stream))) {
      return ShardReplica.open(engine, name, shard.shard);
    }
    if (!exists) progress.forget(name);
    const { firstSequence, lastSequence } = await this.parts.logs.group(collection.group).state(signal);
    // All of its records were in this stream, and still are.
    const isNew =
      !exists && lacked === undefined && entry.origin === undefined && collection.isAdopted !== true;
    const isWhole = isNew && firstSequence <= firstPosition + 1;
    if (!isWhole || lastSequence - firstPosition > MANY_RECORDS) {
      const reach = { epoch: stream.epoch, readTo: firstSequence - 1 };
      const wanted = lacked === undefined ? reach : { ...reach, lacked };
      const isRestored = await this.#restore(shard, name, wanted, { isNeeded: !isWhole, signal });
      if (isRestored) return ShardReplica.open(engine, name, shard.shard);
    }
    await this.#create(name, collection);
    return ShardReplica.open(engine, name, shard.shard);
  }

  /** Makes a replica of a checkpoint; false where there is none and it is not needed. */
  async #restore(
    shard: Shard,
    name: string,
    wanted: WantedCheckpoint,
    { isNeeded, signal }: { readonly isNeeded: boolean; readonly signal: AbortSignal },
  ): Promise<boolean> {
    const { source, progress } = this.parts;
    let readTo: number | undefined;
    try {
      readTo = await source.restore(shard, name, wanted, signal);
    } catch (error) {
      if (isNeeded || signal.aborted) throw error;
    }
    if (readTo !== undefined) {
      progress.forget(name);
      progress.forgetLacked(name);
      progress.note(name, readTo);
    } else if (isNeeded) {
      throw new Error(whyNotMade(name, wanted));
    }
    return readTo !== undefined;
  }

  async #create(name: string, { configuration }: CollectionEntry): Promise<void> {
    const { engine } = this.parts;
    const body = bodyOf(engine, Buffer.from(configuration));
    await engine.execute({ operation: 'create_collection', collection: name, body });
  }
}

/**
 * Whether a replica has the state with which its shard went over to the present stream, or has applied records of it. Others were
 * behind when the stream before was lost, or have what was lost with it: no record of the present stream tells them.
 */
export async function isOfStream(
  engine: Engine,
  name: string,
  { origin }: ShardEntry,
  { firstPosition }: StreamEntry,
): Promise<boolean> {
  if (origin === undefined) return true;
  const { position } = await readState(engine, name);
  if (position > firstPosition) return true;
  if (position !== origin.position) return false;
  return (await readState(engine, name, true)).digest === origin.digest;
}

function whyNotMade(name: string, { epoch, readTo, lacked }: WantedCheckpoint): string {
  return lacked === undefined
    ? `${name}: the stream of epoch ${epoch} begins behind ${readTo}, and there is no checkpoint that reaches so far`
    : `${name}: it was wrong at position ${lacked}, and no other node has saved a checkpoint from there on yet`;
}
