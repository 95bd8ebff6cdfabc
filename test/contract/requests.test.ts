import { ContractServer, idsOf } from './contract-server';
import { send } from '../http/harness';

let server: ContractServer;
beforeAll(async () => {
  server = await ContractServer.start();
});
afterAll(() => server.stop());

/** The part of an answer's text between `"payload":` and the end of that point. */
async function payloadText(path: string, id: string): Promise<string> {
  const { text } = await server.call('GET', `${path}/points/${id}`);
  return text;
}

describe('C1.7 all or nothing', () => {
  const bad = { id: 9, vector: [1, 2, 3] };
  const good = { id: 1, vector: [5, 5], payload: { changed: true } };

  it.each<[string, string, string, unknown]>([
    ['an upsert in list form', 'PUT', '/points', { points: [good, { id: 2, vector: [1, 1] }, bad] }],
    ['an upsert in columns', 'PUT', '/points', { batch: { ids: [1, 9], vectors: [[5, 5], [1, 2, 3]] } }],
    ['an update of vectors', 'PUT', '/points/vectors', { points: [{ id: 1, vector: [5, 5] }, { id: 404, vector: [1, 1] }] }],
    ['a removal of vectors', 'POST', '/points/vectors/delete', { points: [1, 404], vector: [''] }],
    ['a set payload', 'POST', '/points/payload', { points: [1, 404], payload: { changed: true } }],
    ['an overwrite of payload', 'PUT', '/points/payload', { points: [1, 404], payload: { changed: true } }],
    ['a removal of keys', 'POST', '/points/payload/delete', { points: [1, 404], keys: ['kept'] }],
    ['a clear of payload', 'POST', '/points/payload/clear', { points: [1, 404] }],
    ['a batch whose last operation fails', 'POST', '/points/batch', {
      operations: [
        { upsert: { points: [good, { id: 3, vector: [3, 3] }] } },
        { delete: { points: [2] } },
        { set_payload: { points: [1], payload: { changed: true } } },
        { delete_payload: { points: [404], keys: ['kept'] } },
      ],
    }],
    ['a batch with a malformed operation', 'POST', '/points/batch', {
      operations: [{ delete: { points: [1] } }, { upsert: { points: [{ id: 3, vector: ['x', 1] }] } }],
    }],
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
      0.1, 1 / 3, -1e-45, 3.4028234663852886e38, 1.1754943508222875e-38, 16777217, -0.30000001192092896, 1e-40,
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
    ['nulls, empty containers and nested arrays', '{"n":null,"o":{},"l":[],"deep":[[1,[2,[]]],{"k":[null]}]}'],
  ])('C1.8 payloads keep %s, byte for byte', async (name, payload) => {
    const path = await server.collection(`bytes%20of%20${encodeURIComponent(name)}`);
    await server.ok('PUT', `${path}/points`, `{"points":[{"id":1,"vector":[1,2],"payload":${payload}}]}`);
    expect(await payloadText(path, '1')).toContain(`"payload":${payload}`);
    await server.restart();
    expect(await payloadText(path, '1')).toContain(`"payload":${payload}`);
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
    expect(back).toEqual({ a: 1.5, b: 100, c: 123456789012345678901234567890 });
  });

  it('C1.8 of a repeated key the last value counts', async () => {
    const path = await server.collection('repeats');
    await server.ok(
      'PUT',
      `${path}/points`,
      '{"points":[],"points":[{"id":7,"id":1,"vector":[9,9],"vector":[1,2],"payload":{"a":1,"b":2,"a":3}}]}',
    );
    const records = await server.ok('POST', `${path}/points/scroll`, '{"limit":7,"limit":5,"with_vector":false,"with_vector":true}');
    expect(records.points).toEqual([{ id: 1, vector: [1, 2], payload: { a: 3, b: 2 } }]);
  });
});

