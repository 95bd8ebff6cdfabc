import type { AuthLogSettings } from './auth/open';
import { HEARTBEAT_MS } from './membership/heartbeats';
import { decodeHeartbeat } from './membership/heartbeat';
import { identityIn } from './membership/identity';
import { NatsHeartbeats } from './membership/nats-heartbeats';
import { connectToNats } from './log/nats-connection';
import { NatsLogService } from './log/nats-log';
import { pause } from './pause';
import { KnownMap } from './streams/known-map';
import { planRecovery, recoverMap, RecoveryRefused, type RecoveryPlan } from './streams/map-recovery';

const CONNECT_MS = 10_000;
/** How long heartbeats of nodes are listened for. */
const LISTEN_MS = 4 * HEARTBEAT_MS;

/** Where the map is, and where it goes. */
export interface RecoverySettings extends AuthLogSettings {
  /** The data directory of a node that is stopped; the caller holds its lock. */
  readonly dataDir: string;
}

/** @throws RecoveryRefused for a directory that is none of a node of the cluster */
export async function requireNode({
  cluster,
  dataDir,
}: Pick<RecoverySettings, 'cluster' | 'dataDir'>): Promise<void> {
  if ((await identityIn(dataDir, cluster)) === undefined) {
    throw new RecoveryRefused(`${dataDir} is no directory of a node of the cluster ${cluster}`);
  }
}

/**
 * Makes the shard map of a cluster anew of what a node has saved of it, where `isConfirmed`; else only says what would be done.
 * @throws RecoveryRefused, and the errors of the log servers
 */
export async function makeMapAnew(settings: RecoverySettings, isConfirmed: boolean): Promise<RecoveryPlan> {
  const { cluster, dataDir, nats, groups, logReplicas: replicas } = settings;
  const known = await KnownMap.open(dataDir);
  const connection = await connectToNats(nats, `kithdb recovery of ${cluster}`, { timeoutMs: CONNECT_MS });
  try {
    const servers = await NatsLogService.of(connection, { cluster, groups, replicas });
    await refuseRunning(new NatsHeartbeats(connection, cluster));
    const plan = await planRecovery(servers, known);
    if (isConfirmed) await recoverMap(servers, known, plan);
    return plan;
  } finally {
    await connection.close();
  }
}

/** @throws RecoveryRefused where a node runs: it would go on with the map that was lost */
async function refuseRunning(heartbeats: NatsHeartbeats): Promise<void> {
  const running = new Set<string>();
  const end = heartbeats.receive((bytes) => {
    const heartbeat = decodeHeartbeat(bytes);
    if (heartbeat !== undefined) running.add(heartbeat.address);
  });
  await pause(LISTEN_MS);
  end();
  if (running.size > 0) {
    throw new RecoveryRefused(`nodes run at ${[...running].sort().join(', ')}: stop all nodes first`);
  }
}
