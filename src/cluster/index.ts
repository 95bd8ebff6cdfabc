/**
 * The package `@kithdb/cluster`: the engine of a node. `kithdb` loads it where its setting `cluster` names log servers, and shares
 * its modules with it (`src/cluster-host.ts`).
 */
export { openClusterEngine, type OpenSettings } from './open';
/** For who loads the package: whether it uses the modules of the same kithdb. */
export { EngineError } from '../engine/types';
