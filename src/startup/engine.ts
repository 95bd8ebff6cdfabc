import { totalmem } from 'node:os';
import type { AuthService } from '../auth';
import type { Engine, EngineOptions } from '../engine/types';
import type { Deferred } from '../http/deferred';
import { StartError } from '../http/listen';
import { BadModel } from '../models/bad-model';
import { ConfiguredModels } from '../models/configured-models';
import { Reembedder } from '../models/reembedder';
import { reportHealthIssues } from '../operations/health-report';
import { reportScrub } from '../operations/scrub-report';
import { CleanUp } from '../process/clean-up';
import { CHECKPOINTED_MS, LEAST_CLOSE_MS } from '../process/stop-times';
import { openControlSocket } from './control';
import { closeIfOpen, type Start } from './start';

/** Makes an engine that is not open yet. */
export type EngineFactory = (options: EngineOptions) => Engine | Promise<Engine>;

/** The engine of this package, loaded when the server already listens. */
export async function nativeEngine(options: EngineOptions): Promise<Engine> {
  const { openNativeEngine } = await import('../engine/index.js');
  return openNativeEngine(options);
}

/**
 * Loads the models of folders; undefined where there are no models.
 * @throws StartError that names a model that cannot be used.
 */
async function openModels({ config }: Start): Promise<ConfiguredModels | undefined> {
  if (config.models.length === 0) return undefined;
  try {
    return await ConfiguredModels.open(config.models);
  } catch (error) {
    throw error instanceof BadModel
      ? new StartError(`KITHDB_MODELS ${error.message}`, { cause: error })
      : error;
  }
}

/** Makes the engine without opening it. */
export function makeEngine(start: Start, factory: EngineFactory): Promise<Engine> {
  const { config, log, lifecycle, cleanUp } = start;
  const { dataDir, searchThreads, memoryLimit, limits, scrubMbPerSecond, scrubIntervalHours } = config;
  const { allowFilesystem: allowedFileSystems, calibrationPercent, metricsCollections } = config;
  const memory = { machineBytes: totalmem(), ...(memoryLimit !== undefined && { limitBytes: memoryLimit }) };
  const scrub = { bytesPerSecond: scrubMbPerSecond * 1e6, intervalSeconds: scrubIntervalHours * 3600 };
  const { residencyIdleSeconds: idleSeconds, residencyBudget: budgetBytes } = config;
  const residency = { idleSeconds, ...(budgetBytes !== undefined && { budgetBytes }) };
  const opening = openModels(start);
  opening.catch(() => undefined);
  // Before the step of the engine: a stop closes them behind it, when no request has texts any more.
  cleanUp.add('models', () => closeIfOpen(opening, (models) => models?.close() ?? Promise.resolve(), log));
  const make = async (): Promise<Engine> => {
    const models = await opening;
    return factory({
      ...{ dataDir, searchThreads, memory, limits, allowedFileSystems, residency },
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
export function openEngine(
  start: Start,
  auth: Deferred<AuthService>,
  making: Promise<Engine>,
): Promise<boolean> {
  const { lifecycle, log, cleanUp, snapshots } = start;
  const reports = new CleanUp(log);
  // A node that was joining its cluster has given that up where the server stops.
  const unlessLeft = (error: unknown): undefined => {
    if (start.cluster === undefined || !lifecycle.isStopping) throw error;
  };
  const open = async (): Promise<boolean> => {
    // An engine that cannot be made is said at once, also while authentication waits for the log servers of a cluster.
    const [store, engine] = await Promise.all([auth.ready.catch(unlessLeft), making]);
    if (store === undefined) return false;
    if (lifecycle.phase !== 'stopping') {
      try {
        const warning = await engine.open();
        if (warning !== undefined) log.warn(warning);
      } catch (error) {
        unlessLeft(error);
        return false;
      }
      // Nothing of it is ever relied on, and what cannot be removed only takes room.
      await snapshots.removeUnfinished().catch((error: unknown) => {
        log.warn({ err: error }, 'unfinished snapshots cannot be removed');
      });
      // Before any data endpoint is served.
      await store.compareWith(engine);
      await start.lastBackup.read();
      await start.loops?.join(engine);
    }
    if (!lifecycle.becomeReady(engine)) {
      return false;
    }
    // A cluster re-embeds nothing.
    if (start.cluster === undefined) {
      const reembedder = new Reembedder(engine);
      reembedder.start();
      reports.add('re-embedding', () => reembedder.close());
    }
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
  if (start.cluster !== undefined) {
    cleanUp.add('joining the cluster', async () => {
      // Before it is waited for.
      if (lifecycle.engine === undefined) (await making.catch(() => undefined))?.giveUpRequests();
    });
  }
  return opened;
}
