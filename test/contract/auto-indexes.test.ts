import { until } from '../until';
import { ContractServer } from './contract-server';

let server: ContractServer;
beforeAll(async () => {
  server = await ContractServer.start();
});
afterAll(() => server.stop());

const CONFIG = { vectors: { size: 1, distance: 'Dot' } };
/** More than an automatic index needs. */
const POINTS = 10_500;

async function fill(path: string): Promise<void> {
  for (let from = 0; from < POINTS; from += 3_500) {
    const points = Array.from({ length: 3_500 }, (_, at) => ({
      id: from + at,
      vector: [1],
      payload: { city: `city ${(from + at) % 50}` },
    }));
    await server.ok('PUT', `${path}/points`, { points });
  }
}

describe('C23 automatic field indexes', () => {
  it('C23 a filter that costs more than an index gets one, which the info and explain show beside all else', async () => {
    const path = await server.collection('automatic', CONFIG);
    await fill(path);
    const filter = { must: { key: 'city', match: { value: 'city 7' } } };
    const counted = async (): Promise<unknown> =>
      (await server.ok('POST', `${path}/points/count`, { filter })).count;
    const info = async (): Promise<Record<string, unknown>> => server.ok('GET', path);
    const before = await info();
    expect(Object.keys(before)).not.toContain('auto_indexes');
    await until(async () => {
      expect(await counted()).toBe(POINTS / 50);
      return 'auto_indexes' in (await info());
    });
    const { auto_indexes: indexes, ...after } = await info();
    expect(indexes).toEqual({ city: { data_type: 'keyword', points: POINTS } });
    // Both say what is in memory, where the index is too.
    expect({ ...after, size: null, residency: null }).toEqual({ ...before, size: null, residency: null });
    const search = { vector: [1], limit: 1, filter, params: { explain: true } };
    const { explain } = (await server.call('POST', `${path}/points/search`, search)).body;
    expect([explain.indexes_used, explain.auto_indexes_used]).toEqual([['city'], ['city']]);
    await until(async () => /^kithdb_auto_indexes 1$/m.test((await server.call('GET', '/metrics')).text));
    expect(await counted()).toBe(POINTS / 50);
    await server.ok('PUT', `${path}/index?wait=true`, { field_name: 'city', field_schema: 'keyword' });
    expect(await info()).not.toHaveProperty('auto_indexes');
    await server.restart();
    expect(await counted()).toBe(POINTS / 50);
  });

  it('C23 field_indexes is shown where it is manual, and PATCH changes it', async () => {
    const path = await server.collection('manual', { ...CONFIG, field_indexes: 'manual' });
    const shown = async (): Promise<unknown> => (await server.ok('GET', path)).field_indexes;
    expect(await shown()).toBe('manual');
    await server.ok('PATCH', path, { field_indexes: 'auto' });
    expect(await shown()).toBeUndefined();
    await server.ok('PATCH', path, { field_indexes: 'manual' });
    await server.ok('PATCH', path, { metadata: { a: 1 } });
    expect(await shown()).toBe('manual');
    await server.ok('PATCH', path, { field_indexes: null });
    expect(await shown()).toBeUndefined();
    expect((await server.refused('PATCH', path, { field_indexes: 'none' }))[0]).toBe(400);
    expect((await server.refused('PUT', '/collections/other', { ...CONFIG, field_indexes: true }))[0]).toBe(
      400,
    );
  });
});
