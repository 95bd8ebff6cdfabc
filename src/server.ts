import type { Server } from 'node:http';
import type { Logger } from 'pino';
import { openAuth, type AuthReplication, type AuthService } from './auth';
import type { Config } from './config';
import { keepCertificate } from './http/certificate';
import { Deferred } from './http/deferred';
import { drain } from './http/drain';
import { Lifecycle } from './http/lifecycle';
import { authority, StartError } from './http/listen';
import { openLog, type ProcessLog } from './http/log';
import { whyOfCluster } from './operations/cluster-node';
import { whyUnusable } from './operations/data-dir';
import { LastBackup } from './operations/last-backup';
import { reportStart } from './operations/start-report';
import { CleanUp } from './process/clean-up';
import { ProcessOwner } from './process/owner';
import { localProcessState, sharedProcessState } from './process/state';
import { ANSWER_MS, GRACE_MS } from './process/stop-times';
import { SnapshotService } from './snapshots/service';
import { SnapshotStore } from './snapshots/store';
import { openAuditLog } from './startup/audit';
import { openAlone } from './startup/alone';
import { openCluster } from './startup/cluster';
import { makeEngine, nativeEngine, openEngine, type EngineFactory } from './startup/engine';
import { serve } from './startup/http';
import { makeLoops, type LoopParts } from './startup/loops';
import { closeIfOpen, type Start } from './startup/start';
import { productVersion } from './system/version';
import { openTracing } from './tracing/open';

export { StartError } from './http/listen';
export type { EngineFactory } from './startup/engine';

/** What a start can be given in place of its usual parts. */
export interface StartOptions {
  readonly openEngine?: EngineFactory;
  /** Keeps authentication the same on all nodes of a cluster; a server alone has none. */
  readonly replication?: AuthReplication | undefined;
  readonly log?: ProcessLog;
  /** Prints the line that says that the server is ready (C11.3). */
  readonly print?: (line: string) => void;
  /** How long running requests may take to finish when the server stops. */
  readonly graceMs?: number;
  /** Time between two looks at the files of the certificate. */
  readonly certificateLookMs?: number;
  /** What further event loops get in place of their usual parts. */
  readonly loops?: LoopParts;
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

/**
 * Starts the server: it listens first, so that health and 412 answer at once, and opens authentication and the
 * engine meanwhile. Only on an address that other machines can reach, the state of authentication is checked before
 * listening (C3.8).
 * @throws StartError when the address or the certificate cannot be used, or the folder is none for a server.
 * @throws ExposureError when authentication is off on such an address and nobody has decided that it may be.
 */
export async function startServer(given: Config, options: StartOptions = {}): Promise<RunningServer> {
  const startedAt = performance.now();
  const processLog = options.log ?? openLog(given);
  const owner = (options.ownsProcess ?? true) ? new ProcessOwner(processLog) : undefined;
  await refuseUnusable(given);

  const { log } = processLog;
  const lifecycle = new Lifecycle();
  const cleanUp = new CleanUp(log);
  const audit = openAuditLog(given, cleanUp);
  const { config, cluster } = await openDirectory(given, log, cleanUp);
  const snapshots = new SnapshotService(new SnapshotStore(config.dataDir, config));
  const tracing = await openTracing(productVersion());
  // Behind the last requests: what they were traced as is exported then.
  cleanUp.add('tracing', () => tracing?.flush());
  const loops = makeLoops(config, processLog, cleanUp, {
    isTraced: tracing !== undefined,
    parts: options.loops,
  });
  const start: Start = {
    ...{ config, log, lifecycle, cleanUp, cluster, snapshots, tracing, audit, loops },
    lastBackup: new LastBackup(config.dataDir),
    state: loops === undefined ? localProcessState(config) : sharedProcessState(config, loops),
  };
  const auth = openStore(start, options.replication);
  lifecycle.closedWhen(() => auth.current?.isClosed === true || auth.current?.isOutdated === true);
  const { server, port } = await serve(start, auth);
  const url = `${config.tls === undefined ? 'http' : 'https'}://${authority(config.host, port)}`;
  log.info({ url }, 'listening');

  const engine = makeEngine(start, options.openEngine ?? cluster?.openEngine ?? nativeEngine);
  const opened = openEngine(start, auth, engine);
  const ready = opened.then(async (isServed) => {
    if (isServed) {
      const print = options.print ?? printLine;
      const { isClosed } = await auth.ready;
      reportStart(await engine, { url, tookMs: performance.now() - startedAt, log, print, isClosed });
    }
  });
  const certificate = keepCertificate(server, config.tls, log, {
    lookMs: options.certificateLookMs,
    others: loops,
  });
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

/**
 * What is served: the data directory, as a node of a cluster has it where it is one, or a copy of one that is served alone. When
 * that fails, what was opened so far is closed.
 */
async function openDirectory(
  config: Config,
  log: Logger,
  cleanUp: CleanUp,
): Promise<Pick<Start, 'config' | 'cluster'>> {
  try {
    if (config.clusterAlone) return await openAlone(config, log, cleanUp);
    return { config, cluster: await openCluster(config, log, cleanUp) };
  } catch (error) {
    // What could not be closed is in the log.
    await cleanUp.run().catch(() => undefined);
    throw error;
  }
}

/** @throws StartError when the data directory is none for a server. */
async function refuseUnusable({ dataDir, cluster, clusterAlone }: Config): Promise<void> {
  const ofCluster = cluster === undefined && !clusterAlone ? whyOfCluster(dataDir) : undefined;
  const unusable =
    ofCluster === undefined
      ? await whyUnusable(dataDir)
      : `${ofCluster}: start it with --cluster, or serve it read-only with --cluster-alone`;
  if (unusable !== undefined) {
    throw new StartError(unusable);
  }
}

/** Opens the store of authentication in the background. */
function openStore(
  { config, log, state, cleanUp, cluster }: Start,
  replication = cluster?.replication,
): Deferred<AuthService> {
  const auth = new Deferred(openAuth(config, log, state.auth, { replication }));
  cleanUp.add('authentication', () => closeIfOpen(auth.ready, (store) => store.close(), log));
  return auth;
}

/** Adds the first step of a stop: running requests have their grace. */
function drainAtStop({ log, lifecycle, cleanUp, loops }: Start, server: Server, graceMs: number): void {
  const giveUp = (): void => {
    lifecycle.engine?.giveUpRequests();
  };
  cleanUp.add('requests', async () => {
    const times = { graceMs, answerMs: ANSWER_MS };
    const drained = await Promise.all([drain(server, { ...times, giveUp }), loops?.drain(times)]);
    if (drained.includes(false)) {
      log.warn('some requests did not finish in time');
    }
    await loops?.end();
  });
}

/**
 * What stops the server (C11.3), once: `/readyz` answers 503 and nothing new is accepted, then the clean-up runs: running
 * requests have their grace, and engine and store close in the time that is left.
 */
function stopOnce({ lifecycle, state, log, cleanUp, loops, cluster }: Start): () => Promise<void> {
  let stopping: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    lifecycle.beginStop();
    loops?.beginStop();
    cluster?.leave();
    log.info({ inProgress: state.requests.inProgress }, 'stopping');
    await cleanUp.run();
    log.info('stopped');
  };
  return () => (stopping ??= stop());
}

function printLine(line: string): void {
  process.stdout.write(`${line}\n`);
}
