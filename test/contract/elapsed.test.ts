import { ContractServer } from './contract-server';

describe('time of an answer', () => {
  let server: ContractServer;
  beforeAll(async () => {
    server = await ContractServer.start();
  });
  afterAll(() => server.stop());

  it.each([
    ['/', 200],
    ['/collections', 200],
    ['/collections/absent', 404],
    ['/nothing/is/here', 404],
    ['/aliases', 501],
  ])(
    'C1.1, C1.2 are the seconds that it took, no more than its client waited: GET %s',
    async (path, status) => {
      const sentAt = performance.now();
      const answer = await server.call('GET', path);
      const waited = (performance.now() - sentAt) / 1000;
      expect(answer.status).toBe(status);
      expect(answer.body.time).toBeGreaterThan(0);
      expect(answer.body.time).toBeLessThanOrEqual(waited);
    },
  );
});
