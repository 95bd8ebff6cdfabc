import { PassThrough } from 'node:stream';
import { refuseConnect } from '../../src/http/raw-answer';
import { send, sendRaw, startService, type Service } from './harness';

const SEARCH = '/collections/c/points/search';

/** The status codes of the answers on one connection. */
const statuses = (received: string): string[] =>
  [...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) => match[1] ?? '');

const head = (...lines: string[]): string => `${lines.join('\r\n')}\r\n\r\n`;

describe('heads that Node accepts and the server must check', () => {
  let service: Service;
  beforeAll(async () => {
    service = await startService();
  });
  afterAll(() => service.close());
  beforeEach(() => {
    service.engine.reset();
    service.logged.length = 0;
  });

  it('keeps every header of a head within its limit', async () => {
    const padding = Array.from({ length: 1500 }, () => 'a:b');
    const last = ['X-Test-Refuse: 1', 'Connection: close'];
    const received = await sendRaw(
      service,
      head('GET /collections HTTP/1.1', 'Host: x', ...padding, ...last),
    );
    expect(statuses(received)).toEqual(['403']);
    const body = ['Content-Type: application/json', 'Content-Length: 2', 'Connection: close'];
    await sendRaw(service, `${head(`POST ${SEARCH} HTTP/1.1`, 'Host: x', ...padding, ...body)}{}`);
    expect(service.engine.requests.map((request) => request.body?.toString())).toEqual(['{}']);
  });

  it('answers an expectation that it cannot meet in its own words, under the id of the request', async () => {
    const lines = ['Host: x', 'Expect: a-miracle', 'X-Request-Id: r7', 'Content-Length: 2'];
    const received = await sendRaw(service, head(`POST ${SEARCH} HTTP/1.1`, ...lines), '{}');
    expect(statuses(received)).toEqual(['417']);
    expect(received).toMatch(/^x-request-id: r7/im);
    expect(received).toMatch(/^connection: close/im);
    expect(received).toMatch(/"status":\{"error":"Unsupported expectation: only 100-continue"\}\}$/);
    await service.requests.whenIdle();
    expect(service.logged).toEqual([expect.objectContaining({ requestId: 'r7', status: 417 })]);
    expect(service.engine.requests).toHaveLength(0);
    const under = await sendRaw(service, head('POST /auth/admin HTTP/1.1', ...lines), '{}');
    expect(under).toContain('{"status":"error","message":"Unsupported expectation: only 100-continue"}');
  });

  it('C1.5 answers a CONNECT with a 405, after the requests before it, and closes', async () => {
    const connectTo = head('CONNECT example.com:443 HTTP/1.1', 'Host: example.com:443');
    const received = await sendRaw(service, connectTo, 'GET /collections HTTP/1.1\r\nHost: x\r\n\r\n');
    expect(statuses(received)).toEqual(['405']);
    expect(received).toMatch(/^allow: GET, HEAD, PUT, POST, PATCH, DELETE\r$/im);
    expect(received).toMatch(/^connection: close\r$/im);
    expect(received).toMatch(/^x-request-id: /im);
    expect(received).toMatch(
      /\{"time":0,"status":\{"error":"Method not allowed: CONNECT example\.com:443 [^"]*"\}\}$/,
    );
    expect(service.engine.requests).toHaveLength(0);
    const first = head('GET /collections HTTP/1.1', 'Host: x');
    expect(statuses(await sendRaw(service, first + connectTo))).toEqual(['200', '405']);
    expect(statuses(await sendRaw(service, first, first + connectTo))).toEqual(['200', '200', '405']);
  });

  it('writes nothing for a CONNECT whose connection is gone, and keeps no timer for it', () => {
    const socket = new PassThrough().destroy();
    const end = jest.spyOn(socket, 'end');
    const set = jest.spyOn(global, 'setTimeout');
    try {
      refuseConnect({ url: 'example.com:443' } as never, socket);
      expect([end.mock.calls, set.mock.calls]).toEqual([[], []]);
    } finally {
      set.mockRestore();
    }
  });

  it.each(['websocket', 'h2c', 'nonsense/7'])(
    'serves a request that asks for an upgrade to %s as if it did not',
    async (protocol) => {
      const lines = ['Host: x', `Upgrade: ${protocol}`, 'Connection: Upgrade, close', 'Content-Length: 2'];
      const received = await sendRaw(
        service,
        head(`POST ${SEARCH} HTTP/1.1`, 'Content-Type: application/json', ...lines),
        '{}',
      );
      expect(statuses(received)).toEqual(['200']);
      expect(service.engine.requests.map((request) => request.body?.toString())).toEqual(['{}']);
    },
  );

  it.each([
    ['two Host headers', 'GET /collections HTTP/1.1', ['Host: localhost', 'host: evil.example']],
    ['the same Host twice', 'GET /collections HTTP/1.1', ['Host: localhost', 'Host: localhost']],
    ['a target for another host', 'GET http://evil.example/collections HTTP/1.1', ['Host: localhost']],
    ['a target with a user', 'GET http://a@localhost/collections HTTP/1.1', ['Host: localhost']],
    ['chunks in HTTP/1.0', `POST ${SEARCH} HTTP/1.0`, ['Host: localhost', 'Transfer-Encoding: chunked']],
  ])('refuses %s with 400, and closes', async (_name, line, headers) => {
    const received = await sendRaw(service, head(line, ...headers, 'Connection: close'), '0\r\n\r\n');
    expect(statuses(received)).toEqual(['400']);
    expect(received).toMatch(/^x-request-id: /im);
    expect(service.engine.requests).toHaveLength(0);
  });

  it.each([
    ['GET http://LocalHost:6363/collections HTTP/1.1', 'Host: localhost:6363'],
    ['GET /collections HTTP/1.0', 'Accept: */*'],
  ])('takes %s with %s', async (line, header) => {
    expect(statuses(await sendRaw(service, head(line, header, 'Connection: close')))).toEqual(['200']);
  });

  it.each([
    'application/json; charset=utf-8; profile="a;b"',
    'application/json;odata.metadata=minimal',
    'application/json; charset="UTF-8"',
    'application/json;',
  ])('takes the type %j, with any parameters besides the charset', async (type) => {
    const options = { body: '{}', headers: { 'content-type': type } };
    expect((await send(service, 'POST', SEARCH, options)).status).toBe(200);
  });

  it.each([
    'application/json; charset=utf-16',
    'application/json; a=b; charset=latin1',
    'application/json garbage',
    'application/json, text/plain',
  ])('refuses the type %j', async (type) => {
    const options = { body: '{}', headers: { 'content-type': type } };
    expect((await send(service, 'POST', SEARCH, options)).status).toBe(415);
  });
});
