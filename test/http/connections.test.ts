import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { Agent, request as plainRequest } from 'node:http';
import { request } from 'node:https';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectSecurely } from 'node:tls';
import pino from 'pino';
import { loadConfig, readFlags } from '../../src/config';
import { startServer, type RunningServer, type StartOptions } from '../../src/server';
import { FakeEngine } from './fake-engine';
import { isNoLinux, itUnless } from '../missing';
import { send, startService } from './harness';

const FIXTURES = join(__dirname, '..', 'fixtures');
const TLS = [
  '--tls-cert',
  join(FIXTURES, 'localhost-cert.pem'),
  '--tls-key',
  join(FIXTURES, 'localhost-key.pem'),
];

let folder: string;
let logged: string[];
let sockets: Socket[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kithdb-connections-'));
  logged = [];
  sockets = [];
});

afterEach(() => {
  sockets.forEach((socket) => socket.destroy());
  rmSync(folder, { recursive: true, force: true });
});

async function start(flags: readonly string[], options: StartOptions = {}): Promise<RunningServer> {
  const config = loadConfig({
    commandLine: readFlags(['--port', '0', '--data-dir', folder, ...flags]),
    env: { KITHDB_TOKEN_STORE: 'memory' },
    terminal: false,
  });
  const log = pino({ level: 'warn' }, { write: (line: string) => logged.push(line) });
  const server = await startServer(config, {
    openEngine: () => new FakeEngine(),
    log: { log, flush: () => undefined },
    print: () => undefined,
    ownsProcess: false,
    ...options,
  });
  await server.ready;
  return server;
}

/** A connection that the server has accepted. */
async function opened(port: number, localAddress?: string): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', localAddress });
  sockets.push(socket);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  await new Promise((resolve) => setTimeout(resolve, 50));
  return socket;
}

async function openedSecurely(port: number): Promise<Socket> {
  const socket = connectSecurely({ port, host: '127.0.0.1', rejectUnauthorized: false });
  sockets.push(socket);
  socket.on('error', () => undefined);
  await once(socket, 'secureConnect');
  await new Promise((resolve) => setTimeout(resolve, 50));
  return socket;
}

function statusOverTls(port: number, path: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    request({ port, host: '127.0.0.1', path, agent: false, rejectUnauthorized: false }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    })
      .on('error', reject)
      .end();
  });
}

/** Asks over a kept connection, and gives the port on this side of it. */
function livenessFrom(port: number, agent: Agent): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const asked = plainRequest({ port, host: '127.0.0.1', path: '/livez', agent }, (answer) => {
      const { localPort } = answer.socket;
      answer.resume().on('end', () => {
        resolve(localPort);
      });
    });
    asked.on('error', reject).end();
  });
}

describe('a server that stops', () => {
  it.each([
    ['nothing has come on', [], opened],
    ['TLS has not begun on', TLS, opened],
    ['nothing has come over TLS on', TLS, openedSecurely],
  ] as const)('does not wait for a connection that %s, and complains of none', async (_, flags, open) => {
    const server = await start(flags, { graceMs: 20_000 });
    const socket = await open(server.port);
    const closed = once(socket, 'close');
    await server.stop();
    await closed;
    expect(logged).toEqual([]);
  });

  it('cuts a TLS handshake that does not come to its end in time', async () => {
    const server = await start(TLS, { graceMs: 600 });
    const socket = await opened(server.port);
    // The head of a first message, and a part of it.
    socket.write(Buffer.from('16030100ff010000', 'hex'));
    const closed = once(socket, 'close');
    await server.stop();
    await closed;
  });
});

describe('more connections than there may be', () => {
  const SERVER = { maxConnections: 8 };
  const PLAIN = {};
  const SECURE = {
    tls: { cert: readFileSync(TLS[1] ?? '', 'utf8'), key: readFileSync(TLS[3] ?? '', 'utf8') },
  };

  it.each([
    ['plain', PLAIN],
    ['TLS', SECURE],
  ])('that send nothing make room for one that does (%s)', async (_name, options) => {
    const service = await startService({ server: SERVER, ...options });
    const statuses = [];
    for (let round = 0; round < 20; round += 1) {
      await Promise.all([opened(service.port), opened(service.port)]);
      statuses.push(
        'tls' in options
          ? await statusOverTls(service.port, '/livez')
          : (await send(service, 'GET', '/livez')).status,
      );
    }
    expect(statuses).toEqual(Array(20).fill(200));
    expect(service.requests.droppedConnections).toBeGreaterThanOrEqual(32);
    // Node knows them only after their handshake.
    sockets.forEach((socket) => socket.destroy());
    await service.close();
  });

  it('leave those alone that have a request, or had one just now', async () => {
    const service = await startService({ server: SERVER });
    let open = (): void => undefined;
    service.engine.gate = new Promise((resolve) => {
      open = resolve;
    });
    const running = send(service, 'GET', '/collections');
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const ports = new Set<number | undefined>();
    for (let round = 0; round < 20; round += 1) {
      ports.add(await livenessFrom(service.port, agent));
      await Promise.all([opened(service.port), opened(service.port)]);
    }
    expect(ports.size).toBe(1);
    open();
    expect((await running).status).toBe(200);
    agent.destroy();
    await service.close();
  });

  it('are refused when all others have requests', async () => {
    const service = await startService({ server: SERVER, admits: { requests: 64 } });
    let open = (): void => undefined;
    service.engine.gate = new Promise((resolve) => {
      open = resolve;
    });
    const running = Array.from({ length: 8 }, () => send(service, 'GET', '/collections'));
    while (service.engine.requests.length < 8) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    await expect(send(service, 'GET', '/livez')).rejects.toThrow();
    open();
    expect((await Promise.all(running)).map(({ status }) => status)).toEqual(Array(8).fill(200));
    expect((await send(service, 'GET', '/livez')).status).toBe(200);
    await service.close();
  });

  // Other systems have one loopback address.
  itUnless(isNoLinux)('cost the address that has most of them', async () => {
    const service = await startService({ server: SERVER });
    const others = [];
    for (let count = 0; count < 3; count += 1) {
      others.push(await opened(service.port, '127.0.0.2'));
    }
    for (let count = 0; count < 40; count += 1) {
      await opened(service.port);
    }
    expect(others.map((socket) => socket.closed)).toEqual([false, false, false]);
    expect(service.requests.droppedConnections).toBe(35);
    await service.close();
  });
});

describe('over TLS', () => {
  it('serves, also when others have not spoken TLS', async () => {
    const server = await start(TLS);
    const plain = await opened(server.port);
    plain.write('GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await once(plain.resume(), 'close');
    expect(await statusOverTls(server.port, '/readyz')).toBe(200);
    await server.stop();
  });

  it('gives up a handshake that takes longer than a head may', async () => {
    const service = await startService({
      server: { headersTimeoutMs: 100 },
      tls: { cert: readFileSync(TLS[1] ?? '', 'utf8'), key: readFileSync(TLS[3] ?? '', 'utf8') },
    });
    const socket = await opened(service.port);
    await once(socket.resume(), 'close');
    await service.close();
  });
});
