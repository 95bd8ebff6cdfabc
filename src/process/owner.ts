import type { ProcessLog } from '../http/log';

/**
 * When the engine does not close in this time after the requests have ended, the process ends without it. Opening and
 * closing may take minutes for good reasons; an operator who cannot wait sends a second signal.
 */
const LAST_RESORT_MS = 10 * 60_000;
/** One Ctrl-C can arrive several times: from the terminal, and from each process above that passes it on. */
const SAME_SIGNAL_MS = 100;

/** What the owner of a process has to know of its server. */
export interface OwnedServer {
  /** Rejects when the start failed after listening. */
  readonly ready: Promise<void>;
  stop(): Promise<void>;
  /** Resolves during a stop, when no request runs any more. */
  readonly drained: Promise<void>;
}

/**
 * Ties a server to its process: signals, errors that nothing caught, the exit code. It handles signals as soon as it is
 * made, because the first process of a container gets none that it has no handler for. A first signal that comes before
 * there is a server waits for it; a second one ends the process.
 */
export class ProcessOwner {
  #server: OwnedServer | undefined;
  /** The first signal that came before there was a server. */
  #early: NodeJS.Signals | undefined;
  #first: { readonly signal: NodeJS.Signals; readonly at: number } | undefined;

  constructor(private readonly processLog: ProcessLog) {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.on(signal, () => {
        this.#onSignal(signal);
      });
    }
  }

  /** Takes over the server, from now to the end of the process. */
  own(server: OwnedServer): void {
    this.#server = server;
    for (const output of [process.stdout, process.stderr]) {
      // Neither a reader that has gone nor a full disk is a reason to stop serving.
      output.on('error', () => undefined);
    }
    if (this.#early !== undefined) {
      this.#onSignal(this.#early);
    }
    const onFault = (error: unknown): void => {
      this.processLog.log.fatal({ err: error }, 'unexpected error, stopping');
      this.#stopAndExit(server, 1);
    };
    process.on('uncaughtException', onFault);
    process.on('unhandledRejection', onFault);
    server.ready.catch((error: unknown) => {
      this.processLog.log.debug({ err: error }, 'start failed');
      process.stderr.write(`kithdb: ${error instanceof Error ? error.message : String(error)}\n`);
      this.#stopAndExit(server, 1);
    });
  }

  #onSignal(signal: NodeJS.Signals): void {
    const server = this.#server;
    if (server === undefined) {
      if (this.#early !== undefined) {
        process.exit(1);
      }
      this.#early = signal;
      return;
    }
    const at = performance.now();
    if (this.#first?.signal === signal && at - this.#first.at < SAME_SIGNAL_MS) {
      return;
    }
    if (this.#first !== undefined) {
      this.processLog.log.warn({ signal }, 'second signal: exiting at once');
      this.#exit(1);
    }
    this.#first = { signal, at };
    this.#stopAndExit(server, 0);
  }

  #stopAndExit(server: OwnedServer, code: number): void {
    const { log } = this.processLog;
    void server.drained.then(() => {
      setTimeout(() => {
        log.fatal('the engine does not close: exiting without it');
        this.#exit(1);
      }, LAST_RESORT_MS).unref();
    });
    server.stop().then(
      () => this.#exit(code),
      (error: unknown) => {
        log.fatal({ err: error }, 'could not stop cleanly');
        this.#exit(1);
      },
    );
  }

  #exit(code: number): never {
    this.processLog.flush();
    process.exit(code);
  }
}
