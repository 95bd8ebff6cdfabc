import { Duplex } from 'node:stream';
import { connect as connectTcp, createServer, type AddressInfo, type Socket } from 'node:net';
import { request } from 'node:http';
import { PeerClient, type PeerAddress } from '../../src/cluster/peers/client';
import { FramedPeer } from '../../src/cluster/peers/frame-client';
import { PeerRefusal, PeerUnreachable } from '../../src/cluster/peers/errors';
import {
  answerFrame,
  askFrame,
  BadFrame,
  cancelFrame,
  failureFrame,
  FrameReader,
  FRAMES,
  FRAMES_PATH,
  KIND,
  MAX_FRAMED_BODY,
  MAX_PIECE,
  pieceFrame,
  readAnswer,
  readAsk,
  readFailureFrame,
  type Frame,
} from '../../src/cluster/peers/frames';
import { FrameWriter } from '../../src/cluster/peers/frame-writer';
import type { ReplicaRead } from '../../src/cluster/peers/handlers';
import { listenForPeers, type PeerListenerOptions } from '../../src/cluster/peers/listener';
import { headersOfRead } from '../../src/cluster/peers/read-headers';
import { until } from '../until';
import { FakePeer } from './fake-peer';
import { seeded } from './random';

const READ: ReplicaRead = { operation: 'search', collection: 'c.0', timeoutMs: 5000, mapVersion: 3 };
const HEAD = JSON.stringify(headersOfRead(READ));
const BODY = Buffer.from('{"vector":[1,2]}');
const NO_BODY = Buffer.alloc(0);

let peer: FakePeer;
const cleanUps: (() => Promise<unknown> | undefined)[] = [];
beforeEach(() => {
  peer = new FakePeer();
});
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

async function listening(
  given: Partial<PeerListenerOptions> = {},
): Promise<PeerAddress & { close(): Promise<void> }> {
  const log = { error: () => undefined, warn: () => undefined } as never;
  const options = { host: '127.0.0.1', port: 0, security: 'insecure', handlers: peer } as const;
  const listener = await listenForPeers({ ...options, log, ...given });
  cleanUps.push(() => listener.close());
  return Object.assign(listener, { host: '127.0.0.1' });
}

function client(limits: ConstructorParameters<typeof PeerClient>[1] = {}): PeerClient {
  const made = new PeerClient('insecure', limits);
  cleanUps.push(() => {
    made.close();
    return undefined;
  });
  return made;
}

/** A relay to a node, which counts connections. */
async function relayed(node: PeerAddress): Promise<PeerAddress & { connections: number }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    counted.connections += 1;
    const there = connectTcp(node.port, node.host);
    for (const one of [socket, there]) {
      sockets.add(one);
      one.on('error', () => undefined);
    }
    socket.pipe(there).pipe(socket);
  });
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  cleanUps.push(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  const counted = { host: '127.0.0.1', port: (server.address() as AddressInfo).port, connections: 0 };
  return counted;
}

/** A connection that has frames, and what arrives on it. */
async function upgraded({ port }: PeerAddress): Promise<{ socket: Socket; frames: Frame[] }> {
  const asked = request({
    ...{ host: '127.0.0.1', port, path: FRAMES_PATH, agent: false },
    headers: { connection: 'Upgrade', upgrade: FRAMES },
  });
  asked.end();
  const socket = await new Promise<Socket>((resolve, reject) => {
    asked.once('upgrade', (_, connection: Socket) => {
      resolve(connection);
    });
    asked.once('error', reject);
  });
  const frames: Frame[] = [];
  const reader = new FrameReader(1 << 20, (frame) => frames.push(frame));
  socket.on('error', () => undefined);
  socket.on('data', (chunk: Buffer) => {
    reader.add(chunk);
  });
  cleanUps.push(() => {
    socket.destroy();
    return undefined;
  });
  return { socket, frames };
}

function framesIn(chunks: readonly Buffer[], mostBytes = 1 << 20): { frames: Frame[]; isWithin: boolean } {
  const frames: Frame[] = [];
  const reader = new FrameReader(mostBytes, (frame) => frames.push(frame));
  for (const chunk of chunks) reader.add(chunk);
  return { frames, isWithin: reader.isWithin };
}

