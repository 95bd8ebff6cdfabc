import { DEFAULT_ADMISSION_LIMITS, LocalAdmission } from '../../src/http/admission';
import { Deferred } from '../../src/http/deferred';
import { FakeAuth } from './fake-auth';
import { BODY_LIMIT, send, startService } from './harness';

const SEARCH = '/collections/c/points/search';
const CLIENT = { network: '192.0.2.1', credential: undefined };

describe('C1.5 admission', () => {
  it.each([true, false])(
    'refuses requests and bytes beyond their budget with 429 (hot lane: %s)',
    async (hotLane) => {
      const service = await startService({
        hotLane,
        admits: { requests: 3, bodyBytes: BODY_LIMIT },
      });
      let open = (): void => undefined;
      service.engine.gate = new Promise((resolve) => {
        open = resolve;
      });
      const first = send(service, 'POST', SEARCH, { body: ' '.repeat(BODY_LIMIT - 10) });
      await executing(service.engine.requests, 1);
      const tooManyBytes = await send(service, 'POST', SEARCH, { body: ' '.repeat(11) });
      const streamed = await send(service, 'POST', SEARCH, {
        body: ' '.repeat(11),
        headers: { 'transfer-encoding': 'chunked' },
      });
      for (const answer of [tooManyBytes, streamed]) {
        expect([answer.status, answer.headers['retry-after'], answer.body.status.error]).toEqual([
          429,
          '1',
          'Too many request bytes in progress',
        ]);
      }
      expect(service.requests.refusals).toEqual(new Map([['body_bytes', 2]]));
      const others = [send(service, 'POST', SEARCH), send(service, 'POST', SEARCH)];
      await executing(service.engine.requests, 3);
      const tooMany = await send(service, 'GET', '/collections');
      expect([tooMany.status, tooMany.body.status.error]).toEqual([
        429,
        'Too many requests in progress: limit 3',
      ]);
      expect((await send(service, 'GET', '/livez')).status).toBe(200);
      open();
      const done = await Promise.all([first, ...others]);
      expect(done.map((answer) => answer.status)).toEqual([200, 200, 200]);
      expect((await send(service, 'POST', SEARCH, { body: ' '.repeat(BODY_LIMIT) })).status).toBe(200);
      await service.close();
    },
  );

  it('gives back exactly what a request held, once', () => {
    const admission = new LocalAdmission({ ...DEFAULT_ADMISSION_LIMITS, requests: 2, bodyBytes: 100 });
    const body = { received: 0, giveUp: jest.fn() };
    const one = admission.receive(CLIENT, 0, undefined, body);
    const two = admission.run(CLIENT, 0);
    if ('reason' in one || 'reason' in two) {
      throw new Error('refused within the budget');
    }
    expect(one.grow(60)).toBeUndefined();
    expect(one.grow(41)).toMatchObject({ reason: 'body_bytes' });
    expect(one.begin()).toBeUndefined();
    expect(admission.run(CLIENT, 0)).toMatchObject({
      failure: { status: 429, message: 'Too many requests in progress: limit 2' },
    });
    expect([admission.requestsInFlight, admission.bodyBytes]).toEqual([2, 60]);
    const unread = one.answer(7, jest.fn());
    one.release();
    expect([admission.requestsInFlight, admission.bodyBytes, admission.answerBytes]).toEqual([1, 0, 7]);
    expect(one.grow(1)).toMatchObject({ reason: 'body_bytes' });
    two.release();
    two.release();
    unread.release();
    unread.release();
    expect([admission.requestsInFlight, admission.bodyBytes, admission.answerBytes]).toEqual([0, 0, 0]);
    expect(body.giveUp).not.toHaveBeenCalled();
  });
});

describe('a failed request gives its budget back', () => {
  it.each(['?timeout=0', '', '/%zz'])('after %j', async (suffix) => {
    const service = await startService({ admits: { requests: 1 } });
    service.engine.failWith('internal');
    for (let round = 0; round < 3; round += 1) {
      const method = suffix.startsWith('/') ? 'GET' : 'POST';
      const path = suffix.startsWith('/') ? `/collections/c/points${suffix}` : `${SEARCH}${suffix}`;
      const answer = await send(service, method, path, method === 'POST' ? { json: {} } : {});
      expect(answer.status).not.toBe(429);
    }
    await service.close();
  });
});

describe('a body that will not be executed', () => {
  it.each(['timeout=0', 'timeout=soon'])('is taken back from the engine: %s', async (query) => {
    const service = await startService();
    expect((await send(service, 'POST', `${SEARCH}?${query}`, { json: {} })).status).toBe(400);
    expect(service.engine.bodies.map(({ discarded }) => discarded)).toEqual([true]);
    await service.close();
  });

  it('is taken back when it turns out too large', async () => {
    const service = await startService();
    const headers = { 'transfer-encoding': 'chunked' };
    const body = ' '.repeat(BODY_LIMIT + 1);
    expect((await send(service, 'POST', SEARCH, { body, headers })).status).toBe(413);
    expect(service.engine.bodies.map(({ discarded }) => discarded)).toEqual([true]);
    await service.close();
  });
});

