import type { Logger } from 'pino';
import { AuthStartError } from '../../auth/open';
import type { AuthReplication } from '../../auth/replication';
import { hasData } from '../../auth/store/catalog';
import { openNativeEngine } from '../../engine';
import { reasonOf } from '../../files/explained';
import { whyOfCluster } from '../../operations/cluster-node';
import { contentOf } from '../adoption/adopt';
import { joinWhenPossible } from '../joining';
import { connectToNats, type NatsSettings } from '../log/nats-connection';
import { NatsLogService } from '../log/nats-log';
import { stateIfThere } from '../log/record-from';
import type { RecordLog } from '../log/record-log';
import type { BroughtContent } from '../membership/identity';
import { LogReplication, type AuthLog } from './replication';

const CONNECT_MS = 10_000;
const PREPARE_MS = 30_000;

/** What of a node's settings its authentication needs. */
export interface AuthLogSettings {
  /** The name of the cluster. */
  readonly cluster: string;
  readonly dataDir: string;
  readonly nats: NatsSettings;
  readonly groups: number;
  /** Copies that the log servers keep of each stream. */
  readonly logReplicas: number;
}

/**
 * Keeps authentication the same on all nodes of a cluster, over a connection of its own to the log servers. While those cannot be
 * reached a start waits for them. Once `leaving` is aborted it waits for nothing.
 */
export function openAuthReplication(
  settings: AuthLogSettings,
  leaving: AbortSignal,
  log: Pick<Logger, 'warn'>,
): AuthReplication {
  return new LogReplication({
    connect: () => joinWhenPossible(() => connected(settings, leaving), leaving, log),
    brings: () => broughtBy(settings.dataDir),
    signal: leaving,
  });
}

async function connected(
  { cluster, nats, groups, logReplicas }: AuthLogSettings,
  signal: AbortSignal,
): Promise<AuthLog> {
  const name = `kithdb authentication of ${cluster}`;
  const connection = await connectToNats(nats, name, { timeoutMs: CONNECT_MS, signal });
  try {
    const logs = await NatsLogService.of(connection, { cluster, groups, replicas: logReplicas });
    await logs.makeAuth({ timeoutMs: PREPARE_MS, signal });
    return { log: logs.auth, hasBegun: (stop) => hasEvents(logs.map, stop), disconnect: () => logs.close() };
  } catch (error) {
    await connection.close();
    throw error;
  }
}

/** Whether the stream of the shard map is there and has events. */
async function hasEvents(map: RecordLog, signal?: AbortSignal): Promise<boolean> {
  return ((await stateIfThere(map, signal))?.lastSequence ?? 0) > 0;
}

/**
 * The collections in the data directory of a server that was alone; undefined where there are none, or it is a node's. The engine is
 * opened for it and closed again, because authentication is opened before the engine of the node.
 */
async function broughtBy(dataDir: string): Promise<BroughtContent | undefined> {
  if (whyOfCluster(dataDir) !== undefined || !(await hasData(dataDir))) return undefined;
  const engine = openNativeEngine({ dataDir, searchThreads: 1, isReplica: true });
  try {
    await engine.open().catch((error: unknown) => {
      throw new AuthStartError(reasonOf(error), { cause: error });
    });
    return await contentOf(engine);
  } finally {
    await engine.close();
  }
}
