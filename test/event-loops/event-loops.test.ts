import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openNativeEngine } from '../../src/engine';
import { sendRaw } from '../http/harness';
import { ServerChild } from '../crash/server-child';
import { describeUnless, isNoLinux, isNoPosix, itUnless, whyNoOpenssl } from '../missing';
import { sleep, until } from '../until';
import { LoopsServer, metric, type LoopConnection, type LoopsAnswer } from './loops-server';

const LOOPS = 3;
const PASSWORD = 'Correct-Horse-Battery-9';
const POINTS = '/collections/c/points';

let server: LoopsServer | undefined;
afterEach(async () => {
  await server?.stop();
  server = undefined;
});

/** A server whose event loops all have a connection, and a collection with one point. */
async function started(
  env: Record<string, string> = {},
): Promise<{ server: LoopsServer; connections: LoopConnection[] }> {
  server = await new LoopsServer(LOOPS, env).start();
  const connections = await server.connectAll();
  const [first] = connections as [LoopConnection];
  await first.send('PUT', '/collections/c', { json: { vectors: { size: 2, distance: 'Dot' } } });
  await first.send('PUT', `${POINTS}?wait=true`, { json: { points: [{ id: 1, vector: [1, 2] }] } });
  return { server, connections };
}

function onAll(
  connections: readonly LoopConnection[],
  ...request: Parameters<LoopConnection['send']>
): Promise<LoopsAnswer[]> {
  return Promise.all(connections.map((connection) => connection.send(...request)));
}

function statuses(answers: readonly LoopsAnswer[]): number[] {
  return answers.map(({ status }) => status);
}

const OF_ALL = (status: number): number[] => Array<number>(LOOPS).fill(status);

