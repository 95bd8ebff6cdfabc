import type { Engine } from '../../engine/types';
import { collectionExists, collectionNames, isGone } from '../../snapshots/files-of-collections';
import { RecordsMissingError, type LogService } from '../log/record-log';
import type { ShardMap } from '../map/shard-map';
import { replicaOn, type CollectionEntry, type ShardMapState } from '../map/state';
import { replicaKey, type ReplicaReport } from '../membership/heartbeat';
import { pause } from '../pause';
import { nameOf, type Shard } from '../shards';
import type { Progress } from './progress';
import { ReplicaReader, type ReaderEvents } from './replica-reader';
import { bodyOf, ShardReplica } from './shard-replica';

/** A replica that is fewer messages behind has caught up. */
const CAUGHT_UP = 1000;
const RETRY_MS = 1000;

/** Fills a replica that the stream cannot fill from its beginning. */
export interface ReplicaSource {
  /**
   * Makes the engine's collection from the last checkpoint of the shard that can be used; false where there is none at
   * `position` or later that another node has saved, if a position is given.
   */
  restore(shard: Shard, name: string, position: number | undefined, signal: AbortSignal): Promise<boolean>;
}

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
  readonly stop: AbortController;
  done: Promise<void>;
  replica?: ShardReplica;
  behind?: number;
  /** Whether it has caught up since this process began. */
  isCurrent: boolean;
  /** It is going to be made anew. */
  isWrong?: boolean;
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
  /** Whether what an earlier process left was looked for. */
  #hasLooked = false;

  constructor(private readonly parts: LocalReplicasParts) {}

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
   * Has a replica made anew of a checkpoint of another node, at a position or later: up to there it is wrong, and the stream
   * may lack what it lacks. False where that is under way, or there is no such replica.
   */
  remake(shard: Shard, position: number): boolean {
    const name = nameOf(shard);
    const local = this.#locals.get(name);
    if (local?.replica === undefined || local.isWrong === true) return false;
    local.isCurrent = false;
    local.isWrong = true;
    this.parts.progress.noteLacked(name, position);
    this.#settleLater(async () => {
      if (this.#locals.get(name) === local) await this.#drop(name, local);
    });
    return true;
  }

  /** The replicas that follow their streams. */
  following(): readonly { readonly shard: Shard; readonly replica: ShardReplica }[] {
    return [...this.#locals.values()].flatMap(({ shard, replica, isWrong }) =>
      replica === undefined || isWrong === true ? [] : [{ shard, replica }],
    );
  }

  /** The replicas that reads may be asked of. */
  all(): readonly ShardReplica[] {
    return [...this.#locals.values()].flatMap(({ replica, isCurrent }) =>
      replica !== undefined && isCurrent ? [replica] : [],
    );
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
  #settleLater(before?: () => Promise<void>): void {
    this.#settling = this.#settling.then(async () => {
      if (this.#stop.signal.aborted) return;
      try {
        await before?.();
        await this.#settle(this.parts.map.state);
        this.#problem = undefined;
      } catch (error) {
        this.#problem = error instanceof Error ? error.message : String(error);
        this.parts.failed('all', error);
        void pause(RETRY_MS, this.#stop.signal).then(() => {
          this.#settleLater(before);
        });
      }
    });
  }

  async #settle(state: ShardMapState): Promise<void> {
    const wanted = wantedOf(state, this.parts.node);
    for (const [name, local] of this.#locals) {
      if (wanted.has(name)) continue;
      this.parts.progress.forgetLacked(name);
      await this.#drop(name, local);
    }
    for (const name of await this.#strangers(wanted)) await this.#delete(name);
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
        local.replica ??= await this.#open(local.shard, name, signal);
        await this.#follow(local, local.replica, signal);
      } catch (error) {
        if (isAborted(signal)) return;
        local.failure = error instanceof Error ? error.message : String(error);
        local.isCurrent = false;
        this.parts.failed(name, error);
        // What the stream does not have any more is in a checkpoint.
        if (error instanceof RecordsMissingError) await this.#discard(local, name).catch(() => undefined);
        await pause(RETRY_MS, signal);
      }
    }
  }

  async #follow(local: Local, replica: ShardReplica, signal: AbortSignal): Promise<void> {
    const { node, engine, logs, progress, events } = this.parts;
    const entry = this.#entryOf(local.shard);
    const log = logs.group(entry.group);
    const { lastSequence } = await log.state();
    const behind = (messages: number): void => {
      local.behind = messages;
      delete local.failure;
      // A few records are all that a small shard has: it has caught up when it has those of the beginning.
      const hasRead = messages === 0 || replica.position >= lastSequence;
      if (hasRead && messages < CAUGHT_UP) local.isCurrent = true;
    };
    const parts = { node, engine, log, progress, events: { ...events, behind } };
    progress.note(replica.name, entry.firstPosition);
    await new ReplicaReader(local.shard, replica, parts).run(signal);
  }

  /** Opens the replica that the engine has, else makes it: from the stream's beginning, or from a checkpoint. */
  async #open(shard: Shard, name: string, signal: AbortSignal): Promise<ShardReplica> {
    const { engine, source, logs, progress } = this.parts;
    if (!(await collectionExists(engine, name))) {
      progress.forget(name);
      const entry = this.#entryOf(shard);
      const { firstSequence } = await logs.group(entry.group).state();
      const lacked = progress.lackedBy(name);
      const isWhole =
        lacked === undefined && entry.isAdopted !== true && firstSequence <= entry.firstPosition + 1;
      const isRestored = !isWhole && (await source.restore(shard, name, lacked, signal));
      if (!isWhole && !isRestored) throw new Error(whyNotMade(name, lacked));
      progress.forgetLacked(name);
      if (isWhole) await this.#create(name, entry);
    }
    return ShardReplica.open(engine, name, shard.shard);
  }

  async #create(name: string, { configuration }: CollectionEntry): Promise<void> {
    const { engine } = this.parts;
    const body = bodyOf(engine, Buffer.from(configuration));
    await engine.execute({ operation: 'create_collection', collection: name, body });
  }

  async #drop(name: string, local: Local): Promise<void> {
    local.stop.abort();
    await local.done;
    this.#locals.delete(name);
    await this.#delete(name);
  }

  /** Removes the engine's collection, for it to be made anew. */
  async #discard(local: Local, name: string): Promise<void> {
    delete local.replica;
    await this.#delete(name);
  }

  async #delete(name: string): Promise<void> {
    this.parts.progress.forget(name);
    await this.parts.progress.save();
    try {
      await this.parts.engine.execute({ operation: 'delete_collection', collection: name });
    } catch (error) {
      if (!isGone(error)) throw error;
    }
  }

  /**
   * Collections of the engine that the map does not give this node, and that nothing follows: replicas that were dropped while
   * it was down, and what the check of a new collection left when the process ended.
   */
  async #strangers(wanted: ReadonlyMap<string, Shard>): Promise<readonly string[]> {
    if (this.#hasLooked) return [];
    this.#hasLooked = true;
    return (await collectionNames(this.parts.engine)).filter((name) => !wanted.has(name));
  }

  #entryOf({ collection }: Shard): CollectionEntry {
    const entry = this.parts.map.state.collections.get(collection);
    if (entry === undefined) throw new Error(`the collection ${collection} is gone`);
    return entry;
  }
}

function whyNotMade(name: string, lacked: number | undefined): string {
  return lacked === undefined
    ? `${name}: the stream begins behind its first record, and there is no checkpoint of it`
    : `${name}: it was wrong at position ${lacked}, and no other node has saved a checkpoint from there on yet`;
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

function isAborted(signal: AbortSignal): boolean {
  return signal.aborted;
}