describe('C10.1 authentication that opens after the server listens', () => {
  it('makes everything but the plain endpoints wait for it', async () => {
    const auth = new FakeAuth();
    let open: (auth: FakeAuth) => void = () => undefined;
    const deferred = new Deferred(
      new Promise<FakeAuth>((resolve) => {
        open = resolve;
      }),
    );
    const service = await startService({ auth: deferred });
    const waiting = [send(service, 'GET', '/collections'), send(service, 'GET', '/auth/admin/exists')];
    expect((await send(service, 'GET', '/livez')).status).toBe(200);
    expect(service.engine.requests).toHaveLength(0);
    auth.enabled = true;
    open(auth);
    expect((await Promise.all(waiting)).map((answer) => answer.status)).toEqual([401, 200]);
    await service.close();
  });

  it('answers 412 where it does not open soon, as at a node without its log servers', async () => {
    const service = await startService({ auth: new Deferred(new Promise<FakeAuth>(() => undefined)) });
    const paths = ['/collections', '/auth/admin/exists'];
    const answers = await Promise.all(paths.map((path) => send(service, 'GET', path)));
    expect(answers.map(({ status, headers }) => [status, headers['retry-after']])).toEqual([
      [412, '1'],
      [412, '1'],
    ]);
    await service.close();
  });
});

describe('C3.8 pages of other origins', () => {
  const origin = 'https://app.example';

  it.each([true, false])('may read the answers when listed (hot lane: %s)', async (hotLane) => {
    const service = await startService({ corsOrigins: [origin], hotLane });
    for (const path of ['/collections/c/points/count', '/auth/admin/login', '/nowhere']) {
      const answer = await send(service, 'POST', path, { json: {}, headers: { origin } });
      expect([path, answer.headers['access-control-allow-origin'], answer.headers.vary]).toEqual([
        path,
        origin,
        'Origin',
      ]);
    }
    const preflight = await send(service, 'OPTIONS', '/collections/c/points', { headers: { origin } });
    expect([preflight.status, preflight.text]).toEqual([204, '']);
    expect(preflight.headers['access-control-allow-methods']).toBe('PUT, POST');
    // The official JavaScript client sends `user-agent`, which some browsers let it.
    expect(preflight.headers['access-control-allow-headers']).toMatch(/authorization.*user-agent/);
    const other = await send(service, 'OPTIONS', '/collections/c/points', {
      headers: { origin: 'https://evil.example' },
    });
    expect([other.status, other.headers['access-control-allow-origin']]).toEqual([405, undefined]);
    await service.close();
  });
});

describe('the access log', () => {
  it('has one line for each request, with its collection and without path, query values or credentials', async () => {
    const service = await startService();
    service.auth.enabled = true;
    const headers = { authorization: 'Bearer token-read', 'x-request-id': 'r1' };
    await send(service, 'POST', '/collections/books/points/search?timeout=4294967295', {
      json: {},
      headers,
    });
    await send(service, 'GET', '/nowhere/at/all?key=secret');
    await send(service, 'PATCH', '/auth/enabled', { json: {}, headers: { authorization: 'Bearer jwt' } });
    await service.requests.whenIdle();
    const lines = service.logged.map(({ method, route, status, principal }) => [
      method,
      route,
      status,
      principal,
    ]);
    expect(lines).toEqual([
      ['POST', '/collections/:collection_name/points/search', 200, 'access-token'],
      ['GET', 'none', 404, 'none'],
      ['PATCH', '/auth/enabled', 200, 'admin-jwt'],
    ]);
    expect(service.logged[0]).toMatchObject({ requestId: 'r1', collection: 'books', ms: expect.any(Number) });
    expect(JSON.stringify(service.logged)).not.toMatch(/books\/|4294967295|secret|Bearer|token-read/);
    await service.close();
  });

  it.each([true, false])('says who asked while authentication is off (hot lane: %s)', async (hotLane) => {
    const service = await startService({ hotLane });
    await send(service, 'POST', '/collections/c/points/search', { json: {} });
    await send(service, 'GET', '/auth/admin/exists');
    await send(service, 'POST', '/auth/admin', { json: {} });
    await service.requests.whenIdle();
    expect(service.logged.map(({ route, principal }) => [route, principal])).toEqual([
      ['/collections/:collection_name/points/search', 'anonymous'],
      ['/auth/admin/exists', 'none'],
      ['/auth/admin', 'none'],
    ]);
    await service.close();
  });
});

/** Waits until the engine has this many requests. */
async function executing(requests: readonly unknown[], wanted: number): Promise<void> {
  while (requests.length < wanted) {
    await new Promise((resolve) => setImmediate(resolve));
  }
}
