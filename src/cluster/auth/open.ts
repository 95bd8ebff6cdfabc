import type { Logger } from 'pino';
import type { AuthReplication } from '../../auth/replication';
import { joinWhenPossible } from '../joining';
import { connectToNats, type NatsSettings } from '../log/nats-connection';
import { NatsLogService } from '../log/nats-log';
import { LogReplication, type AuthLog } from './replication';

const CONNECT_MS = 10_000;
const PREPARE_MS = 30_000;

/** What of a node's settings its authentication needs. */
export interface AuthLogSettings {
  /** The name of the cluster. */
  readonly cluster: string;
  readonly nats: NatsSettings;
  readonly groups: number;
  /** Copies that the log servers keep of each stream. */
  readonly logReplicas: number;
}

/**
 * Keeps authentication the same on all nodes of a cluster, over a connection of its own to the log servers. While those cannot be
 * reached a start waits for them, until `leaving` is aborted.
 */
export function openAuthReplication(
  settings: AuthLogSettings,
  leaving: AbortSignal,
  log: Pick<Logger, 'warn'>,
): AuthReplication {
  return new LogReplication(() => joinWhenPossible(() => connected(settings, leaving), leaving, log));
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
    return { log: logs.auth, disconnect: () => logs.close() };
  } catch (error) {
    await connection.close();
    throw error;
  }
}
