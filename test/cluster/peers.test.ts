import { mkdtempSync, rmSync } from 'node:fs';
import { request as plainRequest, type IncomingHttpHeaders } from 'node:http';
import {
  createServer as createTcpServer,
  connect as connectTcp,
  type AddressInfo,
  type Server,
  type Socket,
} from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EngineError } from '../../src/engine/types';
import { PeerClient, type PeerAddress } from '../../src/cluster/peers/client';
import { MAX_FRAMED_BODY } from '../../src/cluster/peers/frames';
import { MapDiffers, PeerRefusal, PeerUnreachable } from '../../src/cluster/peers/errors';
import type { ReplicaRead } from '../../src/cluster/peers/handlers';
import { Hedging } from '../../src/cluster/peers/hedging';
import {
  listenForPeers,
  type PeerListener,
  type PeerListenerOptions,
} from '../../src/cluster/peers/listener';
import { headersOfRead, readOfHeaders, READS } from '../../src/cluster/peers/read-headers';
import type { PeerSecurity, PeerTls } from '../../src/cluster/peers/security';
import { describeUnless, whyNoOpenssl } from '../missing';
import { until } from '../until';
import { Authority } from './certificates';
import { FakePeer } from './fake-peer';

let peer: FakePeer;
let logged: { readonly level: string; readonly message: string }[];
const cleanUps: (() => Promise<unknown> | undefined)[] = [];

beforeEach(() => {
  peer = new FakePeer();
  logged = [];
});
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

type Given = Partial<PeerListenerOptions>;

async function listening(given: Given = {}): Promise<PeerListener & PeerAddress> {
  const note = (level: string) => (_: unknown, message?: string) =>
    void logged.push({ level, message: message ?? '' });
  const options = { host: '127.0.0.1', port: 0, security: 'insecure', handlers: peer } as const;
  const log = { error: note('error'), warn: note('warn') } as never;
  const listener = await listenForPeers({ ...options, log, ...given });
  cleanUps.push(() => listener.close());
  return Object.assign(listener, { host: given.host ?? '127.0.0.1' });
}

function client(
  security: PeerSecurity = 'insecure',
  ...limits: ConstructorParameters<typeof PeerClient> extends [unknown, ...infer L] ? L : never
): PeerClient {
  const made = new PeerClient(security, ...limits);
  cleanUps.push(() => {
    made.close();
    return undefined;
  });
  return made;
}

const READ: ReplicaRead = { operation: 'search', collection: 'c.0', timeoutMs: 5000, mapVersion: 3 };
const BODY = Buffer.from('{"vector":[1,2]}');
/** One that goes in a request of its own. */
const LONG_BODY = Buffer.alloc(MAX_FRAMED_BODY + 1, 'x');

/** An answer to what no node sends. */
async function raw(
  { port }: PeerAddress,
  method: string,
  path: string,
  headers: IncomingHttpHeaders,
  body = '',
): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const request = plainRequest({ host: '127.0.0.1', port, method, path, headers, agent: false });
    request.on('error', reject);
    request.on('response', (response) => {
      const pieces: Buffer[] = [];
      response.on('data', (piece: Buffer) => pieces.push(piece));
      response.on('end', () => {
        resolve({ status: response.statusCode ?? 0, body: Buffer.concat(pieces).toString() });
      });
      response.on('error', reject);
    });
    request.end(body);
  });
}

