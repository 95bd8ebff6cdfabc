import fc from 'fast-check';
import { compact, parseExactWhereNeeded, pretty } from '../../src/console/app/service/exact-json';
import { withExactNumbers } from './exact-numbers';

describe('JSON in the console', () => {
  withExactNumbers();

  it('is laid out without a change of its strings', () => {
    const value = { code: 'x[ 0 ] = y[1,   2];', n: 1, 'a[ 1 ]': '"[ 2 ]\\', vector: [1, -2.5], none: [] };
    expect(JSON.parse(pretty(value))).toEqual(value);
    expect(pretty({ long: 'a\n'.repeat(3_000_000) })).toHaveLength(9_000_000 + 16);
    expect(pretty({ vector: [1, -2.5] })).toBe('{\n  "vector": [1, -2.5]\n}');
    const text = fc.string({ unit: fc.constantFrom('[', ']', '{', '1', '-', ',', ' ', '\n', '"', '\\') });
    const values = fc.dictionary(
      text,
      fc.oneof(text, fc.array(fc.oneof(text, fc.integer())), fc.jsonValue()),
    );
    fc.assert(
      fc.property(values, (all) => {
        expect(compact(JSON.parse(pretty(all)))).toBe(compact(all));
      }),
    );
  });

  it('has its numbers as they were written, also where it is read fast when no number needs more', () => {
    const all = fc.stringMatching(/^-?(?:0|[1-9]\d{0,20})(?:\.\d{1,20})?(?:[eE][+-]?\d{1,2})?$/);
    fc.assert(
      fc.property(all, all, (one, other) => {
        for (const text of [`{"n":${one},"of":[${other}]}`, one]) {
          expect(compact(parseExactWhereNeeded(text))).toBe(text);
        }
      }),
    );
  });
});
