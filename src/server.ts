import type { Server } from 'node:http';
import type { Logger } from 'pino';
import {
  AUTH_BODY_BYTES,
  authRoutes,
  checkExposure,
  isPrivateAddress,
  openAuth,
  originGuard,
  type AuthService,
} from './auth';
import type { Config } from './config';
import type { Engine, EngineOptions } from './engine/types';
import { DEFAULT_PACE } from './http/body';
import { drain } from './http/drain';
import { createHttpServer, DEFAULT_SERVER_LIMITS } from './http/http-server';
import { Late } from './http/late';
import { Lifecycle } from './http/lifecycle';
import { authority, listen, StartError } from './http/listen';
import { httpListeners } from './http/listener';
import { openLog, type ProcessLog } from './http/log';
import { RequestCounts } from './http/request-counts';
import { allRoutes } from './routes';
import { reportScrub } from './operations/scrub-report';
import { reportHealthIssues } from './operations/health-report';
import { openControl, type Control } from './operations/control';
import { whyUnusable } from './operations/data-dir';
import { productVersion } from './system/version';

export { StartError } from './http/listen';

/** Makes an engine that is not open yet. */
export type EngineFactory = (options: EngineOptions) => Engine | Promise<Engine>;

/** What a start can be given in place of its usual parts. */
export interface StartOptions {
  readonly openEngine?: EngineFactory;
  readonly log?: ProcessLog;
  /** Prints the line that says that the server is ready (C11.3). */
  readonly print?: (line: string) => void;
  /** How long running requests may take to finish when the server stops. */
  readonly graceMs?: number;
  /** False leaves the signals and the exit of the process to the caller, as tests do. */
  readonly ownsProcess?: boolean;
}

/** A server that listens. */
export interface RunningServer {
  readonly url: string;
  readonly port: number;
  /** Resolves when data endpoints are served, or would be if the server were not stopping; rejects when the start failed after listening. */
  readonly ready: Promise<void>;
  /** Stops accepting, lets what runs finish for `graceMs`, gives up the rest, syncs and closes. Every call gives the same promise. */
  stop(): Promise<void>;
  /** Resolves during a stop, when no request runs any more and what is left is to close. */
  readonly drained: Promise<void>;
}

/** What all bodies in flight may hold together; never less than one body of the largest size. */
const BYTES_IN_FLIGHT = 256 * 1024 * 1024;
const REQUESTS_IN_FLIGHT = 1024;
const GRACE_MS = 10_000;
/**
 * When the engine does not close in this time after the requests have ended, the process ends without it. Opening and
 * closing may take minutes for good reasons; whoever cannot wait sends a second signal.
 */
const LAST_RESORT_MS = 10 * 60_000;
/** One Ctrl-C can arrive several times: from the terminal, and from each process above that passes it on. */
const SAME_SIGNAL_MS = 100;

/**
 * Starts the server: it listens first, so that health and 412 answer at once, and opens authentication and the
 * engine behind it. Only on an address that other machines can reach, the state of authentication is looked at
 * before listening (C3.8).
 * @throws StartError when the address or the certificate cannot be used, or the folder is none for a server.
 * @throws ExposureError when authentication is off on such an address and nobody has decided that it may be.
 */
