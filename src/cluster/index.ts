/** The package `@kithdb/cluster`: the engine of a node, and its authentication. */
export { openAuthReplication, type AuthLogSettings } from './auth/open';
export { openClusterEngine, type OpenSettings } from './open';
