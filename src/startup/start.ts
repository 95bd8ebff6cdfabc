import type { Logger } from 'pino';
import type { Config } from '../config';
import type { EventLoops } from '../event-loops/event-loops';
import type { Lifecycle } from '../http/lifecycle';
import type { Tracing } from '../http/request-trace';
import type { LastBackup } from '../operations/last-backup';
import type { CleanUp } from '../process/clean-up';
import type { Cluster } from './cluster';
import type { ProcessState } from '../process/state';
import type { SnapshotService } from '../snapshots/service';

/** What the steps of a start share. */
export interface Start {
  readonly config: Config;
  readonly log: Logger;
  readonly lifecycle: Lifecycle;
  readonly state: ProcessState;
  /** The event loops beside this one; undefined where there are none. */
  readonly loops: EventLoops | undefined;
  /** What a node of a cluster has in place of other parts; undefined for a server by itself. */
  readonly cluster: Cluster | undefined;
  readonly snapshots: SnapshotService;
  readonly lastBackup: LastBackup;
  /** Undefined where no SDK of OpenTelemetry was registered. */
  readonly tracing: Tracing | undefined;
  /** Takes the lines of the audit stream; undefined where there is none. */
  readonly audit: ((line: object) => void) | undefined;
  /** Every step adds how to close what it opened. */
  readonly cleanUp: CleanUp;
}

/**
 * Closes a part. One that could not be opened has nothing to close, and the start has reported its failure. One that
 * cannot be closed is logged, and the stop succeeds all the same.
 */
export async function closeIfOpen<T>(
  part: Promise<T>,
  close: (opened: T) => Promise<void>,
  log: Logger,
): Promise<void> {
  const opened = await part.catch(() => undefined);
  if (opened !== undefined) {
    await close(opened).catch((error: unknown) => {
      log.error({ err: error }, 'could not close cleanly');
    });
  }
}
