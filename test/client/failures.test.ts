import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  AuthenticationError,
  BadRequestError,
  ConflictError,
  connect,
  ConnectionError,
  DeadlineError,
  KithError,
  NotFoundError,
  NotImplementedError,
  NotReadyError,
  OverloadedError,
  PermissionError,
  ServerError,
  StorageFullError,
  TimeoutError,
  TooLargeError,
  UnavailableError,
  type ConnectOptions,
  type RemoteClient,
} from '../../src';
import { DEFAULT_RETRIES, pauseBefore } from '../../src/client/retries';
import { answerError } from '../../src/client/errors';
import { httpTransport } from '../../src/client/http-transport';
import { until } from '../until';
import { warningsOf } from './warnings';

/** What the fake server does with a request: a status with its headers, or something of its own. */
type Reaction =
  | readonly [status: number, headers?: Record<string, string>]
  | ((request: IncomingMessage, response: ServerResponse) => void);

const OK: Reaction = [200];

/** Answers each request as the next of a list says, the last one again and again. */
class FakeServer {
  readonly requests: string[] = [];
  reactions: Reaction[] = [OK];
  private readonly server: Server = createServer((request, response) => {
    this.requests.push(`${request.method ?? ''} ${request.url ?? ''}`);
    const [reaction = OK] = this.reactions.length > 1 ? this.reactions.splice(0, 1) : this.reactions;
    if (typeof reaction === 'function') {
      reaction(request, response);
      return;
    }
    request.resume();
    const [status, headers] = reaction;
    const body =
      status === 200
        ? { result: true, status: 'ok', time: 0 }
        : { status: { error: `refused ${status}` }, time: 0 };
    response.writeHead(status, { 'x-request-id': 'id-1', ...headers }).end(JSON.stringify(body));
  });

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  close(): Promise<unknown> {
    this.server.closeAllConnections();
    return new Promise((resolve) => this.server.close(resolve));
  }
}

let fake: FakeServer;
let url: string;
const clients: RemoteClient[] = [];

beforeAll(async () => {
  fake = new FakeServer();
  url = await fake.listen();
});

afterAll(async () => {
  await Promise.all(clients.map((client) => client.close()));
  await fake.close();
});

/** A client of the fake server that reacts so, and hardly pauses. */
function clientOf(reactions: Reaction[], options: ConnectOptions = {}): RemoteClient {
  fake.reactions = reactions;
  fake.requests.length = 0;
  const client = connect(url, { retry: { firstPauseMs: 1 }, ...options });
  clients.push(client);
  return client;
}

async function failure(call: Promise<unknown>): Promise<KithError> {
  const error: unknown = await call.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(KithError);
  return error as KithError;
}

const hangUp: Reaction = (request) => request.socket.destroy();
const silence: Reaction = (request) => request.resume();

describe('errors (C1.2 to C1.5)', () => {
  it.each([
    [400, BadRequestError],
    [401, AuthenticationError],
    [403, PermissionError],
    [404, NotFoundError],
    [405, BadRequestError],
    [408, TimeoutError],
    [409, ConflictError],
    [412, NotReadyError],
    [413, TooLargeError],
    [415, BadRequestError],
    [417, BadRequestError],
    [429, OverloadedError],
    [431, BadRequestError],
    [500, ServerError],
    [501, NotImplementedError],
    [502, ServerError],
    [503, UnavailableError],
    [507, StorageFullError],
  ])('are of a class for each status: %i', async (status, errorClass) => {
    const error = await failure(
      clientOf([[status, { 'retry-after': '7' }]], { retry: { retries: 0 } }).getCollections(),
    );
    expect(error.constructor).toBe(errorClass);
    expect(error).toMatchObject({
      name: errorClass.name,
      status,
      message: `refused ${status}`,
      requestId: 'id-1',
      retryAfterSeconds: 7,
    });
    expect(fake.requests).toHaveLength(1);
  });

  it('are clear when the answer is not ours', async () => {
    const page =
      (status: number): Reaction =>
      (_request, response) =>
        response.writeHead(status).end('<html>');
    expect(await failure(clientOf([page(502)]).getCollections())).toMatchObject({
      status: 502,
      message: 'The server answered 502',
    });
    expect(await failure(clientOf([page(200)], { retry: { retries: 0 } }).getCollections())).toMatchObject({
      status: 0,
      message: 'The answer is not JSON',
    });
  });
});

