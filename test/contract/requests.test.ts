import { ContractServer } from './contract-server';
import { send } from '../http/harness';

let server: ContractServer;
beforeAll(async () => {
  server = await ContractServer.start();
  await server.collection('stamped');
});
afterAll(() => server.stop());

describe('C1.7 all or nothing', () => {
  const bad = { id: 9, vector: [1, 2, 3] };
  const good = { id: 1, vector: [5, 5], payload: { changed: true } };

  it.each<[string, string, string, unknown]>([
    ['an upsert in list form', 'PUT', '/points', { points: [good, { id: 2, vector: [1, 1] }, bad] }],
    [
      'an upsert in columns',
      'PUT',
      '/points',
      {
        batch: {
          ids: [1, 9],
          vectors: [
            [5, 5],
            [1, 2, 3],
          ],
        },
      },
    ],
    [
      'an update of vectors',
      'PUT',
      '/points/vectors',
      {
        points: [
          { id: 1, vector: [5, 5] },
          { id: 404, vector: [1, 1] },
        ],
      },
    ],
    ['a removal of vectors', 'POST', '/points/vectors/delete', { points: [1, 404], vector: [''] }],
    ['a set payload', 'POST', '/points/payload', { points: [1, 404], payload: { changed: true } }],
    ['an overwrite of payload', 'PUT', '/points/payload', { points: [1, 404], payload: { changed: true } }],
    ['a removal of keys', 'POST', '/points/payload/delete', { points: [1, 404], keys: ['kept'] }],
    ['a clear of payload', 'POST', '/points/payload/clear', { points: [1, 404] }],
    [
      'a batch whose last operation fails',
      'POST',
      '/points/batch',
      {
        operations: [
          { upsert: { points: [good, { id: 3, vector: [3, 3] }] } },
          { delete: { points: [2] } },
          { set_payload: { points: [1], payload: { changed: true } } },
          { delete_payload: { points: [404], keys: ['kept'] } },
        ],
      },
    ],
    [
      'a batch with a malformed operation',
      'POST',
      '/points/batch',
      {
        operations: [{ delete: { points: [1] } }, { upsert: { points: [{ id: 3, vector: ['x', 1] }] } }],
      },
    ],
  ])('C1.7 %s leaves nothing behind, now or after a restart', async (title, method, rest, json) => {
    const path = await server.collection(`nothing of ${title}`.replaceAll(' ', '%20'));
    await server.ok('PUT', `${path}/points`, {
      points: [
        { id: 1, vector: [1, 2], payload: { kept: 'a' } },
        { id: 2, vector: [3, 4] },
      ],
    });
    const before = await server.everything(path);
    const [status] = await server.refused(method, `${path}${rest}`, json);
    expect([400, 404]).toContain(status);
    expect(await server.everything(path)).toEqual(before);
    await server.restart();
    expect(await server.everything(path)).toEqual(before);
  });
});

