import { once } from 'node:events';
import { createConnection, type Socket } from 'node:net';
import { until } from '../until';
import { startService, type Service } from './harness';

const SEARCH = 'POST /collections/c/points/search HTTP/1.1\r\nHost: localhost\r\n\r\n';
const BAD_CHUNK =
  'POST /collections/c/points/search HTTP/1.1\r\nHost: localhost\r\n' +
  'Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n';

/** The status codes of the answers on one connection. */
const statuses = (received: string): string[] =>
  [...received.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map((match) => match[1] ?? '');

describe('what comes behind a request that is still running', () => {
  let service: Service;
  let open: () => void;
  beforeEach(async () => {
    service = await startService({ admits: { requests: 2 } });
    service.engine.gate = new Promise((resolve) => {
      open = resolve;
    });
  });
  afterEach(() => service.close());

  /** Sends bytes, and waits until the engine has as many requests. */
  async function pipeline(
    bytes: string,
    requests: number,
  ): Promise<{ socket: Socket; received: () => string }> {
    const socket = createConnection(service.port, '127.0.0.1');
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    socket.on('error', () => undefined);
    socket.write(bytes);
    while (service.engine.requests.length < requests) {
      await pause();
    }
    return { socket, received: () => text };
  }

  it.each([
    ['no HTTP', 'GARBAGE\r\n\r\n'],
    ['a broken body', BAD_CHUNK],
  ])('does not take its answer when it is %s', async (_name, broken) => {
    const { socket, received } = await pipeline(SEARCH + broken, 1);
    for (let round = 0; round < 20; round += 1) {
      await pause();
    }
    expect(received()).toBe('');
    open();
    await once(socket, 'close');
    expect(statuses(received())).toEqual(['200', '400']);
    expect(received()).toMatch(/"operation":"search".*Malformed HTTP request"}}$/s);
  });

  it('is forgotten with it when the client leaves', async () => {
    const { socket } = await pipeline(SEARCH + SEARCH, 2);
    expect(service.requests.inProgress).toBe(2);
    socket.destroy();
    await service.requests.whenIdle();
    expect(service.engine.abandoned).toBe(2);
    open();
    service.engine.gate = undefined;
    const again = await pipeline(SEARCH.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'), 3);
    while (!again.socket.closed) {
      await pause();
    }
    expect(statuses(again.received())).toEqual(['200']);
  });
});

it('a connection is not closed for the number of its requests', async () => {
  const service = await startService();
  try {
    const socket = createConnection(service.port, '127.0.0.1');
    const group = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(PIPELINED);
    const statusLines: string[] = [];
    let text = '';
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      // The last line may go on in the next chunk.
      const lines = text.split('\r\n');
      text = lines.pop() ?? '';
      statusLines.push(...lines.filter((line) => line.includes('HTTP/1.1 ')));
      expect(lines.filter((line) => /^connection: close/i.test(line))).toEqual([]);
    });
    for (let sent = 0; sent < REQUESTS; sent += PIPELINED) {
      socket.write(group);
      await until(() => statusLines.length === sent + PIPELINED);
    }
    expect(new Set(statusLines.map((line) => line.slice(line.indexOf('HTTP/1.1 '))))).toEqual(
      new Set(['HTTP/1.1 200 OK']),
    );
    socket.destroy();
  } finally {
    await service.close();
  }
});

/** More than a client with the usual settings of a proxy sends on a connection. */
const REQUESTS = 10_500;
const PIPELINED = 500;

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 2));
