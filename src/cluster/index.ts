/**
 * The package `@kithdb/cluster`: the engine of a node, its authentication, the engine of a node's directory that is served alone,
 * and making a lost shard map anew. `kithdb` loads it where its settings want one of them, and shares its modules with it
 * (`src/cluster-host.ts`).
 */
export { openAuthReplication, type AuthLogSettings } from './auth/open';
export { openAloneEngine, readAlone } from './alone/open';
export { openClusterEngine, type OpenSettings } from './open';
export { makeMapAnew, requireNode, type RecoverySettings } from './recover-map';
export type { RecoveryPlan } from './streams/map-recovery';
/** For who loads the package: whether it uses the modules of the same kithdb. */
export { EngineError } from '../engine/types';
