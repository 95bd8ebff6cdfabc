import { answersOf, joinedError } from '../../src/cluster/coordinator/outcomes';
import type { ShardOutcome } from '../../src/cluster/record/answer';
import { EngineError, type EngineErrorCode, type EngineErrorDetails } from '../../src/engine/types';

const done = { answer: '{"result":true}' };

function refused(
  code: EngineErrorCode,
  details: EngineErrorDetails,
): Extract<ShardOutcome, { readonly error: unknown }> {
  return { error: { code, details } };
}

describe('the outcomes of a write in its shards', () => {
  it('are the answers in the order of the shards', () => {
    const outcomes = new Map<number, ShardOutcome>([
      [2, { answer: 'c' }],
      [0, { answer: 'a' }],
    ]);
    expect(answersOf(outcomes).map(String)).toEqual(['a', 'c']);
  });

  it('are an error that names the shards which have refused, where others have not', () => {
    const conflict = refused('version_conflict', {
      conflicts: [{ id: '1', expected: '5', found: '6' }],
      total: 1,
      place: 'operations[1]',
    });
    const outcomes = new Map<number, ShardOutcome>([
      [0, done],
      [3, conflict],
      [1, conflict],
    ]);
    expect(() => answersOf(outcomes)).toThrow(
      expect.objectContaining({
        code: 'version_conflict',
        details: {
          ...conflict.error.details,
          conflicts: [conflict, conflict].flatMap(({ error }) => error.details.conflicts),
          total: 2,
          place: 'shard 1, 3 (the others have applied their parts): operations[1]',
        },
      }),
    );
    const everywhere = new Map<number, ShardOutcome>([[0, conflict]]);
    expect(() => answersOf(everywhere)).toThrow(expect.objectContaining(conflict.error));
  });
});

describe('the errors of several shards', () => {
  const absent = (ids: readonly number[], at: number): EngineError =>
    new EngineError('point_not_found', {
      ids: ids.slice(0, 10).map(String),
      total: ids.length,
      place: `operations[${at}]`,
    });

  it('are that of the first operation of a batch', () => {
    const message = 'operations[1].upsert.points[0].vector: wrong';
    const first = new EngineError('bad_request', { message });
    expect(joinedError([absent([1], 12), first, absent([2], 2)])).toBe(first);
  });

  it('have the points of all that say the same', () => {
    const many = Array.from({ length: 15 }, (_, at) => at);
    const { details } = joinedError([absent(many, 2), absent([90, 91], 2), absent([7], 3)]);
    expect(details).toEqual({ ids: many.slice(0, 10).map(String), total: 17, place: 'operations[2]' });
  });
});
