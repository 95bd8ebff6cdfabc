import type { Engine } from '../../engine/types';
import { reasonOf } from '../../files/explained';
import { collectionNames, deleteCollection } from '../../snapshots/files-of-collections';
import {
  LogChangedError,
  LogUnavailableError,
  RecordsMissingError,
  StreamMissingError,
  type LogService,
} from '../log/record-log';
import type { ShardMap } from '../map/shard-map';
import { groupOf, replicaOn, type ShardMapState } from '../map/state';
import { replicaKey, type ReplicaReport } from '../membership/heartbeat';
import { pause } from '../pause';
import { nameOf, type Shard } from '../shards';
import { mappedShard, ReplicaOpening, type ReplicaSource } from './opening';
import { lastOperationOf } from './place';
import type { Progress } from './progress';
import { ReplicaReader, type ReaderEvents } from './replica-reader';
import type { ShardReplica } from './shard-replica';

/** A replica that is fewer messages behind has caught up. */
const CAUGHT_UP = 1000;
const RETRY_MS = 1000;

/** What the replicas of a node are made of. */
export interface LocalReplicasParts {
  readonly node: string;
  readonly engine: Engine;
  readonly logs: LogService;
  readonly map: ShardMap;
  readonly progress: Progress;
  readonly source: ReplicaSource;
  readonly events: Pick<ReaderEvents, 'answered' | 'digested'>;
  /** A replica cannot go on; it is tried again. */
  readonly failed: (name: string, error: unknown) => void;
}

/** A replica that this node has, or is making. */
interface Local {
  readonly shard: Shard;
  /** Aborted once it is to be deleted. Where the map still gives it to this node, it is made anew then. */
  readonly stop: AbortController;
  done: Promise<void>;
  replica?: ShardReplica | undefined;
  /** The epoch of the stream that it follows. */
  epoch?: number;
  /** The stream does not have the records any more that it needs next. */
  lacksRecords?: boolean;
  /** Its stream was found to be another one than it has read. */
  isStreamOther?: boolean;
  /** Ends the reading of a stream that was lost. */
  reading?: AbortController;
  /** It has stopped at the end of what it has of a stream that was lost. */
  isFrozen?: boolean;
  behind?: number;
  /** Whether it has caught up since this process began. */
  isCurrent: boolean;
  failure?: string;
}

/** The replicas that the shard map gives this node: makes them, has them follow their streams, and drops them. */
export class LocalReplicas {
  readonly #locals = new Map<string, Local>();
  readonly #stop = new AbortController();
  #settling: Promise<void> = Promise.resolve();
  #unsubscribe: (() => void) | undefined;
  /** Why the replicas are not those that the map gives this node. */
  #problem: string | undefined;
  /** Whether what an earlier process left was deleted. */
  #hasLooked = false;

  readonly #opening: ReplicaOpening;

  constructor(private readonly parts: LocalReplicasParts) {
    this.#opening = new ReplicaOpening(parts);
  }

