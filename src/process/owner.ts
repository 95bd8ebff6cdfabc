import type { ProcessLog } from '../http/log';
import { EXIT_MS } from './stop-times';
import { reasonOf } from '../files/explained';

/** One Ctrl-C can arrive several times: from the terminal, and from each process above that passes it on. */
const SAME_SIGNAL_MS = 100;

/** What the owner of a process has to know of its server. */
export interface OwnedServer {
  /** Rejects when the start failed after listening. */
  readonly ready: Promise<void>;
  /** Reads certificate and key again; undefined without TLS. */
  readonly readCertificateAgain: (() => Promise<void>) | undefined;
  stop(): Promise<void>;
}

/** Windows sends SIGHUP when a console is closed, and ends the process soon after. */
const CLOSES_CONSOLE = process.platform === 'win32';

/**
 * Ties a server to its process: signals, errors that nothing caught, the exit code. It handles signals as soon as it is
 * made, because the first process of a container gets none that it has no handler for. A first signal that comes before
 * there is a server waits for it; a second one ends the process. From the first one on, the process ends in time (C11.3).
 */
export class ProcessOwner {
  #server: OwnedServer | undefined;
  #first: { readonly signal: NodeJS.Signals; readonly at: number } | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly processLog: ProcessLog) {
    // Windows has no SIGTERM from outside; SIGBREAK is what Ctrl-Break and service managers send there.
    for (const signal of ['SIGTERM', 'SIGINT', 'SIGBREAK'] as const) {
      process.on(signal, () => {
        this.#onSignal(signal);
      });
    }
    process.on('SIGHUP', () => {
      this.#onHangUp();
    });
  }

  /** Takes over the server, from now to the end of the process. */
  own(server: OwnedServer): void {
    this.#server = server;
    for (const output of [process.stdout, process.stderr]) {
      // Neither a reader that has gone nor a full disk is a reason to stop serving.
      output.on('error', () => undefined);
    }
    if (this.#first !== undefined) {
      this.#stopAndExit(server, 0);
    }
    const onFault = (error: unknown): void => {
      this.processLog.log.fatal({ err: error }, 'unexpected error, stopping');
      this.#stopAndExit(server, 1);
    };
    process.on('uncaughtException', onFault);
    process.on('unhandledRejection', onFault);
    server.ready.catch((error: unknown) => {
      this.processLog.log.debug({ err: error }, 'start failed');
      process.stderr.write(`kithdb: ${reasonOf(error)}\n`);
      this.#stopAndExit(server, 1);
    });
  }

  #onSignal(signal: NodeJS.Signals): void {
    const at = performance.now();
    if (this.#first?.signal === signal && at - this.#first.at < SAME_SIGNAL_MS) {
      return;
    }
    if (this.#first !== undefined) {
      this.processLog.log.warn({ signal }, 'second signal: exiting at once');
      this.#exit(1);
    }
    this.#first = { signal, at };
    if (this.#server === undefined) {
      // It is stopped when there is one.
      this.#exitInTime(0);
    } else {
      this.#stopAndExit(this.#server, 0);
    }
  }

  /**
   * Reads the certificate again (C11.5). A server without one stops where its terminal was closed, and goes on where
   * a service manager asks it to read its configuration again.
   */
  #onHangUp(): void {
    const again = CLOSES_CONSOLE ? undefined : this.#server?.readCertificateAgain;
    if (again !== undefined) {
      void again();
    } else if (CLOSES_CONSOLE || process.stdin.isTTY) {
      this.#onSignal('SIGHUP');
    } else if (this.#server !== undefined) {
      this.processLog.log.info('SIGHUP: there is no certificate to read again');
    }
  }

  #stopAndExit(server: OwnedServer, code: number): void {
    const { log } = this.processLog;
    this.#exitInTime(code);
    server.stop().then(
      () => this.#exit(code),
      (error: unknown) => {
        log.fatal({ err: error }, 'could not stop cleanly');
        this.#exit(1);
      },
    );
  }

  /**
   * Ends the process when the time of a stop is over, whatever it still does: opening, or writing a checkpoint. Nothing is
   * lost by it, since the log has everything that was acknowledged, so it is no failure.
   */
  #exitInTime(code: number): void {
    this.#timer ??= setTimeout(() => {
      this.processLog.log.warn('the time of a stop is over: the next start continues from the log');
      this.#exit(code);
    }, EXIT_MS);
    this.#timer.unref();
  }

  #exit(code: number): never {
    clearTimeout(this.#timer);
    this.processLog.flush();
    process.exit(code);
  }
}