describe('C1.9, C1.10 requests in general', () => {
  it('C1.9 every answer of the engine carries the request id', async () => {
    await server.collection('stamped');
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
    ['POST', '/points/batch', { operations: [{ delete: { points: [1], colour: 1 } }] }, 'operations[0].delete.colour'],
    ['POST', '/points/search', { vector: [1, 2], params: { hnsw_eff: 1 } }, 'params.hnsw_eff'],
    ['POST', '/points/search', { vector: { name: 'a', vector: [1, 2], x: 1 } }, 'vector.x'],
    ['POST', '/points/search/batch', { searches: [{ vector: [1, 2] }, { vector: [1, 2], top_k: 1 }] }, 'searches[1].top_k'],
    ['POST', '/points/query', { query: { nearest: [1, 2], x: 1 } }, 'query.x'],
    ['POST', '/points/scroll', { order_by: { key: 'a', dir: 'asc' } }, 'order_by.dir'],
    ['POST', '/points/scroll', { with_payload: { includes: [] } }, 'with_payload.includes'],
    ['PUT', '/index', { field_name: 'a', field_schema: { type: 'keyword', fast: true } }, 'field_schema.fast'],
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
    await server.ok('PUT', `${path}/points?ordering=strong&wait=true&timeout=10&colour=1`, point);
    await server.ok('POST', `${path}/points/count?consistency=majority&timeout=3`, {});
    expect((await server.refused('PUT', `${path}/points?ordering=random`, point))[1]).toContain('ordering');
    expect((await server.refused('PUT', `${path}/points?wait=maybe`, point))[1]).toContain('wait');
    expect((await server.refused('POST', `${path}/points/count?timeout=0`, {}))[1]).toContain('timeout');
    expect((await server.refused('POST', `${path}/points/count?consistency=some`, {}))[1]).toContain('consistency');
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
    ['PUT', '/points', { points: [{ id: 1, vector: [1, 2] }, { id: 2, vector: [1, 'x'] }] }, 'points[1].vector'],
    ['PUT', '/points', { points: [{ id: -1, vector: [1, 2] }] }, 'points[0].id'],
    ['POST', '/points/search', { vector: [1, 2], filter: { must: [{ key: 'a', range: { gt: true } }] } }, 'filter.must[0].range.gt'],
    ['POST', '/points/scroll', { with_payload: 'yes' }, 'with_payload'],
    ['POST', '/points/batch', { operations: [{ set_payload: { payload: 3, points: [1] } }] }, 'operations[0].set_payload.payload'],
  ])('C1.11 %s %s names the place of what is wrong: %j', async (method, rest, json, place) => {
    const [status, message] = await server.refused(method, `/collections/stamped${rest}`, json);
    expect([status, message]).toEqual([400, expect.stringContaining(place)]);
  });
});

