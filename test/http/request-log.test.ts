import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ContractServer } from '../contract/contract-server';
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

it('the audit log has who changed what from where, and nothing of points', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'kithdb-audit-'));
  const path = join(folder, 'audit.log');
  const server = await ContractServer.start(['--audit-log', path]);
  await server.collection('books');
  await server.call('PUT', '/collections/books/points', { points: [{ id: 1, vector: [1, 0] }] });
  await server.call('PUT', '/collections/books', { vectors: { size: 2, distance: 'Dot' } });
  await server.call('POST', '/auth/admin/login', { password: 'not the password of this test' });
  await server.call('GET', '/collections');
  await server.call('DELETE', '/collections/books');
  await server.stop();
  const lines = readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines.map(({ action, outcome, status }) => [action, outcome, status])).toEqual([
    ['PUT /collections/:collection_name', 'done', 200],
    ['PUT /collections/:collection_name', 'refused', 409],
    ['POST /auth/admin/login', 'refused', expect.any(Number)],
    ['DELETE /collections/:collection_name', 'done', 200],
  ]);
  expect(lines[0]).toEqual({
    time: expect.stringMatching(/^\d{4}-/),
    requestId: expect.any(String),
    who: 'anonymous',
    address: '127.0.0.1',
    action: 'PUT /collections/:collection_name',
    collection_name: 'books',
    status: 200,
    outcome: 'done',
  });
  expect(readFileSync(path, 'utf8')).not.toContain('not the password');
  expect(statSync(path).mode & 0o777).toBe(0o600);
  await expect(ContractServer.start(['--audit-log', folder])).rejects.toThrow(
    'The audit log cannot be opened',
  );
  rmSync(folder, { recursive: true, force: true });
});
