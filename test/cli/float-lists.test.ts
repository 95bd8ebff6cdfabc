import * as fc from 'fast-check';
import { ABSENT, FloatLists } from '../../src/transfer/float-lists';

/** The numbers of a vector are read off the JSON of an answer: they must be those that JSON.parse reads. */
describe('lists of floats in JSON', () => {
  const numbers = fc.oneof(
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
    fc.float({ noNaN: true, noDefaultInfinity: true }).map((value) => JSON.stringify(value)),
    fc.integer().map(String),
    fc.constantFrom('-0', '0.0', '1E5', '1e-45', '3.4028235e38', '123456789012345', '0.1234567890123456789'),
    fc
      .tuple(fc.nat(999_999_999), fc.nat(99_999_999))
      .map(([whole, fraction]) => `${whole}.${String(fraction).padStart(8, '0')}`),
  );

  it('are those that JSON.parse reads', () => {
    fc.assert(
      fc.property(fc.array(fc.array(numbers)), (lists) => {
        const read = new FloatLists();
        const expected: number[] = [];
        for (const list of lists) {
          const json = `[${list.join(',')}]`;
          read.add(Buffer.from(json));
          expected.push(...(JSON.parse(json) as number[]));
        }
        expect([...read.floats]).toEqual([...Float32Array.from(expected)]);
        expect(read.lengths).toEqual(lists.map(({ length }) => length));
      }),
    );
  });

  it('may be absent, and are gone when they were written', () => {
    const lists = new FloatLists();
    lists.addAbsent();
    lists.add(Buffer.from('[]'));
    lists.add(Buffer.from(`[${'1.5,'.repeat(100_000)}2]`));
    expect([lists.lengths, lists.floats.length, lists.floats.at(-1)]).toEqual([
      [ABSENT, 0, 100_001],
      100_001,
      2,
    ]);
    lists.clear();
    expect([lists.lengths, lists.floats.length]).toEqual([[], 0]);
    for (const broken of ['{"a":1}', '[1,x]', '[1,,2]', '["1"]']) {
      expect(() => {
        lists.add(Buffer.from(broken));
      }).toThrow();
    }
  });
});
