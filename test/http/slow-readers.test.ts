import { once } from 'node:events';
import { createConnection, type Socket } from 'node:net';
import { LARGE_ANSWER_BYTES } from '../../src/http/unread-answers';
import { until } from '../until';
import { send, sendRaw, startService, type Service } from './harness';

const SEARCH = '/collections/c/points/search';
/** More than the buffers of both sockets take. */
const LARGE = Buffer.alloc(16 * 1024 * 1024, 0x20);

describe('an answer that its client does not read', () => {
  let service: Service;
  afterEach(() => service.close());

  /** A client that has sent a search, of so many at the engine, and reads nothing. */
  async function deafClient(requests = 1, answer = service.engine.answer): Promise<Socket> {
    service.engine.answer = answer;
    const socket = createConnection(service.port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.pause();
    socket.write(`POST ${SEARCH} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    while (service.engine.requests.length < requests) {
      await pause();
    }
    await pause();
    return socket;
  }

  it.each([true, false])('takes nothing from the requests of others (hot lane: %s)', async (hotLane) => {
    const answers = { bytes: 2 * LARGE.length, stalledMs: 60_000, watchIntervalMs: 10 };
    service = await startService({ hotLane, admits: { requests: 1, bodyBytes: 100, answers } });
    service.engine.answer = LARGE;
    for (let count = 1; count <= 3; count += 1) {
      await deafClient(count);
    }
    service.engine.answer = undefined;
    for (let round = 0; round < 20; round += 1) {
      expect((await send(service, 'POST', SEARCH, { body: ' '.repeat(100) })).status).toBe(200);
    }
    expect(service.requests.refusals).toEqual(new Map());
  });

  it('leaves no memory for further large answers, and names the share', async () => {
    const answers = { bytes: 3 * LARGE.length, stalledMs: 60_000, watchIntervalMs: 10 };
    service = await startService({ admits: { answers } });
    expect((await send(service, 'POST', SEARCH)).body.result.answerBytes).toBeUndefined();
    service.engine.answer = LARGE;
    const held = [await deafClient(2), await deafClient(3)];
    service.engine.answer = undefined;
    const share = 3 * LARGE.length - (3 * LARGE.length) / 8;
    expect((await send(service, 'POST', SEARCH)).body.result.answerBytes).toBe(share - 2 * LARGE.length);
    held.push(await deafClient(5, LARGE));
    service.engine.answer = undefined;
    expect((await send(service, 'POST', SEARCH)).body.result.answerBytes).toBe(LARGE_ANSWER_BYTES);
    service.engine.failWith('answer_budget');
    const refused = await send(service, 'POST', SEARCH);
    expect([refused.status, refused.body.status.error, refused.headers['retry-after']]).toEqual([
      429,
      `Too many bytes of answers that are not read from this address: its share is ${share} bytes while the server is busy`,
      '1',
    ]);
    service.engine.failure = undefined;
    held.forEach((socket) => socket.destroy());
    await service.requests.whenIdle();
    expect((await send(service, 'POST', SEARCH)).body.result.answerBytes).toBeUndefined();
  });

  it('ends the connection that has read nothing for longest when there are many', async () => {
    const answers = { bytes: 4 * LARGE.length, stalledMs: 20, watchIntervalMs: 10 };
    service = await startService({ admits: { answers } });
    service.engine.answer = LARGE;
    const [first, second, third] = [await deafClient(1), await deafClient(2), await deafClient(3)];
    while (service.requests.inProgress > 2) {
      await pause();
    }
    expect(service.requests.refusals).toEqual(new Map([['unread_answer', 1]]));
    expect(service.logged).toEqual([expect.objectContaining({ aborted: true })]);
    first.resume();
    await once(first, 'close');
    second.resume();
    third.resume();
    await until(() => [second, third].every(({ bytesRead }) => bytesRead > LARGE.length));
    second.destroy();
    third.destroy();
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
    const stalledAnswerMs = 700;
    service = await startService({ server: { stalledAnswerMs } });
    const length = 3 * LARGE.length;
    service.engine.answer = Buffer.alloc(length, 0x20);
    let requests = 0;
    /** Reads a little every few milliseconds; the bytes that came, and the longest time between two reads. */
    const read = async (): Promise<{ bytes: number; longestMs: number }> => {
      requests += 1;
      const socket = await deafClient(requests);
      let [last, longestMs] = [performance.now(), 0];
      socket.on('data', () => {
        longestMs = Math.max(longestMs, performance.now() - last);
        last = performance.now();
        socket.pause();
        setTimeout(() => socket.resume(), 2);
      });
      socket.resume();
      while (socket.bytesRead < length && !socket.closed) {
        await pause();
      }
      const bytes = socket.bytesRead;
      longestMs = Math.max(longestMs, performance.now() - last);
      socket.destroy();
      return { bytes, longestMs };
    };
    let outcome = await read();
    // On a busy machine the client itself may be held up for so long that it is cut rightly.
    while (outcome.bytes <= length && outcome.longestMs >= stalledAnswerMs / 2) {
      outcome = await read();
    }
    expect(outcome.bytes).toBeGreaterThan(length);
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

const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 5));
