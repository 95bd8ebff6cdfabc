import { request } from 'node:http';
import { ContractServer, type Json } from './contract-server';
import { sleep, until } from '../until';

const SECRET = 'a value of this test';
const QUERY = {
  query: [0.918273, 0.1],
  limit: 2,
  filter: { must: { key: 'secret_key', match: { value: SECRET } } },
};

describe('the log of slow searches', () => {
  let server: ContractServer;
  let path: string;
  beforeAll(async () => {
    server = await ContractServer.start(['--slow-request-ms', '20']);
    path = await server.holding([
      { id: 1, vector: [1, 0], payload: { secret_key: SECRET } },
      { id: 2, vector: [0, 1], payload: { secret_key: 'another' } },
    ]);
  });
  afterAll(() => server.stop());

  /** Sends a request whose body takes so long to arrive that the request is slow. */
  const slowly = async (place: string, id: string, json: object): Promise<void> => {
    const body = `     ${JSON.stringify(json)}`;
    await new Promise<void>((resolve, reject) => {
      const headers = {
        'content-type': 'application/json',
        'content-length': body.length,
        'x-request-id': id,
      };
      const options = { port: server.port, method: 'POST', path: place, headers };
      const sent = request(options, (answer) => answer.resume().on('end', resolve).on('error', reject));
      sent.on('error', reject);
      sent.write(body.slice(0, 5));
      void sleep(60).then(() => sent.end(body.slice(5)));
    });
  };

  /** The line of a slow request. On a busy machine head and body may be read at once: then it was not slow, and is sent again. */
  const lineOf = async (place: string, id: string, json: object): Promise<Json> => {
    const line = (): Json => server.logged.find(({ requestId }) => requestId === id);
    await until(async () => {
      await slowly(place, id, json);
      return line() !== undefined;
    });
    return line();
  };

  it('C13 a slow search says in the log what it planned and what it cost, and nothing of the query', async () => {
    const line = await lineOf(`${path}/points/query`, 'slow', QUERY);
    expect(line).toMatchObject({
      msg: 'slow request',
      level: expect.anything(),
      status: 200,
      search: {
        searches: 1,
        plans: { exact: 1 },
        estimated_matches: null,
        hops: 0,
        distances: 1,
        scanned: 0,
        reranked: 0,
        tail_scanned: 0,
        fallbacks: 0,
        unindexed: 1,
      },
    });
    expect(Object.keys(line.search.time_us)).toEqual([
      ...['queue', 'parse', 'plan', 'search', 'rerank', 'write'],
    ]);
    // From the arrival of its head on.
    expect(line.search.time_us.queue).toBeGreaterThan(0);
    const text = JSON.stringify(line);
    for (const part of [SECRET, '918273', 'secret_key']) expect(text).not.toContain(part);
  });

  it('C13 so do batches and explained searches', async () => {
    const search = { vector: [1, 0], limit: 1 };
    const batch = await lineOf(`${path}/points/search/batch`, 'batch', { searches: [search, search] });
    expect(batch.search).toMatchObject({ searches: 2, plans: { exact: 2 }, matches: 4 });
    const explained = { ...QUERY, params: { explain: true } };
    expect((await lineOf(`${path}/points/query`, 'explained', explained)).search).toMatchObject({
      searches: 1,
      matches: 1,
    });
  });

  it('C13 a slow request that searches nothing, or failed before it did, has no such figures', async () => {
    expect(await lineOf(`${path}/points/count`, 'count', {})).not.toHaveProperty('search');
    const refused = await lineOf(`${path}/points/query`, 'refused', { query: [1, 0, 0] });
    expect(refused).toMatchObject({ status: 400 });
    expect(refused).not.toHaveProperty('search');
  });
});
