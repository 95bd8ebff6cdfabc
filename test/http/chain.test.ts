import { concretePath, BODY_LIMIT, send, startService, type Service } from './harness';

const SEARCH = '/collections/c/points/search';
const HUGE = { 'content-length': String(BODY_LIMIT + 1) };

describe.each([
  ['hot lane', true],
  ['Express', false],
])('the chain of checks, %s', (_name, hotLane) => {
  let service: Service;
  beforeAll(async () => {
    service = await startService({ hotLane });
  });
  afterAll(() => service.close());
  beforeEach(() => {
    service.engine.reset();
    service.auth.enabled = false;
    service.auth.late = false;
  });

  describe('C1.6 the order of checks', () => {
    /** Every later fault at once: no permission, a body too large and of the wrong type, a bad parameter. */
    const everything = {
      headers: { ...HUGE, 'content-type': 'text/plain' },
      body: 'x'.repeat(BODY_LIMIT + 1),
    };

    it('authentication, permission, readiness, body size, body type, parameters, engine', async () => {
      const starting = await startService({ hotLane, starting: true });
      starting.auth.enabled = true;
      const path = `${SEARCH}?timeout=0`;
      const as = (token: string) => ({
        ...everything,
        headers: { ...everything.headers, authorization: `Bearer ${token}` },
      });
      expect((await send(starting, 'POST', path, everything)).status).toBe(401);
      expect((await send(starting, 'POST', path, as('token-write'))).status).toBe(403);
      expect((await send(starting, 'POST', path, as('token-read'))).status).toBe(412);
      starting.lifecycle.becomeReady(starting.engine);
      expect((await send(starting, 'POST', path, as('token-read'))).status).toBe(413);
      const small = {
        headers: { authorization: 'Bearer token-read', 'content-type': 'text/plain' },
        body: '{',
      };
      expect((await send(starting, 'POST', path, small)).status).toBe(415);
      small.headers['content-type'] = 'application/json';
      expect((await send(starting, 'POST', path, small)).status).toBe(400);
      expect(starting.engine.requests).toHaveLength(0);
      expect((await send(starting, 'POST', SEARCH, small)).status).toBe(200);
      expect(starting.engine.requests).toHaveLength(1);
      await starting.close();
    });

    it('C8 answers 501 before readiness, for every body', async () => {
      const starting = await startService({ hotLane, starting: true });
      for (const route of starting.routes) {
        if (route.kind === 'unimplemented') {
          const answer = await send(starting, route.method, concretePath(route), everything);
          expect([answer.status, answer.body.status.error]).toEqual([
            501,
            `Not implemented in this build: ${route.group}`,
          ]);
        }
      }
      await starting.close();
    });

    it('refuses a path that cannot be decoded after authentication, not before', async () => {
      for (const path of ['/collections/c/points/%ff', '/collections/%zz/points/%c0%af']) {
        service.auth.enabled = true;
        expect((await send(service, 'GET', path)).status).toBe(401);
        service.auth.enabled = false;
        const answer = await send(service, 'GET', path);
        expect([answer.status, answer.body.status.error]).toEqual([
          400,
          'Malformed percent-encoding in the path',
        ]);
      }
      const underAuth = await send(service, 'DELETE', '/auth/access_token/%zz', {
        headers: { authorization: 'Bearer jwt' },
      });
      expect([underAuth.status, underAuth.body]).toEqual([
        400,
        { status: 'error', message: 'Malformed percent-encoding in the path' },
      ]);
    });
  });

  describe('C2.2 a collection name that cannot be decoded', () => {
    it('is refused where it would be created', async () => {
      const answer = await send(service, 'PUT', '/collections/%zz', { json: {} });
      expect([answer.status, answer.body.status.error]).toEqual([
        400,
        'Malformed percent-encoding in the path',
      ]);
      expect(service.engine.requests).toHaveLength(0);
    });

    it.each([
      ['GET', '/collections/%zz', '%zz'],
      ['DELETE', '/collections/%c0%af', '%c0%af'],
      ['PUT', '/collections/%zz/points', '%zz'],
      ['GET', '/collections/%ff/points/7', '%ff'],
    ])('elsewhere names no collection: %s %s', async (method, path, raw) => {
      await send(service, method, path, method === 'PUT' ? { json: {} } : {});
      // A name that no collection can have, so that one which is called like the raw text is not meant.
      expect(service.engine.requests.map(({ collection }) => collection)).toEqual(['/']);
      service.engine.failWith('collection_not_found', { name: '/' });
      const answer = await send(service, method, path, method === 'PUT' ? { json: {} } : {});
      expect([answer.status, answer.body.status.error]).toEqual([404, `Collection not found: ${raw}`]);
    });
  });

  describe('C10.1 before the engine is ready', () => {
    it('answers 412 with Retry-After on every data endpoint, and serves /auth and the health endpoints', async () => {
      const starting = await startService({ hotLane, starting: true });
      for (const route of starting.routes) {
        const answer = await send(starting, route.method, concretePath(route), {
          headers: { authorization: 'Bearer jwt' },
        });
        if (route.kind === 'engine') {
          expect([
            route.path,
            answer.status,
            answer.body.status.error,
            answer.headers['retry-after'],
          ]).toEqual([route.path, 412, 'Engine not initialized', '1']);
        } else if (route.kind === 'auth' && route.path !== '/auth/broken') {
          expect([route.path, answer.status]).toEqual([route.path, 200]);
        }
      }
      expect((await send(starting, 'GET', '/')).status).toBe(200);
      expect((await send(starting, 'GET', '/livez')).status).toBe(200);
      expect((await send(starting, 'GET', '/healthz')).status).toBe(200);
      const answer = await send(starting, 'GET', '/readyz');
      expect([answer.status, answer.headers['retry-after'], answer.body]).toEqual([
        503,
        '1',
        { status: 'starting' },
      ]);
      await starting.close();
    });
  });

  describe('C9.2 the plain endpoints', () => {
    it('answers who it is, without an envelope', async () => {
      const answer = await send(service, 'GET', '/');
      expect(answer.body).toEqual({
        title: 'kithdb - vector database',
        version: expect.stringMatching(/^1\.19\.\d+$/),
        kithdb_version: '0.1.0',
        dialect: 'specification',
        status: 'ok',
        time: expect.any(Number),
      });
    });

    it('answers health', async () => {
      for (const path of ['/livez', '/readyz', '/healthz']) {
        expect((await send(service, 'GET', path)).body).toEqual({ status: 'ok' });
      }
    });

    it('is alive and not ready while it stops', async () => {
      const stopping = await startService();
      stopping.lifecycle.beginStop();
      for (const path of ['/livez', '/healthz']) {
        const answer = await send(stopping, 'GET', path);
        expect([path, answer.status, answer.body]).toEqual([path, 200, { status: 'ok' }]);
      }
      const ready = await send(stopping, 'GET', '/readyz');
      expect([ready.status, ready.body]).toEqual([503, { status: 'stopping' }]);
      await stopping.close();
    });
  });

  describe('C1.5 the limit of a body', () => {
    const tooLarge = `Request body too large: limit ${BODY_LIMIT} bytes`;

    it('refuses by Content-Length without reading', async () => {
      const answer = await send(service, 'POST', SEARCH, { headers: HUGE, body: ' '.repeat(BODY_LIMIT + 1) });
      expect([answer.status, answer.body.status.error, answer.headers.connection]).toEqual([
        413,
        tooLarge,
        'close',
      ]);
    });

    it('takes a body of exactly the limit, in one piece or in many', async () => {
      const body = ' '.repeat(BODY_LIMIT);
      const sized = await send(service, 'POST', SEARCH, { body });
      expect(sized.body.result.bodyLength).toBe(BODY_LIMIT);
      const chunked = await send(service, 'POST', SEARCH, {
        body,
        headers: { 'transfer-encoding': 'chunked' },
      });
      expect(chunked.body.result.bodyLength).toBe(BODY_LIMIT);
    });

    it('refuses a chunked body when it passes the limit', async () => {
      const answer = await send(service, 'POST', SEARCH, {
        body: ' '.repeat(BODY_LIMIT + 1),
        headers: { 'transfer-encoding': 'chunked' },
      });
      expect([answer.status, answer.body.status.error]).toEqual([413, tooLarge]);
      expect(service.engine.requests).toHaveLength(0);
    });

    it('has a smaller one under /auth, with the envelope of /auth', async () => {
      const sized = await send(service, 'POST', '/auth/admin/login', {
        json: { password: 'x'.repeat(2000) },
      });
      expect([sized.status, sized.body]).toEqual([
        413,
        { status: 'error', message: 'Request body too large: limit 1024 bytes' },
      ]);
      const chunked = await send(service, 'POST', '/auth/admin/login', {
        body: JSON.stringify({ password: 'x'.repeat(70_000) }),
        headers: { 'transfer-encoding': 'chunked' },
      });
      expect([chunked.status, chunked.body.message]).toEqual([
        413,
        'Request body too large: limit 65536 bytes',
      ]);
    });
  });

  describe('C1.5 the type of a body', () => {
    it.each([
      'text/plain',
      'application/x-www-form-urlencoded',
      'application/json; charset=latin1',
      'application/jsonx',
      '',
    ])('refuses %j', async (type) => {
      const answer = await send(service, 'POST', SEARCH, { body: '{}', headers: { 'content-type': type } });
      expect([answer.status, answer.body.status.error]).toEqual([
        415,
        'Unsupported content type: the body must be application/json',
      ]);
    });

    it.each([
      'application/json',
      'APPLICATION/JSON',
      'application/json;charset=UTF-8',
      'application/json; charset="utf-8"',
      'application/vnd.api+json',
    ])('takes %j', async (type) => {
      const answer = await send(service, 'POST', SEARCH, { body: '{}', headers: { 'content-type': type } });
      expect(answer.status).toBe(200);
    });

    it('does not mind a type without a body', async () => {
      const headers = { 'content-type': 'text/plain' };
      expect((await send(service, 'POST', SEARCH, { headers })).status).toBe(200);
    });
  });

  describe('what reaches the engine', () => {
    it('is the body byte for byte', async () => {
      const body = Buffer.from('{"a": 18446744073709551615, "a": 1e400, "é": \xff}', 'latin1');
      await send(service, 'POST', SEARCH, { body });
      expect(service.engine.requests[0]?.body).toEqual(body);
    });

    it('is a body put together from many pieces', async () => {
      const body = Buffer.alloc(BODY_LIMIT, 'abcdefghij');
      await send(service, 'PUT', '/collections/c/points', {
        body,
        headers: { 'transfer-encoding': 'chunked' },
      });
      expect(service.engine.requests[0]?.body).toEqual(body);
    });

    it('is no body where there is none or the endpoint has none', async () => {
      await send(service, 'POST', '/collections/c/points/count');
      await send(service, 'DELETE', '/collections/c', { json: { ignored: true } });
      expect(service.engine.requests.map((request) => request.body)).toEqual([undefined, undefined]);
    });

    it('C2.2 is the name decoded once, however bad', async () => {
      for (const [path, name] of [
        ['/collections/a%20b/points/count', 'a b'],
        ['/collections/a%252Fb/points/count', 'a%2Fb'],
        ['/collections/..%2F..%2Fetc/points/count', '../../etc'],
        ['/collections/%00/points/count', '\0'],
        ['/collections/__proto__/points/count', '__proto__'],
        ['/collections/%C3%A9/points/count', 'é'],
      ] as const) {
        await send(service, 'POST', path);
        expect(service.engine.requests.at(-1)?.collection).toBe(name);
      }
    });

    it('is the id or the field name of the path', async () => {
      await send(service, 'GET', '/collections/c/points/18446744073709551615');
      await send(service, 'DELETE', '/collections/c/index/a%5B%5D.b');
      await send(service, 'DELETE', '/collections/c/vectors/%C3%A9%20b');
      expect(service.engine.requests.map(({ operation, target }) => [operation, target])).toEqual([
        ['get_point', '18446744073709551615'],
        ['delete_field_index', 'a[].b'],
        ['delete_vector_name', 'é b'],
      ]);
    });

    it('is wait, timeout and the time of arrival', async () => {
      await send(service, 'PUT', '/collections/c/points?wait=false&timeout=7&ordering=strong');
      await send(service, 'PUT', '/collections/c/points?wait=true');
      await send(service, 'PUT', '/collections/c/points');
      expect(service.engine.requests.map(({ wait, timeoutSeconds }) => [wait, timeoutSeconds])).toEqual([
        [false, 7],
        [true, undefined],
        [undefined, undefined],
      ]);
      expect(service.engine.requests[0]?.arrivedAt).toEqual(expect.any(Number));
    });
  });

  it('C1.1 sends the answer of the engine as it is', async () => {
    const answer = await send(service, 'POST', SEARCH, { json: {} });
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(answer.text).toBe(
      '{"time":0.001,"status":"ok","result":{"operation":"search","collection":"c","bodyLength":2}}',
    );
  });

  describe('C1.9 the request id', () => {
    it("is the client's own when it is short and printable", async () => {
      const id = `${'x'.repeat(120)} ~!"#$%`;
      const answer = await send(service, 'POST', SEARCH, { headers: { 'x-request-id': id } });
      expect(answer.headers['x-request-id']).toBe(id);
    });

    it.each(['x'.repeat(129), 'é', ''])('is a new one in place of %j', async (id) => {
      const answer = await send(service, 'POST', SEARCH, { headers: { 'x-request-id': id } });
      expect(answer.headers['x-request-id']).toMatch(/^[0-9a-f]{8}-[0-9a-f-]{27}$/);
    });

    it('is on every answer, errors included', async () => {
      for (const [method, path] of [
        ['GET', '/'],
        ['GET', '/nowhere'],
        ['PATCH', '/collections'],
        ['GET', '/aliases'],
        ['GET', '/auth/admin/exists'],
        ['PATCH', '/auth/enabled'],
        ['POST', '/auth/broken'],
        ['GET', '/collections'],
        ['GET', '/collections/%zz'],
      ] as const) {
        const answer = await send(service, method, path, { headers: { 'x-request-id': 'mine' } });
        expect([path, answer.headers['x-request-id']]).toEqual([path, 'mine']);
      }
    });
  });

  describe('C1.10 query parameters', () => {
    const WRITE = '/collections/c/points';
    const error = async (method: string, path: string): Promise<string> => {
      const answer = await send(service, method, path);
      expect(answer.status).toBe(400);
      return answer.body.status.error as string;
    };

    it.each(['0', '-1', '1.5', 'x', '', '1e3', '%zz', '99999999999'])('refuses timeout=%s', async (value) => {
      for (const path of [WRITE, '/collections/c']) {
        expect(await error('PUT', `${path}?timeout=${value}`)).toBe(
          "Query parameter 'timeout' must be a whole number of seconds from 1 to 4294967295",
        );
      }
    });

    it.each(['1', 'TRUE', '', 'yes'])('refuses wait=%s', async (value) => {
      expect(await error('PUT', `${WRITE}?wait=${value}`)).toBe(
        "Query parameter 'wait' must be true or false",
      );
    });

    it('refuses an unknown ordering and an unknown consistency', async () => {
      expect(await error('PUT', `${WRITE}?ordering=none`)).toBe(
        "Query parameter 'ordering' must be weak, medium or strong",
      );
      expect(await error('POST', `${SEARCH}?consistency=0`)).toBe(
        "Query parameter 'consistency' must be a whole number from 1, majority, quorum or all",
      );
    });

    it('refuses a parameter given twice', async () => {
      expect(await error('PUT', `${WRITE}?wait=true&wait=false`)).toBe(
        "Query parameter 'wait' must be given once",
      );
    });

    it.each(['', '3', 'majority', 'quorum', 'all'])('takes consistency=%s', async (value) => {
      expect((await send(service, 'POST', `${SEARCH}?consistency=${value}`)).status).toBe(200);
    });

    it('ignores unknown parameters and those of another kind', async () => {
      expect((await send(service, 'POST', `${SEARCH}?pretty=1&wait=maybe&__proto__=1`)).status).toBe(200);
    });

    it('gives the same answer the second time, from memory', async () => {
      for (let round = 0; round < 2; round += 1) {
        expect((await send(service, 'PUT', `${WRITE}?wait=nope`)).status).toBe(400);
        await send(service, 'PUT', `${WRITE}?wait=false`);
        expect(service.engine.requests.at(-1)?.wait).toBe(false);
      }
    });
  });

  describe('C2.2 the name of a new collection', () => {
    it.each(['a', 'a.b', '...', '%C3%A9', '%F0%9F%90%8B'.repeat(255), 'a%20b', '__proto__', 'constructor'])(
      'takes %s',
      async (name) => {
        expect((await send(service, 'PUT', `/collections/${name}`, { json: {} })).status).toBe(200);
        expect(service.engine.requests[0]?.collection).toBe(decodeURIComponent(name));
      },
    );

    it('goes to the engine as it is, like every other name', async () => {
      for (const [method, path] of [
        ['PUT', '/collections/..%2F'],
        ['GET', '/collections/..%2F'],
        ['PATCH', '/collections/..%2F'],
        ['DELETE', '/collections/..%2F'],
        ['GET', '/collections/..%2F/exists'],
        ['PUT', '/collections/..%2F/points'],
      ] as const) {
        expect((await send(service, method, path)).status).toBe(200);
        expect(service.engine.requests.at(-1)?.collection).toBe('../');
      }
    });
  });
});