describe('frames', () => {
  it('are read as they were written, however the bytes arrive', () => {
    const random = seeded(36);
    for (let round = 0; round < 200; round += 1) {
      const long = Buffer.alloc(Math.floor(random() * 2000), round);
      const written = [
        askFrame(7, 'höad', long),
        pieceFrame(0xffffffff, long),
        answerFrame(8, Number.MAX_SAFE_INTEGER, 'a\u00ff\u0000'),
        cancelFrame(9),
        failureFrame(10, 422, { kind: 'engine' }),
        answerFrame(11, 0, NO_BODY),
      ];
      const bytes = Buffer.concat(written);
      const chunks: Buffer[] = [];
      for (let at = 0; at < bytes.length;) {
        const end = Math.min(bytes.length, at + 1 + Math.floor(random() ** 3 * 1500));
        chunks.push(bytes.subarray(at, end));
        at = end;
      }
      const { frames, isWithin } = framesIn(chunks);
      expect(frames.map(({ kind, number }) => [kind, number])).toEqual([
        [KIND.ask, 7],
        [KIND.piece, 0xffffffff],
        [KIND.answer, 8],
        [KIND.cancel, 9],
        [KIND.failure, 10],
        [KIND.answer, 11],
      ]);
      const [ask, piece, answer, , failure, empty] = frames as [Frame, Frame, Frame, Frame, Frame, Frame];
      expect(readAsk(ask)).toEqual({ head: Buffer.from('höad'), body: long });
      expect(piece.content).toEqual(long);
      expect(readAnswer(answer)).toEqual({
        position: Number.MAX_SAFE_INTEGER,
        bytes: Buffer.from([97, 255, 0]),
      });
      expect(readFailureFrame(failure)).toEqual({ status: 422, json: Buffer.from('{"kind":"engine"}') });
      expect(readAnswer(empty)).toEqual({ position: 0, bytes: NO_BODY });
      expect(isWithin).toBe(false);
    }
  });

  it('say when their end is missing', () => {
    const frame = askFrame(1, '{}', BODY);
    for (let length = 1; length < frame.length; length += 1) {
      expect(framesIn([frame.subarray(0, length)])).toEqual({ frames: [], isWithin: true });
    }
  });

  it('are refused when they are too long, too short or cut off', () => {
    const tooShort = Buffer.from([4, 0, 0, 0, 1, 0, 0, 0]);
    expect(() => framesIn([tooShort])).toThrow(BadFrame);
    expect(() => framesIn([pieceFrame(1, Buffer.alloc(11))], 10)).toThrow(BadFrame);
    expect(framesIn([pieceFrame(1, Buffer.alloc(10))], 10).frames).toHaveLength(1);
    const cut = { kind: 1, number: 1, content: Buffer.from([9, 0, 0, 0, 1]) };
    expect(() => readAsk(cut)).toThrow(BadFrame);
    expect(() => readAsk({ ...cut, content: Buffer.from([1]) })).toThrow(BadFrame);
    expect(() => readAnswer({ ...cut, content: Buffer.alloc(7) })).toThrow(BadFrame);
    expect(() => readAnswer({ ...cut, content: Buffer.alloc(8, 255) })).toThrow(BadFrame);
    expect(() => readFailureFrame({ ...cut, content: Buffer.from([1]) })).toThrow(BadFrame);
  });
});

