import { ContractServer } from './contract-server';

const DOT = { size: 2, distance: 'Dot' };

describe('C4.3 strict mode', () => {
  let server: ContractServer;
  let path: string;
  let made = 0;
  beforeAll(async () => {
    server = await ContractServer.start();
  });
  afterAll(() => server.stop());

  /** A collection with four points, an integer index over `n`, and these limits; the one before is removed. */
  async function limited(limits: object): Promise<void> {
    made += 1;
    path = await server.collection(`strict-${made}`, { vectors: DOT });
    const points = [1, 2, 3, 4].map((id) => ({ id, vector: [id, 1], payload: { n: id, city: 'Bern' } }));
    await server.ok('PUT', `${path}/points`, { points });
    await server.ok('PUT', `${path}/index`, { field_name: 'n', field_schema: 'integer' });
    await server.ok('PATCH', path, { strict_mode_config: { enabled: true, ...limits } });
  }

  const by = (key: string, value: unknown) => ({ must: [{ key, match: { value } }] });
  const search = (more: object) => ({ vector: [1, 0], ...more });

  it.each<[name: string, limits: object, method: string, rest: string, fits: object, beyond: object]>([
    [
      'max_query_limit',
      { max_query_limit: 3 },
      'POST',
      '/points/search',
      search({ limit: 3 }),
      search({ limit: 4 }),
    ],
    ['max_query_limit', { max_query_limit: 3 }, 'POST', '/points/scroll', { limit: 3 }, { limit: 4 }],
    [
      'max_query_limit',
      { max_query_limit: 3 },
      'POST',
      '/facet',
      { key: 'n', limit: 3 },
      { key: 'n', limit: 4 },
    ],
    [
      'max_query_limit',
      { max_query_limit: 3 },
      'POST',
      '/points/query',
      { prefetch: { query: [1, 0], limit: 3 }, query: [1, 0], limit: 3 },
      { prefetch: { query: [1, 0], limit: 4 }, query: [1, 0], limit: 3 },
    ],
    [
      'max_query_limit',
      { max_query_limit: 3 },
      'POST',
      '/points/search/matrix/pairs',
      { sample: 3, limit: 1 },
      { sample: 4, limit: 1 },
    ],
    ['max_timeout', { max_timeout: 5 }, 'POST', '/points/count?timeout=5', {}, {}],
    [
      'search_max_hnsw_ef',
      { search_max_hnsw_ef: 10 },
      'POST',
      '/points/search',
      search({ params: { hnsw_ef: 10 } }),
      search({ params: { hnsw_ef: 11 } }),
    ],
    [
      'search_allow_exact',
      { search_allow_exact: false },
      'POST',
      '/points/search',
      search({ params: { exact: false } }),
      search({ params: { exact: true } }),
    ],
    [
      'search_max_oversampling',
      { search_max_oversampling: 1.5 },
      'POST',
      '/points/search',
      search({ params: { quantization: { oversampling: 1.5 } } }),
      search({ params: { quantization: { oversampling: 2 } } }),
    ],
    [
      'search_max_batchsize',
      { search_max_batchsize: 1 },
      'POST',
      '/points/search/batch',
      { searches: [search({})] },
      { searches: [search({}), search({})] },
    ],
    [
      'upsert_max_batchsize',
      { upsert_max_batchsize: 1 },
      'PUT',
      '/points',
      { points: [{ id: 1, vector: [1, 1] }] },
      { batch: { ids: [1, 2], vectors: [[1, 1], [2, 2]] } }, // prettier-ignore
    ],
    [
      'upsert_max_batchsize',
      { upsert_max_batchsize: 1 },
      'PUT',
      '/points/vectors',
      { points: [{ id: 1, vector: [1, 1] }] },
      { points: [{ id: 1, vector: [1, 1] }, { id: 2, vector: [1, 1] }] }, // prettier-ignore
    ],
    [
      'filter_max_conditions',
      { filter_max_conditions: 1 },
      'POST',
      '/points/count',
      { filter: by('n', 1) },
      { filter: { must: [...by('n', 1).must, { should: by('n', 2) }] } },
    ],
    [
      'condition_max_size',
      { condition_max_size: 2 },
      'POST',
      '/points/count',
      { filter: { must: { key: 'n', match: { any: [1, 2] } } } },
      { filter: { must_not: { must: { has_id: [1, 2, 3] } } } },
    ],
    [
      "'city'",
      { unindexed_filtering_retrieve: false },
      'POST',
      '/points/search',
      search({ filter: by('n', 1) }),
      search({ filter: by('city', 'Bern') }),
    ],
    [
      'an index of keyword or uuid over',
      { unindexed_filtering_retrieve: false },
      'POST',
      '/points/scroll',
      { filter: { must: { key: 'n', range: { gt: 1 } } } },
      { filter: by('n', 'Bern') },
    ],
    [
      "'list[].city'",
      { unindexed_filtering_retrieve: false },
      'POST',
      '/points/count',
      { filter: { must: { key: 'n', is_empty: false } } },
      { filter: { must: { nested: { key: 'list', filter: by('city', 'x') } } } },
    ],
    [
      'unindexed_filtering_retrieve',
      { unindexed_filtering_retrieve: false },
      'POST',
      '/facet',
      { key: 'n' },
      { key: 'city' },
    ],
    [
      "'city'",
      { unindexed_filtering_update: false },
      'POST',
      '/points/delete',
      { filter: by('n', 1) },
      { filter: by('city', 'Bern') },
    ],
    [
      "'city'",
      { unindexed_filtering_update: false },
      'PUT',
      '/points',
      { points: [{ id: 1, vector: [1, 1] }], update_filter: by('n', 1) },
      { points: [{ id: 1, vector: [1, 1] }], update_filter: by('city', 'Bern') },
    ],
    [
      'max_payload_index_count',
      { max_payload_index_count: 1 },
      'PUT',
      '/index',
      { field_name: 'n', field_schema: 'integer' },
      { field_name: 'city', field_schema: 'keyword' },
    ],
    [
      'max_points_count',
      { max_points_count: 4 },
      'PUT',
      '/points',
      { points: [{ id: 4, vector: [1, 1] }] },
      { points: [{ id: 4, vector: [1, 1] }, { id: 5, vector: [1, 1] }] }, // prettier-ignore
    ],
  ])('C4.3 %s: %j', async (name, limits, method, rest, fits, beyond) => {
    await limited(limits);
    await server.ok(method, `${path}${rest}`, fits);
    const before = await server.everything(path).catch(() => []);
    const [status, message] = await server.refused(method, path + rest.replace('=5', '=6'), beyond);
    expect([status, message]).toEqual([400, expect.stringContaining(name)]);
    expect(await server.everything(path).catch(() => [])).toEqual(before);
    // Switched off, it is as without.
    await server.ok('PATCH', path, { strict_mode_config: { enabled: false } });
    await server.ok(method, `${path}${rest}`, beyond);
  });

  it('C4.3 an operation of a batch is limited as by itself', async () => {
    await limited({ unindexed_filtering_update: false, upsert_max_batchsize: 1 });
    const before = await server.everything(path);
    for (const operation of [
      { delete: { filter: by('city', 'Bern') } },
      { upsert: { batch: { ids: [8, 9], vectors: [[1, 1], [2, 2]] } } }, // prettier-ignore
    ]) {
      const operations = [{ delete: { points: [1] } }, operation];
      expect((await server.refused('POST', `${path}/points/batch`, { operations }))[0]).toBe(400);
    }
    expect(await server.everything(path)).toEqual(before);
  });

  it('C4.3 is kept over a restart, shown as sent, and merged by a patch', async () => {
    await limited({ max_query_limit: 3 });
    await server.restart();
    expect((await server.refused('POST', `${path}/points/scroll`, { limit: 4 }))[0]).toBe(400);
    await server.ok('PATCH', path, { strict_mode_config: { max_query_limit: 5 } });
    await server.ok('POST', `${path}/points/scroll`, { limit: 4 });
    const { config } = await server.ok('GET', path);
    expect(config.strict_mode_config).toEqual({ enabled: true, max_query_limit: 5 });
  });

  it('C4.3 is not enabled together with a limit that is not enforced', async () => {
    const unenforced = { enabled: true, write_rate_limit: 10 };
    const why =
      'strict_mode_config.write_rate_limit: is not enforced in this release, so strict mode cannot be enabled with it';
    expect(
      await server.refused('PUT', '/collections/x', { vectors: DOT, strict_mode_config: unenforced }),
    ).toEqual([400, why]);
    await server.collection('x', { vectors: DOT, strict_mode_config: { write_rate_limit: 10 } });
    expect(
      await server.refused('PATCH', '/collections/x', { strict_mode_config: { enabled: true } }),
    ).toEqual([400, why]);
  });
});
