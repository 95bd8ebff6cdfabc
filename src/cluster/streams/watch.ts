import type { Logger } from 'pino';
import { EngineError } from '../../engine/types';
import { stateReaching } from '../log/reaching';
import { LogUnavailableError, StreamMissingError, type LogServers, type RecordLog } from '../log/record-log';
import type { ShardMap } from '../map/shard-map';
import { groupOf, type StreamEntry } from '../map/state';
import type { Members } from '../membership/members';
import type { LocalReplicas } from '../replica/local-replicas';
import { tryEach } from '../try-each';
import { unlessAborted } from '../waiting';
import type { KnownMap } from './known-map';

/** A stream is given up after so many looks in succession that found it to be another one: servers that start may err. */
const LOOKS = 3;
/** A stream that nothing is known against is looked at each so many looks. */
const SELDOM = 3;
const PROPOSE_MS = 5_000;

/** What watching the streams needs. */
export interface WatchParts {
  readonly logs: Pick<LogServers, 'groups' | 'group'>;
  readonly map: Pick<ShardMap, 'state' | 'log' | 'propose' | 'failure'>;
  /** What this node has seen of the stream of the map. */
  readonly known: Pick<KnownMap, 'differenceTo'>;
  readonly members: Members;
  readonly replicas: Pick<LocalReplicas, 'positions' | 'changedStreams'>;
  readonly log: Logger;
}

/** What was found against a stream, and in how many looks in succession, those before a record is published left out. */
interface Doubt {
  readonly what: string;
  looks: number;
}

/**
 * Looks whether the log servers still have the streams that the replicas have read. A stream that is gone, was made anew, or ends
 * before what a replica has read of it was lost: the shard map notes that of a log group, and its writes stop. Where the stream
 * of the shard map itself was lost, all writes stop.
 */
export class StreamWatch {
  readonly #doubts = new Map<number, Doubt>();
  /** What was found against the stream of the map. */
  #mapDoubt: string | undefined;
  /** Looks that are under way, by group; who needs one joins it. */
  readonly #underWay = new Map<number | 'map', Promise<void>>();
  /** Groups whose streams were not looked at since the connection was lost. */
  readonly #unchecked = new Set<number>();
  #isMapUnchecked = false;
  /** The last record of each group that this node has published. */
  readonly #published = new Map<number, number>();
  #look = 0;
  /** How often the connection was lost. */
  #pauses = 0;

  constructor(private readonly parts: WatchParts) {}

  /** The log servers may have restarted: every stream is looked at before something is published to it. */
  notePause(): void {
    for (let group = 0; group < this.parts.logs.groups; group += 1) this.#unchecked.add(group);
    this.#isMapUnchecked = true;
    // What these find may be of the time before.
    this.#pauses += 1;
    this.#underWay.clear();
  }

  /** A record of this node is in the stream of a group. */
  notePublished(group: number, sequence: number): void {
    this.#published.set(group, Math.max(sequence, this.#published.get(group) ?? 0));
  }

  /** Why groups, or all of them, take no writes. */
  problems(): readonly string[] {
    const { map } = this.parts;
    const lost = [...map.state.streams].flatMap(([group, { lost: why }]) =>
      why === undefined ? [] : [`the stream of log group ${group} was lost, and takes no writes: ${why}`],
    );
    const doubts = [...this.#doubts].map(
      ([group, { what }]) => `the stream of log group ${group} takes no writes: ${what}`,
    );
    const ofMap = this.mapProblem();
    return [...(ofMap === undefined ? [] : [ofMap]), ...lost, ...doubts];
  }

