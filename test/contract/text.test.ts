import { ContractServer, idsOf } from './contract-server';

let server: ContractServer;
beforeAll(async () => {
  server = await ContractServer.start();
});
afterAll(() => server.stop());

/** A collection whose points hold these values under `t`, numbered from 1, with a text index of these options. */
async function indexed(values: readonly unknown[], options: object): Promise<string> {
  const points = values.map((t, at) => ({ id: at + 1, vector: [at + 1, 1], payload: { t, plain: t } }));
  const path = await server.holding(points);
  await server.ok('PUT', `${path}/index`, { field_name: 't', field_schema: { type: 'text', ...options } });
  return path;
}

/** Ids of the points that match, by scrolling; counting and searching must find as many. */
async function matching(path: string, match: object, key = 't'): Promise<unknown[]> {
  const filter = { must: { key, match } };
  const { points } = await server.ok('POST', `${path}/points/scroll`, { filter, limit: 100 });
  expect(await server.ok('POST', `${path}/points/count`, { filter })).toEqual({ count: points.length });
  const hits = await server.ok('POST', `${path}/points/search`, { vector: [1, 0], filter, limit: 100 });
  expect(idsOf(hits).sort()).toEqual(idsOf(points).sort());
  return idsOf(points);
}

const FOXES = ['The quick brown fox', 'Foxes are QUICK', ['the brown bear', 'a fox'], 'Füchse', 7, null];

describe('C5.12 text indexes', () => {
  it('C5.12 are shown with their options and how many points they hold, and outlive a restart', async () => {
    const options = {
      tokenizer: 'word',
      min_token_len: 2,
      max_token_len: 20,
      lowercase: true,
      ascii_folding: true,
      phrase_matching: true,
      stopwords: { languages: ['english'], custom: ['fox'] },
      stemmer: { type: 'snowball', language: 'german' },
      on_disk: false,
    };
    const path = await indexed(FOXES, options);
    const wanted = { t: { data_type: 'text', params: { type: 'text', ...options }, points: 4 } };
    expect((await server.ok('GET', path)).payload_schema).toEqual(wanted);
    await server.restart();
    expect((await server.ok('GET', path)).payload_schema).toEqual(wanted);
    expect(await matching(path, { text: 'fuchse' })).toEqual([4]);
    expect(await matching(path, { text: 'fox' })).toEqual([]);
  });

  it.each<[object, string]>([
    [{ tokenizer: 'words' }, 'field_schema.tokenizer'],
    [{ min_token_len: 3, max_token_len: 2 }, 'field_schema: min_token_len 3 is larger than max_token_len 2'],
    [{ stopwords: 'klingon' }, 'field_schema.stopwords'],
    [{ stopwords: { languages: ['english', 'tamil'] } }, 'field_schema.stopwords.languages[1]'],
    [{ stemmer: { type: 'snowball', language: 'chinese' } }, 'field_schema.stemmer.language'],
    [{ stemmer: { type: 'snowball' } }, 'field_schema.stemmer.language'],
    [{ lookup: true }, 'lookup is no option of a text index'],
    [{ tokeniser: 'word' }, 'field_schema.tokeniser: unknown field'],
  ])('C5.12 400 for %j', async (options, place) => {
    const path = await server.holding([]);
    const definition = { field_name: 't', field_schema: { type: 'text', ...options } };
    const [status, message] = await server.refused('PUT', `${path}/index`, definition);
    expect([status, message]).toEqual([400, expect.stringContaining(place)]);
  });
});

