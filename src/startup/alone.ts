/** The directory of a node of a cluster, served without its cluster (docs/cluster.md, _Served alone_). */
import { ReadOnlyReplication } from '../auth';
import type { Config } from '../config';
import type { Engine, EngineOptions } from '../engine/types';
import { makeWorkingCopy, removeAbandonedCopies } from '../operations/working-copy';
import type { CleanUp } from '../process/clean-up';
import { asStartError, loadCluster, type Cluster } from './cluster';
import type { Logger } from 'pino';

/** A directory that is ready to be served. */
export interface Alone {
  /** The settings, with the copy that is worked on as the data directory. */
  readonly config: Config;
  readonly cluster: Cluster;
}

/**
 * Locks the directory and makes the copy that is served; both end with the clean-up.
 * @throws StartError where the package is missing, or the directory cannot be served.
 */
export async function openAlone(config: Config, log: Logger, cleanUp: CleanUp): Promise<Alone> {
  const { readAlone, openAloneEngine } = await loadCluster();
  const { dataDir } = config;
  // Before anything is made in a folder that is no node's.
  await readAlone(dataDir).catch(asStartError);
  await removeAbandonedCopies().catch((error: unknown) => {
    log.warn({ err: error }, 'a copy that an earlier server has left could not be removed');
  });
  const copy = await makeWorkingCopy(dataDir, cleanUp).catch(asStartError);
  // Under the lock: a node that was stopping has written its last state by then.
  const saved = await readAlone(dataDir).catch(asStartError);
  const { identity, state } = saved;
  log.warn(
    { cluster: identity.cluster, node: identity.node, mapVersion: state.version, copy },
    'this server serves the directory of a node of a cluster alone, and read-only: as far as the node had come',
  );
  const openEngine = async (options: EngineOptions): Promise<Engine> => {
    const { openNativeEngine } = await import('../engine/index.js');
    return openAloneEngine(options, saved, log, openNativeEngine);
  };
  return {
    config: { ...config, dataDir: copy },
    cluster: {
      openEngine,
      replication: new ReadOnlyReplication(config.authEnabled === false),
      leave: () => undefined,
    },
  };
}