describe('C1.8 what goes in comes out', () => {
  it('C1.8 f32 vectors parse to the same values', async () => {
    const path = await server.collection('floats', { vectors: { size: 8, distance: 'Euclid' } });
    const vector = [
      0.1,
      1 / 3,
      -1e-45,
      3.4028234663852886e38,
      1.1754943508222875e-38,
      16777217,
      -0.30000001192092896,
      1e-40,
    ];
    await server.ok('PUT', `${path}/points`, { points: [{ id: 1, vector }] });
    await server.restart();
    const { vector: back } = await server.ok('GET', `${path}/points/1`);
    expect(back).toHaveLength(vector.length);
    expect(back.map(Math.fround)).toEqual(vector.map(Math.fround));
    // Written back as it was read, it is the same again.
    await server.ok('PUT', `${path}/points`, { points: [{ id: 2, vector: back }] });
    expect((await server.ok('GET', `${path}/points/2`)).vector).toEqual(back);
  });

  it('C1.8 Cosine normalises, float16 and uint8 round', async () => {
    const path = await server.collection('rounded', {
      vectors: {
        cosine: { size: 2, distance: 'Cosine' },
        half: { size: 2, distance: 'Dot', datatype: 'float16' },
        bytes: { size: 2, distance: 'Dot', datatype: 'uint8' },
      },
    });
    await server.ok('PUT', `${path}/points`, {
      points: [{ id: 1, vector: { cosine: [3, 4], half: [0.1, 2049], bytes: [0, 255] } }],
    });
    const { vector } = await server.ok('GET', `${path}/points/1`);
    expect(vector.cosine[0]).toBeCloseTo(0.6, 6);
    expect(vector.cosine[1]).toBeCloseTo(0.8, 6);
    expect(vector.half.map(Math.fround)).toEqual([0.0999755859375, 2048]);
    expect(vector.bytes).toEqual([0, 255]);
  });

  it.each([
    ['integers of 64 bits', '{"a":9223372036854775807,"b":-9223372036854775808,"c":18446744073709551615}'],
    ['integers above 2^53', '{"a":9007199254740993,"b":[9007199254740995]}'],
    ['floats that stay floats', '{"a":1.0,"b":0.1,"c":1e300,"d":5e-324,"e":-0.0}'],
    ['the order of keys', '{"z":1,"a":{"y":1,"b":2},"m":3}'],
    ['text', JSON.stringify({ text: 'é "quoted" \\ \n \u0001 日本語 😀', '': 'empty key' })],
    [
      'nulls, empty containers and nested arrays',
      '{"n":null,"o":{},"l":[],"deep":[[1,[2,[]]],{"k":[null]}]}',
    ],
  ])('C1.8 payloads keep %s, byte for byte', async (name, payload) => {
    const path = await server.collection(`bytes%20of%20${encodeURIComponent(name)}`);
    await server.ok('PUT', `${path}/points`, `{"points":[{"id":1,"vector":[1,2],"payload":${payload}}]}`);
    expect((await server.call('GET', `${path}/points/1`)).text).toContain(`"payload":${payload}`);
    await server.restart();
    expect((await server.call('GET', `${path}/points/1`)).text).toContain(`"payload":${payload}`);
    for (const rest of ['/points/scroll', '/points/search']) {
      const { text } = await server.call('POST', `${path}${rest}`, {
        ...(rest === '/points/search' ? { vector: [1, 2] } : {}),
        with_payload: true,
      });
      expect(text).toContain(`"payload":${payload}`);
    }
  });

  it('C1.8 floats written otherwise keep their value', async () => {
    const path = await server.collection('spellings');
    const payload = '{"a":1.50,"b":1E2,"c":123456789012345678901234567890}';
    await server.ok('PUT', `${path}/points`, `{"points":[{"id":1,"vector":[1,2],"payload":${payload}}]}`);
    const { payload: back } = await server.ok('GET', `${path}/points/1`);
    expect(back).toEqual({ a: 1.5, b: 100, c: 1.2345678901234568e29 });
  });

  it('C1.8 of a repeated key the last value counts', async () => {
    const path = await server.collection('repeats');
    await server.ok(
      'PUT',
      `${path}/points`,
      '{"points":[],"points":[{"id":7,"id":1,"vector":[9,9],"vector":[1,2],"payload":{"a":1,"b":2,"a":3}}]}',
    );
    const records = await server.ok(
      'POST',
      `${path}/points/scroll`,
      '{"limit":7,"limit":5,"with_vector":false,"with_vector":true}',
    );
    expect(records.points).toEqual([{ id: 1, vector: [1, 2], payload: { a: 3, b: 2 } }]);
  });

  it('C1.8 of a repeated key the last value counts, also where the first is not valid', async () => {
    const path = await server.collection('invalid-repeats');
    const point = '{"id":-1,"id":1,"vector":[1,"x"],"vector":[1,2],"color":3,"color":null}';
    await server.ok('PUT', `${path}/points`, `{"points":[{"id":true}],"points":[${point}]}`);
    const page = await server.ok(
      'POST',
      `${path}/points/scroll`,
      '{"limit":0,"limit":"x","limit":1,"filter":{"must":[{"key":7}]},"filter":{},"nosuch":3,"nosuch":null}',
    );
    expect(page.points).toHaveLength(1);
    const refused = await server.raw('POST', `${path}/points/scroll`, '{"limit":1,"limit":0}');
    expect([refused.status, refused.text]).toEqual([400, expect.stringContaining('limit: value 0 invalid')]);
  });
});

