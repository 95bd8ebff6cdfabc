import type { Logger } from 'pino';
import type { LogServers } from '../log/record-log';
import { LaterVersionError } from '../map/event';
import type { ShardMap } from '../map/shard-map';
import { nodeIds } from '../map/state';
import type { Members } from '../membership/members';
import { MapLostError, type KnownMap } from './known-map';
import { planRecovery, recoverMap } from './map-recovery';
import { openMapStream } from './opening';
import type { StreamWatch } from './watch';

/** The map counts as lost after so many looks in succession: log servers that start may err. */
const LOOKS = 3;
const LOOK_MS = 30_000;

/** What repairing the map needs. */
export interface MapRepairParts {
  /** The id of this node. */
  readonly node: string;
  readonly servers: LogServers;
  readonly map: Pick<ShardMap, 'state' | 'failure'>;
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
    const { map, watch } = this.parts;
    this.#waiting = undefined;
    // A node that is too old for the map has not lost it.
    const isLost = watch.mapProblem() !== undefined && !(map.failure instanceof LaterVersionError);
    this.#looks = isLost ? this.#looks + 1 : 0;
    if (this.#looks < LOOKS) return;
    if (await this.#canFollow(signal)) this.parts.rejoin();
    else await this.#recover(signal);
  }

  /** Whether the log servers have a stream again with all that this node has read, or one that goes on from it. */
  async #canFollow(signal: AbortSignal): Promise<boolean> {
    const { servers, known, noteMap, created, map } = this.parts;
    await noteMap();
    try {
      const now = await openMapStream(servers, known, { timeoutMs: LOOK_MS, signal });
      return now.created !== created || map.failure !== undefined;
    } catch (error) {
      if (error instanceof MapLostError) return false;
      throw error;
    }
  }

  async #recover(signal: AbortSignal): Promise<void> {
    const { servers, known, rejoin, map, log } = this.parts;
    if (!this.#isItsTurn()) return;
    const plan = await planRecovery(servers, known);
    // It took a while.
    if (signal.aborted || !this.#isItsTurn()) return;
    log.warn(
      { found: plan.found, version: map.state.version },
      'the shard map is made anew of what nodes have read',
    );
    await recoverMap(servers, known, plan);
    rejoin();
  }

  /** Whether this node has read the most of the map, and has the lowest id of those; notes why nobody has. */
  #isItsTurn(): boolean {
    const { node, map, members } = this.parts;
    const ids = nodeIds(map.state);
    const silent = ids.filter((id) => !members.isLive(id));
    if (silent.length > 0) {
      this.#waiting = `the shard map is made anew when all nodes are live, and ${silent.join(', ')} is not: see docs/cluster.md`;
      return false;
    }
    const versionOf = (id: string): number => members.heartbeatOf(id)?.mapVersion ?? 0;
    const highest = Math.max(map.state.version, ...ids.map(versionOf));
    const first = ids.filter((id) => versionOf(id) === highest).sort()[0];
    return first === node && map.state.version === highest;
  }
}