export async function startServer(config: Config, options: StartOptions = {}): Promise<RunningServer> {
  const startedAt = performance.now();
  const processLog = options.log ?? openLog(config);
  const { log } = processLog;
  const signals = (options.ownsProcess ?? true) ? new Signals() : undefined;
  const unusable = await whyUnusable(config.dataDir);
  if (unusable !== undefined) {
    throw new StartError(unusable);
  }
  const lifecycle = new Lifecycle();
  const auth = new Late(openAuth(config, log));
  let server: Server;
  let port: number;
  try {
    if (!isPrivateAddress(config)) {
      await warnOfExposure(config, auth, log);
    }
    server = createServer(config, auth, lifecycle, log);
    port = await listen(server, config.port, config.host);
  } catch (error) {
    await auth.ready.then((opened) => opened.close()).catch(() => undefined);
    throw error;
  }
  const url = `${config.tls === undefined ? 'http' : 'https'}://${authority(config.host, port)}`;
  log.info({ url }, 'listening');

  const engine = makeEngine(config, options.openEngine ?? nativeEngine);
  engine.catch(() => undefined);
  // One after the other, each having a lock: of two processes that start on one directory at the same time, each would
  // else get one of the two, and give up for want of the other.
  const opened = auth.ready.then(async () => {
    const made = await engine;
    if (lifecycle.phase !== 'stopping') {
      await made.open();
    }
  });
  let stopReporting = (): void => undefined;
  let control: Promise<Control | undefined> | undefined;
  const ready = opened.then(async () => {
    const made = await engine;
    if (lifecycle.becomeReady(made)) {
      const reports = [reportScrub(made, log), reportHealthIssues(made, log)];
      stopReporting = () => {
        reports.forEach((stop) => {
          stop();
        });
      };
      control = takeOrders(config, made, auth, log);
      await control;
      announce(made, { url, startedAt, log, print: options.print ?? printLine });
    }
  });

  let onDrained = (): void => undefined;
  const drained = new Promise<void>((resolve) => {
    onDrained = resolve;
  });
  let stopping: Promise<void> | undefined;
  const stop = (): Promise<void> => {
    stopping ??= stopServer(server, {
      lifecycle,
      auth,
      engine,
      opened,
      control: () => {
        stopReporting();
        return control;
      },
      log,
      graceMs: options.graceMs ?? GRACE_MS,
      onDrained,
    });
    return stopping;
  };
  const running: RunningServer = { url, port, ready, stop, drained };
  if (signals === undefined) {
    ready.catch(() => undefined);
  } else {
    ownProcess(running, processLog, signals);
  }
  return running;
}

function createServer(config: Config, auth: Late<AuthService>, lifecycle: Lifecycle, log: Logger): Server {
  const requests = new RequestCounts();
  const listeners = httpListeners({
    routes: allRoutes(authRoutes(auth.ready), lifecycle, requests, productVersion()),
    requests,
    auth,
    guard: originGuard(config),
    lifecycle,
    log,
    limits: {
      bodyBytes: config.maxBodyBytes,
      authBodyBytes: AUTH_BODY_BYTES,
      requestsInFlight: REQUESTS_IN_FLIGHT,
      bytesInFlight: Math.max(BYTES_IN_FLIGHT, config.maxBodyBytes),
    },
    bodyPace: DEFAULT_PACE,
    corsOrigins: config.corsOrigins,
  });
  try {
    return createHttpServer(listeners, DEFAULT_SERVER_LIMITS, config.tls);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new StartError(`The TLS certificate and key cannot be used: ${reason}`, { cause: error });
  }
}

async function warnOfExposure(config: Config, auth: Late<AuthService>, log: Logger): Promise<void> {
  for (const warning of checkExposure(config, await auth.ready)) {
    log.warn(warning);
  }
}

/** The engine of this package, loaded when the server already listens. */
async function nativeEngine(options: EngineOptions): Promise<Engine> {
  const { openNativeEngine } = await import('./engine/index.js');
  return openNativeEngine(options);
}

async function makeEngine(config: Config, factory: EngineFactory): Promise<Engine> {
  const { dataDir, searchThreads, limits, scrubMbPerSecond, scrubIntervalHours } = config;
  const scrub = { bytesPerSecond: scrubMbPerSecond * 1e6, intervalSeconds: scrubIntervalHours * 3600 };
  return factory({ dataDir, searchThreads, limits, ...(scrubMbPerSecond > 0 && { scrub }) });
}

/** Without the socket for commands everything is served all the same. */
async function takeOrders(
  config: Config,
  engine: Engine,
  auth: Late<AuthService>,
  log: Logger,
): Promise<Control | undefined> {
  const staging = {
    stage: () => engine.stage(),
    unstage: () => engine.unstage(),
    copyStore: async (path: string) => (await auth.ready).copyStore(path),
    quarantined: () => engine.status().faults.map(({ name }) => name),
  };
  try {
    return await openControl(config.dataDir, staging, log);
  } catch (error) {
    log.warn({ err: error }, 'no socket for commands: kithdb backup needs the server to be stopped');
    return undefined;
  }
}

/**
 * The line that says that the server is ready, and an error for each piece of damage of the log and each collection that
 * could not be opened (C10.2).
 */
function announce(
  engine: Engine,
  start: { url: string; startedAt: number; log: Logger; print: (line: string) => void },
): void {
  const { collections, points, faults, logDamages } = engine.status();
  for (const { file, what } of logDamages) {
    start.log.error({ file, what }, 'the log is damaged: kithdb check says what it means for the data');
  }
  for (const { name, fault } of faults) {
    start.log.error({ collection: name, fault }, 'collection cannot be opened, the others are served');
  }
  const took = Math.round(performance.now() - start.startedAt);
  const served = collections - faults.length;
  start.print(
    `kithdb ${productVersion()} ready on ${start.url} in ${took} ms: ${count(served, 'collection')}, ${count(points, 'point')}`,
  );
}

