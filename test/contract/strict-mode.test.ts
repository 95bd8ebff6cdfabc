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
    [
      'limit: 8 exceeds max_query_limit',
      { max_query_limit: 6 },
      'POST',
      '/points/search/matrix/offsets',
      { sample: 3, limit: 2 },
      { sample: 4, limit: 2 },
    ],
    ['max_query_limit', { max_query_limit: 3 }, 'POST', '/points/projection', { sample: 3 }, { sample: 4 }],
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
      { search_max_oversampling: 1.1 },
      'POST',
      '/points/search',
      search({ params: { quantization: { oversampling: 1.1 } } }),
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
      { condition_max_size: 1 },
      'POST',
      '/points/query',
      { prefetch: { query: [1, 0] }, query: { formula: { key: 'n', match: { any: [1] } } } },
      { prefetch: { query: [1, 0] }, query: { formula: { sum: [1, { key: 'n', match: { any: [1, 2] } }] } } },
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
      "key: strict mode of the collection needs an index of keyword or uuid or integer or bool over 'city'",
      { unindexed_filtering_retrieve: false },
      'POST',
      '/facet',
      { key: 'n' },
      { key: 'city' },
    ],
    [
      "formula: strict mode of the collection needs an index of integer or float over 'price' for this formula expression",
      { unindexed_filtering_retrieve: false },
      'POST',
      '/points/query',
      { prefetch: { query: [1, 0] }, query: { formula: { sum: ['$score', 'n'] } } },
      {
        prefetch: { query: [1, 0] },
        query: { formula: { mult: ['$score', { neg: 'price' }] }, defaults: { price: 0 } },
      },
    ],
    [
      "'city'",
      { unindexed_filtering_retrieve: false },
      'POST',
      '/points/query',
      {
        prefetch: { prefetch: { query: [1, 0] }, query: { formula: by('n', 1).must[0] } },
        query: { formula: '$score' },
      },
      {
        prefetch: { prefetch: { query: [1, 0] }, query: { formula: by('city', 'Bern').must[0] } },
        query: { formula: '$score' },
      },
    ],
    [
      'order_by: strict mode of the collection needs an index of integer or float or datetime or uuid over',
      { unindexed_filtering_retrieve: false },
      'POST',
      '/points/scroll',
      { order_by: 'n' },
      { order_by: 'city' },
    ],
    [
      'query.order_by',
      { unindexed_filtering_retrieve: false },
      'POST',
      '/points/query',
      { query: { order_by: 'n' } },
      { query: { order_by: 'city' } },
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

  it('C4.3 search_allow_exact: nothing compares a vector without a graph with every point', async () => {
    path = await server.collection('strict-scans', {
      vectors: {
        linked: DOT,
        tenants: { ...DOT, hnsw_config: { m: 0, payload_m: 4 } },
        loose: { ...DOT, hnsw_config: { m: 0 } },
      },
      sparse_vectors: { s: {} },
      strict_mode_config: { enabled: true, search_allow_exact: false },
    });
    const vector = {
      linked: [1, 0],
      tenants: [1, 0],
      loose: [1, 0],
      s: { indices: [1], values: [1] },
    };
    await server.ok('PUT', `${path}/points`, { points: [{ id: 1, vector }, { id: 2, vector }] }); // prettier-ignore
    const query = (body: object) => server.ok('POST', `${path}/points/query`, body);
    const refused = (body: object, rest = '/points/query') => server.refused('POST', path + rest, body);
    const message = (place: string) => [
      400,
      `${place}: loose has no graph (hnsw_config.m = 0), and strict mode of the collection has search_allow_exact: false`,
    ];
    for (const using of ['linked', 'tenants', 's']) await query({ query: 1, using });
    // What prefetches have found is few, whatever compares it.
    await query({ prefetch: { query: 1, using: 's' }, query: 1, using: 'loose' });
    await query({ filter: { must: { has_id: [1] } } });
    expect(await refused({ query: 1, using: 'loose' })).toEqual(message('using'));
    expect(await refused({ query: { context: { positive: 1, negative: 2 } }, using: 'loose' })).toEqual(
      message('using'),
    );
    expect(await refused({ prefetch: [{ query: 1, using: 'loose' }], query: 1, using: 'linked' })).toEqual(
      message('prefetch[0].using'),
    );
    expect(
      await refused({ searches: [{ query: 1, using: 's' }, { query: 1, using: 'loose' }] }, '/points/query/batch'), // prettier-ignore
    ).toEqual(message('searches[1].using'));
    await server.ok('PATCH', path, { strict_mode_config: { search_allow_exact: true } });
    await query({ query: 1, using: 'loose' });
  });

  it('C4.3 an operation of a batch is limited as by itself', async () => {
    await limited({ unindexed_filtering_update: false, upsert_max_batchsize: 1 });
    const before = await server.everything(path);
    for (const [operation, place] of [
      [{ delete: { filter: by('city', 'Bern') } }, 'operations[1].delete.filter: '],
      [{ upsert: { batch: { ids: [8, 9], vectors: [[1, 1], [2, 2]] } } }, 'operations[1].upsert.points: '], // prettier-ignore
    ] as const) {
      const operations = [{ delete: { points: [1] } }, operation];
      const refusal = await server.refused('POST', `${path}/points/batch`, { operations });
      expect(refusal).toEqual([400, expect.stringContaining(place)]);
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

  it('C4.3 limits the rows of a multi-vector and the indices of a sparse vector', async () => {
    path = await server.collection('strict-lengths', {
      vectors: { m: { ...DOT, multivector_config: { comparator: 'max_sim' } } },
      sparse_vectors: { s: {} },
      strict_mode_config: {
        enabled: true,
        multivector_config: { m: { max_vectors: 2 } },
        sparse_config: { s: { max_length: 1 } },
      },
    });
    const rows = (count: number) => Array.from({ length: count }, () => [1, 0]);
    const of = (vector: object) => ({
      points: [
        { id: 1, vector: {} },
        { id: 2, vector },
      ],
    });
    await server.ok('PUT', `${path}/points`, of({ m: rows(2), s: { indices: [1], values: [1] } }));
    expect(await server.refused('PUT', `${path}/points`, of({ m: rows(3) }))).toEqual([
      400,
      "points[1].vector: Multivector 'm' has a limit of 2 vectors, but 3 were provided! (multivector_config of the collection's strict mode)",
    ]);
    const two = { indices: [1, 2], values: [1, 1] };
    expect(
      await server.refused('PUT', `${path}/points/vectors`, { points: [{ id: 2, vector: { s: two } }] }),
    ).toEqual([
      400,
      "points[0].vector: Sparse vector 's' has a limit of 1 indices, but 2 were provided! (sparse_config of the collection's strict mode)",
    ]);
    expect(await server.ok('POST', `${path}/points/count`, {})).toEqual({ count: 2 });
  });

  it('C4.3 limits the bytes of vectors and of payloads', async () => {
    // Four points of eight bytes.
    await limited({ max_collection_vector_size_bytes: 33 });
    const upsert = (id: number) => ({ points: [{ id, vector: [1, 0] }] });
    await server.ok('PUT', `${path}/points`, upsert(5));
    expect(await server.refused('PUT', `${path}/points`, upsert(6))).toEqual([
      400,
      'Max vector storage size limit of 33 bytes reached: the collection has 40 (max_collection_vector_size_bytes of its strict mode)',
    ]);
    await server.ok('POST', `${path}/points/payload`, { points: [1], payload: { more: 1 } });
    await server.ok('POST', `${path}/points/delete`, { points: [5] });
    await server.ok('PUT', `${path}/points`, upsert(6));
    await limited({ max_collection_payload_size_bytes: 4 });
    expect(
      (await server.refused('POST', `${path}/points/payload`, { points: [1], payload: { a: 1 } }))[1],
    ).toMatch(/^Max payload storage size limit of 4 bytes reached: the collection has \d+ \(max_/);
    await server.ok('PUT', `${path}/points`, upsert(5));
    await server.ok('POST', `${path}/points/payload/clear`, { points: [1, 2, 3, 4] });
    await server.ok('POST', `${path}/points/payload`, { points: [1], payload: { a: 1 } });
  });

  it.each<[string, string, string, object, tokens: number]>([
    ['a search', 'POST', '/points/search', { vector: [1, 0], limit: 1 }, 1],
    [
      'examples and conditions',
      'POST',
      '/points/query',
      { query: { recommend: { positive: [1, 2], negative: [3] } }, filter: by('n', 4), limit: 1 },
      4,
    ],
    [
      'a prefetch',
      'POST',
      '/points/query',
      { prefetch: { query: [1, 0], filter: by('n', 4) }, query: [1, 0] },
      3,
    ],
    ['a page', 'POST', '/points/scroll', { filter: by('n', 1) }, 2],
    ['a count', 'POST', '/points/count', {}, 1],
    ['a facet', 'POST', '/facet', { key: 'n' }, 1],
    ['a retrieve', 'POST', '/points', { ids: [1, 2, 3] }, 3],
    [
      'a batch',
      'POST',
      '/points/search/batch',
      { searches: [search({ limit: 1 }), search({ limit: 2 })] },
      2,
    ],
  ])('C4.3 read_rate_limit: %s takes its tokens', async (_, method, rest, body, tokens) => {
    await limited({ read_rate_limit: 2 * tokens });
    await server.ok(method, `${path}${rest}`, body);
    await server.ok(method, `${path}${rest}`, body);
    const [status, message] = await server.refused(method, `${path}${rest}`, body);
    expect(status).toBe(429);
    expect(message).toMatch(
      new RegExp(
        `^Rate limiting exceeded: Read rate limit exceeded: Operation requires ${tokens} tokens but only \\d\\.\\d were available. Retry after \\d+s$`,
      ),
    );
    // Writes have a rate of their own.
    await server.ok('POST', `${path}/points/delete`, { points: [9] });
  });

  it.each<[string, string, string, object, tokens: number]>([
    [
      'an upsert',
      'PUT',
      '/points',
      {
        points: [
          { id: 1, vector: [1, 0] },
          { id: 2, vector: [1, 0] },
        ],
      },
      2,
    ],
    ['ids', 'POST', '/points/payload', { points: [1, 2, 3], payload: { a: 1 } }, 3],
    ['a filter', 'POST', '/points/delete', { filter: by('n', 4) }, 5],
    [
      'a batch',
      'POST',
      '/points/batch',
      { operations: [{ delete: { points: [1] } }, { delete: { points: [2, 3] } }] },
      3,
    ],
  ])('C4.3 write_rate_limit: %s takes its tokens', async (_, method, rest, body, tokens) => {
    await limited({ write_rate_limit: tokens });
    await server.ok(method, `${path}${rest}`, body);
    const [status, message] = await server.refused(method, `${path}${rest}`, body);
    expect([status, message]).toEqual([
      429,
      expect.stringMatching(/^Rate limiting exceeded: Write rate limit exceeded: Operation requires/),
    ]);
    await server.ok('POST', `${path}/points/scroll`, {});
  });

  it('C1.5 Retry-After of a rate has one digit, however long there is not enough of it', async () => {
    await limited({ read_rate_limit: 3, write_rate_limit: 2 });
    const ask = (method: string, rest: string, body: object) =>
      fetch(`http://127.0.0.1:${server.port}${path}${rest}`, {
        method,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    const requests: [method: string, rest: string, body: object, tokens: number][] = [
      ['POST', '/points/count', {}, 3],
      ['POST', '/points/delete', { points: [9] }, 2],
    ];
    for (const [method, rest, body, tokens] of requests) {
      for (let taken = 0; taken < tokens; taken += 1)
        expect((await ask(method, rest, body)).status).toBe(200);
      const refused = await ask(method, rest, body);
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '9']);
      // The sentence has the whole time.
      expect(await refused.text()).toMatch(/Retry after (?:[12]\d|30)s"/);
    }
  });

  it('C4.3 a rate says when there is enough of it, and nothing of a refused request happens', async () => {
    await limited({ read_rate_limit: 1, write_rate_limit: 3 });
    const read = () =>
      fetch(`http://127.0.0.1:${server.port}${path}/points/count`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{}',
      });
    expect((await read()).status).toBe(200);
    const refused = await read();
    expect(refused.status).toBe(429);
    const { status } = (await refused.json()) as { status: { error: string } };
    expect(Number(/Retry after (\d+)s$/.exec(status.error)?.[1])).toBeGreaterThan(30);
    const four = { points: [11, 12, 13, 14].map((id) => ({ id, vector: [1, 0] })) };
    expect(await server.refused('PUT', `${path}/points`, four)).toEqual([
      400,
      "request: takes 4 tokens, which exceeds write_rate_limit: 3 of the collection's strict mode; split it",
    ]);
    // What cannot be read takes no tokens.
    expect((await server.refused('PUT', `${path}/points`, { points: [{ id: -1, vector: [1, 0] }] }))[0]).toBe(
      400,
    );
    await server.ok('PUT', `${path}/points`, { points: four.points.slice(0, 3) });
    await server.ok('PATCH', path, { strict_mode_config: { enabled: false } });
    expect(await server.ok('POST', `${path}/points/count`, {})).toEqual({ count: 7 });
  });
});
