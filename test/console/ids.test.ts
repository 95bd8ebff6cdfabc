import { bodyOf, newCollection } from '../../src/console/app/collections/draft';
import { listParts } from '../../src/console/app/points/comma-list';
import { idText, parseId } from '../../src/console/app/service/types';

describe('ids in the console', () => {
  it('C21 are the same after they were shown and typed again', () => {
    for (const id of [
      7,
      '7',
      '550e8400-e29b-41d4-a716-446655440000',
      'doc 1',
      ' doc',
      'doc\n',
      'two\nlines',
      '"',
      '"7"',
      'é',
    ]) {
      expect(parseId(idText(id))).toBe(id);
    }
    expect([idText(7), idText('7'), idText('doc')]).toEqual(['7', '"7"', 'doc']);
    for (const none of ['', ' ', '"7', '"7"x']) expect(parseId(none)).toBeUndefined();
  });

  it('C21 are parted by commas in a list, but not by those in quotes', () => {
    const idsOf = (text: string) => listParts(text).map(parseId);
    const all = [7, '7', 'a, b', 'a/b c?d#e"f', '"', 'two\nlines'];
    const textOf = (id: number | string): string => (id === 'a, b' ? '"a, b"' : idText(id));
    for (const between of [',', ' , ', ',,']) {
      expect(idsOf(`,${all.map(textOf).join(between)},`)).toEqual(all);
    }
    expect(idsOf('a, b')).toEqual(['a', 'b']);
    // Quotes that do not end.
    expect(listParts('"7, 8')).toEqual(['"7', '8']);
    expect(listParts(' ')).toEqual([]);
  });

  it('C21 are strings where a new collection says so', () => {
    expect(bodyOf(newCollection())).not.toHaveProperty('ids');
    expect(bodyOf({ ...newCollection(), ids: 'string' })).toMatchObject({ ids: 'string' });
  });
});
