import type { Logger } from 'pino';
import { recordFrom } from '../log/record-from';
import { LogChangedError, type LogServers } from '../log/record-log';
import { LaterVersionError } from '../map/event';
import type { ShardMap } from '../map/shard-map';
import { nodeIds } from '../map/state';
import type { Members } from '../membership/members';
import { MapLostError, type KnownMap } from './known-map';
import { planRecovery, recoverMap } from './map-recovery';
import { openMapStream } from './opening';
import type { StreamWatch } from './watch';

/** Something is done in each so many looks that find the map lost, the first time then too: log servers that start may err. */
const LOOKS = 3;
const LOOK_MS = 30_000;

/** What repairing the map needs. */
export interface MapRepairParts {
  /** The id of this node. */
  readonly node: string;
  readonly servers: LogServers;
  readonly map: Pick<ShardMap, 'state' | 'failure' | 'isLast'>;
  readonly known: KnownMap;
  /** When the stream was made that this node reads the map from, as the log servers write it. */
  readonly created: string;
  /** Saves the map as this node has it. */
  readonly noteMap: () => Promise<void>;
  readonly members: Pick<Members, 'isLive' | 'heartbeatOf'>;
  readonly watch: Pick<StreamWatch, 'mapProblem'>;
  /** Ends all that this node does in the cluster, and joins it again. */
  readonly rejoin: () => void;
  readonly log: Pick<Logger, 'warn'>;
  /** How long the stream must be found lost; that of `planRecovery` where absent. */
  readonly settleMs?: number;
}

/**
 * Makes the stream of the shard map anew where the log servers have lost it while nodes run. One node does it, with the map that it has
 * read; the others find the new stream and follow it. All nodes have to be live, so that none is left that has read more of the lost
 * stream: where one is not, `kithdb cluster recover-map` is the way (docs/cluster.md).
 */
export class MapRepair {
  #looks = 0;
  #waiting: string | undefined;

  constructor(private readonly parts: MapRepairParts) {}

  /** Why a lost map is not made anew. */
  problems(): readonly string[] {
    return this.#waiting === undefined ? [] : [this.#waiting];
  }

  /** Looks whether the map was lost, and does what this node can do about it. */
  async look(signal: AbortSignal): Promise<void> {
    const { map, watch, rejoin } = this.parts;
    // A node that is too old for the map has not lost it.
    const isLost = watch.mapProblem() !== undefined && !(map.failure instanceof LaterVersionError);
    this.#looks = isLost ? this.#looks + 1 : 0;
    if (!isLost) this.#waiting = undefined;
    if (this.#looks === 0 || this.#looks % LOOKS !== 0) return;
    const isThere = await this.#hasStream(signal);
    if (isThere === 'lost') await this.#recover(signal);
    else if (isThere === 'another' || (await this.#goesOn(signal))) rejoin();
  }

  /** Whether the log servers have the stream again with all that this node has read, or another one that goes on from it. */
  async #hasStream(signal: AbortSignal): Promise<'same' | 'another' | 'lost'> {
    const { servers, known, noteMap, created } = this.parts;
    await noteMap();
    try {
      const now = await openMapStream(servers, known, { timeoutMs: LOOK_MS, signal });
      return now.created === created ? 'same' : 'another';
    } catch (error) {
      if (error instanceof MapLostError) return 'lost';
      throw error;
    }
  }

  /** Whether this node stopped reading a stream that has what it has read: a log server that was behind led it for a while. */
  async #goesOn(signal: AbortSignal): Promise<boolean> {
    const { servers, map } = this.parts;
    if (!(map.failure instanceof LogChangedError)) return false;
    const place = { fromSequence: map.state.version };
    const record = await recordFrom(servers.map, place, { timeoutMs: LOOK_MS, signal });
    return record !== undefined && map.isLast(record);
  }

  async #recover(signal: AbortSignal): Promise<void> {
    const { servers, known, rejoin, map, log, settleMs } = this.parts;
    if (!this.#isItsTurn()) return;
    const plan = await planRecovery(servers, known, { signal, ...(settleMs !== undefined && { settleMs }) });
    // It took a while.
    if (!this.#isItsTurn()) return;
    log.warn(
      { found: plan.found, version: map.state.version },
      'the shard map is made anew of what nodes have read',
    );
    await recoverMap(servers, known, plan, signal);
    rejoin();
  }

  /** Whether this node has read the most of the map, and has the lowest id of those; notes why nobody has. */
  #isItsTurn(): boolean {
    const { node, map, members } = this.parts;
    const ids = nodeIds(map.state);
    const silent = ids.filter((id) => !members.isLive(id));
    this.#waiting =
      silent.length === 0
        ? undefined
        : `the shard map is made anew when all nodes are live, and ${silent.join(', ')} is not: see docs/cluster.md`;
    if (silent.length > 0) return false;
    const versionOf = (id: string): number => members.heartbeatOf(id)?.mapVersion ?? 0;
    const highest = Math.max(map.state.version, ...ids.map(versionOf));
    const first = ids.filter((id) => versionOf(id) === highest).sort()[0];
    return first === node && map.state.version === highest;
  }
}
