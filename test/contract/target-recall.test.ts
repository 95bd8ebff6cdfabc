import { connect } from '../../src/index';
import { send } from '../http/harness';
import { until } from '../until';
import { ContractServer, type Json } from './contract-server';

const SIZE = 32;
const POINTS = 400;

/** A number from -1 to 1 that looks random. */
function component(id: number, at: number): number {
  return Math.sin((id + 1) * 12.9898 + at * 78.233 + id * at) % 1;
}

function vector(id: number): number[] {
  return Array.from({ length: SIZE }, (_, at) => component(id, at));
}

describe('C14 target recall over HTTP', () => {
  let server: ContractServer;
  beforeAll(async () => {
    server = await ContractServer.start();
    const hnsw_config = { m: 4, ef_construct: 8, full_scan_threshold: 10 };
    await ok('PUT', '/collections/c', { vectors: { size: SIZE, distance: 'Euclid' }, hnsw_config });
    const points = Array.from({ length: POINTS }, (_, id) => ({ id, vector: vector(id) }));
    await ok('PUT', '/collections/c/points?wait=true', { points });
    await until(async () => (await info()).status === 'green');
  });
  afterAll(() => server.stop());

  const ok = async (method: string, path: string, json?: object): Promise<Json> => {
    const answer = await server.call(method, path, json);
    expect([answer.status, answer.text]).toEqual([200, answer.text]);
    return answer.body;
  };
  const info = async (): Promise<Json> => (await ok('GET', '/collections/c')).result;
  const measured = () => until(async () => (await info()).recall_estimate !== null);
  const explained = async (params: object): Promise<Json> => {
    const body = { query: vector(7), limit: 5, params: { explain: true, ...params } };
    return (await ok('POST', '/collections/c/points/query', body)).explain;
  };

  it('C14 a target outside its range, or with hnsw_ef, is a 400 that names the place', async () => {
    const refused = async (params: object): Promise<string> => {
      const answer = await server.call('POST', '/collections/c/points/query', { query: vector(1), params });
      expect(answer.status).toBe(400);
      return answer.text;
    };
    for (const target_recall of [0.49, 0.9991, 1, 'high']) {
      expect(await refused({ target_recall })).toContain('params.target_recall');
    }
    expect(await refused({ target_recall: 0.9, hnsw_ef: 64 })).toMatch(/params\.target_recall.*hnsw_ef/);
    const prefetch = { query: vector(1), params: { target_recall: 0.9, hnsw_ef: 64 } };
    const nested = { prefetch, query: { fusion: 'rrf' } };
    const answer = await server.call('POST', '/collections/c/points/query', nested);
    expect([answer.status, answer.text]).toEqual([
      400,
      expect.stringContaining('prefetch.params.target_recall'),
    ]);
    const config = { hnsw_config: { target_recall: 2 } };
    const patch = await server.call('PATCH', '/collections/c', config);
    expect([patch.status, patch.text]).toEqual([400, expect.stringContaining('hnsw_config.target_recall')]);
  });

  it('C14 what is measured is in the info and in the metrics, and chooses the width', async () => {
    expect(await info()).toHaveProperty('recall_estimate');
    await measured();
    const { recall_estimate } = await info();
    expect(Object.keys(recall_estimate)).toEqual(['recall', 'low', 'high', 'samples', 'at']);
    expect(recall_estimate.low).toBeLessThanOrEqual(recall_estimate.recall);
    expect(recall_estimate.samples).toBeGreaterThanOrEqual(32);
    await until(async () =>
      /^kithdb_recall_estimate\{value="low"\} /m.test((await server.call('GET', '/metrics')).text),
    );
    const explanation = await explained({ target_recall: 0.9 });
    expect(explanation).toMatchObject({ target_recall: 0.9, ef_chosen_by: 'calibration' });
    expect(explanation.ef).toBeGreaterThanOrEqual(5);
  });

  it('C14 the default of a collection counts where a request says nothing', async () => {
    await ok('PATCH', '/collections/c', { hnsw_config: { target_recall: 0.97 } });
    expect((await info()).config.hnsw_config.target_recall).toBe(0.97);
    expect(await explained({})).toMatchObject({ target_recall: 0.97 });
    expect(await explained({ target_recall: 0.6 })).toMatchObject({ target_recall: 0.6 });
    const given = await explained({ hnsw_ef: 33 });
    expect(given.ef).toBe(33);
    expect(given).not.toHaveProperty('target_recall');
    expect(await explained({ exact: true })).not.toHaveProperty('target_recall');
    await ok('PATCH', '/collections/c', { hnsw_config: { ef_search: 70 } });
    expect((await info()).config.hnsw_config).toMatchObject({ target_recall: 0.97, ef_search: 70 });
  });

  it('C14 a null takes the default away, and nothing else', async () => {
    await ok('PATCH', '/collections/c', { hnsw_config: { target_recall: 0.97, ef_search: 70 } });
    await ok('PATCH', '/collections/c', { hnsw_config: { target_recall: null } });
    expect((await info()).config.hnsw_config).not.toHaveProperty('target_recall');
    expect((await info()).config.hnsw_config).toMatchObject({ ef_search: 70, m: 4 });
    const explanation = await explained({});
    expect(explanation).toMatchObject({ ef: 70 });
    expect(explanation).not.toHaveProperty('target_recall');
    // A vector field has that of its collection again, and its other settings.
    const field = (target_recall: unknown) => ({ vectors: { '': { hnsw_config: { target_recall } } } });
    await ok('PATCH', '/collections/c', { ...field(0.9), hnsw_config: { target_recall: 0.8 } });
    expect(await explained({})).toMatchObject({ target_recall: 0.9 });
    await ok('PATCH', '/collections/c', field(null));
    expect(await explained({})).toMatchObject({ target_recall: 0.8 });
  });

  it('C14 the typed client has it', async () => {
    const client = connect(`http://127.0.0.1:${server.port}`);
    const found = await client.query('c', { query: vector(3), limit: 1, params: { target_recall: 0.95 } });
    expect(found.points.map((point) => point.id)).toEqual([3]);
    await measured();
    expect((await client.getCollection('c')).recall_estimate?.samples).toBeGreaterThanOrEqual(32);
  });
});

