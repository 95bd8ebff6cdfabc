import { cardFieldsOf, cellText, columnsOf, fieldsOf, isNumeric } from '../../src/console/app/points/fields';
import {
  firstOf,
  offsetOf,
  readPage,
  startsAfter,
  startsBefore,
  type ShownPage,
  type Starts,
} from '../../src/console/app/points/paging';
import { valueAt } from '../../src/console/app/service/exact-json';
import type { PointId } from '../../src/console/app/service/types';

describe('the fields of points in the console', () => {
  it('may be called as a member of every object is, and are no fields of the other points', () => {
    const names = ['constructor', 'toString', 'valueOf', '__proto__'];
    const named = JSON.parse(`{${names.map((name) => `"${name}": 7`).join()}}`);
    const points = [{ id: 1, payload: named }, { id: 2, payload: { other: 'a' } }, { id: 3 }];
    expect(fieldsOf(points)).toEqual([...names, 'other']);
    // One of three points has them, which is not usual.
    expect([columnsOf(points), cardFieldsOf(points)]).toEqual([[], []]);
    expect(columnsOf(points.slice(0, 2))).toEqual(names);
    for (const name of names) {
      expect(points.map(({ payload }) => cellText(valueAt(payload, name)))).toEqual(['7', '', '']);
      expect(isNumeric(points, name)).toBe(true);
    }
  });
});

describe('the pages of points in the console', () => {
  let ids: readonly number[] = [];
  let size = 2;

  beforeEach(() => {
    ids = [1, 2, 3, 4, 5];
    size = 2;
  });

  const read = (starts: Starts): Promise<ShownPage> =>
    readPage(starts, (offset) => {
      const from = offset === undefined ? 0 : ids.findIndex((id) => id >= Number(offset));
      const rest = from === -1 ? [] : ids.slice(from);
      const points = rest.slice(0, size).map((id) => ({ id }));
      return Promise.resolve({ points, next_page_offset: rest[size] ?? null });
    });
  const idsOf = ({ page }: ShownPage): readonly PointId[] => page.points.map(({ id }) => id);

  it('begin where the one before ends, and say which points of the list they have', async () => {
    const first = await read([]);
    expect([idsOf(first), firstOf(first), startsBefore(first)]).toEqual([[1, 2], 1, undefined]);
    const second = await read(startsAfter(first) ?? []);
    expect([idsOf(second), firstOf(second)]).toEqual([[3, 4], 3]);
    const third = await read(startsAfter(second) ?? []);
    expect([idsOf(third), firstOf(third), startsAfter(third)]).toEqual([[5], 5, undefined]);
    expect(idsOf(await read(startsBefore(third) ?? []))).toEqual([3, 4]);
  });

  it('are the next one of the page that is shown, however often it is asked for', async () => {
    const first = await read([]);
    expect(startsAfter(first)).toEqual(startsAfter(first));
    expect(firstOf(await read(startsAfter(first) ?? []))).toBe(3);
  });

  it('are counted by their points, not by their size', async () => {
    const starts = startsAfter(await read([])) ?? [];
    size = 10;
    expect(firstOf(await read(starts))).toBe(3);
  });

  it('are followed back where the last ones have lost their points', async () => {
    const second = await read(startsAfter(await read([])) ?? []);
    const third = startsAfter(second) ?? [];
    ids = [1, 2, 3, 4];
    const shown = await read(third);
    expect([idsOf(shown), firstOf(shown), offsetOf(shown.starts)]).toEqual([[3, 4], 3, 3]);
    expect(startsAfter(shown)).toBeUndefined();
    ids = [];
    const none = await read(third);
    expect([idsOf(none), none.starts]).toEqual([[], []]);
  });
});
