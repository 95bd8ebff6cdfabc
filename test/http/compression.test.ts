import { once } from 'node:events';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { connect, createConnection } from 'node:net';
import { constants, gunzipSync, gzipSync } from 'node:zlib';
import { DEFAULT_PACE } from '../../src/http/body';
import { acceptsGzip } from '../../src/http/content-coding';
import { Inflation, INFLATION_BYTES } from '../../src/http/inflation';
import { until } from '../until';
import { send, startService, type Answer, type Service } from './harness';

const SEARCH = '/collections/c/points/search';
const MIB = 1024 * 1024;
const GZIP = { 'content-encoding': 'gzip' };
const CHUNKED = { ...GZIP, 'transfer-encoding': 'chunked' };

/** Words that begin again far behind what gzip looks back to. */
const WORDS = Array.from(
  { length: 99_991 },
  (_, at) => `${((at * 2_654_435_761) % 99_991).toString(36)} `,
).join('');

/** Text that gzip takes to about a half. */
function text(length: number): Buffer {
  return Buffer.alloc(length, WORDS);
}

/** Bodies of any size, with room for them. */
function startRoomy(overrides: Parameters<typeof startService>[0] = {}): Promise<Service> {
  const limits = { bodyBytes: 64 * MIB, ...overrides.limits };
  return startService({ ...overrides, limits, admits: { bodyBytes: 256 * MIB, ...overrides.admits } });
}

