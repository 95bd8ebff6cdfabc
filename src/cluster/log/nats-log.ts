/** The replicated log over NATS JetStream. */
import { jetstream, jetstreamManager, type JetStreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import { NatsStream } from './nats-stream';
import { ensureJetStream, ensureStream, streamNames, type StreamNames } from './nats-streams';
import type { LogService, RecordLog } from './record-log';
import { StreamLog } from './stream-log';

export interface NatsLogSettings {
  /** Lower-case letters, digits and hyphens. */
  readonly cluster: string;
  readonly groups: number;
  /** Copies that the servers keep of each stream: 3, or fewer where there are fewer servers. */
  readonly replicas: number;
}

/** How long a question to the servers may take, but for publishing, which has a time of its own. */
const API_TIMEOUT_MS = 5000;

export class NatsLogService implements LogService {
  readonly map: RecordLog;
  readonly auth: RecordLog;
  readonly #groups: readonly RecordLog[];
  readonly #streams: readonly StreamNames[];

  private constructor(
    readonly connection: NatsConnection,
    readonly settings: NatsLogSettings,
    readonly manager: JetStreamManager,
  ) {
    const clients = { manager, publisher: jetstream(connection) };
    const logOf = ({ stream, prefix }: StreamNames): RecordLog =>
      new StreamLog(new NatsStream(clients, stream, prefix));
    const { cluster, groups } = settings;
    const map = streamNames(cluster, 'map');
    const auth = streamNames(cluster, 'auth');
    const others = Array.from({ length: groups }, (_, group) => streamNames(cluster, String(group)));
    this.#streams = [map, auth, ...others];
    this.map = logOf(map);
    this.auth = logOf(auth);
    this.#groups = others.map(logOf);
  }

  /** Over a connection, which it closes at its own end. */
  static async of(connection: NatsConnection, settings: NatsLogSettings): Promise<NatsLogService> {
    if (!/^[a-z0-9-]{1,32}$/.test(settings.cluster)) {
      throw new RangeError('the name of a cluster has 1 to 32 lower-case letters, digits and hyphens');
    }
    const manager = await jetstreamManager(connection, { timeout: API_TIMEOUT_MS, checkAPI: false });
    return new NatsLogService(connection, settings, manager);
  }

  get cluster(): string {
    return this.settings.cluster;
  }

  get groups(): number {
    return this.settings.groups;
  }

  async prepare(timeoutMs: number): Promise<void> {
    const deadlineMs = performance.now() + timeoutMs;
    await ensureJetStream(this.manager, deadlineMs);
    for (const names of this.#streams) await ensureStream(this.manager, names, this.settings, deadlineMs);
  }

  group(group: number): RecordLog {
    const log = this.#groups[group];
    if (log === undefined)
      throw new RangeError(`there are ${this.groups} log groups: ${group} is none of them`);
    return log;
  }

  async close(): Promise<void> {
    await this.connection.close();
  }
}