describe('C14, C15 the measured recall of a collection', () => {
  const password = 'Correct-Horse-9-Battery';
  let server: ContractServer;
  let jwt: string;
  beforeAll(async () => {
    server = await ContractServer.start(['--calibration-percent', '100'], {
      KITHDB_ADMIN_PASSWORD: password,
      KITHDB_AUTH_ENABLED: 'true',
    });
    jwt = (await send(server, 'POST', '/auth/admin/login', { json: { password } })).body.token;
    const hnsw_config = { m: 4, ef_construct: 8, full_scan_threshold: 10 };
    await as(jwt, 'PUT', '/collections/c', { vectors: { size: SIZE, distance: 'Euclid' }, hnsw_config });
    const points = Array.from({ length: POINTS }, (_, id) => ({ id, vector: vector(id), payload: { t: 1 } }));
    await as(jwt, 'PUT', '/collections/c/points?wait=true', { points });
    await until(async () => (await as(jwt, 'GET', '/collections/c')).recall_estimate !== null);
  });
  afterAll(() => server.stop());

  const as = async (token: string, method: string, path: string, json?: object): Promise<Json> => {
    const headers = { authorization: `Bearer ${token}` };
    const answer = await send(server, method, path, { headers, ...(json && { json }) });
    expect([answer.status, answer.text]).toEqual([200, answer.text]);
    return answer.body.result ?? answer.body;
  };
  const tokenWith = async (fields: object): Promise<string> => {
    const made = { name: 'x', permission: 'read,write', ...fields };
    return (await as(jwt, 'POST', '/auth/access_token', made)).token;
  };

  it('C14 is null for a token with a filter, and not for one with collections', async () => {
    const filter = { must: { key: 't', match: { value: 1 } } };
    const limited = await as(await tokenWith({ filter }), 'GET', '/collections/c');
    expect(limited.recall_estimate).toBeNull();
    const collections = [{ name: 'c', permission: 'read' }];
    const whole = await as(await tokenWith({ collections }), 'GET', '/collections/c');
    expect(whole.recall_estimate).toMatchObject({ samples: expect.any(Number) });
    expect((await as(jwt, 'GET', '/collections/c')).recall_estimate).not.toBeNull();
  });
});
