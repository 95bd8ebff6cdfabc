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

describe('C25 if_version', () => {
  it('C25 a write whose versions do not hold is a 409 that names the points, and nothing happens', async () => {
    const path = await server.holding([POINT]);
    const written = await server.ok('PUT', `${path}/points`, { points: [POINT] });
    const version = Number(written.operation_id);
    const before = await server.everything(path);
    const stale = {
      points: [
        { ...POINT, if_version: version - 1 },
        { id: 2, vector: [1, 1], if_version: 3 },
      ],
    };
    const message = `Version conflict: 1 (version ${version}, expected version ${version - 1}), 2 (absent, expected version 3)`;
    expect(await server.refused('PUT', `${path}/points`, stale)).toEqual([409, message]);
    const batch = { operations: [{ clear_payload: { points: [1] } }, { upsert: stale }] };
    expect((await server.refused('POST', `${path}/points/batch`, batch))[0]).toBe(409);
    const edits: readonly (readonly [string, string, object])[] = [
      ['PUT', '/points/vectors', { points: [{ id: 1, vector: [3, 3], if_version: 0 }] }],
      ['POST', '/points/payload', { points: [1], payload: { a: 2 }, if_version: version + 1 }],
      ['PUT', '/points/payload', { points: [1], payload: { a: 2 }, if_version: { 1: 0 } }],
      ['POST', '/points/payload/delete', { points: [1], keys: ['a'], if_version: 0 }],
      ['POST', '/points/payload/clear', { points: [1], if_version: 0 }],
    ];
    for (const [method, rest, body] of edits) {
      expect([rest, (await server.refused(method, `${path}${rest}`, body))[0]]).toEqual([rest, 409]);
    }
    const filtered = { filter: {}, payload: { a: 2 }, if_version: version };
    expect((await server.refused('POST', `${path}/points/payload`, filtered))[0]).toBe(400);
    expect(await server.everything(path)).toEqual(before);
    await server.ok('POST', `${path}/points/payload`, {
      points: [1],
      payload: { a: 2 },
      if_version: { 1: version },
    });
    const one = { id: 9, vector: [1, 1], if_version: 0 };
    await server.ok('PUT', `${path}/points`, { points: [one] });
    expect((await server.refused('PUT', `${path}/points`, { points: [one] }))[0]).toBe(409);
  });

  it('C25 a repeat with a key is answered before versions are compared, with what was skipped', async () => {
    const path = await server.holding([POINT]);
    const [key, other] = [randomUUID(), randomUUID()];
    const insert = { points: [{ id: 5, vector: [1, 1], if_version: 0 }] };
    const first = await keyed(key, 'PUT', `${path}/points`, insert);
    expect(first[0]).toBe(200);
    expect(await keyed(key, 'PUT', `${path}/points`, insert)).toEqual(first);
    const some = {
      points: [{ id: 5, vector: [1, 1] }, POINT, { id: 6, vector: [1, 1] }],
      update_mode: 'insert_only',
    };
    const skipping = await keyed(other, 'PUT', `${path}/points`, some);
    expect(skipping).toEqual([200, expect.objectContaining({ skipped: { count: 2, ids: [5, 1] } })]);
    await server.ok('POST', `${path}/points/delete`, { filter: {} });
    await server.restart();
    expect(await keyed(other, 'PUT', `${path}/points`, some)).toEqual(skipping);
  });
});
