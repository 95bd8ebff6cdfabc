import type { NatsConnection } from '@nats-io/transport-node';
import type { Logger } from 'pino';
import type { Engine, EngineOptions, TextModels } from '../engine/types';
import type { CleanUp } from '../process/clean-up';
import type { CheckpointSettings } from './checkpoints/settings';
import type { Channel } from './channel';
import type { Coordinator } from './coordinator/coordinator';
import type { Divergence } from './divergence/divergence';
import type { NatsSettings } from './log/nats-connection';
import type { LogService } from './log/record-log';
import type { ShardMap } from './map/shard-map';
import type { Members } from './membership/members';
import type { PeerAddress } from './peers/client';
import type { PeerSecurity } from './peers/security';
import type { RepeatedWork } from './repeated-work';
import type { LocalReplicas } from './replica/local-replicas';
import type { ReplicaSource } from './replica/opening';
import type { CheckpointStore } from './store/checkpoint-store';
import type { MapRepair } from './streams/map-repair';
import type { StreamRepair } from './streams/repair';
import type { StreamWatch } from './streams/watch';

/** How a node takes part in a cluster. */
export interface ClusterSettings {
  /** Its name: lower-case letters, digits and hyphens. */
  readonly cluster: string;
  readonly dataDir: string;
  readonly nats: NatsSettings;
  readonly groups: number;
  /** Copies that the log servers keep of each stream. */
  readonly logReplicas: number;
  /** Where this node listens for others. */
  readonly listen: PeerAddress;
  /** What others reach it by; where it listens when absent. */
  readonly advertise?: PeerAddress | undefined;
  readonly security: PeerSecurity;
  /** When checkpoints are saved and streams cut. */
  readonly checkpoints: CheckpointSettings;
}

/** What a node is given. */
export interface ClusterNodeParts {
  readonly settings: ClusterSettings;
  readonly log: Logger;
  /** Where the checkpoints of the cluster are; without one, streams are never cut. */
  readonly store: CheckpointStore | undefined;
  /** Fills the replicas of this node, whose id is given. */
  readonly source: (engine: Engine, node: string) => ReplicaSource;
  /** The limits of the server that differ from their defaults. */
  readonly limits?: EngineOptions['limits'];
  /** The models that requests may have texts of beside those that are built in. */
  readonly models?: TextModels | undefined;
}

/** Everything of a node that runs. */
export interface RunningNode {
  /** The id of the node. */
  readonly node: string;
  readonly engine: Engine;
  readonly connection: NatsConnection;
  readonly channel: Channel;
  readonly logs: LogService;
  readonly map: ShardMap;
  readonly members: Members;
  readonly replicas: LocalReplicas;
  readonly divergence: Divergence;
  readonly coordinator: Coordinator;
  readonly watch: StreamWatch;
  readonly repair: StreamRepair;
  readonly mapRepair: MapRepair;
  readonly repeated: RepeatedWork;
  readonly cleanUp: CleanUp;
}
