import { connect, type Socket } from 'node:net';
import { DEFAULT_PACE } from '../../src/http/body';
import { sleep, until } from '../until';
import { BODY_LIMIT, send, startService, type Service } from './harness';

const SEARCH = '/collections/c/points/search';

describe('C1.5 bodies that arrive slowly', () => {
  let service: Service;
  let sockets: Socket[];
  beforeEach(() => {
    sockets = [];
  });
  afterEach(async () => {
    sockets.forEach((socket) => socket.destroy());
    await service.close();
  });

  /** A client that announces a body of `length` bytes and sends `sent` of them; gives what it receives. */
  async function slowClient(length: number, sent: number): Promise<() => string> {
    const bodies = service.engine.bodies.length;
    const socket = connect(service.port, '127.0.0.1').on('error', () => undefined);
    sockets.push(socket);
    let received = '';
    socket.on('data', (chunk: Buffer) => (received += chunk.toString()));
    socket.write(
      `POST ${SEARCH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n` +
        `Content-Length: ${length}\r\n\r\n${' '.repeat(sent)}`,
    );
    await until(() => (service.engine.bodies.at(bodies)?.bytes.length ?? 0) >= sent);
    return () => received;
  }

  /** The statuses of the requests of somebody else, each with a body of the largest size. */
  async function bystander(rounds: number): Promise<Set<number>> {
    const statuses = new Set<number>();
    for (let round = 0; round < rounds; round += 1) {
      statuses.add((await send(service, 'POST', SEARCH, { body: ' '.repeat(BODY_LIMIT) })).status);
    }
    return statuses;
  }

  it.each([true, false])(
    'hold what has arrived of them, not what they announce (hot lane: %s)',
    async (hotLane) => {
      service = await startService({ hotLane, admits: { bodyBytes: 4 * BODY_LIMIT } });
      for (let count = 0; count < 12; count += 1) {
        await slowClient(BODY_LIMIT, 1);
      }
      expect(await bystander(50)).toEqual(new Set([200]));
      expect(service.requests.refusals).toEqual(new Map());
    },
  );

  it('make room for others, the slowest first, when there are too many', async () => {
    service = await startService({ admits: { arrivingBodies: 8 } });
    const drips: (() => string)[] = [];
    for (let count = 0; count < 12; count += 1) {
      drips.push(await slowClient(BODY_LIMIT, 1));
    }
    expect(await bystander(50)).toEqual(new Set([200]));
    await until(() => drips.filter((received) => received().includes('429')).length >= 5);
    const refused = drips.map((received) => received()).filter((received) => received !== '');
    for (const received of refused) {
      expect(received).toMatch(/429.*Too many request bodies arrive at once: this was the slowest of 8"/s);
    }
    expect(service.requests.refusals).toEqual(new Map([['bodies', refused.length]]));
  });

  it('lose what they hold to others when the bytes of bodies are used up', async () => {
    service = await startService({ admits: { bodyBytes: 2 * BODY_LIMIT } });
    const large = [
      await slowClient(BODY_LIMIT, BODY_LIMIT - 1),
      await slowClient(BODY_LIMIT, BODY_LIMIT - 1),
    ];
    await sleep(5);
    expect(await bystander(50)).toEqual(new Set([200]));
    await until(() => large.some((received) => received().includes('429')));
    expect(service.engine.bodies.some(({ discarded }) => discarded)).toBe(true);
  });

  it('are given up when they slow down after a fast start', async () => {
    const bodyPace = { ...DEFAULT_PACE, graceMs: 50, doublingMs: 100, watchIntervalMs: 10 };
    service = await startService({ bodyPace });
    const received = await slowClient(BODY_LIMIT, BODY_LIMIT - 100);
    const drip = setInterval(() => sockets[0]?.write(' '), 20);
    await until(() => received() !== '');
    clearInterval(drip);
    expect(received()).toMatch(/^HTTP\/1.1 408 .*Timeout: the request body did not arrive in time/s);
    expect(service.requests.refusals).toEqual(new Map([['slow_body', 1]]));
    expect(service.engine.requests).toEqual([]);
  });

  it('may pause within the time that is granted', async () => {
    service = await startService({ bodyPace: { ...DEFAULT_PACE, graceMs: 60_000, watchIntervalMs: 5 } });
    const received = await slowClient(100, 99);
    // It is looked at many times meanwhile.
    await sleep(200);
    expect(received()).toBe('');
    sockets[0]?.write(' ');
    await until(() => received() !== '');
    expect(received()).toMatch(/^HTTP\/1.1 200/);
  });
});