describe('a read of a replica on another node', () => {
  it('carries everything that the engine takes, and its answer as bytes', async () => {
    const node = await listening();
    const read: ReplicaRead = {
      operation: 'get_point',
      collection: 'names, with ü and %41/✓',
      target: '',
      isLenient: true,
      packing: { body: true, answer: false },
      isLines: true,
      strictScope: { kind: 'part', elsewhere: { points: 1, vectorBytes: 22, payloadBytes: 333 } },
      timeoutMs: 1500,
      position: 12,
      mapVersion: 9,
      answerBytes: 1000,
      limits: '{"collections":[{"prefix":"a\\n"}]}',
      caller: 'token 7',
    };
    peer.answer = Buffer.from([0, 255, 10, 13]);
    expect(await client().execute(node, read, Buffer.from([1, 2, 3]))).toEqual({
      answer: Buffer.from([0, 255, 10, 13]),
      position: 7,
    });
    expect(peer.admitted).toEqual([read]);
    const { operation, collection, target, isLenient, packing, answerBytes, limits, caller } = read;
    const { isLines, strictScope } = read;
    const rest = { isLines, strictScope };
    const passed = {
      operation,
      collection,
      target,
      isLenient,
      packing,
      answerBytes,
      limits,
      caller,
      ...rest,
    };
    expect(peer.requests).toMatchObject([{ ...passed, text: '\u0001\u0002\u0003' }]);
    expect(peer.requests[0]!.timeoutSeconds).toBeLessThanOrEqual(1.5);
  });

  it('may be the check of a write by strict mode, and no other request of a write', async () => {
    const node = await listening();
    const write: ReplicaRead = { ...READ, operation: 'update_collection' };
    const check = { kind: 'check', timeoutSeconds: 5 } as const;
    peer.answer = 'true';
    await client().execute(node, { ...write, strictScope: check });
    expect(peer.requests).toMatchObject([{ operation: 'update_collection', strictScope: check }]);
    const elsewhere = { points: 0, vectorBytes: 0, payloadBytes: 0 };
    await expect(
      client().execute(node, { ...write, strictScope: { kind: 'part', elsewhere } }),
    ).rejects.toThrow();
    expect(peer.requests).toHaveLength(1);
    for (const text of ['', 'check:', 'check:x', 'part', 'part:1:2', 'part:1:2:3:4', 'all']) {
      const headers = { ...headersOfRead(READ), 'kithdb-strict-scope': text };
      expect(() => readOfHeaders(headers, READS)).toThrow('kithdb-strict-scope');
    }
  });

  it('has a short answer of the engine as the bytes that its characters are', async () => {
    const node = await listening();
    peer.answer = 'a\u00ff\u0000';
    const { answer } = await client().execute(node, READ);
    expect([...answer]).toEqual([97, 255, 0]);
    expect(peer.requests[0]!.text).toBeUndefined();
  });

  it('fails with the error of the engine', async () => {
    const node = await listening();
    const details = { name: 'v', expected: 4, got: 2, ids: ['1', '2'], total: 2 };
    peer.failure = new EngineError('dimension_mismatch', details);
    const error = await client()
      .execute(node, READ, BODY)
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(EngineError);
    expect(error).toMatchObject({ code: 'dimension_mismatch', details });
    expect(peer.abandoned).toBe(0);
  });

  it.each([
    ['another map', () => new PeerRefusal('map_version', 12), MapDiffers, /version 12/],
    ['a replica that is behind', () => new PeerRefusal('behind'), PeerUnreachable, /refuses: behind/],
    ['a busy node', () => new PeerRefusal('busy'), PeerUnreachable, /refuses: busy/],
    ['an error of the engine', () => new EngineError('not_ready'), EngineError, /not_ready/],
  ])('is refused for %s, and its body released', async (_, refusal, kind, message) => {
    const node = await listening();
    peer.refusal = refusal();
    const asking = client();
    for (const body of [BODY, LONG_BODY]) {
      const asked = asking.execute(node, READ, body);
      await expect(asked).rejects.toThrow(kind);
      await expect(asked).rejects.toThrow(message);
    }
    // A body that comes as a frame is given to the engine when it was admitted.
    expect([peer.requests.length, peer.bodies.map(({ discarded }) => discarded)]).toEqual([0, [true]]);
  });

  it('tells nothing of an unexpected error', async () => {
    const node = await listening();
    peer.failure = new Error('/secret/path of a key');
    const asked = client().execute(node, READ, BODY);
    await expect(asked).rejects.toThrow(/status 500/);
    await asked.catch((error: unknown) => {
      expect(JSON.stringify(error) + String(error)).not.toContain('secret');
    });
    expect(logged).toEqual([{ level: 'error', message: 'a request of another node failed' }]);
  });

  it('is given up at the node and in its engine when it is aborted', async () => {
    const node = await listening();
    peer.gate = new Promise(() => undefined);
    const over = new AbortController();
    const asked = client().execute(node, READ, BODY, over.signal);
    await until(() => peer.requests.length === 1);
    over.abort(new Error('enough'));
    await expect(asked).rejects.toThrow('enough');
    await until(() => peer.abandoned === 1);
    await expect(client().execute(node, READ, BODY, over.signal)).rejects.toThrow('enough');
    expect(logged).toEqual([]);
  });

  it('is given up when its time has passed and the node is silent', async () => {
    const node = await listening();
    peer.gate = new Promise(() => undefined);
    const asked = client('insecure', { graceMs: 0 }).execute(node, { ...READ, timeoutMs: 50 }, BODY);
    await expect(asked).rejects.toThrow(/does not answer in time/);
    await until(() => peer.abandoned === 1);
  });

  it('fails when its answer is longer than it may be', async () => {
    const node = await listening();
    const asked = client().execute(node, { ...READ, answerBytes: 3 }, BODY);
    await expect(asked).rejects.toThrow(PeerUnreachable);
  });

  it('uses a connection again', async () => {
    const node = await listening();
    let connections = 0;
    const relay = createTcpServer((socket) => {
      connections += 1;
      socket.pipe(connectTcp(node.port, node.host)).pipe(socket);
    });
    const at = await tcp(relay);
    const asking = client();
    const hedging = new Hedging();
    for (let round = 0; round < 30; round += 1) {
      const ask = (_: unknown, signal: AbortSignal) => asking.execute(at, READ, BODY, signal);
      await hedging.askOne([{ node: 'a' }], ask);
    }
    expect(connections).toBe(1);
    asking.close();
  });

  it('uses another connection where one that was kept is closed by the node', async () => {
    const answer = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\nkithdb-position: 5\r\n\r\nab';
    let connections = 0;
    const at = await tcp(
      createTcpServer((socket) => {
        connections += 1;
        socket.once('data', () => {
          socket.write(answer);
          socket.on('data', () => socket.destroy());
        });
      }),
    );
    const asking = client();
    for (let round = 0; round < 3; round += 1) {
      expect(await asking.execute(at, READ)).toEqual({ answer: Buffer.from('ab'), position: 5 });
    }
    // The first one is asked whether it has frames.
    expect(connections).toBe(4);
  });
});

