import type { Config } from '../config';
import { EventLoops, type EventLoopsOptions } from '../event-loops/event-loops';
import { loopsOf } from '../event-loops/how-many';
import { logAnew, type ProcessLog } from '../http/log';
import type { CleanUp } from '../process/clean-up';

/** What a test or a benchmark gives event loops in place of their usual parts. */
export type LoopParts = Pick<EventLoopsOptions, 'engineModule' | 'thread'>;

/** The event loops beside this one; undefined where this is the only one. */
export function makeLoops(
  config: Config,
  { log, writeLines }: ProcessLog,
  cleanUp: CleanUp,
  { isTraced, parts }: { readonly isTraced: boolean; readonly parts: LoopParts | undefined },
): EventLoops | undefined {
  const count = loopsOf(config);
  if (count === 1) {
    return undefined;
  }
  if (process.platform === 'win32') {
    log.warn('there is one event loop: on Windows several cannot share a socket');
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
