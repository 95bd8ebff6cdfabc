import { isPointsRoute } from '../../src/http/route-table';
import { BODY_LIMIT, concretePath, send, startService, type Answer, type Service } from './harness';

type Variant = readonly [name: string, query: string, options: Parameters<typeof send>[3]];

/** What a request to a points endpoint can look like. */
const VARIANTS: readonly Variant[] = [
  ['no body', '', {}],
  ['a body', '', { json: { vector: [1, 2, 3] } }],
  ['a body without length', '', { json: [1], headers: { 'transfer-encoding': 'chunked' } }],
  ['a body too large', '', { body: ' '.repeat(BODY_LIMIT + 1) }],
  ['a body of another type', '', { body: '<a/>', headers: { 'content-type': 'text/xml' } }],
  ['a compressed body', '', { body: '{}', headers: { 'content-encoding': 'br' } }],
  ['good parameters', '?wait=false&timeout=3&consistency=all&ordering=weak', { json: {} }],
  ['bad parameters', '?timeout=x', { json: {} }],
  ['no credential', '', { json: {}, headers: { authorization: '' } }],
  ['a credential without permission', '', { json: {}, headers: { authorization: 'Bearer token-admin' } }],
  ['a bad host', '', { json: {}, headers: { 'x-test-refuse': '1' } }],
  ['a request id', '', { json: {}, headers: { 'x-request-id': 'abc' } }],
  ['a listed origin', '', { json: {}, headers: { origin: 'https://app.example' } }],
];

/** What must be equal: everything but the times, the clock and the ids that the server made. */
function comparable(answer: Answer): unknown {
  const headers = { ...answer.headers };
  delete headers.date;
  if (headers['x-request-id'] !== 'abc') {
    delete headers['x-request-id'];
  }
  const text = answer.text.replace(/"time":[\d.e-]+/, '"time":0');
  return { status: answer.status, headers: { ...headers, 'content-length': undefined }, text };
}

describe('the two lanes give the same answers', () => {
  let hot: Service;
  let express: Service;
  beforeAll(async () => {
    const corsOrigins = ['https://app.example'];
    hot = await startService({ corsOrigins });
    express = await startService({ corsOrigins, hotLane: false });
    hot.auth.enabled = true;
    express.auth.enabled = true;
  });
  afterAll(async () => {
    await hot.close();
    await express.close();
  });

  const compare = async (method: string, path: string, options: Parameters<typeof send>[3]) => {
    const [one, other] = await Promise.all([
      send(hot, method, path, options),
      send(express, method, path, options),
    ]);
    expect([method, path, comparable(one)]).toEqual([method, path, comparable(other)]);
    return one;
  };

  it.each(VARIANTS)('to every points request with %s', async (_name, query, options) => {
    const headers = { authorization: 'Bearer jwt', ...options?.headers };
    for (const route of hot.routes.filter(isPointsRoute)) {
      await compare(route.method, `${concretePath(route)}${query}`, { ...options, headers });
    }
    const [one, other] = [hot, express].map(({ engine }) =>
      engine.requests.map((request) => ({ ...request, arrivedAt: 0, hold: undefined })),
    );
    expect(one).toEqual(other);
  });

  it.each(['HEAD', 'GET', 'PUT', 'POST', 'PATCH', 'DELETE', 'OPTIONS'])(
    'to %s on any path',
    async (method) => {
      const headers = { authorization: 'Bearer jwt' };
      for (const collection of ['c', 'a%2Fb', '%zz', '%00', '..', '%2e%2e', 'a b'.replace(' ', '+')]) {
        for (const rest of [
          '',
          '/',
          '/search',
          '/search/',
          '/7',
          '/%37',
          '/%',
          '/no/such',
          '//',
          '/search?x=%zz',
        ]) {
          await compare(method, `/collections/${collection}/points${rest}`, { headers });
        }
      }
    },
  );

  it.each(['collection_not_found', 'overloaded', 'storage_full', 'internal', 'not_ready'] as const)(
    'to the error %s',
    async (code) => {
      hot.engine.failWith(code, { name: 'c', message: 'm' });
      express.engine.failWith(code, { name: 'c', message: 'm' });
      for (const route of hot.routes.filter(isPointsRoute)) {
        await compare(route.method, concretePath(route), { headers: { authorization: 'Bearer jwt' } });
      }
      hot.engine.reset();
      express.engine.reset();
    },
  );

  it('while the engine is not ready and while the server stops', async () => {
    const services = await Promise.all([
      startService({ starting: true }),
      startService({ starting: true, hotLane: false }),
    ]);
    for (const status of [412, 503]) {
      const answers = await Promise.all(
        services.map((service) => send(service, 'POST', '/collections/c/points/search', { json: {} })),
      );
      expect(answers.map((answer) => answer.status)).toEqual([status, status]);
      expect(comparable(answers[0]!)).toEqual(comparable(answers[1]!));
      services.forEach(({ lifecycle }) => {
        lifecycle.beginStop();
      });
    }
    await Promise.all(services.map((service) => service.close()));
  });
});