/** Where a server listens until the end of the test. */
async function tcp(server: Server): Promise<PeerAddress> {
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
  });
  cleanUps.push(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return { host: '127.0.0.1', port: (server.address() as AddressInfo).port };
}

describe('a node that cannot be asked', () => {
  it('is unreachable: nobody listens, nobody accepts, the connection is cut, the answer is none', async () => {
    const asking = client('insecure', { connectMs: 100 });
    const free = createTcpServer();
    const at = await tcp(free);
    const answers = ['HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nab', 'rubbish\r\n\r\n', ''];
    free.on('connection', (socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => socket.end(answers.shift() ?? ''));
    });
    for (let left = answers.length; left > 0; left -= 1) {
      await expect(asking.execute(at, READ, BODY)).rejects.toThrow(PeerUnreachable);
    }
    // An answer without the position of the replica.
    answers.push('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nab');
    await expect(asking.execute(at, READ, BODY)).rejects.toThrow(/cannot be read/);
    await new Promise((resolve) => free.close(resolve));
    await expect(asking.execute(at, READ, BODY)).rejects.toThrow(/ECONNREFUSED/);
  });

  it('has what it sends checked: codes, details, positions', async () => {
    const free = createTcpServer();
    const at = await tcp(free);
    let answer = '';
    let status = 200;
    free.on('connection', (socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => {
        const head = `HTTP/1.1 ${status} X\r\ncontent-length: ${Buffer.byteLength(answer)}\r\n\r\n`;
        socket.end(head + answer);
      });
    });
    const asking = client();
    for (const sent of ['{}', '[{}]', '[{"collection":"c","position":-1}]', 'null', '[', '[1]']) {
      answer = sent;
      await expect(asking.positions(at)).rejects.toThrow(/cannot be read/);
    }
    const about = { collection: 'c', position: 1, mapVersion: 1 };
    for (const sent of ['{}', '{"position":1,"points":1,"digest":"../x"}', '[]']) {
      answer = sent;
      await expect(asking.digest(at, about)).rejects.toThrow(/cannot be read/);
    }
    status = 422;
    for (const code of ['no_such_code', '__proto__', 'constructor', 7]) {
      answer = JSON.stringify({ kind: 'engine', code });
      await expect(asking.execute(at, READ)).rejects.toThrow(/status 422/);
    }
    answer =
      '{"kind":"engine","code":"bad_request","details":{"message":7,"place":"x","__proto__":{"a":1},"more":1}}';
    const error = await asking.execute(at, READ).catch((thrown: unknown) => thrown as EngineError);
    expect(error).toMatchObject({ code: 'bad_request', details: { place: 'x' } });
    expect(Object.keys((error as EngineError).details)).toEqual(['place']);
    status = 409;
    answer = '{"kind":"refusal","code":"map_version","map_version":"12"}';
    await expect(asking.execute(at, READ)).rejects.toThrow(/status 409/);
  });
});