describe('retries', () => {
  it('pause as the specification advises (C10.1)', () => {
    const pauses = (error: KithError, repeatable = true) =>
      [0, 1, 2, 3, 4, 5].map((attempt) => pauseBefore(error, attempt, repeatable, DEFAULT_RETRIES));
    const doubling = [500, 1000, 2000, 4000, 8000, undefined];
    const never = doubling.map(() => undefined);
    expect(pauses(answerError(412, '', { retryAfterSeconds: 1 }), false)).toEqual(doubling);
    expect(pauses(answerError(429, '', { retryAfterSeconds: 3 }), false)).toEqual([
      3000,
      3000,
      3000,
      3000,
      3000,
      undefined,
    ]);
    expect(pauses(answerError(429, ''))).toEqual(doubling);
    expect(pauses(answerError(429, '', { retryAfterSeconds: 60 }))).toEqual(never);
    expect(pauses(answerError(503, '', { retryAfterSeconds: 1 }))).toEqual([
      1000,
      1000,
      1000,
      1000,
      1000,
      undefined,
    ]);
    expect(pauses(answerError(503, '', { retryAfterSeconds: 1 }), false)).toEqual(never);
    expect(pauses(new ConnectionError('', true))).toEqual(doubling);
    expect(pauses(new ConnectionError('', true), false)).toEqual(never);
    expect(pauses(new ConnectionError('', false), false)).toEqual(doubling);
    expect(pauses(new ConnectionError('', false, { isPermanent: true }))).toEqual(never);
    for (const status of [400, 401, 403, 404, 408, 409, 413, 500, 501, 507]) {
      expect(pauses(answerError(status, ''))).toEqual(never);
    }
  });

  it('go on until it succeeds, at most five times', async () => {
    expect(
      await clientOf([
        [412],
        [429, { 'retry-after': '0' }],
        [503, { 'retry-after': '0' }],
        hangUp,
        OK,
      ]).deletePayloadIndex('c', 'f'),
    ).toBe(true);
    expect(fake.requests).toEqual(Array.from({ length: 5 }, () => 'DELETE /collections/c/index/f'));
    expect(await failure(clientOf([[412]]).getCollections())).toBeInstanceOf(NotReadyError);
    expect(fake.requests).toHaveLength(6);
  });

  it('do not repeat what may have happened and must not happen twice', async () => {
    for (const reaction of [hangUp, [503] as const]) {
      await failure(clientOf([reaction]).createAccessToken({ name: 'n', permission: 'read' }));
      expect(fake.requests).toHaveLength(1);
      await failure(clientOf([reaction]).createSnapshot('c'));
      expect(fake.requests).toHaveLength(1);
    }
    expect(await failure(clientOf([hangUp]).createSnapshot('c'))).toMatchObject({
      status: 0,
      outcomeUnknown: true,
    });
    expect(await clientOf([[412], OK]).createSnapshot('c')).toBe(true);
  });

  it('repeat every operation, because writes have a key (C25), at most five times', async () => {
    const operations = [{ clear_payload: { points: [1] } }];
    for (const reaction of [hangUp, [503, { 'retry-after': '0' }] as const]) {
      await failure(clientOf([reaction]).batchUpdate('c', { operations }));
      expect(fake.requests).toHaveLength(6);
    }
    expect(await clientOf([hangUp, OK]).batchUpdate('c', { operations })).toBe(true);
  });

  it('reach a server that starts later', async () => {
    const other = new FakeServer();
    const later = await other.listen();
    await other.close();
    const refused = connect(later, { retry: { retries: 0 } });
    clients.push(refused);
    expect(await failure(refused.batchUpdate('c', { operations: [] }))).toMatchObject({
      status: 0,
      outcomeUnknown: false,
    });
    const patient = connect(later, { retry: { retries: 1000, firstPauseMs: 0 } });
    clients.push(patient);
    const call = patient.getCollections();
    const again = createServer((_request, response) => response.end('{"result":1}'));
    again.listen(Number(new URL(later).port), '127.0.0.1');
    expect(await call).toBe(1);
    again.closeAllConnections();
    again.close();
  });
});