describe('C1.12 a request body that is compressed', () => {
  let service: Service;
  afterEach(() => service.close());

  const message = (answer: Answer): [number, string] => [answer.status, answer.body.status.error];

  it.each([true, false])('reaches the engine inflated, byte for byte (hot lane: %s)', async (hotLane) => {
    service = await startRoomy({ hotLane });
    for (const length of [2, 5000, 3 * MIB]) {
      for (const headers of [GZIP, CHUNKED, { 'content-encoding': 'GZIP' }]) {
        const body = text(length);
        expect((await send(service, 'POST', SEARCH, { body: gzipSync(body), headers })).status).toBe(200);
        expect(service.engine.requests.at(-1)?.body?.equals(body)).toBe(true);
      }
    }
    // Members one after the other are one body.
    const body = Buffer.concat([gzipSync('{"a"'), gzipSync(':1}')]);
    expect((await send(service, 'POST', SEARCH, { body, headers: GZIP })).status).toBe(200);
    expect(String(service.engine.requests.at(-1)?.body)).toBe('{"a":1}');
    expect([service.admission.bodyBytes, service.admission.arrivingBodies]).toEqual([0, 0]);
  });

  it.each(['br', 'deflate', 'zstd', 'gzip, gzip', 'x'.repeat(100)])(
    'in another coding is a 415 that names it: %s',
    async (coding) => {
      service = await startRoomy();
      const headers = { 'content-encoding': coding };
      const answer = await send(service, 'POST', SEARCH, { body: '{}', headers });
      const refused = `Unsupported content encoding: ${coding.slice(0, 64)} (gzip or identity)`;
      expect([message(answer), answer.headers['accept-encoding']]).toEqual([[415, refused], 'gzip']);
    },
  );

  it.each([
    ['no gzip', Buffer.from('{"vector": [1, 2]}')],
    ['gzip that is cut', gzipSync(text(5000)).subarray(0, 500)],
    ['gzip with something behind it', Buffer.concat([gzipSync('{}'), Buffer.from('{}')])],
    ['gzip with another checksum', Buffer.concat([gzipSync('{}').subarray(0, -8), Buffer.alloc(8)])],
  ])('that is %s is a 400', async (_title, body) => {
    service = await startRoomy();
    for (const headers of [GZIP, CHUNKED]) {
      expect(message(await send(service, 'POST', SEARCH, { body, headers }))).toEqual([
        400,
        'The body is not valid gzip',
      ]);
    }
    expect([service.engine.requests.length, service.admission.bodyBytes]).toEqual([0, 0]);
  });

  it('counts inflated against the limit of a body', async () => {
    service = await startRoomy({ limits: { bodyBytes: 5000 } });
    for (const headers of [GZIP, CHUNKED]) {
      expect((await send(service, 'POST', SEARCH, { body: gzipSync(text(5000)), headers })).status).toBe(200);
      expect(message(await send(service, 'POST', SEARCH, { body: gzipSync(text(5001)), headers }))).toEqual([
        413,
        'Request body too large: limit 5000 bytes',
      ]);
    }
  });

  it('may have twenty times its size, and is refused early beyond that', async () => {
    service = await startRoomy();
    // Without compression, so that the sizes are exact: a member of n bytes takes n + 23.
    const stored = (length: number) => gzipSync(Buffer.alloc(length), { level: 0 });
    const zeros = gzipSync(Buffer.alloc(6 * MIB));
    expect(zeros.length * 20).toBeLessThan(200_000);
    const least = Buffer.concat([zeros, stored(330_000)]);
    for (const headers of [GZIP, CHUNKED]) {
      for (const body of [zeros, gzipSync(Buffer.alloc(100_000))]) {
        expect(message(await send(service, 'POST', SEARCH, { body, headers }))).toEqual([
          413,
          'Request body too large: limit 20 times its compressed size',
        ]);
      }
      // Never much more than 20 times what has come, or the first MiB, is held.
      for (const { capacity } of service.engine.bodies) expect(capacity).toBeLessThan(3 * MIB);
    }
    expect((await send(service, 'POST', SEARCH, { body: least, headers: GZIP })).status).toBe(200);
    expect(service.engine.requests).toHaveLength(1);
  });

  it('that begins with what is repetitive may arrive without a length', async () => {
    service = await startRoomy();
    const body = Buffer.concat([Buffer.alloc(900_000, ' '), text(400_000)]);
    const compressed = gzipSync(body);
    expect((await send(service, 'POST', SEARCH, { body: compressed, headers: CHUNKED })).status).toBe(200);
    expect(service.engine.requests.at(-1)?.body?.equals(body)).toBe(true);
  });

  it('takes of the budget what is inflated of it, and gives it back', async () => {
    service = await startRoomy({ admits: { bodyBytes: MIB } });
    const fits = await send(service, 'POST', SEARCH, { body: gzipSync(text(300_000)), headers: GZIP });
    expect([fits.status, 600_000 + INFLATION_BYTES < MIB]).toEqual([200, true]);
    const refused = await send(service, 'POST', SEARCH, { body: gzipSync(text(2 * MIB)), headers: GZIP });
    expect(message(refused)).toEqual([429, expect.stringContaining('Too many request bytes in progress')]);
    expect([...service.requests.refusals.values()]).toEqual([1]);
    expect([service.admission.bodyBytes, service.admission.arrivingBodies]).toEqual([0, 0]);
  });

  it('that brings too little, inflated, for its time is given up', async () => {
    const bodyPace = { ...DEFAULT_PACE, graceMs: 50, doublingMs: 100, watchIntervalMs: 10 };
    service = await startRoomy({ bodyPace });
    const socket = connect(service.port, '127.0.0.1').on('error', () => undefined);
    let received = '';
    socket.on('data', (chunk: Buffer) => (received += chunk.toString()));
    // Empty blocks, of which nothing comes.
    const empty = gzipSync('', { finishFlush: constants.Z_SYNC_FLUSH });
    socket.write(
      `POST ${SEARCH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n` +
        'Content-Encoding: gzip\r\nContent-Length: 100000\r\n\r\n',
    );
    socket.write(empty);
    const drip = setInterval(() => socket.write(Buffer.from([0, 0, 0, 0xff, 0xff])), 5);
    await once(socket, 'close');
    clearInterval(drip);
    expect(received).toMatch(/^HTTP\/1.1 408 .*Timeout: the request body did not arrive in time/s);
    expect(service.engine.requests).toEqual([]);
    await until(() => service.admission.bodyBytes === 0);
  });

  it('whose client disconnects is given up', async () => {
    service = await startRoomy();
    const socket = createConnection(service.port, '127.0.0.1').on('error', () => undefined);
    socket.write(
      `POST ${SEARCH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n` +
        'Content-Encoding: gzip\r\nContent-Length: 100000\r\n\r\n',
    );
    socket.write(gzipSync(text(200_000)).subarray(0, 30_000));
    await until(() => (service.engine.bodies[0]?.bytes.length ?? 0) > 0);
    socket.destroy();
    await until(() => service.engine.bodies[0]?.discarded === true && service.admission.bodyBytes === 0);
  });

  it('that is refused leaves a connection on which the next request is answered', async () => {
    service = await startRoomy({ limits: { bodyBytes: 1000 } });
    const socket = createConnection(service.port, '127.0.0.1');
    let received = '';
    socket.on('data', (chunk: Buffer) => (received += chunk.toString()));
    const body = gzipSync(text(2000));
    socket.write(
      `POST ${SEARCH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n` +
        `Content-Encoding: gzip\r\nContent-Length: ${body.length}\r\n\r\n`,
    );
    socket.write(body);
    await until(() => received.includes('413'));
    if (!received.includes('Connection: close')) {
      socket.write(`GET / HTTP/1.1\r\nHost: localhost\r\n\r\n`);
      await until(() => received.includes('HTTP/1.1 200'));
    }
    socket.destroy();
  });
});

