import { createConnection } from 'node:net';
import { once } from 'node:events';
import { until } from '../until';
import { DEFAULT_PACE } from '../../src/http/body';
import { DIALECTS } from '../../src/http/dialect';
import { BODY_LIMIT, sendRaw, startService, type Service } from './harness';

const SEARCH = '/collections/c/points/search';

/** The status codes of the answers on one connection. */
const statuses = (received: string): string[] =>
  [...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) => match[1] ?? '');

function head(method: string, path: string, ...headers: string[]): string {
  return `${[`${method} ${path} HTTP/1.1`, 'Host: localhost', ...headers].join('\r\n')}\r\n\r\n`;
}

const PIPELINED = head('PUT', '/collections/smuggled', 'Connection: close');
const JSON_BODY = 'Content-Type: application/json';

describe('framing', () => {
  let service: Service;
  beforeAll(async () => {
    service = await startService();
  });
  afterAll(() => service.close());
  beforeEach(() => {
    service.engine.reset();
    service.auth.enabled = false;
  });

  it.each([
    ['both a length and chunks', ['Content-Length: 4', 'Transfer-Encoding: chunked'], '0\r\n\r\n'],
    ['two lengths', ['Content-Length: 4', 'Content-Length: 5'], '{}  '],
    ['an unknown transfer encoding', ['Transfer-Encoding: xchunked'], '0\r\n\r\n'],
    ['chunked that is not last', ['Transfer-Encoding: chunked, identity'], '0\r\n\r\n'],
    ['a folded header', ['X-A: b', ' c', 'Content-Length : 0'], ''],
    ['a negative length', ['Content-Length: -1'], ''],
    ['a length that is no number', ['Content-Length: 4x'], '{}  '],
    ['a bad chunk size', [JSON_BODY, 'Transfer-Encoding: chunked'], 'zz\r\n{}\r\n0\r\n\r\n'],
  ])('refuses %s, closes, and takes nothing behind it for a request', async (_name, headers, body) => {
    const received = await sendRaw(service, head('POST', SEARCH, ...headers) + body + PIPELINED);
    expect(statuses(received)).toEqual(['400']);
    expect(received).toMatch(/^connection: close/im);
    expect(received).toMatch(/^x-request-id: /im);
    expect(received).toMatch(/\{"time":[\d.e-]+,"status":\{"error":"[^"]+"\}\}$/);
    expect(service.engine.requests).toHaveLength(0);
  });

  it('does not execute a request without a body whose transfer encoding is unknown', async () => {
    const received = await sendRaw(service, head('DELETE', '/collections/c', 'Transfer-Encoding: xchunked'));
    expect(statuses(received)).toEqual(['400']);
    expect(service.engine.requests).toHaveLength(0);
  });

  it('refuses a head whose lines end in a bare LF', async () => {
    const received = await sendRaw(service, `POST ${SEARCH} HTTP/1.1\nHost: localhost\n\n`);
    expect(statuses(received)).toEqual(['400']);
    expect(service.engine.requests).toHaveLength(0);
  });

  it('refuses a path with bytes that are not ASCII', async () => {
    const received = await sendRaw(service, head('GET', '/collections/\xc3\xa9'));
    expect(statuses(received)).toEqual(['400']);
  });

  it('refuses a head that is too large with 431', async () => {
    const received = await sendRaw(service, head('GET', '/collections', `X-A: ${'a'.repeat(20_000)}`));
    expect(statuses(received)).toEqual(['431']);
  });

  it('refuses a request without a Host', async () => {
    const received = await sendRaw(service, 'GET /collections HTTP/1.1\r\nConnection: close\r\n\r\n');
    expect(statuses(received)).toEqual(['400']);
    expect(received).toContain('Missing Host header');
  });

  describe('a request refused before its body was read ends its connection', () => {
    const body = '{"vector": [1]}';
    it.each([
      ['401', ['Content-Length: 15'], true],
      ['413', [`Content-Length: ${BODY_LIMIT + 1}`], false],
      ['415', ['Content-Type: text/plain', 'Content-Length: 15'], false],
    ])('%s, and what is behind it is not executed', async (status, headers, enabled) => {
      service.auth.enabled = enabled;
      const received = await sendRaw(service, head('POST', SEARCH, ...headers) + body + PIPELINED, PIPELINED);
      expect(statuses(received)).toEqual([status]);
      expect(received).toMatch(/^connection: close/im);
      expect(service.engine.requests).toHaveLength(0);
    });

    it('the client gets its answer although it goes on sending', async () => {
      const socket = createConnection(service.port, '127.0.0.1');
      const chunks: Buffer[] = [];
      let failed: Error | undefined;
      socket.on('data', (chunk: Buffer) => chunks.push(chunk));
      socket.on('error', (error) => (failed = error));
      socket.write(head('POST', SEARCH, 'Content-Length: 1000000000'));
      for (let sent = 0; sent < 64; sent += 1) {
        socket.write(Buffer.alloc(65_536));
      }
      await once(socket, 'end');
      expect(statuses(Buffer.concat(chunks).toString())).toEqual(['413']);
      expect(failed).toBeUndefined();
      socket.destroy();
    });
  });

  it('does not ask for a body that it refuses (Expect: 100-continue)', async () => {
    service.auth.enabled = true;
    const length = ['Content-Length: 2', 'Expect: 100-continue', JSON_BODY];
    const refused = await sendRaw(service, head('POST', SEARCH, ...length));
    expect(statuses(refused)).toEqual(['401']);
    service.auth.enabled = false;
    const taken = await sendRaw(service, head('POST', SEARCH, ...length, 'Connection: close'), '{}');
    expect(statuses(taken)).toEqual(['100', '200']);
  });

  it('asks for the file of an upload when it is about to read it (Expect: 100-continue)', async () => {
    const qdrant = await startService({ dialect: DIALECTS.qdrant });
    const upload = (type: string): string =>
      head(
        'POST',
        '/collections/c/snapshots/upload',
        ...[`Content-Type: ${type}`, 'Content-Length: 5', 'Expect: 100-continue', 'Connection: close'],
      );
    // The form is empty, which is seen only once it has been read.
    const read = await sendRaw(qdrant, upload('multipart/form-data; boundary=b'), '--b--');
    expect(statuses(read)).toEqual(['100', '400']);
    expect(statuses(await sendRaw(qdrant, upload('text/plain')))).toEqual(['415']);
    await qdrant.close();
  });

  it('answers pipelined requests in order on one connection', async () => {
    const received = await sendRaw(
      service,
      head('POST', SEARCH, JSON_BODY, 'Content-Length: 2') +
        '{}' +
        head('GET', '/livez') +
        head('GET', '/collections', 'Connection: close'),
    );
    expect(statuses(received)).toEqual(['200', '200', '200']);
    expect(received).toMatch(/"search".*"status":"ok"}.*"list_collections"/s);
  });

  it('C1.5 gives up on a body that arrives too slowly with 408', async () => {
    const pace = { ...DEFAULT_PACE, graceMs: 20, watchIntervalMs: 10 };
    for (const hotLane of [true, false]) {
      const slow = await startService({ bodyPace: pace, hotLane });
      const received = await sendRaw(slow, head('POST', SEARCH, JSON_BODY, 'Content-Length: 100') + '{');
      expect(statuses(received)).toEqual(['408']);
      expect(received).toContain('Timeout: the request body did not arrive in time');
      expect(slow.engine.requests).toHaveLength(0);
      await slow.close();
    }
  });

  it('C1.5 gives up on a head that does not arrive with 408', async () => {
    const server = { headersTimeoutMs: 50, requestTimeoutMs: 100, connectionsCheckingIntervalMs: 20 };
    const slow = await startService({ server });
    const received = await sendRaw(slow, 'GET /collections HTTP/1.1\r\nHost: localh');
    expect(statuses(received)).toEqual(['408']);
    await slow.close();
  });

  it('C1.5 C12 gives up on a body that is late with 408, unless it is that of an upload', async () => {
    const server = { requestTimeoutMs: 60, connectionsCheckingIntervalMs: 20 };
    const slow = await startService({ server, dialect: DIALECTS.qdrant });
    const late = await sendRaw(slow, head('POST', SEARCH, JSON_BODY, 'Content-Length: 100') + '{');
    expect(statuses(late)).toEqual(['408']);
    expect(late).toContain('Timeout: the request did not arrive in time');
    const socket = createConnection(slow.port, '127.0.0.1');
    const form = 'Content-Type: multipart/form-data; boundary=b';
    let received = '';
    socket.on('data', (data) => (received += data.toString()));
    socket.write(head('POST', '/collections/c/snapshots/upload', form, 'Content-Length: 5'));
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(received).toBe('');
    socket.write('--b--');
    await until(() => received !== '');
    expect(statuses(received)).toEqual(['400']);
    socket.destroy();
    await slow.close();
  });

  it('releases the budget of a client that disconnects in the middle of its body', async () => {
    const small = await startService();
    const socket = createConnection(small.port, '127.0.0.1');
    socket.write(head('POST', SEARCH, JSON_BODY, 'Content-Length: 100') + '{');
    await until(() => small.admission.bodyBytes === 1);
    expect(small.admission.arrivingBodies).toBe(1);
    socket.destroy();
    await small.requests.whenIdle();
    expect([small.admission.arrivingBodies, small.admission.bodyBytes]).toEqual([0, 0]);
    expect(small.engine.bodies.every(({ discarded }) => discarded)).toBe(true);
    expect(small.engine.requests).toHaveLength(0);
    await small.close();
  });
});
