import { EngineError, type EngineRequest } from '../../engine/types';
import type { CollectionEntry } from '../map/state';
import { formIn } from '../record/write-record';
import type { Outcomes } from './acknowledgements';
import type { Reads } from './reads';
import type { Deadline, PublishedWrite } from './writes';

/** The outcomes of a record that was published before, as replicas keep them. */
export async function recalled(
  reads: Pick<Reads, 'ask'>,
  entry: CollectionEntry,
  { operationId, position, record }: PublishedWrite,
  deadline: Deadline,
): Promise<Outcomes> {
  const { operation, target, isLenient, limits, parts } = record;
  const request: EngineRequest = { operation, isLenient, ...formIn(record) };
  const readAfter = new Map([...parts.keys()].map((shard) => [shard, position] as const));
  const context = { request, limits, deadline, readAfter, allowsPartial: false, recalled: operationId };
  const asked = [...parts].map(async ([shard, body]) => {
    const answer = await reads.ask(entry, { shard, operation, target, body }, context);
    return [shard, { answer: answer.toString() }] as const;
  });
  try {
    return new Map(await Promise.all(asked));
  } catch (error) {
    // It is too old, or it was refused.
    const isPassed = error instanceof EngineError && error.code === 'position_passed';
    throw isPassed ? new EngineError('outcome_unknown') : error;
  }
}