describe('C1.8 changes of payload', () => {
  it('C1.8 numbers and the order of keys survive every payload operation', async () => {
    const path = await server.collection('edited');
    const text = async (): Promise<string> => (await server.call('GET', `${path}/points/1`)).text;
    const start = '{"z":1.0,"big":18446744073709551615,"o":{"y":2.50,"x":9007199254740993},"a":1}';
    await server.ok('PUT', `${path}/points`, `{"points":[{"id":1,"vector":[1,2],"payload":${start}}]}`);
    const steps: [string, string, string, string][] = [
      [
        'POST',
        '',
        '"payload":{"a":9223372036854775807,"new":-0.0}',
        '{"z":1.0,"big":18446744073709551615,"o":{"y":2.50,"x":9007199254740993},"a":9223372036854775807,"new":-0.0}',
      ],
      [
        'POST',
        '',
        '"key":"o","payload":{"y":1e2,"w":1.0}',
        '{"z":1.0,"big":18446744073709551615,"o":{"y":1e2,"x":9007199254740993,"w":1.0},"a":9223372036854775807,"new":-0.0}',
      ],
      [
        'POST',
        '/delete',
        '"keys":["big","o.y"]',
        '{"z":1.0,"o":{"x":9007199254740993,"w":1.0},"a":9223372036854775807,"new":-0.0}',
      ],
      [
        'PUT',
        '',
        '"key":"o","payload":{"n":null,"m":[1.0,{}]}',
        '{"z":1.0,"o":{"n":null,"m":[1.0,{}]},"a":9223372036854775807,"new":-0.0}',
      ],
      ['PUT', '', '"payload":{"b":1.0,"a":18446744073709551615}', '{"b":1.0,"a":18446744073709551615}'],
    ];
    for (const [method, rest, change, wanted] of steps) {
      await server.ok(method, `${path}/points/payload${rest}`, `{"points":[1],${change}}`);
      expect(await text()).toContain(`"payload":${wanted}`);
    }
    await server.restart();
    expect(await text()).toContain('"payload":{"b":1.0,"a":18446744073709551615}');
  });
});