function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}

function printLine(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** What a stop has to end. */
interface Stopping {
  readonly lifecycle: Lifecycle;
  readonly auth: Late<AuthService>;
  readonly engine: Promise<Engine>;
  /** Settles when the engine and authentication are open, or cannot be. */
  readonly opened: Promise<unknown>;
  /** What takes orders from commands on this machine, once it does. */
  readonly control: () => Promise<Control | undefined> | undefined;
  readonly log: Logger;
  readonly graceMs: number;
  readonly onDrained: () => void;
}

/** C11.3: `/readyz` says 503, nothing new is accepted, what runs has its grace, then engine and store close: the engine gives up what still runs. */
async function stopServer(server: Server, parts: Stopping): Promise<void> {
  const { lifecycle, log } = parts;
  lifecycle.beginStop();
  log.info({ inProgress: lifecycle.inProgress }, 'stopping');
  if (!(await drain(server, parts.graceMs))) {
    log.warn('some requests did not finish in time');
  }
  parts.onDrained();
  await parts.opened.catch(() => undefined);
  await (await parts.control())?.close();
  await closeAll([parts.engine, parts.auth.ready], log);
  log.info('stopped');
}

/** Closes what was opened. A part that never was has nothing to close, and its failure was reported by the start. */
async function closeAll(
  parts: readonly Promise<{ close: () => Promise<void> }>[],
  log: Logger,
): Promise<void> {
  const opened = (await Promise.allSettled(parts)).filter((part) => part.status === 'fulfilled');
  for (const result of await Promise.allSettled(opened.map((part) => part.value.close()))) {
    if (result.status === 'rejected') {
      log.error({ err: result.reason as unknown }, 'could not close cleanly');
    }
  }
}

/**
 * The signals that stop the server, from the first moment on: the first process of a container gets none that it has
 * not asked for. One that comes before there is anything to stop waits for it, a second one does not.
 */
class Signals {
  #early: NodeJS.Signals | undefined;
  #handler = (signal: NodeJS.Signals): void => {
    if (this.#early !== undefined) {
      process.exit(1);
    }
    this.#early = signal;
  };

  constructor() {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.on(signal, () => {
        this.#handler(signal);
      });
    }
  }

  handle(handler: (signal: NodeJS.Signals) => void): void {
    this.#handler = handler;
    if (this.#early !== undefined) {
      handler(this.#early);
    }
  }
}

/** Ties the server to its process: the signals, the errors that nobody caught, the exit code. */
function ownProcess(server: RunningServer, processLog: ProcessLog, signals: Signals): void {
  const { log } = processLog;
  const exit = (code: number): never => {
    processLog.flush();
    process.exit(code);
  };
  const stopAndExit = (code: number): void => {
    void server.drained.then(() => {
      setTimeout(() => {
        log.fatal('the engine does not close: exiting without it');
        exit(1);
      }, LAST_RESORT_MS).unref();
    });
    server.stop().then(
      () => exit(code),
      (error: unknown) => {
        log.fatal({ err: error }, 'could not stop cleanly');
        exit(1);
      },
    );
  };
  let first: { readonly signal: NodeJS.Signals; readonly at: number } | undefined;
  const onSignal = (signal: NodeJS.Signals): void => {
    const at = performance.now();
    if (first?.signal === signal && at - first.at < SAME_SIGNAL_MS) {
      return;
    }
    if (first !== undefined) {
      log.warn({ signal }, 'second signal: exiting at once');
      exit(1);
    }
    first = { signal, at };
    stopAndExit(0);
  };
  for (const output of [process.stdout, process.stderr]) {
    // A reader that has gone, or a disk that is full, is no reason to stop serving.
    output.on('error', () => undefined);
  }
  signals.handle(onSignal);
  const onFault = (error: unknown): void => {
    log.fatal({ err: error }, 'unexpected error, stopping');
    stopAndExit(1);
  };
  process.on('uncaughtException', onFault);
  process.on('unhandledRejection', onFault);
  server.ready.catch((error: unknown) => {
    log.debug({ err: error }, 'start failed');
    process.stderr.write(`kithdb: ${error instanceof Error ? error.message : String(error)}\n`);
    stopAndExit(1);
  });
}
