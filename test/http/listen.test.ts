import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { connect, type Socket } from 'node:net';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { shareListening } from '../../src/event-loops/listening';
import { drain, trackConnections } from '../../src/http/drain';
import { listenOn, SOCKETS_PER_LOOP, stopListening } from '../../src/http/listen';

const CONNECTIONS = 64;
/** What a test that fails would leave listening. */
let left: Server | undefined;
afterEach(async () => {
  left?.closeAllConnections();
  if (left !== undefined) await stopListening(left);
  left = undefined;
});

const onLinux = process.platform === 'linux' ? it : it.skip;

describe('a burst of connections', () => {
  onLinux('is accepted several at a time, and a stop waits for each of them', async () => {
    let arrived = 0;
    const server = createServer((request, response) => {
      arrived += 1;
      request.resume();
      setTimeout(() => response.end('done'), 50);
    });
    trackConnections(server);
    const [own = []] = (await shareListening(0, '127.0.0.1', 1)) ?? [];
    expect(own).toHaveLength(SOCKETS_PER_LOOP);
    const port = await listenOn(server, own);
    let accepted = 0;
    let most = 0;
    let counted = 0;
    server.on('connection', () => (accepted += 1));
    // The system completes these without the server.
    const clients = Array.from({ length: CONNECTIONS }, () => connect(port, '127.0.0.1'));
    const answers = clients.map(answerOf);
    while (accepted < CONNECTIONS) {
      await nextIteration();
      most = Math.max(most, accepted - counted);
      counted = accepted;
    }
    expect(most).toBeGreaterThan(1);
    for (const client of clients) client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    // Those of every socket are answered before the server ends.
    while (arrived < CONNECTIONS) await nextIteration();
    const giveUp = jest.fn();
    expect(await drain(server, { graceMs: 5000, answerMs: 100, giveUp })).toBe(true);
    expect(giveUp).not.toHaveBeenCalled();
    expect((await Promise.all(answers)).filter((answer) => /200 OK[^]*done/.test(answer))).toHaveLength(
      CONNECTIONS,
    );
    await expect(answerOf(connect(port, '127.0.0.1'))).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });
});

describe('the sockets of a server with TLS', () => {
  onLinux('end with their client, as they would if the server had accepted them itself', async () => {
    const server = (left = createSecureServer());
    const [own = []] = (await shareListening(0, '127.0.0.1', 1)) ?? [];
    const port = await listenOn(server, own);
    const accepted: Socket[] = [];
    server.on('connection', (socket: Socket) => accepted.push(socket));
    const clients = Array.from({ length: CONNECTIONS }, () => connect(port, '127.0.0.1'));
    while (accepted.length < CONNECTIONS) await nextIteration();
    for (const socket of [...clients, ...accepted]) socket.destroy();
    expect(new Set(accepted.map(({ allowHalfOpen }) => allowHalfOpen))).toEqual(new Set([false]));
  });
});

describe('connections that come while the event loop is busy', () => {
  /** More than there were places for while Node chose their number, 511 a socket, and at most what the system allows. */
  const BURST = Math.min(3_000, 2 * somaxconn());

  onLinux('are kept by the system, and none is turned away', async () => {
    const server = (left = createServer());
    const [own = []] = (await shareListening(0, '127.0.0.1', 1)) ?? [];
    const port = await listenOn(server, own);
    // Of other tests, which run beside this one, some may be turned away meanwhile.
    let fewest = Infinity;
    for (let attempt = 0; attempt < 3 && fewest > 0; attempt += 1) {
      fewest = Math.min(fewest, await turnedAway(port));
      server.closeAllConnections();
    }
    expect(fewest).toBe(0);
  });

  /** Connections of a burst, which comes while nothing is accepted, that the system turns away. */
  async function turnedAway(port: number): Promise<number> {
    const script = `
      const { connect } = require('node:net');
      process.stdin.once('data', () => {
        for (let at = 0; at < ${BURST}; at += 1) connect(${port}, '127.0.0.1').on('error', () => {});
        setTimeout(() => process.stdout.write('done', () => process.exit()), 500);
      });
      process.stdout.write('ready');
    `;
    const client = spawn(process.execPath, ['-e', script], { stdio: ['pipe', 'pipe', 'inherit'] });
    await once(client.stdout, 'data');
    const before = overflows();
    client.stdin.end('go');
    await nextIteration();
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_500);
    await once(client.stdout, 'data');
    return overflows() - before;
  }

  /** Connections that the system has turned away because those that waited were too many. */
  function overflows(): number {
    const [names = '', values = ''] = readFileSync('/proc/net/netstat', 'utf8').split('\n');
    return Number(values.split(' ')[names.split(' ').indexOf('ListenOverflows')]);
  }
});

/** How many connections may wait for one socket. */
function somaxconn(): number {
  return process.platform === 'linux' ? Number(readFileSync('/proc/sys/net/core/somaxconn', 'utf8')) : 0;
}

/** All that a connection gets until it ends. */
function answerOf(client: Socket): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    client.on('data', (bytes) => (text += bytes.toString('latin1')));
    client.on('error', reject);
    client.on('close', () => {
      resolve(text);
    });
  });
}