  /** Begins to follow the shard map. */
  start(): void {
    const { map } = this.parts;
    this.#unsubscribe = map.onChange(() => {
      this.#settleLater();
    });
    this.#settleLater();
  }

  /** Lets what is being applied end, and stops. */
  async stop(): Promise<void> {
    this.#unsubscribe?.();
    this.#stop.abort();
    await this.#settling;
    await Promise.all([...this.#locals.values()].map(({ done }) => done));
    await this.parts.progress.save();
  }

  /** The replica of a shard, where this node has one that reads may be asked of. */
  current(shard: Shard): ShardReplica | undefined {
    const local = this.#locals.get(nameOf(shard));
    return local?.isCurrent === true ? local.replica : undefined;
  }

  /**
   * Has a replica made anew. Where it is wrong at a position, that takes a checkpoint of another node from there on: the stream
   * may lack what it lacks.
   */
  remake(shard: Shard, position?: number): void {
    const name = nameOf(shard);
    const local = this.#locals.get(name);
    if (local === undefined || local.stop.signal.aborted) return;
    local.isCurrent = false;
    local.stop.abort();
    if (position !== undefined) this.parts.progress.noteLacked(name, position);
    this.#settleLater();
  }

  /** The replicas that follow their streams. */
  following(): readonly { readonly shard: Shard; readonly replica: ShardReplica }[] {
    return [...this.#locals.values()].flatMap(({ shard, replica, stop }) =>
      replica === undefined || stop.signal.aborted ? [] : [{ shard, replica }],
    );
  }

  /** The replicas that reads may be asked of. */
  all(): readonly ShardReplica[] {
    return [...this.#locals.values()].flatMap(({ replica, isCurrent }) =>
      replica !== undefined && isCurrent ? [replica] : [],
    );
  }

  /** The replicas that have stopped because the stream of a log group was lost, with their names. */
  frozen(group: number): readonly ShardReplica[] {
    return [...this.#locals.values()].flatMap(({ shard, replica, isFrozen }) =>
      isFrozen === true && replica !== undefined && this.#groupOf(shard) === group ? [replica] : [],
    );
  }

  /** The log groups whose streams replicas have found to be others than they have read, and why. */
  changedStreams(): ReadonlyMap<number, string> {
    const changed = new Map<number, string>();
    for (const { shard, isStreamOther, failure } of this.#locals.values()) {
      const group = this.#groupOf(shard);
      if (isStreamOther === true && failure !== undefined && group !== undefined) changed.set(group, failure);
    }
    return changed;
  }

  /** Up to where the replicas of each log group have read, also those that are far behind. */
  positions(): readonly { readonly shard: Shard; readonly position: number }[] {
    return [...this.#locals.values()].flatMap(({ shard, replica }) =>
      replica === undefined ? [] : [{ shard, position: replica.position }],
    );
  }

  /** Up to where the replicas have read that `reports` does not have. */
  catchingUp(): ReadonlyMap<string, number> {
    const positions = new Map<string, number>();
    for (const { shard, replica, isCurrent } of this.#locals.values()) {
      if (replica !== undefined && !isCurrent)
        positions.set(replicaKey(shard.collection, shard.shard), replica.position);
    }
    return positions;
  }

  #groupOf({ collection }: Shard): number | undefined {
    return groupOf(this.parts.map.state, collection);
  }

  /** How far each replica is that has caught up with its stream. */
  reports(): ReadonlyMap<string, ReplicaReport> {
    const reports = new Map<string, ReplicaReport>();
    for (const { shard, replica, behind, isCurrent } of this.#locals.values()) {
      if (replica === undefined || behind === undefined || !isCurrent) continue;
      const { position, changed } = replica;
      reports.set(replicaKey(shard.collection, shard.shard), { position, behind, changed });
    }
    return reports;
  }

  /** What keeps replicas from going on, by name. */
  failures(): ReadonlyMap<string, string> {
    const failures = new Map<string, string>();
    if (this.#problem !== undefined) failures.set('all', this.#problem);
    for (const [name, { failure, replica }] of this.#locals) {
      const why = failure ?? replica?.stalled;
      if (why !== undefined) failures.set(name, why);
    }
    return failures;
  }

  /**
   * One change after the other: a replica that is dropped and given again is not in two states. What fails is done again a
   * second later.
   */
  #settleLater(): void {
    this.#settling = this.#settling.then(async () => {
      if (this.#stop.signal.aborted) return;
      try {
        await this.#settle(this.parts.map.state);
        this.#problem = undefined;
      } catch (error) {
        this.#problem = reasonOf(error);
        this.parts.failed('all', error);
        void pause(RETRY_MS, this.#stop.signal).then(() => {
          this.#settleLater();
        });
      }
    });
  }

  async #settle(state: ShardMapState): Promise<void> {
    const wanted = wantedOf(state, this.parts.node);
    for (const [name, local] of this.#locals) {
      const isWanted = wanted.has(name);
      if (!isWanted || local.stop.signal.aborted) await this.#drop(name, local);
      else if (this.#isStreamOver(local)) local.reading?.abort();
      if (!isWanted) this.parts.progress.forgetLacked(name);
    }
    await this.#deleteStrangers(wanted);
    for (const [name, shard] of wanted) {
      if (!this.#locals.has(name)) this.#begin(name, shard);
    }
  }

  #begin(name: string, shard: Shard): void {
    const stop = new AbortController();
    const local: Local = { shard, stop, isCurrent: false, done: Promise.resolve() };
    this.#locals.set(name, local);
    local.done = this.#keep(local, name, AbortSignal.any([stop.signal, this.#stop.signal]));
  }

  /** Has a replica follow its stream, again after each failure, until it is stopped. */
  async #keep(local: Local, name: string, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        if (this.#isStreamLost(local.shard)) await this.#freeze(local, name, signal);
        else await this.#follow(local, await this.#opened(local, name, signal), signal);
      } catch (error) {
        if (isAborted(signal)) return;
        this.#noteFailure(local, name, error);
        await pause(RETRY_MS, signal);
      }
    }
  }

  #noteFailure(local: Local, name: string, error: unknown): void {
    local.failure = reasonOf(error);
    if (error instanceof LogChangedError) local.isStreamOther = true;
    // What a replica has stays readable while its stream is in question.
    if (!isOfLog(error)) local.isCurrent = false;
    // What the stream does not have any more is in a checkpoint.
    if (error instanceof RecordsMissingError) local.lacksRecords = true;
    this.parts.failed(name, error);
  }

  #isStreamLost(shard: Shard): boolean {
    return mappedShard(this.parts.map.state, shard).stream.lost !== undefined;
  }

  /** Whether the stream that a replica follows is lost, or another one has taken its place already. */
  #isStreamOver({ shard, epoch }: Local): boolean {
    const { stream } = mappedShard(this.parts.map.state, shard);
    return stream.lost !== undefined || (epoch !== undefined && epoch !== stream.epoch);
  }

  /** The replica, made ready for the present stream of its shard. */
  async #opened(local: Local, name: string, signal: AbortSignal): Promise<ShardReplica> {
    const { epoch } = mappedShard(this.parts.map.state, local.shard).stream;
    if (local.replica === undefined || local.lacksRecords === true || local.epoch !== epoch) {
      local.isCurrent = false;
      local.replica = await this.#opening.open(local.shard, name, local.lacksRecords ?? false, signal);
      local.epoch = epoch;
      delete local.lacksRecords;
    }
    return local.replica;
  }

  /** Stands still while the stream of the shard is lost; an active replica answers reads meanwhile. */
  async #freeze(local: Local, name: string, signal: AbortSignal): Promise<void> {
    const { map, node } = this.parts;
    local.replica ??= await this.#opening.asItIs(local.shard, name);
    const entry = replicaOn(mappedShard(map.state, local.shard).entry, node);
    const isDropped = local.stop.signal.aborted;
    local.isCurrent = !isDropped && local.replica !== undefined && entry?.state === 'active';
    local.isFrozen = true;
    delete local.failure;
    delete local.isStreamOther;
    try {
      await this.#untilStreamIsBack(local.shard, signal);
    } finally {
      local.isFrozen = false;
      delete local.epoch;
    }
  }

  /** Resolves when the shard has a stream that takes records, or is gone, or when the signal is aborted. */
  #untilStreamIsBack(shard: Shard, signal: AbortSignal): Promise<void> {
    const { map } = this.parts;
    return new Promise((resolve) => {
      const look = (): void => {
        if (!signal.aborted && map.state.collections.has(shard.collection) && this.#isStreamLost(shard))
          return;
        unsubscribe();
        signal.removeEventListener('abort', look);
        resolve();
      };
      const unsubscribe = map.onChange(look);
      signal.addEventListener('abort', look);
      look();
    });
  }

  async #follow(local: Local, replica: ShardReplica, signal: AbortSignal): Promise<void> {
    const { node, engine, logs, progress, events, map } = this.parts;
    const { collection, firstPosition } = mappedShard(map.state, local.shard);
    const log = logs.group(collection.group);
    local.reading = new AbortController();
    const reading = AbortSignal.any([signal, local.reading.signal]);
    // It may have been lost, and replaced, while the replica was made ready for it: that lacks what is before the new one.
    if (this.#isStreamOver(local)) return;
    const lastOperation = await lastOperationOf(log, { shard: local.shard, replica, firstPosition }, reading);
    const { lastSequence } = await log.state(reading);
    const behind = (messages: number): void => {
      local.behind = messages;
      delete local.failure;
      delete local.isStreamOther;
      // A few records are all that a small shard has: it has caught up when it has those of the beginning.
      const hasRead = messages === 0 || replica.position >= lastSequence;
      if (hasRead && messages < CAUGHT_UP && !local.stop.signal.aborted) local.isCurrent = true;
    };
    const parts = { node, engine, log, progress, events: { ...events, behind } };
    progress.note(replica.name, firstPosition);
    await new ReplicaReader(local.shard, replica, parts).run(reading, lastOperation);
  }

  /** Where the deletion fails the replica stays as one that is to be deleted: another look tries that again. */
  async #drop(name: string, local: Local): Promise<void> {
    local.isCurrent = false;
    local.stop.abort();
    await local.done;
    await this.#delete(name);
    this.#locals.delete(name);
  }

  async #delete(name: string): Promise<void> {
    this.parts.progress.forget(name);
    await this.parts.progress.save();
    await deleteCollection(this.parts.engine, name);
  }

  /**
   * Deletes, once after a start, the collections of the engine that the map does not give this node: replicas that were dropped
   * while it was down, and what the check of a new collection left when the process ended.
   */
  async #deleteStrangers(wanted: ReadonlyMap<string, Shard>): Promise<void> {
    if (this.#hasLooked) return;
    for (const name of await collectionNames(this.parts.engine)) {
      if (!wanted.has(name)) await this.#delete(name);
    }
    this.#hasLooked = true;
  }
}

/** The shards of which the map gives a node a replica, by the names of the replicas. */
function wantedOf({ collections }: ShardMapState, node: string): ReadonlyMap<string, Shard> {
  const wanted = new Map<string, Shard>();
  for (const { id: collection, shards } of collections.values()) {
    for (const [shard, entry] of shards.entries()) {
      if (replicaOn(entry, node) !== undefined)
        wanted.set(nameOf({ collection, shard }), { collection, shard });
    }
  }
  return wanted;
}

/** Whether an error says something of the log servers, and nothing of a replica. */
function isOfLog(error: unknown): boolean {
  return (
    error instanceof LogChangedError ||
    error instanceof LogUnavailableError ||
    error instanceof StreamMissingError
  );
}

function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}
