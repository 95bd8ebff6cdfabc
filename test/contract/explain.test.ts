import { connect, open } from '../../src/index';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ContractServer, type Json } from './contract-server';

const QUERY = { query: [1, 0], limit: 2, filter: { must: { key: 'k', match: { value: 'a' } } } };
const POINTS = [
  { id: 1, vector: [1, 0], payload: { k: 'a' } },
  { id: 2, vector: [0.9, 0.1], payload: { k: 'b' } },
  { id: 3, vector: [0.5, 0.5], payload: { k: 'a' } },
  { id: 4, vector: [0, 1], payload: { k: 'a' } },
];

describe('C13 explanations over HTTP', () => {
  let server: ContractServer;
  let path: string;
  beforeAll(async () => {
    server = await ContractServer.start();
    path = await server.holding(POINTS);
  });
  afterAll(() => server.stop());

  const body = async (method: string, place: string, json: object): Promise<Json> => {
    const answer = await server.call(method, place, json);
    expect([answer.status, answer.text]).toEqual([200, answer.text]);
    return answer.body;
  };

  it('C13 the answer says what was done, and why a point is missing', async () => {
    const plain = await body('POST', `${path}/points/query`, QUERY);
    const params = { explain: true, why: [1, 2, 4] };
    const { result, explain } = await body('POST', `${path}/points/query`, { ...QUERY, params });
    expect(result).toEqual(plain.result);
    expect(plain).not.toHaveProperty('explain');
    expect(explain).toMatchObject({ plan: 'exact', matches: 3, indexes_used: [], indexes_missing: ['k'] });
    expect(explain).toMatchObject({ hops: 0, distances: 3, scanned: 0, reranked: 0, tail_scanned: 0 });
    expect(Object.keys(explain.time_us)).toEqual([
      ...['queue', 'parse', 'plan', 'search', 'rerank', 'payloads', 'write'],
    ]);
    expect(explain.hits).toHaveLength(2);
    expect(explain.why).toMatchObject([
      { id: 1, returned: true, rank: 1, failed_condition: null, lost_by: null },
      { id: 2, returned: false, rank: 2, failed_condition: 'filter.must[0]', lost_by: 'filter' },
      { id: 4, returned: false, rank: 3, failed_condition: null, lost_by: 'rank' },
    ]);
  });

  it('C13 searches and their batches are explained too', async () => {
    const search = { vector: [1, 0], limit: 1, params: { explain: true } };
    const one = await body('POST', `${path}/points/search`, search);
    expect(one.explain.hits).toHaveLength(1);
    expect(one.explain.distances).toBe(POINTS.length);
    const context = { positive: [1, 0], negative: [0, 1] };
    const compared = { query: { context }, params: { explain: true } };
    const several = await body('POST', `${path}/points/query`, compared);
    expect(several.explain).toMatchObject({ plan: 'exact', distances: 2 * POINTS.length });
    const searches = [search, { ...search, params: {} }];
    const many = await body('POST', `${path}/points/search/batch`, { searches });
    expect(many.explain).toMatchObject([{ plan: 'exact' }, null]);
    expect(many.result[0]).toEqual(one.result);
  });

  it('C13 each part of a fused score says which vector it comes from', async () => {
    const vectors = { a: { size: 2, distance: 'Dot' }, b: { size: 2, distance: 'Dot' } };
    const points = [
      { id: 1, vector: { a: [1, 0], b: [0, 1] } },
      { id: 2, vector: { a: [0, 1], b: [1, 0] } },
    ];
    const named = await server.holding(points, { vectors });
    const prefetch = [
      { query: [1, 0], using: 'b', limit: 1 },
      { query: [1, 0], using: 'a' },
    ];
    const fused = { prefetch, query: { fusion: 'rrf' }, limit: 1, params: { explain: true } };
    const { result, explain } = await body('POST', `${named}/points/query`, fused);
    expect(result.points).toMatchObject([{ id: 2 }]);
    expect(explain.hits).toMatchObject([
      {
        score_details: [
          { source: 'prefetch[0]', using: 'b', rank: 1 },
          { source: 'prefetch[1]', using: 'a', rank: 2 },
        ],
      },
    ]);
  });

  it('C13 an absent point of why is a 404, and a prefetch is not explained', async () => {
    const why = { ...QUERY, params: { explain: true, why: [1, 99] } };
    expect((await server.call('POST', `${path}/points/query`, why)).status).toBe(404);
    const nested = { prefetch: [{ query: [1, 0], params: { explain: true } }], query: { fusion: 'rrf' } };
    expect((await server.call('POST', `${path}/points/query`, nested)).status).toBe(400);
  });

  it('C13 the client has it over HTTP and over a folder', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'kithdb-explain-'));
    const clients = [connect(`http://127.0.0.1:${server.port}`), await open(folder)];
    for (const db of clients) {
      await db.createCollection('explained', { vectors: { size: 2, distance: 'Dot' } });
      await db.upsert('explained', { points: POINTS });
      const { result, explain } = await db.explain('explained', { ...QUERY, params: { why: [4] } });
      expect(result.points.map(({ id }) => id)).toEqual([1, 3]);
      expect(explain.why).toMatchObject([{ id: 4, lost_by: 'rank' }]);
      await db.close();
    }
    rmSync(folder, { recursive: true, force: true });
  });
});
