/** The work that a node does again and again for the streams of its cluster. */
import type { NatsConnection } from '@nats-io/transport-node';
import type { Logger } from 'pino';
import type { Engine } from '../../engine/types';
import type { Channel } from '../channel';
import { Checkpoints } from '../checkpoints/checkpoints';
import { LOOK_MS, type CheckpointSettings } from '../checkpoints/settings';
import type { LogService } from '../log/record-log';
import type { ShardMap } from '../map/shard-map';
import type { Members } from '../membership/members';
import type { LocalReplicas } from '../replica/local-replicas';
import type { CheckpointStore } from '../store/checkpoint-store';
import type { CleanUp } from '../../process/clean-up';
import type { RepeatedWork } from '../repeated-work';
import { cutStreams } from './cutting';
import type { MapRepair } from './map-repair';
import type { StreamRepair } from './repair';
import type { StreamWatch } from './watch';

const WATCH_MS = 1_000;

/** How a node does something again and again, and what is done at its end. */
export interface Repeating {
  readonly repeated: RepeatedWork;
  readonly cleanUp: CleanUp;
}

/** What looks after the streams. */
export interface WatchedStreams {
  readonly watch: StreamWatch;
  readonly repair: StreamRepair;
  readonly mapRepair: MapRepair;
}

/** Looks after the streams, and repairs what was lost. */
export function watchStreams(
  connection: NatsConnection,
  { watch, repair, mapRepair }: WatchedStreams,
  { repeated, cleanUp }: Repeating,
): void {
  void (async () => {
    for await (const { type } of connection.status()) {
      if (type === 'disconnect' || type === 'reconnect') watch.notePause();
    }
  })();
  cleanUp.add('repair of streams', repair.start());
  repeated.every(WATCH_MS, 'streams', (signal) => watch.look(signal));
  repeated.every(WATCH_MS, 'repair of streams', (signal) => repair.round(signal));
  repeated.every(WATCH_MS, 'repair of the shard map', (signal) => mapRepair.look(signal));
}

/** What keeping checkpoints needs. */
export interface KeepingParts {
  /** The id of this node. */
  readonly node: string;
  readonly engine: Engine;
  readonly dataDir: string;
  readonly store: CheckpointStore;
  readonly logs: LogService;
  readonly map: ShardMap;
  readonly members: Members;
  readonly replicas: LocalReplicas;
  readonly channel: Channel;
  readonly settings: CheckpointSettings;
  readonly log: Logger;
}

/** Saves checkpoints, and cuts streams below them. */
export function keepCheckpoints(parts: KeepingParts, { repeated, cleanUp }: Repeating): void {
  const { lookMs = LOOK_MS, everyMs, minAgeMs } = parts.settings;
  const checkpoints = new Checkpoints(parts);
  cleanUp.add('checkpoints', checkpoints.start());
  repeated.every(lookMs, 'checkpoints', (signal) => checkpoints.round(signal));
  repeated.every(everyMs, 'cutting streams', (signal) => cutStreams({ ...parts, minAgeMs }, signal));
}
