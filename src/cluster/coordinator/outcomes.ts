import { EngineError, type EngineErrorDetails } from '../../engine/types';
import type { Outcomes } from './acknowledgements';

/** Ids, and conflicts of versions, that an error lists, as one engine does. */
const LISTED = 10;

/** An error of one shard. */
interface Refusal {
  readonly shard: number;
  readonly error: EngineError;
}

/**
 * What each shard of a write has answered, by shard.
 * @throws EngineError where shards have refused their parts; it names them where others have not.
 */
export function answersOf(outcomes: Outcomes): readonly Buffer[] {
  const answers: Buffer[] = [];
  const refused: Refusal[] = [];
  for (const [shard, outcome] of [...outcomes].sort(([one], [other]) => one - other)) {
    if ('error' in outcome) {
      const { code, details } = outcome.error;
      refused.push({ shard, error: new EngineError(code, details) });
    } else {
      answers.push(Buffer.from(outcome.answer));
    }
  }
  if (refused.length === 0) return answers;
  const { code, details } = joinedError(refused.map(({ error }) => error));
  if (answers.length === 0) throw new EngineError(code, details);
  const shards = refused.map(({ shard }) => shard).join(', ');
  const place = `shard ${shards} (the others have applied their parts)`;
  throw new EngineError(code, {
    ...details,
    place: details.place === undefined ? place : `${place}: ${details.place}`,
  });
}

/**
 * The error of a request of which several shards have refused their parts: that of the first operation of a batch, with the
 * points of all shards that say the same.
 */
export function joinedError(errors: readonly EngineError[]): EngineError {
  const [first, ...others] = [...errors].sort((a, b) => operationOf(a.details) - operationOf(b.details));
  if (first === undefined) return new EngineError('internal');
  const { code, details } = first;
  const alike = others.filter(
    (error) => error.code === code && error.details.place === details.place && details.total !== undefined,
  );
  if (alike.length === 0) return first;
  const all = [details, ...alike.map((error) => error.details)];
  const ids = all.flatMap((one) => one.ids ?? []).slice(0, LISTED);
  const conflicts = all.flatMap((one) => one.conflicts ?? []).slice(0, LISTED);
  return new EngineError(code, {
    ...details,
    ...(ids.length > 0 && { ids }),
    ...(conflicts.length > 0 && { conflicts }),
    total: all.reduce((sum, one) => sum + (one.total ?? 0), 0),
  });
}

/** The place of the operation of a batch that an error is about; 0 where it is about none. */
function operationOf({ place, message }: EngineErrorDetails): number {
  const [, at] = /^operations\[(\d+)\]/.exec(place ?? message ?? '') ?? [];
  return Number(at ?? 0);
}
