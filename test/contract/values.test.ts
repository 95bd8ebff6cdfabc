import { ContractServer, idsOf } from './contract-server';

let server: ContractServer;
beforeAll(async () => {
  server = await ContractServer.start();
});
afterAll(() => server.stop());

describe('C2.1 point ids', () => {
  const uuid = '550e8400-e29b-41d4-a716-446655440000';

  it('C2.1 integers to 2^64 - 1 stay exact in every place where an id is written or read', async () => {
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
  it.each([
    'a',
    'x'.repeat(255),
    'Größe 日本',
    'a.b',
    '...',
    'a%2Fb',
    'CON',
    "it's",
    'a+b',
    '😀'.repeat(255),
    '%00',
  ])('C2.2 %s is a name', async (name) => {
    const path = `/collections/${encodeURIComponent(name)}`;
    await server.ok('PUT', path, { vectors: { size: 2, distance: 'Dot' } });
    const { collections } = await server.ok('GET', '/collections');
    expect(collections).toContainEqual({ name });
    await server.restart();
    expect((await server.ok('GET', `${path}/exists`)).exists).toBe(true);
    expect(await server.ok('DELETE', path)).toBe(true);
  });

  const FORBIDDEN = 'must not hold control characters or any of / \\ < > : " | ? *';
  const DOTS = "must not be '.' or '..'";
  const SPACES = 'must not start or end with a space';

  it.each([
    ...Array.from('/\\<>:"|?*\u0000\n\u001f\u007f\u009f', (character) => [`a${character}b`, FORBIDDEN]),
    ['/', FORBIDDEN],
    ['\n', FORBIDDEN],
    ['a\u0000', FORBIDDEN],
    ['../a', FORBIDDEN],
    ['x'.repeat(256), 'must be from 1 to 255 characters, got 256'],
    ['😀'.repeat(256), 'must be from 1 to 255 characters, got 256'],
    [' a', SPACES],
    ['a ', SPACES],
    ['.', DOTS],
    ['..', DOTS],
    ['a\u200bb', 'must not hold U+200B, a format character'],
    ['\u202edocs', 'must not hold U+202E, a format character'],
    ['docs\ufeff', 'must not hold U+FEFF, a format character'],
    ['docs\u0378', 'must not hold U+0378, a character that Unicode has not assigned'],
    ['cafe\u0301', "must be in Unicode's normal form C"],
    ['\u212bngstrom', "must be in Unicode's normal form C"],
  ])('C2.2 %j is none: 400 on PUT, and elsewhere it does not exist', async (name = '', why = '') => {
    const path = `/collections/${encodeURIComponent(name).replace(/^\.\.?$/, (dots) => dots.replaceAll('.', '%2E'))}`;
    const body = { vectors: { size: 2, distance: 'Dot' } };
    expect(await server.refused('PUT', path, body)).toEqual([400, `Collection name ${why}`]);
    expect(await server.refused('PUT', path, {})).toEqual([400, `Collection name ${why}`]);
    expect(await server.refused('PUT', `${path}?timeout=0`, body)).toEqual([
      400,
      expect.stringMatching(/^Query parameter 'timeout'/),
    ]);
    expect(await server.refused('GET', path)).toEqual([404, `Collection not found: ${name}`]);
    expect(await server.ok('GET', `${path}/exists`)).toEqual({ exists: false });
    expect(await server.ok('DELETE', path)).toBe(false);
    expect((await server.refused('POST', `${path}/points/count`))[0]).toBe(404);
  });
});

it('C2.2 names of vectors keep to their own rules', async () => {
  const names = ['cafe\u0301', 'a\u200bb', 'docs\u0378'];
  const vectors = Object.fromEntries(names.map((name) => [name, { size: 2, distance: 'Dot' }]));
  const path = await server.collection('vector-names', { vectors });
  const info = await server.ok('GET', path);
  expect(Object.keys(info.config.params.vectors).sort()).toEqual(names.sort());
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

  it.each<[unknown, string]>([
    [[[1, 2]], 'points[0].vector: expected a dense vector (an array of numbers), got a multi vector'],
    [
      { '': { indices: [1], values: [1] } },
      'expected a dense vector (an array of numbers), got a sparse vector',
    ],
    [{ s: { indices: [1], values: [1] } }, 'Vector not found: s'],
  ])(
    'C2.3 a vector of a kind that its field does not take is a 400 that says so: %j',
    async (vector, why) => {
      const points = [{ id: 1, vector }];
      const [status, message] = await server.refused('PUT', '/collections/unnamed/points', { points });
      expect([status, message]).toEqual([400, expect.stringContaining(why)]);
    },
  );

  it('C2.3 a query of a kind that its field does not take is a 400 that says so', async () => {
    const [status, message] = await server.refused('POST', '/collections/unnamed/points/query', {
      query: [[1, 2]],
    });
    expect([status, message]).toEqual([400, expect.stringContaining('got a multi vector')]);
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
    [
      'Cosine',
      [
        [4, 0.6],
        [9, 0.6],
        [3, 0.989949],
        [2, -0.316228],
        [1, 0],
      ],
      0.6,
      [3, 4, 9],
    ],
    [
      'Dot',
      [
        [4, 3],
        [9, 3],
        [3, 14],
        [2, -5],
        [1, 0],
      ],
      3,
      [3, 4, 9],
    ],
    [
      'Euclid',
      [
        [4, 4.472136],
        [9, 4.472136],
        [3, 2.236068],
        [2, 6.708204],
        [1, 5],
      ],
      4.4721365,
      [3, 4, 9],
    ],
    [
      'Manhattan',
      [
        [4, 6],
        [9, 6],
        [3, 3],
        [2, 9],
        [1, 7],
      ],
      6,
      [3, 4, 9],
    ],
  ])('C2.4 %s scores, order, ties by id and threshold', async (distance, scores, threshold, kept) => {
    const path = await server.collection(`by${distance}`, { vectors: { size: 2, distance } });
    await server.ok('PUT', `${path}/points`, { points });
    const higherFirst = distance === 'Cosine' || distance === 'Dot';
    const wanted = scores.toSorted(([a, x], [b, y]) => (higherFirst ? y - x : x - y) || a - b);
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

describe('C2.3, C6.7 the ends of the range', () => {
  it.each(['Dot', 'Cosine', 'Euclid', 'Manhattan'])(
    'C2.3, C6.7 every finite vector has a numeric score and a place, %s',
    async (distance) => {
      const path = await server.collection(`ends-${distance}`, { vectors: { size: 2, distance } });
      const vectors = [
        [3e38, 3e38],
        [-3e38, 3e38],
        [1e-45, 0],
        [1, 1],
        [0, 0],
      ];
      await server.ok('PUT', `${path}/points`, { points: vectors.map((vector, id) => ({ id, vector })) });
      for (const vector of vectors) {
        for (const exact of [true, false]) {
          const hits = await server.ok('POST', `${path}/points/search`, { vector, params: { exact } });
          expect(hits).toHaveLength(vectors.length);
          for (const { score } of hits) {
            expect(Number.isFinite(score)).toBe(true);
          }
        }
      }
    },
  );

  it('C2.3 float16 refuses what it cannot hold', async () => {
    const path = await server.collection('half', {
      vectors: { size: 2, distance: 'Dot', datatype: 'float16' },
    });
    await server.ok('PUT', `${path}/points`, { points: [{ id: 1, vector: [65504, -65504] }] });
    const [status, message] = await server.refused('PUT', `${path}/points`, {
      points: [{ id: 2, vector: [70000, 1] }],
    });
    expect([status, message]).toEqual([400, expect.stringMatching(/points\[0\]\.vector.*float16/)]);
    const hits = await server.ok('POST', `${path}/points/search`, { vector: [1e30, 0] });
    expect(idsOf(hits)).toEqual([1]);
  });
});

describe('C2.5, C2.6 payloads and stored values', () => {
  const nested = (levels: number): string => '{"a":'.repeat(levels - 1) + '{}' + '}'.repeat(levels - 1);

  it('C2.5 64 levels pass, 65 do not, in an upsert and in a set payload', async () => {
    const path = await server.collection('deep');
    const upsert = (payload: string): string => `{"points":[{"id":1,"vector":[1,2],"payload":${payload}}]}`;
    await server.ok('PUT', `${path}/points`, upsert(nested(64)));
    expect((await server.call('GET', `${path}/points/1`)).text).toContain(nested(64));
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
    const path = await server.collection('bytes', {
      vectors: { size: 2, distance: 'Dot', datatype: 'uint8' },
    });
    await server.ok('PUT', `${path}/points`, { points: [{ id: 1, vector: [0, 255] }] });
    for (const value of ['-1', '256', '0.5', '1e3']) {
      const [status] = await server.refused(
        'PUT',
        `${path}/points`,
        `{"points":[{"id":2,"vector":[1,${value}]}]}`,
      );
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