  /**
   * Resolves where the stream of a group takes records.
   * @throws EngineError `unavailable`
   */
  async admit(group: number): Promise<StreamEntry> {
    if (this.#unchecked.has(group)) await this.#check(group);
    if (this.#isMapUnchecked) await this.#checkMap();
    // As the map is now: it may have noted a loss meanwhile.
    const entry = this.parts.map.state.streams.get(group);
    const problem = this.mapProblem() ?? entry?.lost ?? this.#doubts.get(group)?.what;
    if (entry !== undefined && problem === undefined && !this.#unchecked.has(group)) return entry;
    const why = problem ?? 'the log servers cannot be reached';
    throw new EngineError('unavailable', { message: `log group ${group} takes no writes: ${why}` });
  }

  /** Looks at the streams that need it, and has the map note what was lost. */
  async look(signal: AbortSignal): Promise<void> {
    this.#look += 1;
    const isEach = this.#look % SELDOM === 0;
    if (isEach || this.#isMapUnchecked || this.#mapDoubt !== undefined)
      await unlessAborted(this.#checkMap(), signal);
    const changed = this.parts.replicas.changedStreams();
    const isDue = (group: number): boolean =>
      isEach || this.#unchecked.has(group) || this.#doubts.has(group) || changed.has(group);
    await tryEach(this.parts.map.state.streams.keys(), (group) => this.#lookAt(group, isDue, signal), signal);
    const certain = [...this.#doubts].filter(([, { looks }]) => looks >= LOOKS);
    await tryEach(certain, ([group, { what }]) => this.#giveUp(group, what, signal), signal);
  }

  async #lookAt(group: number, isDue: (group: number) => boolean, signal: AbortSignal): Promise<void> {
    if (this.parts.map.state.streams.get(group)?.lost !== undefined) {
      this.#doubts.delete(group);
    } else if (isDue(group)) {
      await unlessAborted(this.#check(group), signal);
      const doubt = this.#doubts.get(group);
      if (doubt !== undefined) doubt.looks += 1;
    }
  }

  async #giveUp(group: number, reason: string, signal: AbortSignal): Promise<void> {
    const { map, log } = this.parts;
    const epoch = map.state.streams.get(group)?.epoch;
    if (epoch === undefined || this.mapProblem() !== undefined) return;
    log.error({ group, epoch, reason }, 'the stream of a log group was lost');
    const limits = { timeoutMs: PROPOSE_MS, signal };
    await map.propose(() => ({ kind: 'stream_lost', group, epoch, reason }), limits);
  }

  #check(group: number): Promise<void> {
    return this.#once(group, () => this.#checkNow(group));
  }

  #checkMap(): Promise<void> {
    return this.#once('map', () => this.#checkMapNow());
  }

  /** Looks, or joins the look that is under way. */
  #once(of: number | 'map', look: () => Promise<void>): Promise<void> {
    const known = this.#underWay.get(of);
    if (known !== undefined) return known;
    const begun = look().finally(() => {
      if (this.#underWay.get(of) === begun) this.#underWay.delete(of);
    });
    this.#underWay.set(of, begun);
    return begun;
  }

  async #checkNow(group: number): Promise<void> {
    const { logs, map, replicas } = this.parts;
    const entry = map.state.streams.get(group);
    if (entry === undefined) return;
    const pauses = this.#pauses;
    // Before the stream is asked: it must reach so far.
    const highest = this.#highestOf(group, entry);
    const found = await findingOf(logs.group(group, entry.epoch), entry.created, highest);
    // Another stream has taken its place meanwhile.
    if (found === undefined || map.state.streams.get(group)?.epoch !== entry.epoch) return;
    if (pauses === this.#pauses) this.#unchecked.delete(group);
    const what = found.difference ?? replicas.changedStreams().get(group);
    if (what === undefined) this.#doubts.delete(group);
    else this.#doubts.set(group, { what, looks: this.#doubts.get(group)?.looks ?? 0 });
  }

  /** The highest position of a group that anybody is known to have read. */
  #highestOf(group: number, { firstPosition }: StreamEntry): number {
    const { members, replicas, map } = this.parts;
    let highest = Math.max(firstPosition, this.#published.get(group) ?? 0);
    for (const { shard, position } of replicas.positions()) {
      if (groupOf(map.state, shard.collection) === group) highest = Math.max(highest, position);
    }
    return Math.max(
      highest,
      members.highestPosition((collection) => groupOf(map.state, collection) === group),
    );
  }

  /** Why the stream of the shard map takes no events; undefined where it does. */
  mapProblem(): string | undefined {
    const { failure } = this.parts.map;
    if (failure !== undefined) return `the shard map cannot be read any more: ${failure.message}`;
    const doubt = this.#mapDoubt;
    return doubt && `the stream of the shard map was lost, and all writes have stopped: ${doubt}`;
  }

  async #checkMapNow(): Promise<void> {
    const { map, known } = this.parts;
    const pauses = this.#pauses;
    const before = map.state.version;
    let what: string | undefined;
    try {
      const { created, lastSequence } = await stateReaching(map.log, before);
      what =
        lastSequence < before ? endsAt(lastSequence, before) : known.differenceTo({ created, lastSequence });
    } catch (error) {
      if (error instanceof LogUnavailableError) return;
      if (!(error instanceof StreamMissingError)) throw error;
      what = error.message;
    }
    if (pauses === this.#pauses) this.#isMapUnchecked = false;
    this.#mapDoubt = what;
  }
}

/** How a stream differs from the one that was read; undefined where it cannot be asked. */
async function findingOf(
  stream: RecordLog,
  created: string,
  highest: number,
): Promise<{ readonly difference: string | undefined } | undefined> {
  try {
    const now = await stateReaching(stream, highest);
    if (now.created !== created) {
      return { difference: `it was made at ${now.created}, and the one that was read at ${created}` };
    }
    return { difference: now.lastSequence < highest ? endsAt(now.lastSequence, highest) : undefined };
  } catch (error) {
    if (error instanceof StreamMissingError) return { difference: error.message };
    if (error instanceof LogUnavailableError) return undefined;
    throw error;
  }
}

function endsAt(last: number, highest: number): string {
  return `it ends at ${last}, and records up to ${highest} were read of it`;
}
