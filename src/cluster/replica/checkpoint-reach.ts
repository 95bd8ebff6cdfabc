import { isCount } from '../json';
import type { CheckpointManifest } from '../store/checkpoint-store';

/** Names of the facts of a manifest (docs/cluster.md, _Checkpoints and new replicas_). */
const EPOCH = 'epoch';
const READ_TO = 'read_to';

/** From where a replica goes on that is made of a checkpoint. */
export interface CheckpointReach {
  /** The epoch of the stream that its replica read. */
  readonly epoch: number;
  /** Every record of the shard up to this position is in it. */
  readonly readTo: number;
}

/** The facts that say how far a checkpoint reaches. */
export function reachFacts({ epoch, readTo }: CheckpointReach): Readonly<Record<string, string>> {
  return { [EPOCH]: String(epoch), [READ_TO]: String(readTo) };
}

/** How far a checkpoint reaches: at least to the last record that is in it. */
export function reachOf({ position, facts }: CheckpointManifest): CheckpointReach {
  const [epoch, readTo] = [facts[EPOCH], facts[READ_TO]].map((fact) => {
    const number = Number(fact ?? '0');
    return isCount(number) ? number : 0;
  });
  return { epoch: epoch ?? 0, readTo: Math.max(position, readTo ?? 0) };
}