describe('the listener for other nodes', () => {
  it('answers positions and digests', async () => {
    const node = await listening();
    expect(await client().positions(node)).toEqual([{ collection: 'c.0', position: 7 }]);
    const about = { collection: 'c.0', position: 20_000, mapVersion: 3 };
    expect(await client().digest(node, about)).toEqual({ position: 20_000, points: 3, digest: 'ab12' });
    peer.refusal = new PeerRefusal('map_version', 4);
    await expect(client().digest(node, about)).rejects.toThrow(MapDiffers);
  });

  it('has no other route, and none of the public ones', async () => {
    const node = await listening();
    const headers = { authorization: 'Bearer admin' };
    for (const [method, path] of [
      ['GET', '/'],
      ['GET', '/execute'],
      ['POST', '/positions'],
      ['GET', '/collections'],
      ['POST', '/execute?x=1'],
      ['GET', '/__proto__'],
      ['POST', '/collections/c/points/search'],
    ] as const) {
      expect((await raw(node, method, path, headers)).status).toBe(404);
    }
  });

  const good = (): Record<string, string> => headersOfRead(READ);
  it.each<[string, Record<string, string>]>([
    ['a write', { 'kithdb-operation': 'upsert_points' }],
    ['an unknown operation', { 'kithdb-operation': '__proto__' }],
    ['no number', { 'kithdb-timeout-ms': '1e3' }],
    ['no time', { 'kithdb-timeout-ms': '0' }],
    ['too much time', { 'kithdb-timeout-ms': '3600001' }],
    ['a number that is not exact', { 'kithdb-map-version': '9007199254740993' }],
    ['a negative number', { 'kithdb-position': '-1' }],
    ['a text that is not encoded', { 'kithdb-collection': 'a b' }],
    ['a text that cannot be decoded', { 'kithdb-collection': '%ff' }],
    ['another flag', { 'kithdb-lenient': 'true' }],
    ['another packing', { 'kithdb-packing': '2' }],
    ['a long text', { 'kithdb-limits': 'a'.repeat(50_000) }],
  ])('refuses %s with 400, without asking the handlers', async (_, changed) => {
    const node = await listening();
    const { status, body } = await raw(node, 'POST', '/execute', { ...good(), ...changed });
    expect([status, JSON.parse(body)]).toEqual([400, { kind: 'malformed', what: expect.any(String) }]);
    expect([peer.admitted.length, peer.bodies.length]).toEqual([0, 0]);
  });

  it('refuses bodies that are too long, without a length, or not whole', async () => {
    const node = await listening({ limits: { maxBodyBytes: 10 } });
    expect((await raw(node, 'POST', '/execute', good(), 'x'.repeat(11))).status).toBe(413);
    const chunked = { ...good(), 'transfer-encoding': 'chunked' };
    expect((await raw(node, 'POST', '/execute', chunked, 'x')).status).toBe(411);
    expect((await raw(node, 'GET', '/positions', { 'content-length': '1' }, 'x')).status).toBe(413);
    for (const body of ['{', '[]', '{"collection":"c","position":1.5,"mapVersion":1}']) {
      expect((await raw(node, 'POST', '/digest', {}, body)).status).toBe(400);
    }
    const socket = connectTcp(node.port, '127.0.0.1');
    const head = Object.entries(good()).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`POST /execute HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n${head.join('')}\r\nab`);
    await until(() => peer.bodies.length === 1);
    socket.destroy();
    await until(() => peer.bodies[0]!.discarded);
    expect([peer.requests, logged]).toEqual([[], []]);
    // Nothing is held any more.
    expect((await client().execute(node, READ, Buffer.from('0123456789'))).position).toBe(7);
  });

  it('refuses more requests of a node than it may have under way, and more bytes than it may hold', async () => {
    const node = await listening({ limits: { maxRequestsPerPeer: 2, maxHeldBytes: 20 } });
    let open: () => void = () => undefined;
    peer.gate = new Promise((resolve) => {
      open = resolve;
    });
    const asking = client();
    const first = asking.execute(node, READ, BODY);
    await until(() => peer.requests.length === 1);
    await expect(asking.execute(node, READ, BODY)).rejects.toThrow(/busy/);
    const second = asking.execute(node, READ);
    await until(() => peer.requests.length === 2);
    await expect(asking.execute(node, READ)).rejects.toThrow(/busy/);
    open();
    await Promise.all([first, second]);
    expect((await asking.execute(node, READ, BODY)).position).toBe(7);
  });

  it('closes connections that send nothing, or half a request', async () => {
    const limits = { headersTimeoutMs: 100, requestTimeoutMs: 200, idleMs: 200 };
    const node = await listening({ limits });
    for (const sent of ['', 'POST /exec', 'POST /digest HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\n{']) {
      const socket = connectTcp(node.port, '127.0.0.1', () => socket.write(sent));
      await new Promise((resolve) => {
        socket.resume();
        socket.on('error', () => undefined);
        socket.once('close', resolve);
      });
    }
  });

  it('speaks without TLS on loopback addresses only', async () => {
    await expect(listening({ host: '0.0.0.0' })).rejects.toThrow(/loopback/);
    await expect(client().positions({ host: '192.0.2.1', port: 1 })).rejects.toThrow(/loopback/);
    const node = await listening({ host: 'localhost' });
    expect(await client().positions(node)).toHaveLength(1);
  });

  it('reads what it writes', () => {
    expect(readOfHeaders(headersOfRead(READ), READS)).toEqual(READ);
  });
});