describe('C1.9, C1.10 requests in general', () => {
  it('C1.9 every answer of the engine carries the request id', async () => {
    for (const path of ['/collections', '/collections/stamped', '/collections/absent']) {
      const own = await send(server, 'GET', path, { headers: { 'x-request-id': 'mine-7' } });
      expect(own.headers['x-request-id']).toBe('mine-7');
      const made = await send(server, 'GET', path);
      expect(made.headers['x-request-id']).toMatch(/^\S{8,}$/);
    }
  });

  it.each<[string, string, object, string]>([
    ['PUT', '/points', { points: [{ id: 1, vector: [1, 2], colour: 1 }] }, 'points[0].colour'],
    ['PUT', '/points', { batch: { ids: [1], vectors: [[1, 2]], colours: [] } }, 'batch.colours'],
    ['PUT', '/points/vectors', { points: [{ id: 1, vector: [1, 2], payload: {} }] }, 'points[0].payload'],
    [
      'POST',
      '/points/batch',
      { operations: [{ delete: { points: [1], colour: 1 } }] },
      'operations[0].delete.colour',
    ],
    ['POST', '/points/search', { vector: [1, 2], params: { hnsw_eff: 1 } }, 'params.hnsw_eff'],
    ['POST', '/points/search', { vector: { name: 'a', vector: [1, 2], x: 1 } }, 'vector.x'],
    [
      'POST',
      '/points/search/batch',
      { searches: [{ vector: [1, 2] }, { vector: [1, 2], top_k: 1 }] },
      'searches[1].top_k',
    ],
    ['POST', '/points/query', { query: { nearest: [1, 2], x: 1 } }, 'query.x'],
    ['POST', '/points/scroll', { order_by: { key: 'a', dir: 'asc' } }, 'order_by.dir'],
    ['POST', '/points/scroll', { with_payload: { includes: [] } }, 'with_payload.includes'],
    [
      'PUT',
      '/index',
      { field_name: 'a', field_schema: { type: 'keyword', fast: true } },
      'field_schema.fast',
    ],
    ['PATCH', '', { hnsw_config: { mm: 1 } }, 'hnsw_config.mm'],
    ['PUT', '', { vectors: { size: 2, distance: 'Dot', dims: 2 } }, 'vectors.dims'],
  ])('C1.10, C1.11 %s %s refuses an unknown field with its path: %j', async (method, rest, json, place) => {
    const path = rest === '' && method === 'PUT' ? '/collections/unmade' : '/collections/stamped';
    const [status, message] = await server.refused(method, `${path}${rest}`, json);
    expect([status, message]).toEqual([400, expect.stringContaining(place)]);
    // The same field with a null is absent.
    const withNull = JSON.stringify(json).replace(
      new RegExp(`("${place.split('.').at(-1) ?? ''}"):(?:\\{\\}|\\[\\]|1|2|true|"asc")`),
      '$1:null',
    );
    expect(withNull).toContain(':null');
    const answer = await server.raw(method, `${path}${rest}`, withNull);
    expect(answer.body.status?.error ?? '').not.toContain('unknown');
  });

  it('C1.10 unknown query parameters are ignored, known ones are validated', async () => {
    const path = '/collections/stamped';
    expect((await server.call('GET', `${path}?colour=blue&timeout=5`)).status).toBe(200);
    const point = { points: [{ id: 1, vector: [1, 2] }] };
    await server.ok('PUT', `${path}/points?ordering=strong&wait=true&timeout=120&colour=1`, point);
    await server.ok('POST', `${path}/points/count?consistency=majority&timeout=120`, {});
    expect((await server.refused('PUT', `${path}/points?ordering=random`, point))[1]).toContain('ordering');
    expect((await server.refused('PUT', `${path}/points?wait=maybe`, point))[1]).toContain('wait');
    expect((await server.refused('POST', `${path}/points/count?timeout=0`, {}))[1]).toContain('timeout');
    expect((await server.refused('POST', `${path}/points/count?consistency=some`, {}))[1]).toContain(
      'consistency',
    );
  });

  it('C1.10 null is absent for every optional field of a search, and stays in payloads', async () => {
    const path = await server.collection('nulls');
    await server.ok('PUT', `${path}/points`, {
      points: [{ id: 1, vector: [1, 2], payload: { a: null } }],
      update_mode: null,
      update_filter: null,
      shard_key: null,
    });
    const hits = await server.ok('POST', `${path}/points/search`, {
      vector: [1, 2],
      filter: null,
      limit: null,
      offset: null,
      params: null,
      score_threshold: null,
      with_payload: null,
      with_vector: null,
    });
    expect(hits).toEqual([{ id: 1, version: expect.any(Number), score: 5 }]);
    expect((await server.ok('GET', `${path}/points/1`)).payload).toEqual({ a: null });
  });

  it.each<[string, string, unknown, string]>([
    [
      'PUT',
      '/points',
      {
        points: [
          { id: 1, vector: [1, 2] },
          { id: 2, vector: [1, 'x'] },
        ],
      },
      'points[1].vector',
    ],
    ['PUT', '/points', { points: [{ id: -1, vector: [1, 2] }] }, 'points[0].id'],
    [
      'POST',
      '/points/search',
      { vector: [1, 2], filter: { must: [{ key: 'a', range: { gt: true } }] } },
      'filter.must[0].range.gt',
    ],
    ['POST', '/points/scroll', { with_payload: 'yes' }, 'with_payload'],
    [
      'POST',
      '/points/batch',
      { operations: [{ set_payload: { payload: 3, points: [1] } }] },
      'operations[0].set_payload.payload',
    ],
  ])('C1.11 %s %s names the place of what is wrong: %j', async (method, rest, json, place) => {
    const [status, message] = await server.refused(method, `/collections/stamped${rest}`, json);
    expect([status, message]).toEqual([400, expect.stringContaining(place)]);
  });
});

