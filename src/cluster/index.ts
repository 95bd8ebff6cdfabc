/** The package `@kithdb/cluster`: what KithDB needs beside its engine to run on several machines. */
export { connectToNats, type NatsSettings, type TlsFiles } from './log/nats-connection';
export { NatsLogService, type NatsLogSettings } from './log/nats-log';
export {
  DUPLICATE_WINDOW_MS,
  FRAME_BYTES,
  LogChangedError,
  LogConfigurationError,
  LogRefusedError,
  LogUnavailableError,
  MAX_PUBLISH_MS,
  MAX_RECORD_BYTES,
  OutcomeUnknownError,
  RecordDamagedError,
  RecordsMissingError,
  type LogRecord,
  type LogService,
  type NewRecord,
  type Published,
  type PublishLimits,
  type ReadRequest,
  type RecordHandler,
  type RecordLog,
  type StreamState,
} from './log/record-log';
export {
  LaterVersionError,
  type AliasAction,
  type NewCollection,
  type ReplicaPlace,
  type ShardMapEvent,
} from './map/event';
export { placementOf, preferredNodes, type PlacedCollection } from './map/placement';
export { ShardMap, type Decision, type Proposal, type Refusal, type ShardMapOptions } from './map/shard-map';
export {
  collectionNamed,
  nodesOf,
  replicaOn,
  type CollectionEntry,
  type NodeEntry,
  type ReplicaEntry,
  type ReplicaState,
  type ShardEntry,
  type ShardMapState,
} from './map/state';
export { replicaKey, type Heartbeat, type ReplicaReport } from './membership/heartbeat';
export { startHeartbeats, type HeartbeatChannel, type OwnReport, type Repeat } from './membership/heartbeats';
export { identityIn, IdentityError, type NodeIdentity } from './membership/identity';
export { LOST_AFTER_MS, Members, SILENT_AFTER_MS, type MemberState } from './membership/members';
export { NatsHeartbeats } from './membership/nats-heartbeats';
export { reconcile, type ClusterView } from './reconciliation/reconcile';
