import type { Socket } from 'node:net';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { STORE_FILE } from '../auth/store/file';
import { damageOf } from '../auth/store/port';
import type { AuditOutcome } from '../http/audit-fields';
import { diskFull, explained, isDiskFull } from '../files/explained';
import { identityOf, type BackupAnswer, type ControlAnswer } from './control-protocol';

/** Folder in the data directory in which a running server offers its files to a backup. */
export const STAGING = 'staging';

/** What the server does for a backup. */
export interface Staging {
  /** Links everything that is served into {@link STAGING}. */
  readonly stage: () => Promise<void>;
  readonly unstage: () => Promise<void>;
  /** Copies the store of authentication to a path; false when it is only in memory. */
  readonly copyStore: (path: string) => Promise<boolean>;
  /** Names of collections that are quarantined, at most 1,000. */
  readonly quarantined: () => Promise<readonly string[]>;
}

/**
 * Gives a backup the files of a running server, one backup at a time. Staged files cannot be freed, so the lease of a
 * client that was stopped, and keeps its connection, must end: each client sends a byte now and then.
 */
export class StageLease {
  #busy = false;

  /** @param silenceMs how long a client may send nothing */
  constructor(
    private readonly dataDir: string,
    private readonly staging: Staging,
    private readonly log: Logger,
    private readonly silenceMs: number,
  ) {}

  /**
   * Stages the files, answers, and removes the stage when the client ends, is lost or falls silent. `done` means that the
   * client had the files for as long as it wanted.
   */
  async grant(socket: Socket): Promise<AuditOutcome> {
    if (this.#busy) {
      answer(socket, { error: 'another backup of this server is running' });
      socket.end();
      return 'refused';
    }
    this.#busy = true;
    let outcome: AuditOutcome;
    try {
      outcome = await this.#grantTo(socket);
    } finally {
      this.#busy = false;
    }
    // The end of the connection notifies the client that the stage is removed.
    socket.destroySoon();
    return outcome;
  }

  async #grantTo(socket: Socket): Promise<AuditOutcome> {
    const { staging, log, silenceMs } = this;
    const startedAt = performance.now();
    const over = endOf(socket);
    let outcome: AuditOutcome;
    try {
      answer(socket, await this.#stage(startedAt));
      socket.setTimeout(silenceMs);
      const why = await over;
      log.info({ tookMs: Math.round(performance.now() - startedAt) }, 'backup ends');
      if (why === SILENT) {
        const error = `the command of the backup has sent nothing for ${silenceMs / 1000} s, so its files were removed: was it stopped? Start it again`;
        log.warn(`backup given up: ${error}`);
        answer(socket, { error });
      }
      outcome = why === ENDED ? 'done' : 'aborted';
    } catch (error) {
      log.error({ err: error }, 'backup failed');
      answer(socket, { error: messageFor(error, this.dataDir) });
      outcome = 'failed';
    }
    await staging.unstage().catch((error: unknown) => {
      log.warn({ err: error }, 'what was staged for a backup cannot be removed; the next start removes it');
    });
    return outcome;
  }

  async #stage(startedAt: number): Promise<BackupAnswer> {
    const { staging, log, silenceMs, dataDir } = this;
    await staging.stage();
    // A damaged store must not prevent the backup of the collections.
    const copied = await staging.copyStore(join(dataDir, STAGING, STORE_FILE)).catch(damageOf);
    const store = typeof copied === 'string' ? { hasStore: false, storeFault: copied } : { hasStore: copied };
    const quarantined = await staging.quarantined();
    log.info({ stagedMs: Math.round(performance.now() - startedAt), quarantined }, 'backup begins');
    const identity = await identityOf(join(dataDir, STAGING));
    return { staged: STAGING, identity, silenceMs, ...store, quarantined };
  }
}

/** The event of a client that is connected and sends nothing. */
const SILENT = 'timeout';
/** The event of a client that is done. */
const ENDED = 'end';

/** Resolves when the client ends, when its connection is gone, or when it falls silent. */
function endOf(socket: Socket): Promise<string> {
  return new Promise((resolve) => {
    for (const event of [ENDED, 'close', SILENT]) {
      socket.once(event, () => {
        resolve(event);
      });
    }
    if (socket.destroyed) {
      resolve('close');
    }
  });
}

/** Why nothing was staged, with the place and what to do. */
function messageFor(error: unknown, dataDir: string): string {
  return isDiskFull(error) ? diskFull(dataDir) : explained(error);
}

/** Writes one line, unless the other end has closed. */
export function answer(socket: Socket, message: ControlAnswer): void {
  if (!socket.destroyed) {
    socket.write(`${JSON.stringify(message)}\n`);
  }
}
