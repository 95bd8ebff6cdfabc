import { once } from 'node:events';
import { createConnection, type Socket } from 'node:net';
import { send, sendRaw, startService, type Service } from './harness';

const SEARCH = '/collections/c/points/search';
/** More than the buffers of both sockets take. */
const LARGE = Buffer.alloc(16 * 1024 * 1024, 0x20);

describe('an answer that its client does not read', () => {
  let service: Service;
  afterEach(() => service.close());

  /** A client that has sent a search and reads nothing. */
  async function deafClient(): Promise<Socket> {
    const socket = createConnection(service.port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.pause();
    socket.write(`POST ${SEARCH} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    while (service.engine.requests.length === 0) {
      await turn();
    }
    await turn();
    return socket;
  }

  it('counts until its connection is gone', async () => {
    service = await startService({ admits: { requests: 1 } });
    service.engine.answer = LARGE;
    const socket = await deafClient();
    service.engine.answer = undefined;
    expect((await send(service, 'POST', SEARCH)).status).toBe(429);
    socket.destroy();
    await service.requests.whenIdle();
    expect((await send(service, 'POST', SEARCH)).status).toBe(200);
  });

  it('counts with its bytes', async () => {
    service = await startService({ admits: { bytes: LARGE.length + 10 } });
    service.engine.answer = LARGE;
    const socket = await deafClient();
    service.engine.answer = undefined;
    expect((await send(service, 'POST', SEARCH, { body: ' '.repeat(11) })).status).toBe(429);
    expect((await send(service, 'POST', SEARCH, { body: ' '.repeat(10) })).status).toBe(200);
    socket.destroy();
    await service.requests.whenIdle();
    expect((await send(service, 'POST', SEARCH, { body: ' '.repeat(11) })).status).toBe(200);
  });

  it.each([true, false])('ends its connection after a while (hot lane: %s)', async (hotLane) => {
    service = await startService({ hotLane, server: { stalledAnswerMs: 50 } });
    service.engine.answer = LARGE;
    const socket = await deafClient();
    await service.requests.whenIdle();
    socket.resume();
    await once(socket, 'close');
    expect(socket.bytesRead).toBeLessThan(LARGE.length);
    expect(service.logged).toEqual([expect.objectContaining({ aborted: true })]);
  });

  it('goes on for as long as the client reads some of it', async () => {
    service = await startService({ server: { stalledAnswerMs: 700 } });
    const length = 3 * LARGE.length;
    service.engine.answer = Buffer.alloc(length, 0x20);
    const socket = await deafClient();
    socket.on('data', () => {
      socket.pause();
      setTimeout(() => socket.resume(), 2);
    });
    socket.resume();
    while (socket.bytesRead < length && !socket.closed) {
      await turn();
    }
    expect(socket.bytesRead).toBeGreaterThan(length);
    socket.destroy();
  });

  it('is whole however long it is, in the order of the requests', async () => {
    service = await startService();
    const answer = Buffer.from(JSON.stringify({ text: 'a1b2c3'.repeat(200_000) }));
    service.engine.answer = answer;
    const head = `Host: localhost\r\nContent-Length: 0`;
    const received = await sendRaw(
      service,
      `POST ${SEARCH} HTTP/1.1\r\n${head}\r\n\r\n` +
        `POST ${SEARCH} HTTP/1.1\r\n${head}\r\nConnection: close\r\n\r\n`,
    );
    const bodies = received.split(/HTTP\/1\.1 200 OK\r\n[^{]*\r\n\r\n/).slice(1);
    expect(bodies.map((body) => body === answer.toString())).toEqual([true, true]);
    const { status, text } = await send(service, 'HEAD', '/collections');
    expect([status, text]).toEqual([200, '']);
  });

  it('does not mind that a request runs for longer than that', async () => {
    service = await startService({ server: { stalledAnswerMs: 20 } });
    let open = (): void => undefined;
    service.engine.gate = new Promise((resolve) => {
      open = resolve;
    });
    const running = send(service, 'POST', SEARCH);
    await new Promise((resolve) => setTimeout(resolve, 120));
    open();
    expect((await running).status).toBe(200);
  });

  it('does not change when an idle connection ends', async () => {
    service = await startService({ server: { keepAliveTimeoutMs: 30, stalledAnswerMs: 10_000 } });
    const socket = createConnection(service.port, '127.0.0.1');
    socket.resume();
    socket.write('GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await once(socket, 'close');
    expect(socket.bytesRead).toBeGreaterThan(0);
  });
});

const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));
