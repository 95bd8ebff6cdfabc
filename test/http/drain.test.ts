import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { connect as connectSecurely } from 'node:tls';
import type { TlsMaterial } from '../../src/http/certificate';
import { drain } from '../../src/http/drain';
import { sleep, until } from '../until';
import { startService, type Service } from './harness';

const FIXTURES = join(__dirname, '..', 'fixtures');
const TLS: TlsMaterial = {
  cert: readFileSync(join(FIXTURES, 'localhost-cert.pem'), 'utf8'),
  key: readFileSync(join(FIXTURES, 'localhost-key.pem'), 'utf8'),
};

const REQUEST = 'POST /collections/c/points/search HTTP/1.1\r\nHost: localhost\r\n\r\n';
/** A byte that no head has. */
const BYTE = 1;
/** The longest answer that is handed to Node in one piece. */
const PIECE_BYTES = 256 * 1024;
/** With so many, there are more bytes than the buffers of both sockets take. */
const PIECES = 64;
const TIMES = { answerMs: 20, giveUp: (): void => undefined };

describe.each(['http', 'https'] as const)('C11.3 the end of a server over %s', (scheme) => {
  let service: Service;
  let sockets: Socket[];
  beforeEach(async () => {
    sockets = [];
    service = await startService({
      admits: { requests: 4 * PIECES },
      ...(scheme === 'https' && { tls: TLS }),
    });
  });
  afterEach(async () => {
    sockets.forEach((socket) => socket.destroy());
    if (service.server.listening) await service.close();
  });

  /** A client that reads nothing. */
  async function deafClient(): Promise<Socket> {
    const { port } = service;
    const to = { port, host: '127.0.0.1' };
    const socket = scheme === 'https' ? connectSecurely({ ...to, rejectUnauthorized: false }) : connect(to);
    sockets.push(socket);
    socket.on('error', () => undefined);
    await once(socket, scheme === 'https' ? 'secureConnect' : 'connect');
    socket.pause();
    return socket;
  }

  /** A client that reads nothing of so many answers of so many bytes. */
  async function deafTo(answers: number, bytes: number): Promise<Socket> {
    service.engine.answer = Buffer.alloc(bytes, BYTE);
    const socket = await deafClient();
    socket.write(REQUEST.repeat(answers));
    await until(() => service.engine.requests.length === answers);
    await sleep(50);
    return socket;
  }

  it.each([
    [PIECES, PIECE_BYTES],
    [1, PIECES * PIECE_BYTES],
  ])('comes after %i answers of %i bytes that their client reads later', async (answers, bytes) => {
    const socket = await deafTo(answers, bytes);
    const drained = drain(service.server, { ...TIMES, graceMs: 60_000 });
    await sleep(100);
    let received = 0;
    socket.on('data', (chunk: Buffer) => {
      for (const byte of chunk) {
        if (byte === BYTE) received += 1;
      }
    });
    socket.resume();
    await once(socket, 'close');
    expect(await drained).toBe(true);
    expect(received).toBe(answers * bytes);
    expect(service.logged.map(({ status }) => status)).toEqual(Array(answers).fill(200));
  });

  it('cuts answers that their client never reads, and logs them as aborted', async () => {
    await deafTo(PIECES, PIECE_BYTES);
    let taken = PIECES;
    const giveUp = (): void => {
      taken = service.logged.length;
    };
    expect(await drain(service.server, { ...TIMES, graceMs: 200, giveUp })).toBe(false);
    expect(taken).toBeLessThan(PIECES);
    const outcomes = service.logged.map(({ status, aborted }) => aborted ?? status);
    expect(outcomes).toEqual([...Array(taken).fill(200), ...Array(PIECES - taken).fill(true)]);
  });

  it('closes idle connections at once although another one is not idle', async () => {
    await deafTo(PIECES, PIECE_BYTES);
    const idle = await deafClient();
    service.engine.answer = undefined;
    idle.resume();
    idle.write(REQUEST);
    await until(() => service.logged.length > 0 && idle.bytesRead > 0);
    let isOver = false;
    const drained = drain(service.server, { ...TIMES, graceMs: 60_000 }).finally(() => (isOver = true));
    await once(idle, 'close');
    expect(isOver).toBe(false);
    sockets.forEach((socket) => socket.destroy());
    await drained;
  });
});
