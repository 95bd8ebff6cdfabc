/** Limits of strict mode on the size of a collection: what counts, and when. */
import { randomUUID } from 'node:crypto';
import { ContractServer } from './contract-server';
import { send } from '../http/harness';

const upsert = (...ids: number[]) => ({ points: ids.map((id) => ({ id, vector: [id, 1] })) });

describe('C4.3 limits on the size of a collection', () => {
  let server: ContractServer;
  beforeAll(async () => {
    server = await ContractServer.start();
  });
  afterAll(() => server.stop());

  /** A collection with four points that have a payload, and these limits. */
  async function limited(name: string, limits: object): Promise<string> {
    const path = await server.collection(name);
    const points = [1, 2, 3, 4].map((id) => ({ id, vector: [id, 1], payload: { n: id } }));
    await server.ok('PUT', `${path}/points`, { points });
    await server.ok('PATCH', path, { strict_mode_config: { enabled: true, ...limits } });
    return path;
  }

  it('C4.3 payloads count wherever they are, after a start too', async () => {
    const path = await limited('sizes-payloads', { max_collection_payload_size_bytes: 28 });
    const more = { points: [1], payload: { a: 1 } };
    const refused = [
      400,
      'Max payload storage size limit of 28 bytes reached: the collection has 28 (max_collection_payload_size_bytes of its strict mode)',
    ];
    expect(await server.refused('POST', `${path}/points/payload`, more)).toEqual(refused);
    await server.restart();
    expect(await server.refused('POST', `${path}/points/payload`, more)).toEqual(refused);
    await server.ok('POST', `${path}/points/delete`, { points: [4] });
    await server.ok('POST', `${path}/points/payload`, more);
  });

  it('C4.3 writes at one time do not exceed a limit together', async () => {
    const path = await limited('sizes-together', { max_points_count: 10 });
    const ids = Array.from({ length: 64 }, (_, at) => 100 + at);
    const answers = await Promise.all(ids.map((id) => server.call('PUT', `${path}/points`, upsert(id))));
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(6);
    expect(statuses.filter((status) => status === 400)).toHaveLength(58);
    expect(await server.ok('POST', `${path}/points/count`, {})).toEqual({ count: 10 });
  });

  it('C4.3 an upsert that inserts nothing brings no points', async () => {
    const path = await limited('sizes-updates', { max_points_count: 4 });
    const body = { ...upsert(1, 9), update_mode: 'update_only' };
    expect(await server.ok('PUT', `${path}/points`, body)).toMatchObject({ skipped: { ids: [9] } });
    expect((await server.refused('PUT', `${path}/points`, upsert(9)))[0]).toBe(400);
  });

  it('C25 a write that is repeated has its first answer, whatever a limit says now', async () => {
    const path = await limited('sizes-repeated', { max_collection_vector_size_bytes: 33 });
    const put = () =>
      send({ port: server.port }, 'PUT', `${path}/points?wait=true`, {
        json: upsert(5),
        headers: { 'Idempotency-Key': key },
      });
    const key = randomUUID();
    const first = await put();
    expect(first.status).toBe(200);
    expect((await server.refused('PUT', `${path}/points`, upsert(6)))[0]).toBe(400);
    const again = await put();
    expect([again.status, again.body.result]).toEqual([200, first.body.result]);
  });
});
