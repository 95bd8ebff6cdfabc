import { bodyOf, newCollection } from '../../src/console/app/collections/draft';
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
      '"',
      '"7"',
      'é',
    ]) {
      expect(parseId(idText(id))).toBe(id);
    }
    expect([idText(7), idText('7'), idText('doc')]).toEqual(['7', '"7"', 'doc']);
    for (const none of ['', ' ', '"7', '"7"x']) expect(parseId(none)).toBeUndefined();
  });

  it('C21 are strings where a new collection says so', () => {
    expect(bodyOf(newCollection())).not.toHaveProperty('ids');
    expect(bodyOf({ ...newCollection(), ids: 'string' })).toMatchObject({ ids: 'string' });
  });
});