describe('deadlines', () => {
  it('give a call up, its retries included', async () => {
    const late = await failure(clientOf([silence], { timeoutMs: 20 }).getCollections());
    expect(late).toBeInstanceOf(DeadlineError);
    expect(late).toMatchObject({ status: 0, message: 'No answer within 20 ms' });
    const pausing = clientOf([[412]], { retry: {} }).count('c', {}, { timeoutMs: 300 });
    expect(await failure(pausing)).toBeInstanceOf(DeadlineError);
    // The request of the call that was given up may arrive as late as this one's.
    expect(fake.requests.filter((line) => line.startsWith('POST'))).toHaveLength(1);
    expect(await clientOf([OK], { timeoutMs: 0 }).getCollections()).toBe(true);
  });

  it('and signals, before the call and while it runs', async () => {
    const client = clientOf([silence]);
    const reason = new Error('no longer needed');
    await expect(client.count('c', {}, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(fake.requests).toEqual([]);
    const controller = new AbortController();
    const call = client.query('c', { query: [1] }, { signal: controller.signal });
    await until(() => fake.requests.length === 1);
    controller.abort(reason);
    await expect(call).rejects.toBe(reason);

    const half: Reaction = (_request, response) => response.writeHead(200).write('{"resu');
    const reading = new AbortController();
    const read = clientOf([half]).getCollections({ signal: reading.signal });
    await until(() => fake.requests.length === 1);
    setTimeout(() => {
      reading.abort(reason);
    }, 20);
    await expect(read).rejects.toBe(reason);
  });

  it('and the end of the client ends calls and pauses', async () => {
    const client = clientOf([silence]);
    const call = failure(client.getCollections());
    await until(() => fake.requests.length === 1);
    await client.close();
    expect(await call).toMatchObject({ message: 'The client is closed', outcomeUnknown: true });
    const pausing = clientOf([[412]], { retry: { firstPauseMs: 1_000_000 } });
    const paused = failure(pausing.getCollections());
    await until(() => fake.requests.length === 1);
    await pausing.close();
    expect(await paused).toBeInstanceOf(ConnectionError);
  });
});

describe('requests', () => {
  it('have their flags in the query string and the base path of the URL', async () => {
    clientOf([OK]);
    const client = connect(`${url}/behind/proxy/`);
    clients.push(client);
    await client.delete('c', { points: [1], wait: false, ordering: 'strong', timeout: 3 });
    await client.scroll('a b', { consistency: 2, limit: 1 });
    await client.updateCollection('c', { timeout: 1 });
    expect(fake.requests).toEqual([
      'POST /behind/proxy/collections/c/points/delete?wait=false&ordering=strong&timeout=3',
      'POST /behind/proxy/collections/a%20b/points/scroll?consistency=2',
      'PATCH /behind/proxy/collections/c?timeout=1',
    ]);
  });
});

describe('many calls at a time', () => {
  it('are no reason for a warning of Node, under way and in their pauses', async () => {
    const held: (() => void)[] = [];
    const holding: Reaction = (_request, response) => {
      held.push(() => response.writeHead(200).end('{"result":1}'));
    };
    const busy = Array.from({ length: 64 }, (): Reaction => [429, { 'retry-after': '1' }]);
    const client = clientOf([...busy, holding]);
    const warnings = await warningsOf(async () => {
      const calls = Array.from({ length: 64 }, () => client.count('c'));
      await until(() => held.length === 64);
      for (const answer of held) answer();
      await Promise.all(calls);
    });
    expect(fake.requests).toHaveLength(128);
    expect(warnings).toEqual([]);
  });
});

describe('an option that is undefined', () => {
  it('is as one that is absent: deadlines', async () => {
    const options = { timeoutMs: undefined } as object;
    const call = clientOf([silence], { timeoutMs: 20 }).getCollections(options);
    expect(await failure(call)).toBeInstanceOf(DeadlineError);
  });

  it('is as one that is absent: retries', async () => {
    const [retries, firstPauseMs] = [{ retries: undefined }, { firstPauseMs: undefined }] as object[];
    const client = clientOf([[412]], { retry: { firstPauseMs: 1, ...retries } });
    expect(await failure(client.getCollections())).toBeInstanceOf(NotReadyError);
    expect(fake.requests).toHaveLength(6);
    const pausing = clientOf([[412]], { retry: { ...firstPauseMs }, timeoutMs: 300 });
    expect(await failure(pausing.getCollections())).toBeInstanceOf(DeadlineError);
    expect(fake.requests).toHaveLength(1);
    clientOf([[412]]);
    const transport = httpTransport(url, { retry: { firstPauseMs: 1, ...retries } });
    const call = transport.execute({ operation: 'list_collections' });
    expect(await failure(call)).toBeInstanceOf(NotReadyError);
    expect(fake.requests).toHaveLength(6);
    await transport.close();
  });

  it('is as one that is absent: batches', async () => {
    const points = Array.from({ length: 10_001 }, (_, id) => ({ id, vector: [1] }));
    const batch = { maxPoints: undefined, maxBytes: undefined } as object;
    await clientOf([OK], { batch }).upsert('c', { points });
    expect(fake.requests).toHaveLength(2);
    await clientOf([OK], { batch: { ...batch, maxPoints: 5000 } }).upsert('c', { points });
    expect(fake.requests).toHaveLength(3);
  });

  it('is as one that is absent: all others', async () => {
    const names = [
      'token',
      'headers',
      'maxConnections',
      'ca',
      'readYourWrites',
      'retry',
      'timeoutMs',
      'batch',
    ];
    const options = Object.fromEntries([...names, 'float32Vectors'].map((name) => [name, undefined]));
    expect(await clientOf([OK], options).count('c', {}, { ...options, signal: undefined } as object)).toBe(
      true,
    );
  });
});

describe('a transport by itself', () => {
  it('sends JSON text as it is, and gives answers as they came', async () => {
    clientOf([[412], (request, response) => request.pipe(response)]);
    const transport = httpTransport(url, { retry: { firstPauseMs: 1 } });
    const body = Buffer.from('{ "points": [] }');
    const call = { operation: 'upsert_points', collection: 'c', body } as const;
    expect(Buffer.from(await transport.executeBytes(call)).toString()).toBe('{ "points": [] }');
    expect(await transport.execute(call)).toEqual({ points: [] });
    fake.reactions = [[400]];
    await expect(transport.executeBytes(call)).rejects.toBeInstanceOf(BadRequestError);
    await transport.close();
    await expect(transport.executeBytes(call)).rejects.toBeInstanceOf(ConnectionError);
  });
});
