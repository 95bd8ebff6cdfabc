import { EngineError } from '../../engine/types';
import {
  LogRefusedError,
  type LogServers,
  type LogService,
  type NewRecord,
  type Published,
  type PublishLimits,
  type ReadRequest,
  type RecordHandler,
  type RecordLog,
  type StreamState,
} from '../log/record-log';
import type { ShardMapState } from '../map/state';
import type { StreamWatch } from './watch';

type Gate = Pick<StreamWatch, 'admit' | 'notePublished'>;

/** The streams of the log groups that the shard map names; nothing is published to one that was lost. */
export class CurrentLogs implements LogService {
  constructor(
    private readonly servers: Pick<LogServers, 'groups' | 'group'>,
    private readonly map: { readonly state: ShardMapState },
    /** What says whether a stream takes records; it may be made later than this. */
    private readonly gate: () => Gate,
  ) {}

  get groups(): number {
    return this.servers.groups;
  }

  group(group: number): RecordLog {
    const epoch = this.map.state.streams.get(group)?.epoch ?? 0;
    return new GuardedLog(group, this.servers, this.servers.group(group, epoch), this.gate());
  }
}

class GuardedLog implements RecordLog {
  constructor(
    private readonly group: number,
    private readonly servers: Pick<LogServers, 'group'>,
    private readonly log: RecordLog,
    private readonly gate: Gate,
  ) {}

  get name(): string {
    return this.log.name;
  }

  /** @throws EngineError `unavailable` where the stream takes no records, `storage_full` where it has no room. */
  async publish(subject: string, record: NewRecord, limits: PublishLimits): Promise<Published> {
    const { epoch } = await this.gate.admit(this.group);
    try {
      const log = this.servers.group(this.group, epoch);
      const published = await log.publish(subject, { ...record, epoch }, limits);
      this.gate.notePublished(this.group, published.sequence);
      return published;
    } catch (error) {
      const isFull = error instanceof LogRefusedError && error.isFull;
      throw isFull ? new EngineError('storage_full', { message: error.message }) : error;
    }
  }

  async publishExpecting(
    subject: string,
    record: NewRecord,
    lastSequence: number,
    limits: PublishLimits,
  ): Promise<Published | 'conflict'> {
    const { epoch } = await this.gate.admit(this.group);
    return this.log.publishExpecting(subject, { ...record, epoch }, lastSequence, limits);
  }

  read(request: ReadRequest, handler: RecordHandler): Promise<void> {
    return this.log.read(request, handler);
  }

  state(signal?: AbortSignal): Promise<StreamState> {
    return this.log.state(signal);
  }

  lastOf(subject: string, signal?: AbortSignal): Promise<number> {
    return this.log.lastOf(subject, signal);
  }

  storedAt(sequence: number, signal?: AbortSignal): Promise<number | undefined> {
    return this.log.storedAt(sequence, signal);
  }

  truncateBelow(sequence: number): Promise<void> {
    return this.log.truncateBelow(sequence);
  }
}
