/** The directory of a node, served without its cluster. */
import type { Logger } from 'pino';
import type { Engine, EngineOptions } from '../../engine/types';
import { ClusterEngine } from '../cluster-engine';
import { anyIdentityIn } from '../membership/identity';
import { Progress } from '../replica/progress';
import { KnownMap } from '../streams/known-map';
import { LoneNode, type SavedNode } from './lone-node';

/** The directory cannot be served alone. */
export class AloneError extends Error {
  override readonly name = 'AloneError';
}

/**
 * What a directory has of the cluster of its node. Nothing in it is changed.
 * @throws AloneError, or an error that names the file which is damaged
 */
export async function readAlone(dataDir: string): Promise<SavedNode> {
  const identity = await anyIdentityIn(dataDir);
  if (identity === undefined) {
    throw new AloneError(
      `${dataDir} is no directory of a node of a cluster: serve it without --cluster-alone`,
    );
  }
  if (identity.brings !== undefined) {
    throw new AloneError(
      `${dataDir} has collections that its node was bringing into the cluster ${identity.cluster}: start the node until all of them are there`,
    );
  }
  const known = await KnownMap.open(dataDir);
  const { state, path } = known;
  if (state === undefined) {
    const why = known.isNew ? 'there is no such file' : 'an earlier release wrote it';
    throw new AloneError(
      `${path} does not have the shard map (${why}): start the node in its cluster once, which saves it`,
    );
  }
  return { identity, state, progress: await Progress.open(dataDir) };
}

/** The engine of a copy, which is removed afterwards. */
class AloneEngine extends ClusterEngine {
  /** Without checkpoints, which nobody would read. */
  override close(): Promise<void> {
    return super.close(0);
  }
}

/** The engine of a copy of that directory, which is not open yet. `make` makes the engine of its replicas. */
export function openAloneEngine(
  { models, ...options }: EngineOptions,
  saved: SavedNode,
  log: Logger,
  make: (options: EngineOptions) => Engine,
): ClusterEngine {
  const engine = make({ ...options, isReplica: true });
  const { limits } = options;
  return new AloneEngine(
    engine,
    new LoneNode({ ...saved, log, models, ...(limits !== undefined && { limits }) }),
  );
}
