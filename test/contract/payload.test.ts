import { ContractServer, SELECTORS } from './contract-server';

let server: ContractServer;
beforeAll(async () => {
  server = await ContractServer.start();
});
afterAll(() => server.stop());

describe('C5.6 to C5.9 payload', () => {
  const path: { current: string } = { current: '' };
  const payload = { k: { s: 1, list: [{ a: { x: 1 } }, { b: 2 }] }, top: 't' };
  beforeEach(async () => {
    path.current = await server.holding([
      { id: 1, vector: [1, 2], payload },
      { id: 2, vector: [3, 4], payload },
    ]);
  });

  /** What a payload operation makes of point 1; point 2 and the vectors must stay as they are. */
  async function after(method: string, rest: string, json: object): Promise<unknown> {
    await server.ok(method, `${path.current}/points/payload${rest}`, json);
    const points = await server.pointsOf(path.current);
    expect(points['2']).toEqual({ vector: [3, 4], payload });
    expect(points['1']?.vector).toEqual([1, 2]);
    return points['1']?.payload;
  }

  describe.each(SELECTORS)('selected by %s', (_selector, select) => {
    it.each<[string, object, object]>([
      ['at the top, shallow', { payload: { s: 2, k: { t: 1 } } }, { ...payload, s: 2, k: { t: 1 } }],
      ['a null removes that key', { payload: { top: null, gone: null } }, { k: payload.k }],
      ['at a key', { payload: { s: 2 }, key: 'k' }, { ...payload, k: { ...payload.k, s: 2 } }],
      ['a null at a key', { payload: { s: null }, key: 'k' }, { ...payload, k: { list: payload.k.list } }],
      [
        'in an element',
        { payload: { x: 9 }, key: 'k.list[0].a' },
        { ...payload, k: { s: 1, list: [{ a: { x: 9 } }, { b: 2 }] } },
      ],
      [
        'in every element',
        { payload: { y: 1 }, key: 'k.list[].a' },
        { ...payload, k: { s: 1, list: [{ a: { x: 1, y: 1 } }, { b: 2, a: { y: 1 } }] } },
      ],
      ['past the end', { payload: { y: 1 }, key: 'k.list[7].a' }, payload],
      [
        'over a number',
        { payload: { y: 1 }, key: 'k.s' },
        { ...payload, k: { s: { y: 1 }, list: payload.k.list } },
      ],
      [
        'on a new path',
        { payload: { y: null, z: 1 }, key: 'new.path' },
        { ...payload, new: { path: { z: 1 } } },
      ],
    ])('C5.6 set merges %s', async (_title, json, wanted) => {
      expect(await after('POST', '', { ...json, ...select([1]) })).toEqual(wanted);
    });

    it.each<[string, object, object]>([
      ['the whole payload, nulls stored', { payload: { n: null, m: 1 } }, { n: null, m: 1 }],
      ['with nothing', { payload: {} }, {}],
      ['what is at a key', { payload: { n: null }, key: 'k' }, { ...payload, k: { n: null } }],
      [
        'in an element',
        { payload: { y: 1 }, key: 'k.list[0]' },
        { ...payload, k: { s: 1, list: [{ y: 1 }, { b: 2 }] } },
      ],
    ])('C5.7 overwrite replaces %s', async (_title, json, wanted) => {
      expect(await after('PUT', '', { ...json, ...select([1]) })).toEqual(wanted);
    });

    it.each<[string, string[], object]>([
      ['keys', ['top', 'absent'], { k: payload.k }],
      ['nested paths', ['k.s', 'k.list[].a'], { ...payload, k: { list: [{}, { b: 2 }] } }],
      ['an array by []', ['k.list[]'], { ...payload, k: { s: 1, list: [] } }],
      ['nothing by an index', ['k.list[0]'], payload],
      ['everything', ['k', 'top'], {}],
    ])('C5.8 delete removes %s', async (_title, keys, wanted) => {
      expect(await after('POST', '/delete', { keys, ...select([1]) })).toEqual(wanted);
    });

    it('C5.9 clear leaves {}', async () => {
      expect(await after('POST', '/clear', select([1]))).toEqual({});
    });
  });

  it.each<[string, string, string, object]>([
    ['C5.6', 'POST', '', { payload: { x: 1 } }],
    ['C5.7', 'PUT', '', { payload: { x: 1 } }],
    ['C5.8', 'POST', '/delete', { keys: ['top'] }],
    ['C5.9', 'POST', '/clear', {}],
  ])(
    '%s absent ids are a 404 and nothing changes; a filter that matches nothing succeeds; points count before a filter',
    async (_rule, method, rest, json) => {
      const before = await server.pointsOf(path.current);
      const target = `${path.current}/points/payload${rest}`;
      const absent = await server.refused(method, target, { ...json, points: [1, 8, 9] });
      expect(absent).toEqual([404, 'Point not found: 8, 9']);
      expect(await server.pointsOf(path.current)).toEqual(before);
      await server.ok(method, target, { ...json, filter: { must: { key: 'top', match: { value: 'no' } } } });
      expect(await server.pointsOf(path.current)).toEqual(before);
      await server.ok(method, target, { ...json, points: [1], filter: { must: { has_id: [2] } } });
      const changed = await server.pointsOf(path.current);
      expect(changed['1']).not.toEqual(before['1']);
      expect(changed['2']).toEqual(before['2']);
    },
  );

  it.each(['', 'a..b', '[0]', 'a.[0]', 'a[-1]', 'a.', 'a b', '"open'])(
    'C5.6, C5.8 %j is no path',
    async (key) => {
      for (const [rest, json] of [
        ['', { payload: {}, key }],
        ['/delete', { keys: ['top', key] }],
      ] as const) {
        const target = `${path.current}/points/payload${rest}`;
        const [status, message] = await server.refused('POST', target, { ...json, points: [1] });
        expect([status, message]).toEqual([400, expect.stringMatching(/^(key|keys\[1\]): /)]);
      }
    },
  );
});