describe('C7 text conditions', () => {
  it.each([{}, { phrase_matching: true }])(
    'C7 answer the same with and without an index %j',
    async (options) => {
      const path = await indexed(FOXES, options);
      for (const key of ['t', 'plain']) {
        expect(await matching(path, { text: 'FOX brown' }, key)).toEqual([1]);
        expect(await matching(path, { text: 'fox' }, key)).toEqual([1, 3]);
        expect(await matching(path, { text_any: 'bear quick' }, key)).toEqual([1, 2, 3]);
        expect(await matching(path, { phrase: 'quick brown' }, key)).toEqual([1]);
        expect(await matching(path, { phrase: 'brown quick' }, key)).toEqual([]);
        expect(await matching(path, { phrase: 'bear a' }, key)).toEqual([]);
        expect(await matching(path, { text: 'füchse' }, key)).toEqual([4]);
        expect(await matching(path, { text: ' - ' }, key)).toEqual([]);
        expect(await matching(path, { value: 'Füchse' }, key)).toEqual([4]);
        expect(await matching(path, { prefix: 'The' }, key)).toEqual([1]);
      }
    },
  );

  it.each<[object, unknown[], object, number[]]>([
    [{ tokenizer: 'whitespace' }, ['C++ and C#', 'C and D'], { text: 'c++' }, [1]],
    [
      { tokenizer: 'prefix', min_token_len: 2, max_token_len: 5 },
      ['Kubernetes', 'kube'],
      { text: 'kubern' },
      [1],
    ],
    [{ tokenizer: 'prefix' }, ['theory', 'the', 'other'], { text: 'the' }, [1, 2]],
    [{ tokenizer: 'multilingual' }, ['今天是星期一', '本日の日付は'], { text: '星期一' }, [1]],
    [{ lowercase: false }, ['Fox', 'fox'], { text: 'Fox' }, [1]],
    [{ ascii_folding: true }, ['ação', 'acao', 'ação!'], { text: 'AÇAO' }, [1, 2, 3]],
    [{ stopwords: 'english' }, ['to be or not', 'the cat'], { text: 'the cat' }, [2]],
    [{ stopwords: 'en' }, ['the', 'cat'], { text_any: 'the' }, []],
    [{ stopwords: 'hi-en' }, ['yeh fox hai', 'fox'], { phrase: 'fox' }, [1, 2]],
    [
      { stemmer: { type: 'snowball', language: 'english' } },
      ['running', 'runs', 'runner'],
      { text: 'run' },
      [1, 2],
    ],
    [{ stemmer: { type: 'snowball', language: 'ru' } }, ['книги', 'кот'], { text: 'КНИГА' }, [1]],
    [{ min_token_len: 3 }, ['an ox', 'an oxen'], { text: 'an oxen' }, [2]],
    [{ max_token_len: 3 }, ['fox', 'foxes'], { text: 'foxes' }, []],
    [{ stopwords: { custom: ['x'] }, phrase_matching: true }, ['a x b', 'a y b'], { phrase: 'a b' }, [1]],
  ])('C7 the index %j over %j: %j', async (options, values, match, ids) => {
    const path = await indexed(values, options);
    expect(await matching(path, match)).toEqual(ids);
  });

  it('C7 the options of the index hold in updates, nested conditions and negations too', async () => {
    const stemmer = { type: 'snowball', language: 'english' };
    const path = await indexed(['running', 'ran', ['jumps', 'runs']], { stemmer });
    const run = { must: { key: 't', match: { text: 'run' } } };
    await server.ok('POST', `${path}/points/payload`, { payload: { seen: true }, filter: run });
    expect(await matching(path, { value: true }, 'seen')).toEqual([1, 3]);
    const points = [1, 2, 3].map((id) => ({ id, vector: [0, 9] }));
    await server.ok('PUT', `${path}/points/vectors`, { points, update_filter: run });
    const vectors = Object.values(await server.pointsOf(path)).map(({ vector }) => vector);
    expect(vectors).toEqual([
      [0, 9],
      [2, 1],
      [0, 9],
    ]);
    const { points: others } = await server.ok('POST', `${path}/points/scroll`, {
      filter: { must_not: { key: 't', match: { text: 'run' } } },
    });
    expect(idsOf(others)).toEqual([2]);
    await server.ok('PUT', `${path}/points`, {
      points: [{ id: 9, vector: [1, 1], payload: { list: [{ t: 'Runs' }, { t: 'jumped' }] } }],
    });
    await server.ok('PUT', `${path}/index`, {
      field_name: 'list[].t',
      field_schema: { type: 'text', stemmer },
    });
    const nested = { nested: { key: 'list', filter: { must: { key: 't', match: { text: 'jumping' } } } } };
    expect(await server.ok('POST', `${path}/points/count`, { filter: { must: nested } })).toEqual({
      count: 1,
    });
  });

  it('C7 the index follows every change of a payload', async () => {
    const path = await indexed(['red fox', 'blue fox'], { phrase_matching: true });
    await server.ok('POST', `${path}/points/payload`, { payload: { t: 'red bear' }, points: [2] });
    expect(await matching(path, { phrase: 'red fox' })).toEqual([1]);
    expect(await matching(path, { text: 'blue' })).toEqual([]);
    await server.ok('POST', `${path}/points/payload/delete`, { keys: ['t'], points: [1] });
    expect(await matching(path, { text_any: 'red fox' })).toEqual([2]);
    await server.ok('DELETE', `${path}/index/t`);
    expect(await matching(path, { phrase: 'red bear' })).toEqual([2]);
  });
});
