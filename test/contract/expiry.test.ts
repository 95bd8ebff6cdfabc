import { until } from '../until';
import { ContractServer } from './contract-server';

let server: ContractServer;
beforeAll(async () => {
  server = await ContractServer.start();
});
afterAll(() => server.stop());

const CONFIG = { vectors: { size: 2, distance: 'Dot' }, expire_at_key: 'until' };

/** Seconds since 1970. */
const now = (): number => Math.floor(Date.now() / 1000);

describe('C17 expiry', () => {
  it('C17 C13 a point is gone when its time comes, for good, and is counted', async () => {
    const path = await server.collection('expiring', CONFIG);
    const soon = new Date(Date.now() + 1500).toISOString();
    await server.ok('PUT', `${path}/points`, {
      points: [
        { id: 1, vector: [1, 1], payload: { until: now() - 1 } },
        { id: 2, vector: [1, 1], payload: { until: soon } },
        { id: 3, vector: [1, 1], payload: { until: now() + 3600 } },
        { id: 4, vector: [1, 1], payload: { until: 'never' } },
      ],
    });
    expect(Object.keys(await server.pointsOf(path))).not.toContain('1');
    await until(async () => (await server.ok('POST', `${path}/points/count`)).count === 2);
    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(soon));
    expect(Object.keys(await server.pointsOf(path))).toEqual(['3', '4']);
    expect((await server.refused('POST', `${path}/points`, { ids: [2] }))[0]).toBe(404);
    const why = { query: [1, 1], params: { explain: true, why: [2, 3] } };
    expect((await server.refused('POST', `${path}/points/query`, why))[0]).toBe(404);
    await until(async () =>
      /^kithdb_expired_points_total 2$/m.test((await server.call('GET', '/metrics')).text),
    );
    await server.restart();
    expect(Object.keys(await server.pointsOf(path))).toEqual(['3', '4']);
  });

  it('C17 the key is shown beside the configuration, and PATCH changes and removes it', async () => {
    const path = await server.collection('patched', { vectors: { size: 2, distance: 'Dot' } });
    await server.ok('PUT', `${path}/points`, {
      points: [{ id: 1, vector: [1, 1], payload: { ends: { at: 7 } } }],
    });
    const shown = async (): Promise<unknown> => (await server.ok('GET', path)).expire_at_key;
    expect(await shown()).toBeUndefined();
    await server.ok('PATCH', path, { metadata: { a: 1 } });
    expect(Object.keys(await server.pointsOf(path))).toEqual(['1']);
    await server.ok('PATCH', path, { expire_at_key: 'ends.at' });
    expect([await shown(), Object.keys(await server.pointsOf(path))]).toEqual(['ends.at', []]);
    await server.ok('PATCH', path, { expire_at_key: null });
    expect(await shown()).toBeUndefined();
    expect((await server.refused('PATCH', path, { expire_at_key: 'a[]' }))[0]).toBe(400);
    expect((await server.refused('PUT', '/collections/other', { ...CONFIG, expire_at_key: 7 }))[0]).toBe(400);
  });
});
