/** The replicated log over NATS JetStream. */
import { jetstream, jetstreamManager, type JetStreamManager } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import type { WaitLimits } from '../waiting';
import { NatsStream, type NatsClients } from './nats-stream';
import {
  ensureJetStream,
  ensureStream,
  existingStream,
  removeStream,
  streamNames,
  type Deadline,
  type StreamNames,
} from './nats-streams';
import {
  StreamMissingError,
  type LogServers,
  type NewMap,
  type NewStream,
  type RecordLog,
  type StreamOrigin,
} from './record-log';
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

export class NatsLogService implements LogServers {
  readonly map: RecordLog;
  readonly auth: RecordLog;
  readonly #logs = new Map<string, RecordLog>();
  readonly #clients: NatsClients;

  private constructor(
    readonly connection: NatsConnection,
    readonly settings: NatsLogSettings,
    readonly manager: JetStreamManager,
  ) {
    this.#clients = { manager, publisher: jetstream(connection) };
    this.map = this.#logOf(this.#mapNames);
    this.auth = this.#logOf(this.#authNames);
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

  async makeMap({ isNew, firstSequence }: NewMap, limits: WaitLimits): Promise<StreamOrigin> {
    const deadline = deadlineOf(limits);
    await ensureJetStream(this.manager, deadline);
    const names = this.#mapNames;
    if (isNew) return ensureStream(this.manager, names, { ...this.settings, firstSequence }, deadline);
    const existing = await existingStream(this.manager, names, this.settings, deadline);
    if (existing === undefined) throw new StreamMissingError(names.stream);
    return existing;
  }

  removeMap(): Promise<void> {
    return removeStream(this.manager, this.#mapNames);
  }

  async makeAuth(limits: WaitLimits): Promise<void> {
    const deadline = deadlineOf(limits);
    await ensureJetStream(this.manager, deadline);
    await ensureStream(this.manager, this.#authNames, { ...this.settings, firstSequence: 1 }, deadline);
  }

  makeGroup(group: number, { epoch, firstSequence }: NewStream, limits: WaitLimits): Promise<StreamOrigin> {
    const names = this.#namesOf(group, epoch);
    return ensureStream(this.manager, names, { ...this.settings, firstSequence }, deadlineOf(limits));
  }

  group(group: number, epoch = 0): RecordLog {
    const names = this.#namesOf(group, epoch);
    const log = this.#logs.get(names.stream) ?? this.#logOf(names);
    this.#logs.set(names.stream, log);
    return log;
  }

  get #mapNames(): StreamNames {
    return streamNames(this.cluster, 'map');
  }

  get #authNames(): StreamNames {
    return streamNames(this.cluster, 'auth');
  }

  #namesOf(group: number, epoch: number): StreamNames {
    if (!Number.isSafeInteger(group) || group < 0 || group >= this.groups)
      throw new RangeError(`there are ${this.groups} log groups: ${group} is none of them`);
    return streamNames(this.cluster, epoch === 0 ? String(group) : `${group}_e${epoch}`);
  }

  #logOf({ stream, prefix }: StreamNames): RecordLog {
    return new StreamLog(new NatsStream(this.#clients, stream, prefix));
  }

  async close(): Promise<void> {
    await this.connection.close();
  }
}

function deadlineOf({ timeoutMs, signal }: WaitLimits): Deadline {
  return { atMs: performance.now() + timeoutMs, signal };
}
