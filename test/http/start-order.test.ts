import { once } from 'node:events';
import { createConnection, type Socket } from 'node:net';
import { startService, type Service } from './harness';

/** Requests of one client: far more than start in the rounds of the event loop that another one's needs to arrive. */
const QUEUED = 400;
const [MANY, ONE] = ['jwt', 'token-read'];

/** As few bytes as a request has, so that all of one client arrive in one piece. */
const search = (token: string, collection: string): string =>
  `POST /collections/${collection}/points/search HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n\r\n`;

/** The order in which requests reach the engine (docs/admission.md). */
describe('requests of two clients', () => {
  let service: Service;
  let open: () => void;
  let sockets: Socket[];
  beforeEach(async () => {
    service = await startService({ admits: { requests: 2 * QUEUED } });
    service.auth.enabled = true;
    service.engine.gate = new Promise((resolve) => {
      open = resolve;
    });
    sockets = [];
  });
  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    await service.close();
  });

  async function connected(): Promise<{ socket: Socket; answers: () => number }> {
    const socket = createConnection(service.port, '127.0.0.1');
    sockets.push(socket);
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    socket.on('error', () => undefined);
    await once(socket, 'connect');
    return { socket, answers: () => text.split('HTTP/1.1 200 ').length - 1 };
  }

  /** The collections that the engine was asked for so far. */
  const started = (): (string | undefined)[] => service.engine.requests.map(({ collection }) => collection);

  async function iterationsUntil(condition: () => boolean): Promise<void> {
    while (!condition()) {
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  it('start in turn: that of one does not wait for all that the other has queued', async () => {
    const many = await connected();
    const one = await connected();
    const next = await connected();
    // Of both clients, so that there are several from here on.
    one.socket.write(search(ONE, 'first'));
    many.socket.write(search(MANY, 'many').repeat(QUEUED));
    await iterationsUntil(() => service.requests.inProgress === 1 + QUEUED);
    next.socket.write(search(ONE, 'next'));
    await iterationsUntil(() => started().includes('next'));
    expect(started().length).toBeLessThan(QUEUED / 2);

    open();
    await iterationsUntil(() => many.answers() === QUEUED);
    expect([one.answers(), next.answers()]).toEqual([1, 1]);
    expect(started().filter((collection) => collection === 'many')).toHaveLength(QUEUED);
  });
});