describe('reads over one connection', () => {
  it('are under way at once, and answered as they are done', async () => {
    const node = await relayed(await listening());
    const asking = client();
    let open: () => void = () => undefined;
    peer.gate = new Promise((resolve) => {
      open = resolve;
    });
    const slow = Array.from({ length: 50 }, () => asking.execute(node, READ, BODY));
    await until(() => peer.requests.length === 50);
    peer.gate = undefined;
    peer.answer = 'fast';
    expect((await asking.execute(node, READ, BODY)).answer.toString()).toBe('fast');
    open();
    expect(await Promise.all(slow)).toHaveLength(50);
    expect(node.connections).toBe(1);
  });

  it('have long answers whole, and short ones wait for none of them', async () => {
    const long = Buffer.alloc(40 * MAX_PIECE + 1);
    for (let at = 0; at < long.length; at += 997) long[at] = at % 251;
    let open: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    let begun = 0;
    const { engine } = peer;
    const execute: typeof engine.execute = async ({ target }) => {
      begun += 1;
      await gate;
      return target === 'long' ? long : 'short';
    };
    const handlers = Object.assign(peer, { engine: { ...engine, execute } });
    const node = await listening({ handlers });
    const asking = client();
    const order: string[] = [];
    const asked = ['long', 'short'].map((target) =>
      asking.execute(node, { ...READ, target }).then(({ answer }) => {
        order.push(target);
        return answer;
      }),
    );
    await until(() => begun === 2);
    open();
    const [first] = await Promise.all(asked);
    expect(first!.equals(long)).toBe(true);
    expect(order).toEqual(['short', 'long']);
  });

  it('have long answers whose characters are bytes', async () => {
    const node = await listening();
    const long = Buffer.alloc(3 * MAX_PIECE, '\u00ff\u0000a', 'latin1');
    peer.answer = long.toString('latin1');
    expect((await client().execute(node, READ)).answer.equals(long)).toBe(true);
  });

  it('fail when the answer is longer than it may be, in pieces too, and others go on', async () => {
    const node = await relayed(await listening());
    const asking = client();
    peer.answer = Buffer.alloc(3 * MAX_PIECE);
    const asked = asking.execute(node, { ...READ, answerBytes: 2 * MAX_PIECE });
    await expect(asked).rejects.toThrow(/too long/);
    expect((await asking.execute(node, READ)).answer).toHaveLength(3 * MAX_PIECE);
    expect(node.connections).toBe(1);
  });

  it('fail together when the connection is cut, and the next one has another', async () => {
    const node = await listening();
    peer.gate = new Promise(() => undefined);
    let cut: () => void = () => undefined;
    const relay = createServer((socket) => {
      const there = connectTcp(node.port, node.host);
      for (const one of [socket, there]) one.on('error', () => undefined);
      socket.pipe(there).pipe(socket);
      socket.once('close', () => there.destroy());
      cut = () => socket.destroy();
    });
    relay.listen(0, '127.0.0.1');
    await new Promise((resolve) => relay.once('listening', resolve));
    cleanUps.push(async () => {
      cut();
      await new Promise((resolve) => relay.close(resolve));
    });
    const at = { host: '127.0.0.1', port: (relay.address() as AddressInfo).port };
    const asking = client();
    const asked = [1, 2, 3].map(() => asking.execute(at, READ, BODY));
    await until(() => peer.requests.length === 3);
    cut();
    const outcomes = await Promise.allSettled(asked);
    for (const outcome of outcomes) {
      expect(outcome).toMatchObject({ status: 'rejected', reason: expect.any(PeerUnreachable) });
    }
    await until(() => peer.abandoned === 3);
    peer.gate = undefined;
    expect((await asking.execute(at, READ, BODY)).position).toBe(7);
  });

  it('go in requests of HTTP where the other node has no frames, and where the body is long', async () => {
    const paths: string[] = [];
    const earlier = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.on('data', (chunk: Buffer) => {
        const [line = ''] = chunk.toString('latin1').split('\r\n');
        paths.push(line);
        const isRead = line.startsWith('POST /execute');
        const head = isRead ? '200 OK\r\nkithdb-position: 5' : '404 Not Found';
        socket.write(`HTTP/1.1 ${head}\r\ncontent-length: 2\r\n\r\nab`);
      });
    });
    earlier.listen(0, '127.0.0.1');
    await new Promise((resolve) => earlier.once('listening', resolve));
    cleanUps.push(() => new Promise((resolve) => earlier.close(resolve)));
    const at = { host: '127.0.0.1', port: (earlier.address() as AddressInfo).port };
    const asking = client();
    for (let round = 0; round < 3; round += 1) {
      expect(await asking.execute(at, READ)).toEqual({ answer: Buffer.from('ab'), position: 5 });
    }
    expect(paths.filter((path) => path.startsWith('GET /frames'))).toHaveLength(1);
    asking.close();
    const node = await relayed(await listening());
    const other = client();
    const long = Buffer.alloc(MAX_FRAMED_BODY + 1, 'x');
    await other.execute(node, READ, long.subarray(0, MAX_FRAMED_BODY - 1000));
    expect(node.connections).toBe(1);
    await other.execute(node, READ, long);
    expect([node.connections, peer.requests.at(-1)?.text?.length]).toEqual([2, long.length]);
  });

  it('wait for one another beyond what may be under way', async () => {
    const node = await listening({ limits: { maxRequestsPerPeer: 8 } });
    const asking = client({ maxQuestionsPerPeer: 8 });
    let [running, most] = [0, 0];
    const { engine } = peer;
    const execute: typeof engine.execute = async () => {
      running += 1;
      most = Math.max(most, running);
      await new Promise(setImmediate);
      running -= 1;
      return 'ok';
    };
    Object.assign(peer, { engine: { ...engine, execute } });
    const over = new AbortController();
    const given = Array.from({ length: 100 }, (_, at) =>
      asking.execute(node, READ, BODY, at % 10 === 9 ? over.signal : undefined),
    );
    over.abort(new Error('enough'));
    const outcomes = await Promise.allSettled(given);
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(90);
    expect(most).toBe(8);
  });

  // A timer may be due a little before its time by the clock.
  it.each([1, 0.95])('leave a connection on which nothing is heard any more, clock × %s', async (speed) => {
    const now = performance.now.bind(performance);
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => speed * now());
    cleanUps.push(() => {
      clock.mockRestore();
      return undefined;
    });
    const node = await listening();
    let isSilent = false;
    let connections = 0;
    const relay = createServer((socket) => {
      connections += 1;
      const [there, isFirst] = [connectTcp(node.port, node.host), connections === 1];
      for (const one of [socket, there]) one.on('error', () => undefined);
      const passes = (): boolean => !(isSilent && isFirst);
      socket.on('data', (chunk: Buffer) => passes() && there.write(chunk));
      there.on('data', (chunk: Buffer) => passes() && socket.write(chunk));
      socket.once('close', () => there.destroy());
      there.once('close', () => socket.destroy());
    });
    relay.listen(0, '127.0.0.1');
    await new Promise((resolve) => relay.once('listening', resolve));
    cleanUps.push(() => new Promise((resolve) => relay.close(resolve)));
    const at = { host: '127.0.0.1', port: (relay.address() as AddressInfo).port };
    const asking = client({ maxQuestionsPerPeer: 1, graceMs: 0 });
    expect((await asking.execute(at, READ)).position).toBe(7);
    isSilent = true;
    const lost = asking.execute(at, { ...READ, timeoutMs: 1100 });
    const waiting = asking.execute(at, { ...READ, timeoutMs: 30_000 });
    await expect(lost).rejects.toThrow(/in time/);
    // It was not sent, and is asked on another connection.
    expect((await waiting).position).toBe(7);
    expect(connections).toBe(2);
  });

  it('are given up while the connection is made', async () => {
    const silent = createServer((socket) => socket.on('error', () => undefined));
    silent.listen(0, '127.0.0.1');
    await new Promise((resolve) => silent.once('listening', resolve));
    cleanUps.push(() => new Promise((resolve) => silent.close(resolve)));
    const at = { host: '127.0.0.1', port: (silent.address() as AddressInfo).port };
    const asking = client({ connectMs: 60_000 });
    const over = new AbortController();
    const asked = asking.execute(at, READ, BODY, over.signal);
    over.abort(new Error('enough'));
    await expect(asked).rejects.toThrow('enough');
    asking.close();
    await expect(asking.execute(at, READ)).rejects.toThrow(/stops/);
  });

  it('have heads of any length that the node takes', async () => {
    const node = await relayed(await listening());
    const asking = client();
    const limits = 'l'.repeat(40_000);
    const slow = asking.execute(node, READ);
    const long = asking.execute(node, { ...READ, limits }, Buffer.alloc(MAX_FRAMED_BODY - 100, 'x'));
    await Promise.all([slow, long]);
    expect(peer.admitted.map((read) => read.limits?.length ?? 0).sort()).toEqual([0, 40_000]);
    // That of the frames, and that of the request of HTTP.
    expect(node.connections).toBe(2);
  });

  it('fail at once on a connection that is closed', async () => {
    const node = await listening();
    const times = { connectMs: 1000, idleMs: 1000, stalledMs: 1000 };
    const limits = { ...times, security: 'insecure', maxQuestionsPerPeer: 9 } as const;
    const connection = await FramedPeer.open(node, limits);
    connection!.destroy();
    const patience = { timeoutMs: 1e9, maxAnswerBytes: 1, signal: undefined };
    await expect(connection!.ask(HEAD, BODY, patience)).rejects.toThrow(/closed the connection/);
    await until(() => connection!.isClosed);
    await expect(connection!.ask(HEAD, BODY, patience)).rejects.toThrow(/closed the connection/);
  });

  it('do not wait for a connection that no question uses any more', async () => {
    const node = await relayed(await listening());
    const asking = client({ idleMs: 20 });
    await asking.execute(node, READ);
    await until(async () => {
      await asking.execute(node, READ);
      await new Promise((resolve) => setTimeout(resolve, 40));
      return node.connections > 1;
    });
  });
});

