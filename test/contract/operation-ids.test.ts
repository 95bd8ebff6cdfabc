import { randomUUID } from 'node:crypto';
import { send } from '../http/harness';
import { ContractServer, type Json } from './contract-server';

let server: ContractServer;
beforeAll(async () => {
  server = await ContractServer.start();
});
afterAll(() => server.stop());

/** A request with the header `Idempotency-Key`. */
async function keyed(key: string, method: string, path: string, json?: unknown): Promise<[number, Json]> {
  const body = json === undefined ? {} : { json };
  const answer = await send({ port: server.port }, method, path, {
    ...body,
    headers: { 'idempotency-key': key },
  });
  return [answer.status, answer.body.result ?? answer.body.status.error];
}

const POINT = { id: 1, vector: [1, 2], payload: { a: 1 } };

describe('C25 Idempotency-Key', () => {
  it('C25 a repeat gets the answer of the first call, and nothing happens, also after a restart', async () => {
    const path = await server.holding([POINT]);
    const key = randomUUID();
    const first = await keyed(key, 'POST', `${path}/points/delete`, { points: [1] });
    expect(first).toEqual([200, { operation_id: expect.any(Number), status: 'completed' }]);
    await server.ok('PUT', `${path}/points`, { points: [POINT] });
    expect(await keyed(key, 'POST', `${path}/points/delete`, { points: [1] })).toEqual(first);
    await server.restart();
    for (const form of [key, key.toUpperCase(), key.replaceAll('-', ''), `urn:uuid:${key}`]) {
      expect(await keyed(form, 'POST', `${path}/points/delete`, { points: [1] })).toEqual(first);
    }
    expect(Object.keys(await server.pointsOf(path))).toEqual(['1']);
  });

  it('C25 the key of a call that failed is free', async () => {
    const path = await server.holding([]);
    const key = randomUUID();
    const edit = { payload: { b: 2 }, points: [1] };
    expect((await keyed(key, 'POST', `${path}/points/payload`, edit))[0]).toBe(404);
    await server.ok('PUT', `${path}/points`, { points: [POINT] });
    expect((await keyed(key, 'POST', `${path}/points/payload`, edit))[0]).toBe(200);
  });

  it('C25 creations and deletions of collections', async () => {
    const config = { vectors: { size: 2, distance: 'Dot' } };
    const [made, removed] = [randomUUID(), randomUUID()];
    for (let time = 0; time < 2; time += 1) {
      expect(await keyed(made, 'PUT', '/collections/once', config)).toEqual([200, true]);
    }
    expect((await server.refused('PUT', '/collections/once', config))[0]).toBe(409);
    expect(await keyed(removed, 'DELETE', '/collections/once')).toEqual([200, true]);
    await server.ok('PUT', '/collections/once', config);
    expect(await keyed(removed, 'DELETE', '/collections/once')).toEqual([200, true]);
    expect(await server.ok('GET', '/collections/once/exists')).toEqual({ exists: true });
  });

  it('C25 a key that is no UUID is a 400 that names the header; reads ignore it', async () => {
    const path = await server.holding([POINT]);
    for (const key of ['', 'x', '123', `${randomUUID()}0`, `${randomUUID()}, ${randomUUID()}`]) {
      for (const [method, rest, json] of [
        ['PUT', '/points', { points: [POINT] }],
        ['PATCH', '', {}],
        ['DELETE', '/index/a', undefined],
      ] as const) {
        expect(await keyed(key, method, `${path}${rest}`, json)).toEqual([
          400,
          'Header Idempotency-Key must be a UUID',
        ]);
      }
      expect((await keyed(key, 'POST', `${path}/points/count`, {}))[0]).toBe(200);
    }
  });
});