describeUnless(whyNoOpenssl())('TLS between nodes', () => {
  let folder: string;
  let ours: Authority;
  let theirs: Authority;
  let good: PeerTls;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'kithdb-peers-'));
    ours = new Authority(folder, 'ours');
    theirs = new Authority(folder, 'theirs');
    good = ours.sign('prod', '/O=x/CN=prod');
  });
  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  it('is spoken by nodes whose certificates name the cluster: as common name, or among others', async () => {
    const named = ours.sign('prod', '/CN=node-7', 'DNS:node-7.example,DNS:prod', 'serverAuth,clientAuth');
    const node = await listening({ security: named });
    expect((await client(good).execute(node, READ, BODY)).position).toBe(7);
    expect((await client(named).execute(node, READ, BODY)).position).toBe(7);
    const other = await listening({ security: good });
    expect((await client(named).execute(other, READ, BODY)).position).toBe(7);
  });

  it('refuses every other certificate, at the node that listens', async () => {
    const node = await listening({ security: good });
    const strangers: Record<string, PeerTls> = {
      'of another authority': { ...theirs.sign('prod', '/CN=prod'), ca: ours.pem },
      'of another cluster': ours.sign('prod', '/CN=test'),
      'with a longer name': ours.sign('prod', '/CN=prod.evil', 'DNS:prod.evil,DNS:*.prod'),
      'that matches all': ours.sign('prod', '/CN=*', 'DNS:*,DNS:*.com'),
      'in other letters': ours.sign('prod', '/CN=PROD', 'DNS:PROD'),
      'with the name in another place': ours.sign('prod', '/O=CN=prod/OU=prod/CN=x', 'URI:prod,email:prod'),
      'for servers only': ours.sign('prod', '/CN=prod', undefined, 'serverAuth'),
    };
    for (const [what, tls] of Object.entries(strangers)) {
      const outcome = await client(tls)
        .execute(node, READ, BODY)
        .then(
          () => 'answered',
          (error: unknown) => (error instanceof PeerUnreachable ? 'unreachable' : String(error)),
        );
      expect([what, outcome]).toEqual([what, 'unreachable']);
    }
    expect([peer.admitted, peer.bodies]).toEqual([[], []]);
    // Neither does one without a certificate, nor one without TLS.
    await expect(raw(node, 'GET', '/positions', {})).rejects.toThrow();
    expect((await client(good).execute(node, READ, BODY)).position).toBe(7);
  });

  it('refuses every other certificate, at the node that asks', async () => {
    for (const tls of [
      ours.sign('test', '/CN=test'),
      { ...theirs.sign('prod', '/CN=prod'), ca: ours.pem },
      ours.sign('prod', '/CN=prod', undefined, 'clientAuth'),
    ]) {
      const node = await listening({ security: tls });
      await expect(client(good).execute(node, READ, BODY)).rejects.toThrow(PeerUnreachable);
    }
    const plain = await listening();
    await expect(client(good).execute(plain, READ, BODY)).rejects.toThrow(PeerUnreachable);
    expect(peer.admitted).toEqual([]);
  });

  it('gives up a node that accepts a connection and says nothing', async () => {
    const at = await tcp(createTcpServer());
    const asked = client(good, { connectMs: 50 }).execute(at, READ, BODY);
    await expect(asked).rejects.toThrow(/cannot be reached in time/);
  });

  it('takes a new certificate for new connections, and keeps the old one where it cannot be used', async () => {
    const node = await listening({ security: good });
    const asking = client(good);
    await asking.execute(node, READ, BODY);
    const next = { ...theirs.sign('prod', '/CN=prod') };
    expect(() => {
      node.useCertificate({ ...next, key: good.key });
    }).toThrow(/key/);
    await asking.execute(node, READ, BODY);
    node.useCertificate(next);
    // The connection from before goes on; others need the new authority.
    await asking.execute(node, READ, BODY);
    await expect(client(good).execute(node, READ, BODY)).rejects.toThrow(PeerUnreachable);
    asking.useCertificate(next);
    expect((await asking.execute(node, READ, BODY)).position).toBe(7);
  });

  it('is not begun with names that cannot be one, or with a certificate that is none', async () => {
    for (const name of ['', '*', '*.prod', 'a b', '127.0.0.1', '.prod', 'prod\0', 'a'.repeat(64)]) {
      await expect(listening({ security: { ...good, name } })).rejects.toThrow(/name of a cluster/);
      expect(() => client({ ...good, name })).toThrow(/name of a cluster/);
    }
    await expect(listening({ security: { ...good, cert: 'x' } })).rejects.toThrow();
    expect(() => client({ ...good, key: 'x' })).toThrow();
  });
});
