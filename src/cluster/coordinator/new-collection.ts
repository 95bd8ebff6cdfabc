import type { NewCollection } from '../map/event';
import type { ShardMapState } from '../map/state';
import { bad, jsonOf } from './answers';

/** What a new collection asks of the cluster. */
export interface Replication {
  readonly shardNumber: number;
  readonly replicationFactor: number;
  readonly writeConsistencyFactor: number;
}

const MAX_SHARDS = 1024;
const MAX_REPLICAS = 16;

/**
 * How a new collection is spread: one shard and as many replicas as there are nodes, at most three, unless the body says
 * otherwise. Writes wait for a majority.
 * @throws EngineError `bad_request`
 */
export function replicationOf(body: Buffer, nodes: number): Replication {
  const asked = jsonOf(body);
  const replicationFactor = wholeIn(asked, 'replication_factor', MAX_REPLICAS) ?? Math.min(3, nodes);
  if (replicationFactor > nodes) {
    throw bad(`replication_factor: ${replicationFactor} replicas need as many nodes, and there are ${nodes}`);
  }
  const writeConsistencyFactor =
    wholeIn(asked, 'write_consistency_factor', MAX_REPLICAS) ?? Math.floor(replicationFactor / 2) + 1;
  if (writeConsistencyFactor > replicationFactor) {
    throw bad(`write_consistency_factor: ${writeConsistencyFactor} of ${replicationFactor} replicas`);
  }
  return {
    shardNumber: wholeIn(asked, 'shard_number', MAX_SHARDS) ?? 1,
    replicationFactor,
    writeConsistencyFactor,
  };
}

/** The new factors of a collection, of the body of a PATCH. */
export function changedReplication(
  body: Buffer,
): Partial<Pick<Replication, 'replicationFactor' | 'writeConsistencyFactor'>> {
  const { params = {} } = jsonOf(body) as { readonly params?: Readonly<Record<string, unknown>> };
  const replicationFactor = wholeIn(params, 'replication_factor', MAX_REPLICAS);
  const writeConsistencyFactor = wholeIn(params, 'write_consistency_factor', MAX_REPLICAS);
  return {
    ...(replicationFactor !== undefined && { replicationFactor }),
    ...(writeConsistencyFactor !== undefined && { writeConsistencyFactor }),
  };
}

/** The next collection of a map. */
export function numbered(state: ShardMapState, groups: number): Pick<NewCollection, 'id' | 'group'> {
  const id = state.nextCollectionId;
  return { id, group: id % groups };
}

function wholeIn(fields: Readonly<Record<string, unknown>>, name: string, most: number): number | undefined {
  const value = fields[name];
  if (value === undefined || value === null) return undefined;
  if (!Number.isSafeInteger(value) || (value as number) < 1 || (value as number) > most) {
    throw bad(`${name} must be a whole number from 1 to ${most}`);
  }
  return value as number;
}