describe('C2.1 point ids', () => {
  const uuid = '550e8400-e29b-41d4-a716-446655440000';

  it('C2.1 integers to 2^64 - 1 stay exact wherever an id is written or read', async () => {
    const path = await server.collection('ids');
    const ids = ['0', '9007199254740993', '18446744073709551615'];
    const points = ids.map((id) => `{"id":${id},"vector":[1,2],"payload":{"id":${id}}}`);
    await server.ok('PUT', `${path}/points`, `{"points":[${points.join()}]}`);
    const everywhere = [
      await server.raw('POST', `${path}/points/scroll`, '{}'),
      await server.raw('POST', `${path}/points`, `{"ids":[${ids.join()}]}`),
      await server.raw('POST', `${path}/points/search`, '{"vector":[1,2]}'),
      await server.raw('POST', `${path}/points/query`, '{"query":[1,2]}'),
      await server.raw('POST', `${path}/points/scroll`, `{"filter":{"must":{"has_id":[${ids.join()}]}}}`),
    ];
    for (const { text } of everywhere) {
      expect([...text.matchAll(/"id":(\d+),"/g)].map(([, id]) => id)).toEqual(ids);
    }
    const last = await server.raw('GET', `${path}/points/18446744073709551615`, '');
    expect(last.text).toContain('"id":18446744073709551615');
    const page = await server.raw('POST', `${path}/points/scroll`, '{"limit":2}');
    expect(page.text).toContain('"next_page_offset":18446744073709551615');
    await server.ok('POST', `${path}/points/delete`, '{"points":[9007199254740993]}');
    expect((await server.ok('POST', `${path}/points/count`)).count).toBe(2);
  });

  it('C2.1 every form of a UUID is one id, answered lower-case and hyphenated', async () => {
    const path = await server.collection('uuids');
    const forms = [uuid, uuid.toUpperCase(), uuid.replaceAll('-', ''), `urn:uuid:${uuid}`];
    await server.ok('PUT', `${path}/points`, { points: [{ id: uuid.toUpperCase(), vector: [1, 2] }] });
    for (const id of forms) {
      expect(idsOf(await server.ok('POST', `${path}/points`, { ids: [id] }))).toEqual([uuid]);
      expect((await server.ok('GET', `${path}/points/${id}`)).id).toBe(uuid);
    }
    await server.ok('PUT', `${path}/points`, { points: forms.map((id) => ({ id, vector: [3, 4] })) });
    expect((await server.ok('POST', `${path}/points/count`)).count).toBe(1);
  });

  it.each(['-1', '1.0', '1e3', '18446744073709551616', '"abc"', '"1"', 'true', 'null', '[1]', '{}', '""'])(
    'C2.1 %s is no id: 400 in every body that names points',
    async (id) => {
      const path = '/collections/ids';
      const bodies: [string, string, string][] = [
        ['PUT', '/points', `{"points":[{"id":${id},"vector":[1,2]}]}`],
        ['PUT', '/points', `{"batch":{"ids":[${id}],"vectors":[[1,2]]}}`],
        ['POST', '/points', `{"ids":[${id}]}`],
        ['POST', '/points/delete', `{"points":[${id}]}`],
        ['PUT', '/points/vectors', `{"points":[{"id":${id},"vector":[1,2]}]}`],
        ['POST', '/points/payload', `{"points":[${id}],"payload":{}}`],
        ['POST', '/points/payload/clear', `{"points":[${id}]}`],
        ['POST', '/points/count', `{"filter":{"must":[{"has_id":[${id}]}]}}`],
        ['POST', '/points/scroll', `{"offset":${id}}`],
      ];
      for (const [method, rest, body] of bodies) {
        const answer = await server.raw(method, `${path}${rest}`, body);
        // A null offset is an absent one.
        expect([body, answer.status]).toEqual([body, rest === '/points/scroll' && id === 'null' ? 200 : 400]);
      }
    },
  );

  it('C2.1 what is no id in a path is a 400', async () => {
    for (const id of ['-1', 'abc', '1.0', '18446744073709551616']) {
      const [status, message] = await server.refused('GET', `/collections/ids/points/${id}`);
      expect([status, message]).toEqual([400, expect.stringContaining(id)]);
    }
  });
});

describe('C2.2 collection names', () => {
  it.each(['a', 'x'.repeat(255), 'Größe 日本', 'a.b', '...', 'a%2Fb', 'CON', "it's", 'a+b', '😀'.repeat(255), '%00'])(
    'C2.2 %s is a name',
    async (name) => {
      const path = `/collections/${encodeURIComponent(name)}`;
      await server.ok('PUT', path, { vectors: { size: 2, distance: 'Dot' } });
      const { collections } = await server.ok('GET', '/collections');
      expect(collections).toContainEqual({ name });
      await server.restart();
      expect((await server.ok('GET', `${path}/exists`)).exists).toBe(true);
      expect(await server.ok('DELETE', path)).toBe(true);
    },
  );

  it.each([
    ...Array.from('/\\<>:"|?*\u0000\u001f\u007f', (character) => `a${character}b`),
    'x'.repeat(256),
    ' a',
    'a ',
    '.',
    '..',
    '../a',
  ])('C2.2 %j is none: 400 on PUT, and elsewhere it does not exist', async (name) => {
    const path = `/collections/${encodeURIComponent(name).replace(/^\.\.?$/, (dots) => dots.replaceAll('.', '%2E'))}`;
    const [status, message] = await server.refused('PUT', path, { vectors: { size: 2, distance: 'Dot' } });
    expect([status, message]).toEqual([400, expect.stringMatching(/name/i)]);
    expect(await server.refused('GET', path)).toEqual([404, `Collection not found: ${name}`]);
    expect(await server.ok('GET', `${path}/exists`)).toEqual({ exists: false });
    expect(await server.ok('DELETE', path)).toBe(false);
    expect((await server.refused('POST', `${path}/points/count`))[0]).toBe(404);
  });
});

describe('C2.3 forms of vectors', () => {
  let path: string;
  beforeAll(async () => {
    const vectors = { dense: { size: 2, distance: 'Dot' }, other: { size: 3, distance: 'Euclid' } };
    path = await server.collection('forms', { vectors });
    await server.collection('unnamed');
  });

  it('C2.3, C2.6 named vectors read back as they are, one of them, and none', async () => {
    const vectors = [{ dense: [1, 2], other: [1, 2, 3] }, { other: [4, 5, 6] }, {}];
    await server.ok('PUT', `${path}/points`, {
      points: vectors.map((vector, position) => ({ id: position + 1, vector })),
    });
    const back = await server.ok('POST', `${path}/points`, { ids: [1, 2, 3], with_vector: true });
    expect(back.map(({ vector }: { vector: unknown }) => vector)).toEqual(vectors);
  });

  it.each([
    ['NaN', '[NaN,1]'],
    ['an infinity', '[Infinity,1]'],
    ['beyond f32', '[1e39,1]'],
    ['beyond f64', '[1e400,1]'],
    ['minus beyond f32', '[-3.5e38,1]'],
    ['a string', '["1",1]'],
    ['a null', '[null,1]'],
    ['an empty vector', '[]'],
    ['a boolean', '[true,1]'],
    ['an array in an array', '[[1],1]'],
    ['a text', '"1,2"'],
  ])('C2.3 %s is a 400 in every body that takes a vector', async (_title, vector) => {
    const before = await server.everything('/collections/unnamed');
    const bodies: [string, string, string][] = [
      ['PUT', `${path}/points`, `{"points":[{"id":9,"vector":{"dense":${vector}}}]}`],
      ['PUT', '/collections/unnamed/points', `{"points":[{"id":9,"vector":${vector}}]}`],
      ['PUT', '/collections/unnamed/points', `{"batch":{"ids":[9],"vectors":[${vector}]}}`],
      ['PUT', '/collections/unnamed/points/vectors', `{"points":[{"id":9,"vector":${vector}}]}`],
      ['POST', '/collections/unnamed/points/search', `{"vector":${vector}}`],
      ['POST', '/collections/unnamed/points/query', `{"query":{"nearest":${vector}}}`],
    ];
    for (const [method, target, body] of bodies) {
      const [status, message] = await server.refused(method, target, body);
      expect([body, status, message]).toEqual([body, 400, expect.stringMatching(/vector|query/)]);
    }
    expect(await server.everything('/collections/unnamed')).toEqual(before);
  });

  it.each<[string, string, string, unknown]>([
    ['sparse', 'PUT', '/collections/later', { sparse_vectors: { s: {} } }],
    ['multi', 'PUT', '/collections/later', { vectors: { size: 2, distance: 'Dot', multivector_config: { comparator: 'max_sim' } } }],
    ['sparse', 'PUT', '/collections/unnamed/points', { points: [{ id: 1, vector: { s: { indices: [1], values: [1] } } }] }],
    ['multi', 'PUT', '/collections/unnamed/points', { points: [{ id: 1, vector: [[1, 2]] }] }],
    ['sparse', 'POST', '/collections/unnamed/points/search', { vector: { name: 's', vector: { indices: [1], values: [1] } } }],
    ['multi', 'POST', '/collections/unnamed/points/query', { query: [[1, 2]] }],
  ])('C2.3 %s vectors, which this release does not keep, are a 400 that says so: %s %s', async (kind, method, path_, json) => {
    const [status, message] = await server.refused(method, path_, json);
    expect([status, message]).toEqual([400, expect.stringContaining(`${kind} vectors are not available in this release`)]);
  });
});

describe('C2.4 distances', () => {
  const points = [
    { id: 4, vector: [1, 0] },
    { id: 3, vector: [2, 2] },
    { id: 2, vector: [-3, 1] },
    { id: 1, vector: [0, 0] },
    { id: 9, vector: [1, 0] },
  ];

  it.each<[string, [number, number][], number, number[]]>([
    ['Cosine', [[4, 0.6], [9, 0.6], [3, 0.989949], [2, -0.316228], [1, 0]], 0.6, [3, 4, 9]],
    ['Dot', [[4, 3], [9, 3], [3, 14], [2, -5], [1, 0]], 3, [3, 4, 9]],
    ['Euclid', [[4, 4.472136], [9, 4.472136], [3, 2.236068], [2, 6.708204], [1, 5]], 4.4721365, [3, 4, 9]],
    ['Manhattan', [[4, 6], [9, 6], [3, 3], [2, 9], [1, 7]], 6, [3, 4, 9]],
  ])('C2.4 %s scores, order, ties by id and threshold', async (distance, scores, threshold, kept) => {
    const path = await server.collection(`by${distance}`, { vectors: { size: 2, distance } });
    await server.ok('PUT', `${path}/points`, { points });
    const higherFirst = distance === 'Cosine' || distance === 'Dot';
    const wanted = scores.toSorted(
      ([a, x], [b, y]) => (higherFirst ? y - x : x - y) || a - b,
    );
    for (const json of [{ vector: [3, 4] }, { vector: [3, 4], params: { exact: true } }]) {
      const hits: { id: number; score: number }[] = await server.ok('POST', `${path}/points/search`, json);
      expect(idsOf(hits)).toEqual(wanted.map(([id]) => id));
      for (const [position, { score }] of hits.entries()) {
        expect(score).toBeCloseTo(wanted[position]?.[1] ?? NaN, 5);
      }
    }
    const limited = { vector: [3, 4], score_threshold: threshold };
    expect(idsOf(await server.ok('POST', `${path}/points/search`, limited))).toEqual(kept);
  });

  it('C2.4 a zero vector under Cosine scores 0 against everything', async () => {
    const zero = await server.ok('POST', '/collections/byCosine/points/search', { vector: [0, 0] });
    expect(zero.map(({ score }: { score: number }) => score)).toEqual([0, 0, 0, 0, 0]);
    expect(idsOf(zero)).toEqual([1, 2, 3, 4, 9]);
    expect((await server.ok('GET', '/collections/byCosine/points/1')).vector).toEqual([0, 0]);
  });
});

describe('C2.5, C2.6 payloads and stored values', () => {
  const nested = (levels: number): string => '{"a":'.repeat(levels - 1) + '{}' + '}'.repeat(levels - 1);

  it('C2.5 64 levels pass, 65 do not, in an upsert and in a set payload', async () => {
    const path = await server.collection('deep');
    const upsert = (payload: string): string => `{"points":[{"id":1,"vector":[1,2],"payload":${payload}}]}`;
    await server.ok('PUT', `${path}/points`, upsert(nested(64)));
    expect(await payloadText(path, '1')).toContain(nested(64));
    const before = await server.everything(path);
    const bodies: [string, string, string][] = [
      ['PUT', '/points', upsert(nested(65))],
      ['PUT', '/points', upsert(`{"a":${'['.repeat(64)}${']'.repeat(64)}}`)],
      ['POST', '/points/payload', `{"points":[1],"payload":${nested(65)}}`],
      ['PUT', '/points/payload', `{"points":[1],"payload":${nested(65)}}`],
    ];
    for (const [method, rest, body] of bodies) {
      const answer = await server.raw(method, `${path}${rest}`, body);
      expect([answer.status, answer.body.status.error]).toEqual([400, expect.stringMatching(/payload.*64/)]);
    }
    expect(await server.everything(path)).toEqual(before);
  });

  it('C2.6 uint8 takes whole numbers from 0 to 255, and any finite query', async () => {
    const path = await server.collection('bytes', { vectors: { size: 2, distance: 'Dot', datatype: 'uint8' } });
    await server.ok('PUT', `${path}/points`, { points: [{ id: 1, vector: [0, 255] }] });
    for (const value of ['-1', '256', '0.5', '1e3']) {
      const [status] = await server.refused('PUT', `${path}/points`, `{"points":[{"id":2,"vector":[1,${value}]}]}`);
      expect([value, status]).toEqual([value, 400]);
      const update = `{"points":[{"id":1,"vector":[1,${value}]}]}`;
      expect((await server.refused('PUT', `${path}/points/vectors`, update))[0]).toBe(400);
    }
    const hits = await server.ok('POST', `${path}/points/search`, { vector: [-1000.5, 0.5] });
    expect(hits[0].score).toBeCloseTo(127.5, 4);
  });

  it('C2.6 an absent vector in an upsert is a 400, an empty object a point without vectors', async () => {
    const path = await server.collection('bare');
    for (const point of [{ id: 1 }, { id: 1, vector: null }, { id: 1, payload: {} }]) {
      const [status, message] = await server.refused('PUT', `${path}/points`, { points: [point] });
      expect([status, message]).toEqual([400, expect.stringContaining('vector')]);
    }
    await server.ok('PUT', `${path}/points`, { points: [{ id: 1, vector: {} }] });
    expect(await server.ok('GET', `${path}/points/1`)).toEqual({ id: 1, payload: {}, vector: {} });
    expect(await server.ok('POST', `${path}/points/search`, { vector: [1, 2] })).toEqual([]);
  });
});