describe('an inflation', () => {
  /** Writes a whole body, does something before it can be inflated, and gives how often each callback was called. */
  async function calls(meanwhile: (inflation: Inflation) => void): Promise<readonly number[]> {
    const inflated = { piece: jest.fn(), end: jest.fn(), fail: jest.fn() };
    const inflation = new Inflation(undefined, inflated);
    await new Promise<void>((resolve) => {
      inflation.write(gzipSync('{}'), resolve);
      meanwhile(inflation);
    });
    await new Promise((resolve) => setImmediate(resolve));
    return [inflated.piece, inflated.end, inflated.fail].map(({ mock }) => mock.calls.length);
  }

  it('calls nothing any more once it is discarded', async () => {
    expect(await calls(() => undefined)).toEqual([1, 0, 0]);
    expect(
      await calls((inflation) => {
        inflation.discard();
      }),
    ).toEqual([0, 0, 0]);
  });
});

/** The head and the bytes of an answer, as they came. */
function ask(
  port: number,
  headers: Record<string, string>,
  method = 'POST',
): Promise<{ headers: IncomingHttpHeaders; bytes: Buffer }> {
  return new Promise((resolve, reject) => {
    const request = httpRequest({ host: '127.0.0.1', port, method, path: SEARCH, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        resolve({ headers: response.headers, bytes: Buffer.concat(chunks) });
      });
      response.on('error', reject);
    });
    request.on('error', reject);
    request.end();
  });
}

describe('C1.12 an answer', () => {
  let service: Service;
  afterEach(() => service.close());

  it.each([8193, 200_000, 3 * MIB])('of %d bytes is compressed where that is asked for', async (length) => {
    service = await startService();
    service.engine.answer = text(length);
    const plain = await ask(service.port, {});
    expect([plain.headers['content-encoding'], plain.headers.vary]).toEqual([undefined, 'Accept-Encoding']);
    expect(plain.bytes.equals(text(length))).toBe(true);
    const { headers, bytes } = await ask(service.port, { 'accept-encoding': 'deflate, gzip;q=0.5' });
    expect([headers['content-encoding'], headers.vary]).toEqual(['gzip', 'Accept-Encoding']);
    expect(bytes.length).toBeLessThan(length * 0.6);
    expect(gunzipSync(bytes).equals(text(length))).toBe(true);
    expect(service.admission.answerBytes).toBe(0);
  });

  it('of 8 KiB or less is not', async () => {
    service = await startService();
    service.engine.answer = text(8192);
    const { headers, bytes } = await ask(service.port, { 'accept-encoding': 'gzip' });
    expect([headers['content-encoding'], headers.vary, bytes.length]).toEqual([undefined, undefined, 8192]);
  });

  it('that goes over the engine as a string is compressed too', async () => {
    service = await startService();
    const answer = `{"time":0.1,"status":"ok","result":"${'é'.repeat(10_000)}"}`;
    const execute = service.engine.execute.bind(service.engine);
    jest.spyOn(service.engine, 'execute').mockImplementation(async (request) => {
      await execute(request);
      return Buffer.from(answer).toString('latin1') as unknown as Buffer;
    });
    const { headers, bytes } = await ask(service.port, { 'accept-encoding': 'gzip' });
    expect([headers['content-encoding'], String(gunzipSync(bytes))]).toEqual(['gzip', answer]);
  });

  it('names both headers that it depends on', async () => {
    service = await startService({ corsOrigins: ['https://app.example'] });
    service.engine.answer = text(10_000);
    const { headers } = await ask(service.port, { origin: 'https://app.example', 'accept-encoding': 'gzip' });
    expect(headers.vary).toBe('Accept-Encoding, Origin');
  });

  it('that its client does not read is cut, compressed or not', async () => {
    const answers = { bytes: 16 * MIB, stalledMs: 20, watchIntervalMs: 10 };
    service = await startService({ admits: { answers } });
    // Not compressible.
    let seed = 1;
    const noise = Buffer.from(
      Array.from({ length: 12 * MIB }, () => (seed = (seed * 48_271) % 2_147_483_647) & 255),
    );
    service.engine.answer = noise;
    const socket = createConnection(service.port, '127.0.0.1').on('error', () => undefined);
    socket.pause();
    socket.write(`POST ${SEARCH} HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n`);
    await until(() => service.requests.refusals.get('unread_answer') === 1);
    await until(() => service.admission.answerBytes === 0);
    socket.destroy();
  });

  it.each([
    ['gzip', true],
    ['GZIP', true],
    ['deflate, gzip', true],
    ['gzip;q=0.001', true],
    ['*', true],
    ['br;q=1, *;q=0.1', true],
    ['gzip;q=0', false],
    ['gzip; q=0.000, *', false],
    ['*;q=0', false],
    ['deflate, br', false],
    ['identity', false],
    ['', false],
    [undefined, false],
  ])('Accept-Encoding %j: %s', async (header, expected) => {
    expect(acceptsGzip(header)).toBe(expected);
    service = await startService();
    service.engine.answer = text(9000);
    const { headers } = await ask(service.port, header === undefined ? {} : { 'accept-encoding': header });
    expect(headers['content-encoding']).toBe(expected ? 'gzip' : undefined);
  });
});
