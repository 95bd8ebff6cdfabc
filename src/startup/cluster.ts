import { createRequire } from 'node:module';
import type { AuthReplication } from '../auth';
import type { Config } from '../config';
import type * as ClusterPackage from '../cluster';
import { EngineError, type Engine, type EngineOptions } from '../engine/types';
import { watchPems } from '../http/certificate';
import { StartError } from '../http/listen';
import type { CleanUp } from '../process/clean-up';
import { wayToInstall } from '../system/optional-package';
import { productVersion } from '../system/version';
import type { EngineFactory } from './engine';
import type { Logger } from 'pino';
import { reasonOf } from '../files/explained';

const PACKAGE = '@kithdb/cluster';

/** What the package exports. */
type Loaded = Pick<
  typeof ClusterPackage,
  | 'openAuthReplication'
  | 'openClusterEngine'
  | 'readAlone'
  | 'openAloneEngine'
  | 'makeMapAnew'
  | 'requireNode'
  | 'EngineError'
>;

/** What a node of a cluster has in place of the parts of a server by itself. */
export interface Cluster {
  readonly openEngine: EngineFactory;
  /** Keeps authentication the same on all nodes. */
  readonly replication: AuthReplication;
  /** Ends a start that waits for the log servers. */
  readonly leave: () => void;
}

/**
 * Loads what a node needs; undefined for a server by itself.
 * @throws StartError where the package is missing, or is that of another kithdb.
 */
export async function openCluster(
  config: Config,
  log: Logger,
  cleanUp: CleanUp,
): Promise<Cluster | undefined> {
  const { cluster, dataDir } = config;
  if (cluster === undefined) return undefined;
  const { openAuthReplication, openClusterEngine } = await loadCluster();
  const { name, listen, advertise, tls, groups, copies, store, log: servers } = cluster;
  const { storeEndpoint: endpoint, storeRegion: region, checkpoints } = cluster;
  const settings = {
    ...{ cluster: name, dataDir, nats: servers, groups, logReplicas: copies, listen, advertise, store },
    checkpoints,
    storeAccess: { ...(endpoint !== undefined && { endpoint }), ...(region !== undefined && { region }) },
    security: tls === undefined ? ('insecure' as const) : { ...tls, name },
  };
  const openEngine = async (options: EngineOptions): Promise<Engine> => {
    const { openNativeEngine } = await import('../engine/index.js');
    const engine = await openClusterEngine(options, settings, log, openNativeEngine).catch(asStartError);
    if (tls !== undefined) {
      const { certFile, keyFile, caFile, cert, key, ca } = tls;
      const use = ([newCert = '', newKey = '', newCa = '']: readonly string[]): void => {
        engine.useCertificate({ cert: newCert, key: newKey, ca: newCa, name });
      };
      const watched = watchPems({ files: { certFile, keyFile, caFile }, used: [cert, key, ca], use }, log);
      cleanUp.add('certificate of the node', () => watched.close());
    }
    return engine;
  };
  const leaving = new AbortController();
  const leave = (): void => {
    leaving.abort(
      new StartError('the server was stopped while it waited for the log servers of its cluster'),
    );
  };
  return { openEngine, replication: openAuthReplication(settings, leaving.signal, log), leave };
}

/** Fails a start with the reason of an error. */
export function asStartError(error: unknown): never {
  throw new StartError(reasonOf(error), { cause: error });
}

/** The package and its version. */
interface Installed {
  readonly version: string;
  readonly cluster: Loaded;
}

/**
 * The package that is installed beside kithdb, or the sources of a clone. Tests give other places.
 * @throws StartError with the way to install it
 */
export async function loadCluster(
  load: (name: string) => unknown = createRequire(__filename),
  sources = fromSources,
): Promise<Loaded> {
  const { version, cluster } = installed(load) ?? (await sources().catch(asMissing));
  if (version !== productVersion()) {
    throw new StartError(
      `The package ${PACKAGE} has version ${version}, and kithdb ${productVersion()} needs its own: ${wayToInstall(PACKAGE)}`,
    );
  }
  // Errors are told apart by their class.
  if (cluster.EngineError !== EngineError) {
    throw new StartError(
      `The package ${PACKAGE} found another installation of kithdb than the one that runs: install both in one folder`,
    );
  }
  return cluster;
}

function installed(load: (name: string) => unknown): Installed | undefined {
  try {
    const { version } = load(`${PACKAGE}/package.json`) as { readonly version: string };
    return { version, cluster: load(PACKAGE) as Loaded };
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

async function fromSources(): Promise<Installed> {
  return { version: productVersion(), cluster: await import('../cluster/index.js') };
}

function asMissing(error: unknown): never {
  if (!isMissing(error)) throw error;
  throw new StartError(`A cluster needs the package ${PACKAGE}: ${wayToInstall(PACKAGE)}`, { cause: error });
}

function isMissing(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'MODULE_NOT_FOUND' || code === 'ERR_MODULE_NOT_FOUND';
}
