import { ContractServer } from './contract-server';

let server: ContractServer;
beforeAll(async () => {
  server = await ContractServer.start();
});
afterAll(() => server.stop());

const POINT = { id: 1, vector: [1, 2], payload: { a: 1, b: { c: 2 } } };

describe('C5.11 batch', () => {
  it('C5.11 in order, a later operation sees the earlier, and each has its result', async () => {
    const path = await server.holding([POINT]);
    const operations = [
      { upsert: { points: [{ id: 2, vector: [5, 5], payload: { n: 1 } }] } },
      { set_payload: { payload: { seen: true }, filter: { must: { key: 'n', match: { value: 1 } } } } },
      { overwrite_payload: { payload: { a: 5, z: 1 }, points: [1] } },
      { delete_payload: { keys: ['z'], points: [1] } },
      { update_vectors: { points: [{ id: 2, vector: [6, 6] }] } },
      {
        upsert: {
          batch: {
            ids: [3, 4],
            vectors: [
              [1, 1],
              [2, 2],
            ],
          },
        },
      },
      { delete_vectors: { points: [4], vector: [''] } },
      { clear_payload: { points: [3] } },
      { delete: { filter: { must: { has_id: [3] } } } },
    ];
    const results: { operation_id: number; status: string }[] = await server.ok(
      'POST',
      `${path}/points/batch`,
      {
        operations,
      },
    );
    expect(results).toHaveLength(operations.length);
    for (const result of results) {
      expect(result).toEqual({ operation_id: expect.any(Number), status: 'completed' });
    }
    const wanted = {
      1: { vector: [1, 2], payload: { a: 5 } },
      2: { vector: [6, 6], payload: { n: 1, seen: true } },
      4: { vector: {}, payload: {} },
    };
    expect(await server.pointsOf(path)).toEqual(wanted);
    await server.restart();
    expect(await server.pointsOf(path)).toEqual(wanted);
  });

  it('C5.11 one bad operation undoes all, and an unknown or empty one is a 400', async () => {
    const path = await server.holding([POINT]);
    const before = await server.pointsOf(path);
    const upsert = { upsert: { points: [{ id: 2, vector: [5, 5] }] } };
    const refusals: [unknown, number, RegExp][] = [
      [[upsert, { clear_payload: { points: [77] } }], 404, /Point not found: 77/],
      [[upsert, { upsert: { points: [{ id: 3, vector: [1] }] } }], 400, /Dimension mismatch/],
      [[upsert, { drop: {} }], 400, /operations\[1\]/],
      [[upsert, {}], 400, /operations\[1\]/],
      [[{ ...upsert, delete: { points: [1] } }], 400, /operations\[0\]/],
      [[], 400, /operations/],
      [{}, 400, /operations/],
    ];
    for (const [operations, wanted, message] of refusals) {
      const [status, text] = await server.refused('POST', `${path}/points/batch`, { operations });
      expect([status, text]).toEqual([wanted, expect.stringMatching(message)]);
      expect(await server.pointsOf(path)).toEqual(before);
    }
  });
});

describe('C5.12 field indexes', () => {
  it.each(['keyword', 'integer', 'float', 'bool', 'datetime', 'uuid', 'text', 'geo'])(
    'C5.12 %s, as a name and as an object',
    async (type) => {
      const path = await server.holding([{ id: 1, vector: [1, 2], payload: { f: 1 } }]);
      const made = await server.ok('PUT', `${path}/index`, { field_name: 'f', field_schema: type });
      expect(made).toEqual({ operation_id: expect.any(Number), status: 'completed' });
      const info = async (): Promise<unknown> => (await server.ok('GET', path)).payload_schema;
      expect(await info()).toMatchObject({ f: { data_type: type, params: null } });
      // The same again is a no-op, however it is spelled.
      await server.ok('PUT', `${path}/index`, { field_name: 'f', field_schema: { type } });
      await server.ok('PUT', `${path}/index`, { field_name: 'f', field_type: type });
      await server.ok('PUT', `${path}/index`, { field_name: 'g', field_schema: { type } });
      expect(await info()).toMatchObject({ g: { data_type: type, params: { type } } });
      await server.restart();
      expect(Object.keys((await info()) as object)).toEqual(['f', 'g']);
      await server.ok('DELETE', `${path}/index/f?wait=true`);
      await server.ok('DELETE', `${path}/index/f`);
      expect(Object.keys((await info()) as object)).toEqual(['g']);
    },
  );

  it('C5.12 another definition replaces the index, and a path names the field', async () => {
    const path = await server.holding([{ id: 1, vector: [1, 2], payload: { 'a b': [{ c: 7 }] } }]);
    const field = '"a b"[].c';
    await server.ok('PUT', `${path}/index`, { field_name: field, field_schema: 'keyword' });
    await server.ok('PUT', `${path}/index`, { field_name: field, field_schema: 'integer' });
    const schema = (await server.ok('GET', path)).payload_schema;
    expect(schema).toEqual({ [field]: { data_type: 'integer', params: null, points: 1 } });
    const filter = { must: { key: field, match: { value: 7 } } };
    expect(await server.ok('POST', `${path}/points/count`, { filter })).toEqual({ count: 1 });
    await server.ok('DELETE', `${path}/index/${encodeURIComponent(field)}`);
    expect((await server.ok('GET', path)).payload_schema).toEqual({});
  });

  it.each<[object, string]>([
    [{ field_name: 'a', field_schema: 'number' }, 'field_schema'],
    [{ field_name: 'a', field_schema: {} }, 'field_schema'],
    [{ field_name: 'a', field_schema: { type: 'integer', lookup: false, range: false } }, 'field_schema'],
    [{ field_name: 'a', field_schema: { type: 'keyword', lookup: true } }, 'field_schema'],
    [{ field_name: 'a..b', field_schema: 'keyword' }, 'field_name'],
    [{ field_name: 3, field_schema: 'keyword' }, 'field_name'],
    [{ field_name: 'a', field_schema: { type: 'keyword', tokenizer: 'word' } }, 'tokenizer is no option'],
    [{ field_name: 'a', field_schema: { type: 'geo', lookup: true } }, 'lookup is no option of a geo index'],
  ])('C5.12 400 for %j', async (json, place) => {
    const path = await server.holding([]);
    const [status, message] = await server.refused('PUT', `${path}/index`, json);
    expect([status, message]).toEqual([400, expect.stringContaining(place)]);
    expect((await server.ok('GET', path)).payload_schema).toEqual({});
  });
});
