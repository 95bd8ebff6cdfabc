/** The package `@kithdb/cluster`: the engine of a node. */
export { openClusterEngine, type OpenSettings } from './open';
