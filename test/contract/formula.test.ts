import { ContractServer, idsOf, type Json } from './contract-server';

const BERLIN = { lat: 52.52, lon: 13.405 };
const PAYLOAD = {
  n: 85,
  zero: 0,
  one: [4],
  two: [4, 5],
  word: 'red',
  nothing: null,
  born: '2024-01-01T00:00:00.5Z',
  place: { lat: 25.628482424190565, lon: -100.23881855976 },
  list: [{ x: 1 }, { x: 2 }],
};

let server: ContractServer;
let path: string;

beforeAll(async () => {
  server = await ContractServer.start();
  path = await server.collection('points', { vectors: { size: 2, distance: 'Dot' } });
  const points = [
    { id: 1, vector: [1, 0], payload: PAYLOAD },
    { id: 2, vector: [0.5, 0], payload: { n: 1, place: BERLIN } },
    { id: 3, vector: [0.25, 0], payload: { n: 2 } },
  ];
  await server.ok('PUT', `${path}/points`, { points });
});
afterAll(() => server.stop());

const query = async (json: object): Promise<Json> =>
  (await server.ok('POST', `${path}/points/query`, json)).points;
const refused = (json: object): Promise<[number, string]> =>
  server.refused('POST', `${path}/points/query`, json);

/** A query for the value of an expression at point 1, whose score is 1. */
const at = (formula: unknown, defaults?: object): object => ({
  prefetch: { query: [1, 0], filter: { must: { has_id: [1] } } },
  query: { formula, defaults },
});
const value = async (formula: unknown, defaults?: object): Promise<number> =>
  (await query(at(formula, defaults)))[0].score;

describe('C6.3 formula', () => {
  it.each([
    [5, 5],
    ['$score', 1],
    ['$score[0]', 1],
    ['$score[3]', 0],
    ['n', 85],
    ['one', 4],
    ['list[1].x', 2],
    [{ sum: [1, '$score', 'n', { has_id: [1] }] }, 88],
    [{ mult: [2, 'n'] }, 170],
    [{ mult: ['zero', 'absent'] }, 0],
    [{ div: { left: 'n', right: 2 } }, 42.5],
    [{ div: { left: 0, right: 'absent' } }, 0],
    [{ div: { left: 1, right: 'zero', by_zero_default: 7 } }, 7],
    [{ neg: 'n' }, -85],
    [{ abs: { neg: 3 } }, 3],
    [{ sqrt: 16 }, 4],
    [{ pow: { base: 2, exponent: -1 } }, 0.5],
    [{ exp: 1 }, Math.E],
    [{ ln: 10 }, Math.LN10],
    [{ log10: 1000 }, 3],
    [{ key: 'word', match: { value: 'red' } }, 1],
    [{ must_not: [{ key: 'two', match: { any: [5] } }] }, 0],
    [{ nested: { key: 'list', filter: { must: { key: 'x', range: { gt: 1 } } } } }, 1],
    [
      { geo_distance: { origin: { lat: 25.717877679163667, lon: -100.43383200156751 }, to: 'place' } },
      21926.494,
    ],
    [{ sum: [{ datetime_key: 'born' }, { neg: { datetime: '2023-12-31T23:59Z' } }] }, 60.5],
    [{ lin_decay: { x: 'n', target: 80, scale: 10, midpoint: 0.5 } }, 0.75],
    [{ exp_decay: { x: 'n', target: 80, scale: 5, midpoint: 0.3 } }, 0.3],
    [{ gauss_decay: { x: 'n', target: 80, scale: 10, midpoint: 0.5 } }, 0.5 ** 0.25],
    [{ gauss_decay: { x: 1 } }, 0.5],
  ])('C6.3 %j is %d', async (formula, expected) => {
    const found = await value(formula);
    expect(Math.abs(found - expected)).toBeLessThanOrEqual(1e-5 * Math.max(1, Math.abs(expected)));
  });

  it('C6.3 defaults replace values that a point lacks', async () => {
    expect(await value('absent', { absent: 3 })).toBe(3);
    expect(await value('nothing', { nothing: [3] })).toBe(3);
    expect(await value('n', { n: 3 })).toBe(85);
    expect(await value('$score[1]', { '$score[1]': 2 })).toBe(2);
    const distance = { geo_distance: { origin: BERLIN, to: 'absent' } };
    expect(await value(distance, { absent: BERLIN })).toBe(0);
    expect(await value({ datetime_key: 'absent' }, { absent: '1970-01-02' })).toBe(86400);
  });

  it('C6.3 scores all that the prefetches found, larger first, ties by id', async () => {
    const prefetch = [
      { query: [1, 0], limit: 2 },
      { query: [-1, 0], limit: 1 },
    ];
    const near = { exp_decay: { x: { geo_distance: { origin: BERLIN, to: 'place' } }, scale: 1000 } };
    const hits = await query({
      prefetch,
      query: { formula: { sum: ['$score', '$score[1]', near] }, defaults: { place: { lat: 0, lon: 0 } } },
    });
    expect(hits.map(({ id, score }: Json) => [id, Number(score.toFixed(4))])).toEqual([
      [2, 1.5],
      [1, 1],
      [3, -0.25],
    ]);
    const same = await query({ prefetch, query: { formula: 1 }, score_threshold: 1, limit: 2, offset: 1 });
    expect(idsOf(same)).toEqual([2, 3]);
  });

  it('C1.11 errors name the term, and the point where it is one', async () => {
    const because = async (formula: unknown, defaults?: object): Promise<string> => {
      const [status, message] = await refused(at(formula, defaults));
      expect(status).toBe(400);
      return message;
    };
    expect(await because({ mult: [2, 'absent'] })).toBe(
      'query.formula.mult[1]: no value for absent in the payload of point 1 nor in the defaults',
    );
    expect(await because('word')).toBe(
      'query.formula: expected a number for word in the payload, got a string (point 1)',
    );
    expect(await because('two')).toContain('got several values');
    expect(await because({ sum: [{ ln: 'zero' }] })).toBe(
      'query.formula.sum[0]: ln(0) is not a finite number (point 1)',
    );
    expect(await because({ div: { left: 1, right: 0 } })).toContain('1/0 is not a finite number');
    expect(await because({ sum: ['$sore'] })).toContain("query.formula.sum[0]: unknown variable '$sore'");
    expect(await because({ summ: [1] })).toBe('query.formula.summ: unknown field');
    expect(await because({ exp_decay: { x: 1, midpoint: 1 } })).toContain('query.formula.exp_decay.midpoint');
    expect(await because({ lin_decay: { x: 1, scale: 0 } })).toContain('query.formula.lin_decay.scale');
    expect(await because({ pow: { base: 1 } })).toBe('Missing required field: query.formula.pow.exponent');
    expect(await because({ key: 'n', match: {} })).toContain('Filter parse error: query.formula.match');
    expect(await because(1, { $score: 'a' })).toBe('query.defaults.$score: expected a number, got a string');
  });
});
