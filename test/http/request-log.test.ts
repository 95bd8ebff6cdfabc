import { startService, send } from './harness';

it('a line of the log has the route, the collection and the address, and neither ids nor credentials', async () => {
  const service = await startService();
  await send(service, 'GET', '/collections/books/points/918273645546372819', {
    headers: { 'api-key': 'secret-of-this-test' },
  });
  const line = service.logged.find(({ msg }) => msg === 'request');
  expect(line).toMatchObject({
    method: 'GET',
    route: '/collections/:collection_name/points/:id',
    collection: 'books',
    address: '127.0.0.1',
  });
  expect(JSON.stringify(line)).not.toMatch(/918273645546372819|secret-of-this-test/);
  await service.close();
});

it('a slow request is a warning', async () => {
  const service = await startService({ requestLog: { slowMs: 0.000_1 } });
  await send(service, 'GET', '/collections', {});
  expect(service.logged.map(({ msg }) => msg)).toContain('slow request');
  await service.close();
});

it('C13 the line of a request that was not slow has nothing of what its search did', async () => {
  const service = await startService({ requestLog: { slowMs: 3_600_000 } });
  service.engine.profile = { searches: 1 };
  await send(service, 'POST', '/collections/books/points/query', { json: { query: [1, 0] } });
  const line = service.logged.find(({ msg }) => msg === 'request');
  expect(line).toMatchObject({ collection: 'books' });
  expect(line).not.toHaveProperty('search');
  await service.close();
});