describe('a writer of frames', () => {
  it('cuts a connection that takes nothing, and none that takes something all the while', async () => {
    const stalledMs = 1000;
    let isTaking = true;
    const connection = new Duplex({
      highWaterMark: 1,
      read: () => undefined,
      write: (_chunk, _coding, done: () => void) => {
        if (isTaking) setTimeout(done, 50);
      },
    });
    const writer = new FrameWriter(connection, { stalledMs });
    const startedAt = performance.now();
    let sent = 0;
    await until(() => {
      // It is never empty.
      while (connection.writableLength < 10_000) {
        writer.send(pieceFrame(1, Buffer.alloc(500)));
        sent += 1;
        if (sent % 4 === 0) break;
      }
      return performance.now() - startedAt > 2.5 * stalledMs || connection.destroyed;
    });
    expect(connection.destroyed).toBe(false);
    isTaking = false;
    writer.send(pieceFrame(1, Buffer.alloc(500)));
    await until(() => connection.destroyed);
  });
});

describe('a node that is asked in frames', () => {
  it('answers what is under way before it closes, and refuses what comes', async () => {
    const node = await listening();
    const asking = client();
    let open: () => void = () => undefined;
    peer.gate = new Promise((resolve) => {
      open = resolve;
    });
    peer.answer = Buffer.alloc(10 * MAX_PIECE);
    const asked = asking.execute(node, READ);
    await until(() => peer.requests.length === 1);
    const closed = node.close();
    await expect(asking.execute(node, READ)).rejects.toThrow(/closing/);
    open();
    expect((await asked).answer).toHaveLength(10 * MAX_PIECE);
    await closed;
  });

  it('cuts a connection that sends what no node sends', async () => {
    const node = await listening();
    const wrong = [
      Buffer.from([4, 0, 0, 0, 1, 0, 0, 0]),
      Buffer.from([255, 255, 255, 127, 1, 0, 0, 0]),
      answerFrame(1, 1, 'x'),
      Buffer.from('GET / HTTP/1.1\r\n\r\n'),
      // Its head would be longer than the frame.
      Buffer.from(askFrame(1, '{}', NO_BODY)).fill(99, 9, 10),
    ];
    for (const bytes of wrong) {
      const { socket } = await upgraded(node);
      socket.write(bytes);
      await new Promise((resolve) => socket.once('close', resolve));
    }
    peer.gate = new Promise(() => undefined);
    const { socket } = await upgraded(node);
    socket.write(Buffer.concat([askFrame(1, HEAD, BODY), askFrame(1, HEAD, BODY)]));
    await new Promise((resolve) => socket.once('close', resolve));
    await until(() => peer.abandoned === 1);
  });

  it('refuses a question whose head is none, or that it does not answer', async () => {
    const node = await listening({ limits: { maxBodyBytes: 10 } });
    const { socket, frames } = await upgraded(node);
    const write = JSON.stringify({ ...headersOfRead(READ), 'kithdb-operation': 'upsert_points' });
    const heads = ['', '[]', 'null', '{"a":1}', '{}', write];
    heads.forEach((head, number) => socket.write(askFrame(number, head, NO_BODY)));
    socket.write(askFrame(90, HEAD, Buffer.alloc(11)));
    await until(() => frames.length === heads.length + 1);
    expect(frames.map((frame) => readFailureFrame(frame).status).sort()).toEqual([
      ...heads.map(() => 400),
      413,
    ]);
    expect(peer.admitted).toEqual([]);
  });

  it('ends a question that is cancelled, and gives back what it held', async () => {
    const node = await listening({ limits: { maxHeldBytes: BODY.length, maxRequestsPerPeer: 1 } });
    const { socket, frames } = await upgraded(node);
    peer.gate = new Promise(() => undefined);
    socket.write(askFrame(1, HEAD, BODY));
    await until(() => peer.requests.length === 1);
    socket.write(askFrame(2, HEAD, BODY));
    await until(() => frames.length === 1);
    expect(readFailureFrame(frames[0]!).json.toString()).toContain('busy');
    socket.write(cancelFrame(1));
    await until(() => peer.abandoned === 1);
    expect(frames).toHaveLength(1);
  });

  it('closes a connection that sends half a frame, nothing, or reads nothing of its answers', async () => {
    const limits = { headersTimeoutMs: 100, requestTimeoutMs: 100, idleMs: 200, stalledAnswerMs: 200 };
    const node = await listening({ limits });
    for (const sent of [askFrame(1, HEAD, BODY).subarray(0, 20), NO_BODY]) {
      const { socket } = await upgraded(node);
      socket.write(sent);
      await new Promise((resolve) => socket.once('close', resolve));
    }
    peer.answer = Buffer.alloc(64 * 1024 * 1024);
    const { socket } = await upgraded(node);
    socket.pause();
    socket.write(askFrame(1, HEAD, BODY));
    await until(() => peer.requests.length === 1);
    await until(() => {
      // A socket that is not read learns of its end only when it writes.
      socket.write(cancelFrame(77));
      return socket.destroyed;
    });
  });

  it('reads no further question while its answers are not taken, and goes on afterwards', async () => {
    const node = await listening();
    const { socket, frames } = await upgraded(node);
    peer.answer = Buffer.alloc(MAX_PIECE);
    socket.pause();
    const count = 2000;
    for (let number = 0; number < count; number += 1) socket.write(askFrame(number, HEAD, BODY));
    let before = -1;
    await until(async () => {
      const isStill = before === peer.requests.length && before > 0;
      before = peer.requests.length;
      await new Promise((resolve) => setTimeout(resolve, 100));
      return isStill;
    });
    expect(peer.requests.length).toBeLessThan(count);
    socket.resume();
    await until(() => frames.length === count);
  });

  it('ends a frame that comes byte by byte in time, whatever else is under way', async () => {
    const limits = { headersTimeoutMs: 100, requestTimeoutMs: 200 };
    const node = await listening({ limits });
    const { socket } = await upgraded(node);
    peer.gate = new Promise(() => undefined);
    socket.write(askFrame(1, HEAD, BODY));
    await until(() => peer.requests.length === 1);
    const frame = askFrame(2, HEAD, Buffer.alloc(10_000));
    let at = 0;
    const trickling = setInterval(() => {
      socket.write(frame.subarray(at, at + 1));
      at += 1;
    }, 20);
    await new Promise((resolve) => socket.once('close', resolve));
    clearInterval(trickling);
    expect(at).toBeLessThan(frame.length);
    await until(() => peer.abandoned === 1);
  });

  it('closes when what it still wrote is cancelled', async () => {
    const node = await listening({ limits: { drainMs: 60_000 } });
    const { socket } = await upgraded(node);
    peer.answer = Buffer.alloc(64 * 1024 * 1024);
    socket.pause();
    socket.write(askFrame(1, HEAD, BODY));
    await until(() => peer.requests.length === 1);
    const closed = node.close();
    socket.write(cancelFrame(1));
    // Until the end of what was written.
    socket.resume();
    await closed;
  });

  it('lets go of an upgrade to something else, whose other end stays, or resets it', async () => {
    const node = await listening({ limits: { headersTimeoutMs: 100, requestTimeoutMs: 100 } });
    const sockets = [true, false].map((stays) => {
      const socket = connectTcp({ port: node.port, host: '127.0.0.1', allowHalfOpen: true });
      socket.on('error', () => undefined);
      socket.write('GET /x HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n');
      socket.once('data', () => {
        if (!stays) socket.resetAndDestroy();
      });
      return socket;
    });
    await Promise.all(sockets.map((socket) => new Promise((resolve) => socket.once('data', resolve))));
    await node.close();
    for (const socket of sockets) socket.destroy();
  });

  it('has no other upgrade', async () => {
    const { port } = await listening();
    for (const [path, upgrade] of [
      ['/frames', 'websocket'],
      ['/execute', FRAMES],
    ] as const) {
      const asked = request({
        ...{ host: '127.0.0.1', port, path, agent: false },
        headers: { connection: 'Upgrade', upgrade },
      });
      asked.end();
      const status = await new Promise((resolve, reject) => {
        asked.once('response', (response) => {
          response.resume();
          resolve(response.statusCode);
        });
        asked.once('error', reject);
      });
      expect(status).toBe(404);
    }
  });

  it('is unreachable for a refusal that says so', async () => {
    const node = await listening();
    peer.refusal = new PeerRefusal('behind');
    await expect(client().execute(node, READ, BODY)).rejects.toThrow(/refuses: behind/);
  });
});
