import { loadBinding } from '../engine/testing-addon';
import { ContractServer } from './contract-server';

jest.mock('../../src/engine/load', () => jest.requireActual<object>('../engine/testing-addon'));

describe('C1.5 memory that the system refuses', () => {
  let server: ContractServer;
  let path: string;
  beforeAll(async () => {
    // Further event loops would load the addon that is shipped.
    server = await ContractServer.start([], { KITHDB_EVENT_LOOPS: '1' });
    path = await server.collection('c', { vectors: { size: 1, distance: 'Dot' } });
  });
  afterEach(() => {
    loadBinding().setTestSwitches({});
  });
  afterAll(() => server.stop());

  const upsert = (bytes: number): object => ({
    points: [{ id: 1, vector: [1], payload: { text: 'x'.repeat(bytes) } }],
  });

  it('C1.5 is a 507 of the request whose body or answer needs it, and of no other', async () => {
    const expected = [507, expect.stringContaining('memory limit')];
    loadBinding().setTestSwitches({ refuseFrom: 1 << 20 });
    for (let round = 0; round < 3; round += 1) {
      expect(await server.refused('PUT', `${path}/points`, upsert(3 << 20))).toEqual(expected);
      await server.ok('PUT', `${path}/points`, upsert(1000));
    }
    loadBinding().setTestSwitches({});
    await server.ok('PUT', `${path}/points`, upsert(3 << 20));
    loadBinding().setTestSwitches({ refuseFrom: 1 << 20 });
    expect(await server.refused('POST', `${path}/points`, { ids: [1] })).toEqual(expected);
    expect(await server.ok('POST', `${path}/points/count`, {})).toEqual({ count: 1 });
    loadBinding().setTestSwitches({});
    expect(await server.ok('POST', `${path}/points`, { ids: [1] })).toHaveLength(1);
  });
});
