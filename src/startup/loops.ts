import { availableParallelism } from 'node:os';
import type { Config } from '../config';
import { EventLoops, type EventLoopsOptions } from '../event-loops/event-loops';
import { MOST_LOOPS } from '../event-loops/shared-memory';
import { logAnew, type ProcessLog } from '../http/log';
import type { CleanUp } from '../process/clean-up';

/** Processors for one event loop: docs/event-loops.md. */
const CORES_A_LOOP = 4;
const LEAST_CORES = 4;
/** Without a setting. */
const MOST_BY_CORES = 16;

/** What a test or a benchmark gives event loops in place of their usual parts. */
export type LoopParts = Pick<EventLoopsOptions, 'engineModule' | 'thread'>;

/** How many event loops a server has on so many processors, where no setting says it. */
export function loopsByCores(cores: number): number {
  return cores < LEAST_CORES ? 1 : Math.min(MOST_BY_CORES, Math.max(2, Math.floor(cores / CORES_A_LOOP)));
}

/** The event loops beside this one; undefined where this is the only one. */
export function makeLoops(
  config: Config,
  { log, writeLines }: ProcessLog,
  cleanUp: CleanUp,
  options: {
    readonly ownsProcess: boolean;
    readonly isTraced: boolean;
    readonly parts: LoopParts | undefined;
  },
): EventLoops | undefined {
  const { ownsProcess, isTraced, parts } = options;
  // A program that has a server in it has other uses for its processors, and models are called by one event loop.
  const byCores = ownsProcess && config.models.length === 0 ? loopsByCores(availableParallelism()) : 1;
  const count = Math.min(config.eventLoops ?? byCores, MOST_LOOPS);
  if (count === 1) {
    return undefined;
  }
  if (process.platform === 'win32') {
    if (config.eventLoops !== undefined) {
      log.warn('there is one event loop: on Windows several cannot share a socket');
    }
    return undefined;
  }
  const loops = new EventLoops({
    ...{ count, config, log, isTraced, ...parts },
    writeLines:
      writeLines ??
      ((lines) => {
        logAnew(log, lines);
      }),
  });
  cleanUp.add('event loops', () => loops.end());
  return loops;
}