describeUnless(isNoPosix)('C11.6 several event loops', () => {
  it('all accept connections and answer, and the metrics are those of all', async () => {
    const { connections } = await started();
    const counted = await onAll(connections, 'POST', `${POINTS}/count`, { json: {} });
    expect(counted.map(({ body }) => body.result)).toEqual(Array(LOOPS).fill({ count: 1 }));
    expect(statuses(await onAll(connections, 'GET', '/nothing'))).toEqual(OF_ALL(404));

    const { body: text } = await connections[0]!.send('GET', '/metrics');
    const name = 'kithdb_http_requests_total';
    const route = '/collections/:collection_name/points/count';
    expect(metric(text, name)[`{method="POST",route="${route}",code="200"}`]).toBe(LOOPS);
    expect(metric(text, name)['{method="none",route="none",code="404"}']).toBe(LOOPS);
    expect(
      metric(text, 'kithdb_http_request_duration_seconds_count')[`{method="POST",route="${route}"}`],
    ).toBe(
      metric(text, name)[`{method="POST",route="${route}",code="200"}`]! +
        metric(text, name)[`{method="POST",route="${route}",code="404"}`]!,
    );
    const byLoop = metric(text, 'kithdb_event_loop_requests_total');
    expect(Object.keys(byLoop)).toEqual(['{loop="0"}', '{loop="1"}', '{loop="2"}']);
    expect(Object.values(byLoop).every((count) => count >= 1)).toBe(true);
    expect(Object.values(byLoop).reduce((sum, count) => sum + count)).toBe(
      Object.values(metric(text, name)).reduce((sum, count) => sum + count),
    );
    const open = Object.values(metric(text, 'kithdb_event_loop_connections'));
    expect(open.every((count) => count >= 1)).toBe(true);
    expect(metric(text, 'kithdb_http_connections')['']).toBe(open.reduce((sum, count) => sum + count));
  });

  itUnless(isNoLinux)(
    'have about as many connections each, though all of them are idle when these come',
    async () => {
      const { server } = await started();
      const { port } = new URL(server.running.url);
      const COUNT = 150;
      const sockets = await Promise.all(
        Array.from({ length: COUNT }, async () => {
          const socket = connect(Number(port), '127.0.0.1');
          await once(socket, 'connect');
          return socket;
        }),
      );
      const connection = server.connect();
      let open: number[] = [];
      await until(async () => {
        const { body: text } = await connection.send('GET', '/metrics');
        open = Object.values(metric(text, 'kithdb_event_loop_connections'));
        return open.reduce((sum, count) => sum + count) >= COUNT;
      });
      // By chance a loop of three has less than 22 of 150 about once in a million runs.
      expect(Math.min(...open)).toBeGreaterThanOrEqual(22);
      for (const socket of sockets) socket.destroy();
    },
  );

  it('have their port for themselves: another server with several loops, or with one, is refused it', async () => {
    const { server } = await started();
    const { port } = new URL(server.running.url);
    for (const loops of [1, LOOPS]) {
      const other = new LoopsServer(loops, {}, ['--port', port]);
      await expect(other.listen()).rejects.toThrow(/already in use|EADDRINUSE/);
      await other.stop();
    }
  });

  it('refuse a token from the moment that its deletion or rotation is answered, and obey the state of authentication', async () => {
    const { connections } = await started({ KITHDB_ADMIN_PASSWORD: PASSWORD });
    const [first] = connections as [LoopConnection];
    const { body: login } = await first.send('POST', '/auth/admin/login', { json: { password: PASSWORD } });
    const admin = { authorization: `Bearer ${login.token}` };
    const count = (headers: Record<string, string>): Promise<number[]> =>
      onAll(connections, 'POST', `${POINTS}/count`, { json: {}, headers }).then(statuses);
    expect(await count({})).toEqual(OF_ALL(200));

    for (let round = 0; round < 5; round += 1) {
      const changed = connections[round % LOOPS]!;
      const enable = { json: { enabled: true }, headers: admin };
      expect((await changed.send('PATCH', '/auth/enabled', enable)).status).toBe(200);
      expect(await count({})).toEqual(OF_ALL(401));
      expect(await count(admin)).toEqual(OF_ALL(200));

      const fields = { json: { name: 'n', permission: 'read' }, headers: admin };
      const { body: issued } = await changed.send('POST', '/auth/access_token', fields);
      const token = { authorization: `Bearer ${issued.token}` };
      expect([await count(token), await count(token)]).toEqual([OF_ALL(200), OF_ALL(200)]);
      // It may read only.
      const upsert = { json: { points: [{ id: 2, vector: [1, 2] }] }, headers: token };
      expect(statuses(await onAll(connections, 'PUT', POINTS, upsert))).toEqual(OF_ALL(403));

      const path = `/auth/access_token/${issued.id}`;
      const { body: rotated } = await changed.send('POST', `${path}/rotate`, { headers: admin });
      const now = { authorization: `Bearer ${rotated.token}` };
      expect(await count(token)).toEqual(OF_ALL(401));
      expect(await count(now)).toEqual(OF_ALL(200));
      expect((await changed.send('DELETE', path, { headers: admin })).status).toBe(200);
      expect(await count(now)).toEqual(OF_ALL(401));

      const disable = { json: { enabled: false }, headers: admin };
      expect((await changed.send('PATCH', '/auth/enabled', disable)).status).toBe(200);
      expect(await count({})).toEqual(OF_ALL(200));
    }
  });

  it('are all closed where the store of authentication is damaged (C3.8)', async () => {
    server = new LoopsServer(LOOPS, { KITHDB_TOKEN_STORE: 'sqlite3' });
    mkdirSync(join(server.folder, 'data'));
    writeFileSync(join(server.folder, 'data', 'auth.sqlite3'), 'this is no database');
    await server.listen();
    const connections = await server.connectAll();
    for (const headers of [{}, { 'api-key': 'any' }]) {
      const answers = await onAll(connections, 'POST', `${POINTS}/count`, { json: {}, headers });
      expect(answers.map(({ status, body }) => [status, body.status])).toEqual(
        Array(LOOPS).fill([
          500,
          { error: expect.stringContaining('the store of authentication is damaged') },
        ]),
      );
    }
  });

  it('answer 412 until all of them have the open engine', async () => {
    let open: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => (open = resolve));
    server = new LoopsServer(LOOPS);
    const running = await server.listen({
      openEngine: (options) => {
        const engine = openNativeEngine(options);
        const opening = engine.open.bind(engine);
        engine.open = () => gate.then(opening);
        return engine;
      },
    });
    const connections = await server.connectAll();
    expect(statuses(await onAll(connections, 'POST', `${POINTS}/count`, { json: {} }))).toEqual(OF_ALL(412));
    expect(statuses(await onAll(connections, 'GET', '/readyz'))).toEqual(OF_ALL(503));
    open();
    await running.ready;
    expect(statuses(await onAll(connections, 'POST', `${POINTS}/count`, { json: {} }))).toEqual(OF_ALL(404));
    expect(statuses(await onAll(connections, 'GET', '/readyz'))).toEqual(OF_ALL(200));
  });

  it('let their requests finish at a stop, refuse new ones, and accept no more connections', async () => {
    const { server: stopped, connections } = await started();
    const body = JSON.stringify({ limit: 5 });
    const { port } = stopped.running;
    const sockets: { socket: Socket; answer: Promise<string> }[] = [];
    for (let at = 0; at < 24; at += 1) {
      const socket = connect(port, '127.0.0.1');
      const pieces: Buffer[] = [];
      socket.on('data', (piece: Buffer) => pieces.push(piece));
      const answer = once(socket, 'close').then(() => Buffer.concat(pieces).toString());
      const type = `Content-Type: application/json\r\nContent-Length: ${body.length}`;
      socket.write(`POST ${POINTS}/scroll HTTP/1.1\r\nHost: localhost\r\n${type}\r\n\r\n${body.slice(0, 3)}`);
      sockets.push({ socket, answer });
    }
    const inProgress = async (): Promise<number> => {
      const { body: text } = await connections[0]!.send('GET', '/metrics');
      return metric(text, 'kithdb_http_requests_in_progress')[''] ?? 0;
    };
    await until(async () => (await inProgress()) === 25, 200);
    const stopping = stopped.running.stop();
    await sleep(50);
    for (const { socket } of sockets) socket.write(body.slice(3));
    for (const { answer } of sockets) {
      expect(await answer).toMatch(/^HTTP\/1\.1 200 [^]*Connection: close[^]*"points":\[\{"id":1/);
    }
    await stopping;
    expect(stopped.logged.find(({ msg }) => msg === 'stopping').inProgress).toBeGreaterThanOrEqual(24);
    const refused = connect(port, '127.0.0.1');
    expect(await once(refused, 'error')).toEqual([expect.objectContaining({ code: 'ECONNREFUSED' })]);
  });

  it('keep the limits of bodies and of connections together', async () => {
    server = await new LoopsServer(LOOPS, { KITHDB_MAX_CONNECTIONS: '32' }).start();
    const { port } = server.running;
    const [observer] = (await server.connectAll()) as [LoopConnection];
    await observer.send('PUT', '/collections/c', { json: { vectors: { size: 2, distance: 'Dot' } } });
    const open: Socket[] = [];
    const answers: string[] = [];
    const head = `POST ${POINTS}/scroll HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n`;
    for (let at = 0; at < 28; at += 1) {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => undefined);
      socket.on('data', (piece: Buffer) => answers.push(piece.toString()));
      socket.write(`${head}Content-Length: 100\r\n\r\n{`);
      open.push(socket);
    }
    // Half of the connections may have bodies that arrive.
    await until(() => answers.length >= 28 - 16);
    expect(answers.every((answer) => answer.startsWith('HTTP/1.1 429 '))).toBe(true);
    open.forEach((socket) => socket.destroy());

    let closed = 0;
    for (let at = 0; at < 60; at += 1) {
      const socket = connect(port, '127.0.0.1');
      socket.on('error', () => undefined);
      socket.on('close', () => (closed += 1));
      await once(socket, 'connect');
    }
    await until(() => closed >= 60 - 32);
    await sleep(100);
    const { body: text } = await observer.send('GET', '/metrics');
    expect(metric(text, 'kithdb_http_connections')['']).toBeLessThanOrEqual(32);
    expect(metric(text, 'kithdb_http_connections_dropped_total')['']).toBeGreaterThanOrEqual(60 - 32);
  });

  it('pass on what the main one answers: whole files in both directions, ids, callers, and bodies that it refuses', async () => {
    server = await new LoopsServer(LOOPS, { KITHDB_DIALECT: 'qdrant' }).start();
    const connections = await server.connectAll();
    const [first] = connections as [LoopConnection];
    await first.send('PUT', '/collections/c', { json: { vectors: { size: 256, distance: 'Dot' } } });
    const vector = Array.from({ length: 256 }, (_, at) => at / 7);
    const points = Array.from({ length: 2000 }, (_, id) => ({ id, vector }));
    await first.send('PUT', `${POINTS}?wait=true`, { json: { points } });
    const { body: made } = await first.send('POST', '/collections/c/snapshots');
    const path = `/collections/c/snapshots/${made.result.name}`;
    const files = await onAll(connections, 'GET', path);
    expect(files.map(({ bytes }) => bytes.length)).toEqual(Array(LOOPS).fill(made.result.size));
    const [file] = files as [LoopsAnswer];
    expect(files.every(({ bytes }) => bytes.equals(file.bytes))).toBe(true);

    const form = (bytes: Buffer): { body: Buffer; headers: Record<string, string> } => ({
      body: Buffer.concat([
        Buffer.from('--x\r\nContent-Disposition: form-data; name="snapshot"; filename="a.snapshot"\r\n\r\n'),
        bytes,
        Buffer.from('\r\n--x--\r\n'),
      ]),
      headers: { 'content-type': 'multipart/form-data; boundary=x' },
    });
    for (const [at, connection] of connections.entries()) {
      const uploaded = `/collections/copy-${at}/snapshots/upload?wait=true`;
      expect((await connection.send('POST', uploaded, form(file.bytes))).status).toBe(200);
      const counted = await connection.send('POST', `/collections/copy-${at}/points/count`, { json: {} });
      expect(counted.body.result).toEqual({ count: 2000 });
    }
    const named = await onAll(connections, 'GET', '/collections', { headers: { 'x-request-id': 'mine' } });
    expect(named.map(({ headers }) => headers['x-request-id'])).toEqual(Array(LOOPS).fill('mine'));
    // Each answers before the body has been read, and says that its connection ends.
    const large = { body: 'x'.repeat(1_000_000), headers: { 'content-type': 'application/json' } };
    const refused = await onAll(connections, 'POST', '/auth/admin/login', large);
    expect(statuses(refused)).toEqual(OF_ALL(413));

    // A caller that speaks HTTP/1.0 is not direct, and one that names another host is not local.
    for (let at = 0; at < 16; at += 1) {
      const body = JSON.stringify({ password: PASSWORD });
      const rest = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`;
      const one = await sendRaw(server.running, `POST /auth/admin HTTP/1.0\r\nHost: localhost\r\n${rest}`);
      expect(one).toMatch(/^HTTP\/1\.1 403 /);
    }
  });

  it('log whole lines, with one id of a request each', async () => {
    const { server: logging, connections } = await started();
    await Promise.all(
      Array.from({ length: 50 }, () => onAll(connections, 'POST', `${POINTS}/count`, { json: {} })),
    );
    const counts = (): { requestId: string }[] =>
      logging.logged.filter(({ msg, route, status }) => {
        return msg === 'request' && route.endsWith('/points/count') && status === 200;
      });
    await until(() => counts().length === 50 * LOOPS);
    expect(new Set(counts().map(({ requestId }) => requestId)).size).toBe(50 * LOOPS);
  });

  itUnless(whyNoOpenssl())('show new connections a certificate that was replaced', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'kithdb-loops-tls-'));
    const [cert, key] = [join(folder, 'crt'), join(folder, 'key')] as const;
    const make = (name: string): void => {
      const made = ['req', '-x509', '-nodes', '-subj', `/CN=${name}`, '-newkey', 'rsa:2048'];
      execFileSync('openssl', [...made, '-keyout', key, '-out', cert], { stdio: 'pipe' });
    };
    make('first');
    server = new LoopsServer(LOOPS, {}, ['--tls-cert', cert, '--tls-key', key]);
    const running = await server.listen();
    await running.ready;
    const shown = async (): Promise<unknown[]> => {
      const connections = (await server?.connectAll()) ?? [];
      const answers = await onAll(connections, 'GET', '/collections');
      expect(statuses(answers)).toEqual(OF_ALL(200));
      return answers.map(({ peer }) => peer);
    };
    expect(await shown()).toEqual(Array(LOOPS).fill('first'));
    make('second');
    await running.readCertificateAgain?.();
    expect(await shown()).toEqual(Array(LOOPS).fill('second'));
    rmSync(folder, { recursive: true });
  });

  it('stop the server where one of them meets an error that nothing catches, as the main one does', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'kithdb-loops-fault-'));
    const child = new ServerChild(folder, {
      launcher: join(__dirname, 'faulty-server.cjs'),
      env: { KITHDB_EVENT_LOOPS: '2', KITHDB_TOKEN_STORE: 'memory' },
    });
    expect(await child.exit).toEqual({ code: 1, signal: null });
    expect(child.output).toContain('unexpected error, stopping');
    expect(child.output).toContain('nobody catches this');
    rmSync(folder, { recursive: true });
  });
});
