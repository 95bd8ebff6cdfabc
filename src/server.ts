import type { Server } from 'node:http';
import { totalmem } from 'node:os';
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
import { consoleRoutes } from './console/routes';
import type { Engine, EngineOptions } from './engine/types';
import { DEFAULT_PACE } from './http/body';
import { keepCertificate } from './http/certificate';
import { ClientAddresses } from './http/client-address';
import { Deferred } from './http/deferred';
import { DIALECTS } from './http/dialect';
import { drain } from './http/drain';
import { createHttpServer, DEFAULT_SERVER_LIMITS } from './http/http-server';
import { Lifecycle } from './http/lifecycle';
import type { Tracing } from './http/request-trace';
import { authority, listen, StartError } from './http/listen';
import { AuditLog } from './http/audit-log';
import { httpListeners } from './http/listener';
import { openLog, type ProcessLog } from './http/log';
import { openControl } from './operations/control';
import { whyUnusable } from './operations/data-dir';
import type { OwnAddress } from './mcp-host/own-server';
import { mcpRoutes } from './mcp-host/route';
import { BadModel } from './models/bad-model';
import { ConfiguredModels } from './models/configured-models';
import { Reembedder } from './models/reembedder';
import { LastBackup } from './operations/last-backup';
import { reportScrub } from './operations/scrub-report';
import { reportStart } from './operations/start-report';
import { reportHealthIssues } from './operations/health-report';
import { CleanUp } from './process/clean-up';
import { ProcessOwner } from './process/owner';
import { bytesInFlight } from './process/memory';
import { localProcessState, type ProcessState } from './process/state';
import { ANSWER_MS, CHECKPOINTED_MS, GRACE_MS, LEAST_CLOSE_MS } from './process/stop-times';
import { allRoutes } from './routes';
import { SnapshotService } from './snapshots/service';
import { SnapshotStore } from './snapshots/store';
import { productVersion } from './system/version';
import { openTracing } from './tracing/open';

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
  /** Time between two looks at the files of the certificate. */
  readonly certificateLookMs?: number;
  /** False leaves the signals and the exit of the process to the caller, as tests do. */
  readonly ownsProcess?: boolean;
}

/** A server that listens. */
export interface RunningServer {
  readonly url: string;
  readonly port: number;
  /**
   * Resolves when data endpoints are served, or would be if the server were not stopping; rejects when the start failed
   * after listening.
   */
  readonly ready: Promise<void>;
  /** Reads certificate and key again (C11.5); undefined without TLS. */
  readonly readCertificateAgain: (() => Promise<void>) | undefined;
  /**
   * Stops accepting, lets running requests finish for `graceMs`, gives up the others, syncs, writes checkpoints while there
   * is time, and closes. Every call gives the same promise.
   */
  stop(): Promise<void>;
}

