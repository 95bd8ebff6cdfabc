import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { sleep, until } from '../../until';
import { Link } from './link';

/** A server that sends back what it gets, a client behind a link, and what the client has got. */
class Echo {
  received = '';
  arrived = '';
  isClosed = false;
  server!: Server;
  link!: Link;
  client!: Socket;

  static async start(): Promise<Echo> {
    const echo = new Echo();
    echo.server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.on('data', (bytes) => {
        echo.arrived += bytes.toString();
        socket.write(bytes);
      });
    });
    echo.server.listen(0, '127.0.0.1');
    await once(echo.server, 'listening');
    echo.link = await Link.to((echo.server.address() as AddressInfo).port);
    echo.connect();
    return echo;
  }

  connect(): void {
    this.client = connect(this.link.port, '127.0.0.1');
    this.client.on('error', () => undefined);
    this.client.on('data', (bytes) => (this.received += bytes.toString()));
    this.client.on('close', () => (this.isClosed = true));
  }

  async end(): Promise<void> {
    this.client.destroy();
    await this.link.close();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

/** Longer than bytes take that pass. */
const SILENCE_MS = 100;

let echo: Echo;
beforeEach(async () => {
  echo = await Echo.start();
  echo.client.write('a');
  await until(() => echo.received === 'a');
});
afterEach(() => echo.end());

test('what is not let through comes through later, in its order', async () => {
  echo.link.let('none');
  echo.client.write('b');
  echo.client.write('c');
  await sleep(SILENCE_MS);
  expect([echo.arrived, echo.received]).toEqual(['a', 'a']);
  echo.link.let('both');
  await until(() => echo.received === 'abc');
});

test('one direction may pass alone', async () => {
  echo.link.let('of the client');
  echo.client.write('b');
  await until(() => echo.arrived === 'ab');
  await sleep(SILENCE_MS);
  expect(echo.received).toBe('a');
  echo.link.let('of the server');
  await until(() => echo.received === 'ab');
  echo.client.write('c');
  await sleep(SILENCE_MS);
  expect(echo.arrived).toBe('ab');
  echo.link.let('both');
  await until(() => echo.received === 'abc');
});

test('a connection that is made in the silence reaches the server behind it', async () => {
  echo.link.let('none');
  echo.client.destroy();
  echo.connect();
  echo.client.write('b');
  await sleep(SILENCE_MS);
  expect(echo.arrived).toBe('a');
  echo.link.let('both');
  await until(() => echo.received === 'ab');
});

test('a link that is cut ends what is connected, and takes new connections', async () => {
  echo.link.cut();
  await until(() => echo.isClosed);
  expect(echo.link.connections).toBe(0);
  echo.connect();
  echo.client.write('b');
  await until(() => echo.received === 'ab');
});
