/**
 * What the package `@kithdb/cluster` shares with the kithdb that loads it: `kithdb/cluster-host`. Errors are recognised by their
 * classes and the engine is one native library, so there must be one copy of these modules in a process. It is no interface
 * for others, and changes with each release.
 */
export { isLoopbackAddress, isLoopbackHost, unmapped } from './auth/loopback';
export { AuthStartError } from './auth/open';
export { CONTENT_SETTINGS, EMPTY_CONTENT, isGiving, isUnused, LOG_BEGIN } from './auth/store/change';
export { hasData } from './auth/store/catalog';
export { ChangeNotConfirmed, parseAuthState, SECRET_SETTINGS, StoreDamaged } from './auth/store/port';
export { hostAndPort } from './config/cluster-settings';
export { openNativeEngine } from './engine';
export { CallingThread } from './engine/calling-thread';
export { executeJson, resultIn } from './engine/json-call';
export { bodyFormOf } from './engine/native-call';
export { NumberedValues } from './engine/numbered-values';
export { joinWrite, ShardedRead, splitWrite } from './engine/sharding';
export { PART, readStrictScope, strictScopeText } from './engine/strict-scope';
export { withTextVectors } from './engine/texts-in-body';
export { bytesOf, EngineError } from './engine/types';
export { explained, reasonOf } from './files/explained';
export { makeFolder, syncFolder } from './files/folder';
export { replaceSynced, writeSynced } from './files/synced';
export { GatheredBody } from './http/body';
export { secureOptions } from './http/certificate';
export { announcedLength } from './http/content';
export { authority, listen, StartError } from './http/listen';
export { LinkedList } from './http/linked-list';
export { MAX_POSITIONS, parsePosition, positionText, splitPositions } from './http/positions';
export { bodyOfInfo } from './migration/qdrant-config';
export { NODE_FILE, whyOfCluster } from './operations/cluster-node';
export { copyVerified, digestOf, isSame } from './operations/copying';
export { BackupError } from './operations/failure';
export { parseS3, S3Bucket } from './operations/s3-bucket';
export { CleanUp } from './process/clean-up';
export { filesIn, isCheckpointFileName } from './snapshots/archive';
export {
  adoptFolders,
  collectionExists,
  collectionNames,
  deleteCollection,
  linkFiles,
} from './snapshots/files-of-collections';
export { WorkFolders } from './snapshots/work-folders';
