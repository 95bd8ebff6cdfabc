import type { Config } from '../config';
import { systemMemory } from '../process/memory';
import { processors } from '../process/processors';
import { MAX_LOOPS } from './limits';

/** Cores below which engine and load have no use for a second event loop. */
const FEWEST_CORES = 4;
/** Cores for one event loop: where it takes a quarter of the time of a search. */
const CORES_OF_A_LOOP = 4;
/** Memory for one event loop: each takes some 15 MB at rest, and more under load. */
const MEMORY_OF_A_LOOP = 1024 * 1024 * 1024;

/** What decides how many event loops suit a machine. */
export interface Machine {
  readonly platform: NodeJS.Platform;
  readonly cores: number;
  readonly memoryBytes: number;
}

/** How many event loops a server has: as its settings say, else as many as suit the machine (docs/event-loops.md). */
export function loopsOf(
  {
    eventLoops,
    memoryLimit,
    cluster,
    clusterAlone = false,
  }: Pick<Config, 'eventLoops' | 'memoryLimit'> & Partial<Pick<Config, 'cluster' | 'clusterAlone'>>,
  machine: Machine = {
    platform: process.platform,
    cores: processors(),
    memoryBytes: systemMemory(),
  },
): number {
  // The engine of a node is an object of one event loop.
  if (cluster !== undefined || clusterAlone) return 1;
  if (eventLoops !== undefined) return eventLoops;
  const { platform, cores, memoryBytes } = machine;
  // Elsewhere the system does not spread connections over sockets.
  if (platform !== 'linux' || cores < FEWEST_CORES) return 1;
  const byCores = Math.max(2, Math.floor(cores / CORES_OF_A_LOOP));
  const byMemory = Math.max(
    1,
    Math.floor(Math.min(memoryLimit ?? memoryBytes, memoryBytes) / MEMORY_OF_A_LOOP),
  );
  return Math.min(byCores, byMemory, MAX_LOOPS);
}
