import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { request } from 'node:https';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectSecurely } from 'node:tls';
import pino from 'pino';
import { loadConfig, readFlags } from '../../src/config';
import { startServer, type RunningServer, type StartOptions } from '../../src/server';
import { FakeEngine } from './fake-engine';
import { startService } from './harness';

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
async function opened(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
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