describe('C1.5, C1.10 timeouts', () => {
  it('C1.5, C1.10 every read and every write by a filter is given up at its timeout, however heavy one document is', async () => {
    const path = await server.collection('heavy', {
      vectors: { size: 512, distance: 'Euclid' },
      hnsw_config: { full_scan_threshold: 10 },
      optimizers_config: { indexing_threshold: 10 },
    });
    // Longer than what is split once for all conditions.
    const text = 'lorem ipsum dolor sit amet '.repeat(12_000);
    const points = Array.from({ length: 20 }, (_, id) => ({
      id,
      vector: Array.from({ length: 512 }, (__, place) => Math.sin(id * 512 + place)),
      payload: { text },
    }));
    await server.ok('PUT', `${path}/points`, { points });
    while ((await server.ok('GET', path)).status !== 'green') {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    // Splitting 300 KB for each of a thousand conditions: seconds for a handful of points.
    const should = Array.from({ length: 1000 }, (_, word) => ({
      key: 'text',
      match: { text: `word${word}` },
    }));
    const filter = { should };
    const vector = points[0]?.vector;
    const requests: [string, string, object][] = [
      ['count', 'Count', { filter }],
      ['scroll', 'Scroll', { filter }],
      ['scroll', 'Scroll', { filter, order_by: 'n' }],
      ['search', 'Search', { vector, filter }],
      ['search', 'Search', { vector, filter, params: { exact: true } }],
      ['search', 'Search', { vector, filter, params: { indexed_only: true } }],
      ['query', 'Query', { query: 1, filter }],
      ['query', 'Query', { query: { sample: 'random' }, filter }],
      ['query', 'Query', { filter }],
    ];
    // More at a time could be too many for the lane of heavy reads.
    const AT_A_TIME = 6;
    for (let first = 0; first < requests.length; first += AT_A_TIME) {
      await Promise.all(
        requests.slice(first, first + AT_A_TIME).map(async ([rest, operation, json]) => {
          const answer = await server.refused('POST', `${path}/points/${rest}?timeout=1`, json);
          expect(answer).toEqual([408, `Timeout: Operation '${operation}' timed out after 1 seconds`]);
        }),
      );
    }
    const before = await server.everything(path);
    const writes: [string, string, object][] = [
      ['POST', 'delete', { filter }],
      ['POST', 'payload', { filter, payload: { n: 1 } }],
      ['PUT', 'payload', { filter, payload: { n: 1 } }],
      ['POST', 'payload/clear', { filter: { must_not: filter } }],
      ['POST', 'vectors/delete', { filter, vector: [''] }],
      ['POST', 'batch', { operations: [{ delete: { points: [1] } }, { delete: { filter } }] }],
    ];
    await Promise.all(
      writes.map(async ([method, rest, json]) => {
        const answer = await server.refused(method, `${path}/points/${rest}?timeout=1`, json);
        expect(answer).toEqual([
          408,
          expect.stringMatching(/^Timeout: Operation '.+' timed out after 1 seconds$/),
        ]);
      }),
    );
    // A write that was given up has not happened (C1.7).
    expect(await server.everything(path)).toEqual(before);
    // No request keeps resources: the next request is served.
    expect((await server.ok('POST', `${path}/points/count?timeout=60`)).count).toBe(points.length);
  });

  it('C1.10 a request is given up within one document, which would take it many seconds', async () => {
    const path = await server.collection('long', { vectors: { size: 2, distance: 'Dot' } });
    const text = 'lorem ipsum dolor sit amet '.repeat(200_000);
    await server.ok('PUT', `${path}/points`, { points: [{ id: 1, vector: [1, 0], payload: { text } }] });
    const conditions = Array.from({ length: 1000 }, (_, word) => ({
      key: 'text',
      match: { text: `word${word}` },
    }));
    const filter = { should: conditions };
    const formula = { sum: conditions.slice(0, 300) };
    const requests: [string, string, object][] = [
      ['POST', 'count', { filter }],
      ['POST', 'scroll', { filter: { must_not: conditions } }],
      ['POST', 'search', { vector: [1, 0], limit: 1, filter }],
      ['POST', 'query', { prefetch: { query: [1, 0] }, query: { formula } }],
      ['POST', 'delete', { filter: { must_not: conditions } }],
    ];
    for (const [method, rest, json] of requests) {
      const answer = await server.refused(method, `${path}/points/${rest}?timeout=1`, json);
      expect(answer).toEqual([408, expect.stringMatching(/timed out after 1 seconds$/)]);
    }
    expect(await server.ok('POST', `${path}/points/count`)).toEqual({ count: 1 });
  });
});
