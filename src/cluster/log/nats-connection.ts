import {
  connect,
  credsAuthenticator,
  type NatsConnection,
  type NodeConnectionOptions,
} from '@nats-io/transport-node';
import { reasonOf } from '../../files/explained';
import { unlessAborted, type WaitLimits } from '../waiting';
import { FRAME_BYTES, LogConfigurationError, LogUnavailableError } from './record-log';

/** How a node reaches the log servers. */
export interface NatsSettings {
  /** `host:port` of some of the servers; they name the others. */
  readonly servers: readonly string[];
  readonly user?: string | undefined;
  readonly password?: string | undefined;
  /** The text of a credentials file: a JWT and its key. */
  readonly credentials?: string | undefined;
  readonly tls?: TlsFiles | undefined;
}

/**
 * Paths of PEM files: the authority of the servers' certificates, those of the system when absent; certificate and key for
 * servers that verify their clients.
 */
export interface TlsFiles {
  readonly authority?: string | undefined;
  readonly certificate?: string | undefined;
  readonly key?: string | undefined;
}

const OLDEST_SERVER = [2, 10];
/** What a message has besides its payload at most. */
const HEADER_BYTES = 8 * 1024;
const PING_MS = 5000;

/**
 * A connection that connects again for as long as it is not closed.
 * @throws LogUnavailableError where no server answers in the time; LogConfigurationError for one that cannot be used; the
 * reason of the signal
 */
export async function connectToNats(
  settings: NatsSettings,
  name: string,
  { timeoutMs, signal }: WaitLimits,
): Promise<NatsConnection> {
  signal?.throwIfAborted();
  const connecting = connect(optionsOf(settings, name, timeoutMs));
  let connection: NatsConnection;
  try {
    connection = await unlessAborted(connecting, signal);
  } catch (error) {
    if (signal?.aborted === true) {
      connecting.then((late) => late.close()).catch(() => undefined);
      throw error;
    }
    const servers = settings.servers.join(', ');
    throw new LogUnavailableError(`no log server of ${servers} can be used: ${reasonOf(error)}`, {
      cause: error,
    });
  }
  const unfit = whyUnfit(connection);
  if (unfit === undefined) return connection;
  await connection.close();
  throw new LogConfigurationError(unfit);
}

function optionsOf(settings: NatsSettings, name: string, timeoutMs: number): NodeConnectionOptions {
  const { servers, user, password, credentials, tls } = settings;
  return {
    servers: [...servers],
    name,
    timeout: timeoutMs,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 250,
    // A server whose credentials are being changed is no reason to give up.
    ignoreAuthErrorAbort: true,
    // A stack trace for each request, which nobody sees where it is answered.
    noAsyncTraces: true,
    pingInterval: PING_MS,
    maxPingOut: 2,
    ...(user !== undefined && { user }),
    ...(password !== undefined && { pass: password }),
    ...(credentials !== undefined && { authenticator: credsAuthenticator(Buffer.from(credentials)) }),
    ...(tls !== undefined && {
      tls: {
        ...(tls.authority !== undefined && { caFile: tls.authority }),
        ...(tls.certificate !== undefined && { certFile: tls.certificate }),
        ...(tls.key !== undefined && { keyFile: tls.key }),
      },
    }),
  };
}

function whyUnfit({ info }: NatsConnection): string | undefined {
  if (info === undefined) return 'the log server does not say what it is';
  if (isOlder(info.version)) {
    return `the log server ${info.server_name} has version ${info.version}: ${OLDEST_SERVER.join('.')} or newer is needed`;
  }
  const needed = FRAME_BYTES + HEADER_BYTES;
  if (info.max_payload < needed) {
    return `the log server ${info.server_name} takes messages of ${info.max_payload} bytes: set its max_payload to ${needed} or more`;
  }
  return undefined;
}

function isOlder(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map((part) => Number.parseInt(part, 10));
  const [oldestMajor = 0, oldestMinor = 0] = OLDEST_SERVER;
  return major < oldestMajor || (major === oldestMajor && minor < oldestMinor);
}
