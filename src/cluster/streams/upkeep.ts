/** The work that a node does again and again for the streams of its cluster. */
import type { NatsConnection } from '@nats-io/transport-node';
import type { Logger } from 'pino';
import type { Engine } from '../../engine/types';
import type { Channel } from '../channel';
import { Checkpoints } from '../checkpoints/checkpoints';
import type { CheckpointSettings } from '../checkpoints/settings';
import type { LogService } from '../log/record-log';
import type { ShardMap } from '../map/shard-map';
import type { Members } from '../membership/members';
import type { LocalReplicas } from '../replica/local-replicas';
import type { CheckpointStore } from '../store/checkpoint-store';
import { cutStreams } from './cutting';
import type { StreamRepair } from './repair';
import type { StreamWatch } from './watch';

const WATCH_MS = 1_000;

/** How a node does something again and again, and what it does at its end: in the reverse order. */
export interface Repeating {
  readonly every: (ms: number, what: string, work: () => Promise<void>) => void;
  readonly ends: (() => void | Promise<void>)[];
}

/** Looks after the streams, and repairs what was lost. */
export function watchStreams(
  connection: NatsConnection,
  { watch, repair }: { readonly watch: StreamWatch; readonly repair: StreamRepair },
  { every, ends }: Repeating,
): void {
  void (async () => {
    for await (const { type } of connection.status()) {
      if (type === 'disconnect' || type === 'reconnect') watch.notePause();
    }
  })();
  ends.push(repair.start());
  const stop = new AbortController();
  every(WATCH_MS, 'streams', () => watch.look());
  every(WATCH_MS, 'repair of streams', () => repair.round(stop.signal));
  ends.push(() => {
    stop.abort();
  });
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
export function keepCheckpoints(parts: KeepingParts, { every, ends }: Repeating): void {
  const { lookMs, everyMs, minAgeMs } = parts.settings;
  const checkpoints = new Checkpoints(parts);
  const stop = new AbortController();
  ends.push(checkpoints.start());
  every(lookMs, 'checkpoints', () => checkpoints.round(stop.signal));
  every(everyMs, 'cutting streams', () => cutStreams({ ...parts, minAgeMs }, stop.signal));
  ends.push(() => {
    stop.abort();
  });
}