/** What the steps of a start share. */
interface Start {
  readonly config: Config;
  readonly log: Logger;
  readonly lifecycle: Lifecycle;
  readonly state: ProcessState;
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
 * Starts the server: it listens first, so that health and 412 answer at once, and opens authentication and the
 * engine meanwhile. Only on an address that other machines can reach, the state of authentication is checked before
 * listening (C3.8).
 * @throws StartError when the address or the certificate cannot be used, or the folder is none for a server.
 * @throws ExposureError when authentication is off on such an address and nobody has decided that it may be.
 */
export async function startServer(config: Config, options: StartOptions = {}): Promise<RunningServer> {
  const startedAt = performance.now();
  const processLog = options.log ?? openLog(config);
  const owner = (options.ownsProcess ?? true) ? new ProcessOwner(processLog) : undefined;
  await refuseUnusable(config);

  const { log } = processLog;
  const lifecycle = new Lifecycle();
  const cleanUp = new CleanUp(log);
  const audit = openAuditLog(config, cleanUp);
  const snapshots = new SnapshotService(new SnapshotStore(config.dataDir, config));
  const tracing = await openTracing(productVersion());
  // Behind the last requests: what they were traced as is exported then.
  cleanUp.add('tracing', () => tracing?.flush());
  const start: Start = {
    ...{ config, log, lifecycle, cleanUp, snapshots, tracing, audit },
    lastBackup: new LastBackup(config.dataDir),
    state: localProcessState(config),
  };
  const auth = openStore(start);
  lifecycle.closedWhen(() => auth.current?.isClosed === true);
  const { server, port } = await serve(start, auth);
  const url = `${config.tls === undefined ? 'http' : 'https'}://${authority(config.host, port)}`;
  log.info({ url }, 'listening');

  const engine = makeEngine(start, options.openEngine ?? nativeEngine);
  const opened = openEngine(start, auth, engine);
  const ready = opened.then(async (isServed) => {
    if (isServed) {
      const print = options.print ?? printLine;
      const { isClosed } = await auth.ready;
      reportStart(await engine, { url, tookMs: performance.now() - startedAt, log, print, isClosed });
    }
  });
  const certificate = keepCertificate(server, config.tls, log, options.certificateLookMs);
  cleanUp.add('certificate', () => certificate?.close());
  drainAtStop(start, server, options.graceMs ?? GRACE_MS);
  const running: RunningServer = {
    url,
    port,
    ready,
    readCertificateAgain: certificate && (() => certificate.readAgain()),
    stop: stopOnce(start),
  };
  if (owner === undefined) {
    ready.catch(() => undefined);
  } else {
    owner.own(running);
  }
  return running;
}

/** @throws StartError when the data directory is none for a server. */
async function refuseUnusable({ dataDir }: Config): Promise<void> {
  const unusable = await whyUnusable(dataDir);
  if (unusable !== undefined) {
    throw new StartError(unusable);
  }
}

/** Opens the store of authentication in the background. */
function openStore({ config, log, state, cleanUp }: Start): Deferred<AuthService> {
  const auth = new Deferred(openAuth(config, log, state.auth));
  cleanUp.add('authentication', () => closeIfOpen(auth.ready, (store) => store.close(), log));
  return auth;
}

/**
 * Closes a part. One that could not be opened has nothing to close, and the start has reported its failure. One that
 * cannot be closed is logged, and the stop succeeds all the same.
 */
async function closeIfOpen<T>(
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

/** Makes the HTTP server and listens. When that fails, what was opened so far is closed. */
async function serve(start: Start, auth: Deferred<AuthService>): Promise<{ server: Server; port: number }> {
  const { config, log, cleanUp } = start;
  try {
    if (!isPrivateAddress(config)) {
      for (const warning of checkExposure(config, await auth.ready)) {
        log.warn(warning);
      }
    }
    const server = createServer(start, auth);
    return { server, port: await listen(server, config.port, config.host) };
  } catch (error) {
    await cleanUp.run();
    throw error;
  }
}

function createServer(start: Start, auth: Deferred<AuthService>): Server {
  const { config, log, lifecycle, state, snapshots, tracing } = start;
  let listening: Server | undefined;
  const ownAddress = (): OwnAddress | undefined => {
    const address = listening?.address();
    if (typeof address !== 'object' || address === null) return undefined;
    return { host: config.host, port: address.port, isTls: config.tls !== undefined };
  };
  const { admission, requests } = state;
  const addresses = new ClientAddresses(config.trustedProxies);
  const dialect = DIALECTS[config.dialect];
  const listeners = httpListeners({
    routes: allRoutes(
      authRoutes(auth.ready, addresses, requests),
      lifecycle,
      requests,
      productVersion(),
      { lastBackup: () => start.lastBackup.finishedAt },
      dialect,
      [...mcpRoutes(config.mcp, ownAddress), ...(config.console ? consoleRoutes() : [])],
      snapshots,
      config.settings,
    ),
    dialect,
    requests,
    admission,
    addresses,
    auth,
    guard: originGuard(config),
    lifecycle,
    log,
    tracing,
    limits: {
      bodyBytes: Math.min(config.maxBodyBytes, bytesInFlight(config)),
      authBodyBytes: AUTH_BODY_BYTES,
    },
    bodyPace: DEFAULT_PACE,
    corsOrigins: config.corsOrigins,
    requestLog: { slowMs: config.slowRequestMs, audit: start.audit },
  });
  try {
    const { maxConnections, tls } = config;
    listening = createHttpServer(listeners, { ...DEFAULT_SERVER_LIMITS, maxConnections }, tls);
    return listening;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new StartError(`The TLS certificate and key cannot be used: ${reason}`, { cause: error });
  }
}

/** @throws StartError when the file cannot be opened: nothing is done without a line about it. */
function openAuditLog(
  config: Pick<Config, 'auditLog'>,
  cleanUp: CleanUp,
): ((line: object) => void) | undefined {
  if (config.auditLog === undefined) {
    return undefined;
  }
  try {
    const audit = new AuditLog(config.auditLog);
    cleanUp.add('audit log', () => {
      audit.close();
    });
    return audit.write;
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new StartError(`The audit log cannot be opened: ${reason}`, { cause: error });
  }
}

/** The engine of this package, loaded when the server already listens. */
async function nativeEngine(options: EngineOptions): Promise<Engine> {
  const { openNativeEngine } = await import('./engine/index.js');
  return openNativeEngine(options);
}

/**
 * Loads the models of folders; undefined where there are no models.
 * @throws StartError that names a model that cannot be used.
 */
async function openModels({ config, cleanUp }: Start): Promise<ConfiguredModels | undefined> {
  if (config.models.length === 0) return undefined;
  try {
    const models = await ConfiguredModels.open(config.models);
    cleanUp.add('models', () => models.close());
    return models;
  } catch (error) {
    throw error instanceof BadModel
      ? new StartError(`KITHDB_MODELS ${error.message}`, { cause: error })
      : error;
  }
}

/** Makes the engine without opening it. */
function makeEngine(start: Start, factory: EngineFactory): Promise<Engine> {
  const { config, log, lifecycle, cleanUp } = start;
  const { dataDir, searchThreads, memoryLimit, limits, scrubMbPerSecond, scrubIntervalHours } = config;
  const { allowFilesystem: allowedFileSystems, calibrationPercent, metricsCollections } = config;
  const memory = { machineBytes: totalmem(), ...(memoryLimit !== undefined && { limitBytes: memoryLimit }) };
  const scrub = { bytesPerSecond: scrubMbPerSecond * 1e6, intervalSeconds: scrubIntervalHours * 3600 };
  const make = async (): Promise<Engine> => {
    const models = await openModels(start);
    return factory({
      ...{ dataDir, searchThreads, memory, limits, allowedFileSystems },
      ...{ calibrationShare: calibrationPercent / 100, reportedCollections: metricsCollections },
      ...(config.slowRequestMs !== undefined && { slowRequestMs: config.slowRequestMs }),
      ...(scrubMbPerSecond > 0 && { scrub }),
      ...(models !== undefined && { models }),
    });
  };
  const engine = make();
  engine.catch(() => undefined);
  cleanUp.add('engine', () => {
    const timeMs = Math.max(LEAST_CLOSE_MS, CHECKPOINTED_MS - lifecycle.stoppingForMs);
    return closeIfOpen(engine, (opened) => opened.close(timeMs), log);
  });
  return engine;
}

/**
 * Opens the engine and what reports on it; false when the server is stopping already. Authentication is opened before
 * the engine, since each has a lock: of two processes that start on one directory at the same time, each would otherwise
 * get one of the two locks, and both would give up.
 */
function openEngine(start: Start, auth: Deferred<AuthService>, making: Promise<Engine>): Promise<boolean> {
  const { lifecycle, log, cleanUp, snapshots } = start;
  const reports = new CleanUp(log);
  const open = async (): Promise<boolean> => {
    const store = await auth.ready;
    const engine = await making;
    if (lifecycle.phase !== 'stopping') {
      const warning = await engine.open();
      if (warning !== undefined) log.warn(warning);
      // Nothing of it is ever relied on, and what cannot be removed only takes room.
      await snapshots.store.removeUnfinished().catch((error: unknown) => {
        log.warn({ err: error }, 'unfinished snapshots cannot be removed');
      });
      // Before any data endpoint is served.
      await store.compareWith(engine);
      await start.lastBackup.read();
    }
    if (!lifecycle.becomeReady(engine)) {
      return false;
    }
    const reembedder = new Reembedder(engine);
    reembedder.start();
    reports.add('re-embedding', () => reembedder.close());
    reports.add('scrub report', reportScrub(engine, log));
    reports.add('health report', reportHealthIssues(engine, log));
    await openControlSocket(start, engine, store, reports);
    return true;
  };
  const opened = open();
  cleanUp.add('reports', async () => {
    await opened.catch(() => undefined);
    await reports.run();
  });
  return opened;
}

/** Opens the socket for commands on this machine. The server works without it. */
async function openControlSocket(
  { config, log, lifecycle, lastBackup, audit }: Start,
  engine: Engine,
  store: AuthService,
  cleanUp: CleanUp,
): Promise<void> {
  const staging = {
    stage: () => engine.stage(),
    unstage: () => engine.unstage(),
    copyStore: (path: string) => store.copyStore(path),
    quarantined: async () => {
      await engine.refresh(0);
      return engine.status().faults.map(({ name }) => name);
    },
  };
  try {
    const resetPassword = (password: string) => store.resetPassword(password);
    const rotateSecret = async (): Promise<boolean> => {
      if (config.jwtSecret !== undefined) return false;
      await store.rotateSecret();
      return true;
    };
    const createAdmin = (password: string) => store.createAdmin(password);
    const readiness = () => lifecycle.readiness;
    const noteBackup = () => lastBackup.note();
    const services = {
      ...{ staging, readiness, createAdmin, resetPassword, rotateSecret, noteBackup, audit },
      tokens: store,
    };
    const control = await openControl(config.dataDir, services, log);
    cleanUp.add('control socket', () => control.close());
  } catch (error) {
    log.warn(
      { err: error },
      'no socket for commands: kithdb backup, kithdb token, and kithdb admin create, reset-password and rotate-secret need the server to be stopped',
    );
  }
}

/** Adds the first step of a stop: running requests have their grace. */
function drainAtStop({ log, lifecycle, cleanUp }: Start, server: Server, graceMs: number): void {
  const giveUp = (): void => {
    lifecycle.engine?.giveUpRequests();
  };
  cleanUp.add('requests', async () => {
    if (!(await drain(server, { graceMs, answerMs: ANSWER_MS, giveUp }))) {
      log.warn('some requests did not finish in time');
    }
  });
}

/**
 * What stops the server (C11.3), once: `/readyz` answers 503 and nothing new is accepted, then the clean-up runs: running
 * requests have their grace, and engine and store close in the time that is left.
 */
function stopOnce({ lifecycle, state, log, cleanUp }: Start): () => Promise<void> {
  let stopping: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    lifecycle.beginStop();
    log.info({ inProgress: state.requests.inProgress }, 'stopping');
    await cleanUp.run();
    log.info('stopped');
  };
  return () => (stopping ??= stop());
}

function printLine(line: string): void {
  process.stdout.write(`${line}\n`);
}
