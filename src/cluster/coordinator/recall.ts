import { EngineError, type EngineRequest } from '../../engine/types';
import type { CollectionEntry } from '../map/state';
import { pause } from '../pause';
import { isAway } from '../peers/errors';
import { formIn } from '../record/write-record';
import type { Outcomes } from './acknowledgements';
import type { Reads } from './reads';
import type { Deadline, PublishedWrite } from './writes';

/** Between two questions to a replica that cannot answer at the moment. */
const PAUSE_MS = 50;

/**
 * The outcomes of a record that was published before, as replicas keep them, when as many replicas of each shard have it as its
 * first call has to wait for. Rejects with the error of a shard that does not keep its own.
 */
export async function recallOutcomes(
  reads: Pick<Reads, 'askNode'>,
  entry: CollectionEntry,
  { operationId, position, record }: PublishedWrite,
  deadline: Deadline,
): Promise<Outcomes> {
  const { operation, target, isLenient, limits, parts } = record;
  const request: EngineRequest = { operation, isLenient, ...formIn(record) };
  const readAfter = new Map([...parts.keys()].map((shard) => [shard, position] as const));
  const over = new AbortController();
  const signal = AbortSignal.any([deadline.signal, over.signal]);
  const context = {
    ...{ request, limits, readAfter, allowsPartial: false, operationId },
    deadline: { ...deadline, signal },
  };
  const asked = [...parts].map(async ([shard, body]) => {
    const nodes = entry.shards[shard]?.replicas.map(({ node }) => node) ?? [];
    const answers = nodes.map((node) =>
      untilAnswered(() => reads.askNode(node, entry, { shard, operation, target, body }, context), signal),
    );
    if (answers.length < entry.writeConsistencyFactor)
      throw new EngineError('not_confirmed', { id: operationId });
    const answer = await fulfilled(answers, entry.writeConsistencyFactor);
    return [shard, { answer: answer.toString() }] as const;
  });
  try {
    return new Map(await Promise.all(asked));
  } catch (error) {
    // It is too old, or it was refused.
    const isPassed = error instanceof EngineError && error.code === 'position_passed';
    throw isPassed ? new EngineError('outcome_unknown') : error;
  } finally {
    over.abort();
  }
}

/** Asks a replica until it has an answer of its own: it may be away, or be made anew. */
async function untilAnswered(ask: () => Promise<Buffer>, signal: AbortSignal): Promise<Buffer> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!isAway(error) || signal.aborted) throw error;
    }
    await pause(PAUSE_MS, signal);
    signal.throwIfAborted();
  }
}

/** The first of some answers when so many are there. Rejects as soon as there cannot be as many. */
function fulfilled(answers: readonly Promise<Buffer>[], count: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let first: Buffer | undefined;
    let [missing, left] = [count, answers.length];
    for (const answer of answers) {
      answer.then(
        (bytes) => {
          first ??= bytes;
          missing -= 1;
          if (missing <= 0) resolve(first);
        },
        (error: unknown) => {
          left -= 1;
          if (left < count) reject(error instanceof Error ? error : new Error(String(error)));
        },
      );
    }
  });
}
