import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createConnection, createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { loadConfig, readFlags, type Config } from '../../src/config';
import { CONTROL_FILE } from '../../src/operations/control-protocol';
import { startServer, StartError, type RunningServer, type StartOptions } from '../../src/server';
import { sleep, until } from '../until';
import { FakeEngine } from './fake-engine';
import { send as sendTo, type Answer, type Sent } from './harness';

const folders: string[] = [];

function dataDir(): string {
  const folder = mkdtempSync(join(tmpdir(), 'kithdb-server-'));
  folders.push(folder);
  return folder;
}

afterAll(() => {
  for (const folder of folders) {
    rmSync(folder, { recursive: true, force: true });
  }
});

function config(...flags: string[]): Config {
  const commandLine = readFlags(['--port', '0', '--data-dir', dataDir(), ...flags]);
  return loadConfig({ commandLine, env: { KITHDB_TOKEN_STORE: 'memory' }, terminal: false });
}

const silent = { log: pino({ level: 'silent' }), flush: () => undefined };

function start(engine: FakeEngine, options: StartOptions = {}, ...flags: string[]): Promise<RunningServer> {
  return startServer(config(...flags), {
    openEngine: () => engine,
    log: silent,
    print: () => undefined,
    ownsProcess: false,
    ...options,
  });
}

/** Sends to a server whose engine makes up its answers. */
function send({ port }: { port: number }, method: string, path: string, sent?: Sent): Promise<Answer> {
  return sendTo({ port, fake: true }, method, path, sent);
}

const SEARCH = '/collections/c/points/search';

/** What a server that owns its process listens to. */
const EVENTS = ['SIGTERM', 'SIGINT', 'SIGHUP', 'uncaughtException', 'unhandledRejection'];

describe('startServer', () => {
  it('C10.1 listens before the engine is open, and says when it is ready (C11.3)', async () => {
    const engine = new FakeEngine();
    let opened = (): void => undefined;
    engine.opening = new Promise((resolve) => {
      opened = resolve;
    });
    const printed: string[] = [];
    const server = await start(engine, { print: (line) => printed.push(line) });
    expect((await send(server, 'GET', '/livez')).status).toBe(200);
    expect((await send(server, 'GET', '/readyz')).status).toBe(503);
    const early = await send(server, 'POST', SEARCH, { json: {} });
    expect([early.status, early.body.status.error]).toEqual([412, 'Engine not initialized']);
    expect((await send(server, 'GET', '/auth/admin/exists')).body.result).toBe(false);
    expect(printed).toEqual([]);
    opened();
    await server.ready;
    expect((await send(server, 'GET', '/readyz')).status).toBe(200);
    expect((await send(server, 'POST', SEARCH, { json: {} })).status).toBe(200);
    expect(printed).toEqual([
      expect.stringMatching(
        new RegExp(
          `^kithdb \\S+ ready on http://127\\.0\\.0\\.1:${server.port} in \\d+ ms: 3 collections, 42 points$`,
        ),
      ),
    ]);
    await server.stop();
    expect(engine.closed).toBe(true);
  });

  it('gives the engine its settings', async () => {
    const openEngine = jest.fn(() => new FakeEngine());
    const server = await start(new FakeEngine(), { openEngine }, '--search-threads', '3');
    await server.ready;
    expect(openEngine).toHaveBeenCalledWith(
      expect.objectContaining({
        searchThreads: 3,
        dataDir: folders.at(-1),
        limits: expect.objectContaining({ maxPointsPerRequest: 10_000 }),
      }),
    );
    await server.stop();
  });

  it('authentication end to end: admin, login, enabling, a token', async () => {
    const server = await start(new FakeEngine());
    await server.ready;
    const password = 'Correct-Horse-7!';
    expect((await send(server, 'POST', '/auth/admin', { json: { password } })).status).toBe(200);
    const login = await send(server, 'POST', '/auth/admin/login', { json: { password } });
    const jwt = { authorization: `Bearer ${login.body.token as string}` };
    expect((await send(server, 'POST', SEARCH)).status).toBe(200);
    const enabled = await send(server, 'PATCH', '/auth/enabled', { json: { enabled: true }, headers: jwt });
    expect([enabled.status, enabled.body.result]).toEqual([200, true]);
    expect((await send(server, 'POST', SEARCH)).status).toBe(401);
    expect((await send(server, 'POST', SEARCH, { headers: jwt })).status).toBe(200);
    const made = await send(server, 'POST', '/auth/access_token', {
      json: { name: 'reader', permission: 'read' },
      headers: jwt,
    });
    const key = { 'api-key': made.body.token as string };
    expect((await send(server, 'POST', SEARCH, { headers: key })).status).toBe(200);
    const write = await send(server, 'PUT', '/collections/c/points', { headers: key });
    expect([write.status, write.body.status.error]).toEqual([403, 'Permission denied: write required']);
    const gone = await send(server, 'DELETE', `/auth/access_token/${made.body.id as number}`, {
      headers: jwt,
    });
    expect(gone.status).toBe(200);
    expect((await send(server, 'POST', SEARCH, { headers: key })).status).toBe(401);
    await server.stop();
  });

  it('C3.8 refuses a foreign Host on loopback while authentication is disabled, the plain endpoints apart', async () => {
    const server = await start(new FakeEngine());
    await server.ready;
    const headers = { host: 'evil.example' };
    expect((await send(server, 'POST', SEARCH, { headers })).status).toBe(403);
    expect((await send(server, 'GET', '/auth/admin/exists', { headers })).status).toBe(403);
    expect((await send(server, 'GET', '/', { headers })).status).toBe(200);
    const page = await send(server, 'POST', SEARCH, { headers: { origin: 'http://evil.example' } });
    expect(page.status).toBe(403);
    await server.stop();
  });

  it('C3.8 does not listen where others can reach it while authentication is off', async () => {
    await expect(start(new FakeEngine(), {}, '--host', '0.0.0.0')).rejects.toThrow(
      /authentication is disabled/,
    );
    const server = await start(new FakeEngine(), {}, '--host', '0.0.0.0', '--insecure-no-auth');
    await server.ready;
    await server.stop();
  });

  it('says in one sentence why an address cannot be used', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const failed = start(new FakeEngine(), {}, '--port', String(port));
    await expect(failed).rejects.toThrow(StartError);
    await expect(failed).rejects.toThrow(`Cannot listen on 127.0.0.1:${port}: the address is already in use`);
    taken.close();
  });

  it('says in one sentence that a certificate cannot be used', async () => {
    const file = join(dataDir(), 'not.pem');
    writeFileSync(file, '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n');
    const failed = start(new FakeEngine(), {}, '--tls-cert', file, '--tls-key', file);
    await expect(failed).rejects.toThrow(/^The TLS certificate and key cannot be used: /);
    await expect(failed).rejects.toThrow(StartError);
  });

  it('reports an engine that cannot open, and still stops', async () => {
    const engine = new FakeEngine();
    engine.opening = Promise.reject(new Error('the data directory is in use'));
    const server = await start(engine);
    await expect(server.ready).rejects.toThrow('the data directory is in use');
    expect((await send(server, 'POST', SEARCH)).status).toBe(412);
    await server.stop();
  });

  it('reports a data directory that another server uses, and no other error', async () => {
    const folder = dataDir();
    const settings = (): Config =>
      loadConfig({
        commandLine: readFlags(['--port', '0', '--data-dir', folder]),
        env: { KITHDB_TOKEN_STORE: 'sqlite3' },
        terminal: false,
      });
    const logged: string[] = [];
    const log = pino({ level: 'warn' }, { write: (line: string) => logged.push(line) });
    const options = { openEngine: () => new FakeEngine(), print: () => undefined, ownsProcess: false };
    const first = await startServer(settings(), { ...options, log: silent });
    await first.ready;
    const engine = new FakeEngine();
    const opening = jest.spyOn(engine, 'open');
    const second = await startServer(settings(), {
      ...options,
      openEngine: () => engine,
      log: { log, flush: () => undefined },
    });
    await expect(second.ready).rejects.toThrow(/another KithDB process runs on this data directory/);
    await second.stop();
    expect(logged).toEqual([]);
    // Had it taken the engine's lock, the first would have had to give up too, were it still starting.
    expect(opening).not.toHaveBeenCalled();
    await first.stop();
  });
});

describe('C11.3 stopping', () => {
  it('finishes what runs, answers 503 to what comes on its connection, and closes the engine last', async () => {
    const engine = new FakeEngine();
    let open = (): void => undefined;
    engine.gate = new Promise((resolve) => {
      open = resolve;
    });
    const server = await start(engine);
    await server.ready;
    const socket = createConnection(server.port, '127.0.0.1');
    let received = '';
    socket.on('data', (chunk: Buffer) => (received += chunk.toString()));
    const search = `POST ${SEARCH} HTTP/1.1\r\nHost: localhost\r\n\r\n`;
    socket.write(search);
    await until(() => engine.requests.length === 1);
    const stopping = server.stop();
    expect(server.stop()).toBe(stopping);
    await expect(send(server, 'GET', '/livez')).rejects.toThrow(/ECONNREFUSED|ECONNRESET/);
    socket.write(`GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n${search}`);
    await sleep(50);
    expect(engine.closed).toBe(false);
    open();
    await once(socket, 'close');
    await stopping;
    expect(engine.closed).toBe(true);
    expect(received).toMatch(/^HTTP\/1\.1 200 OK/);
    expect(received).toMatch(/^Connection: close/m);
    expect(engine.requests).toHaveLength(1);
  });

  it('answers 503 to what does not finish in time, and closes the engine in what is left of it', async () => {
    const engine = new FakeEngine();
    engine.gate = new Promise(() => undefined);
    const server = await start(engine, { graceMs: 30 });
    await server.ready;
    const hanging = send(server, 'POST', SEARCH);
    const arriving = createConnection(server.port, '127.0.0.1');
    let received = '';
    arriving.on('data', (chunk: Buffer) => (received += chunk.toString()));
    arriving.write(
      `POST ${SEARCH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{`,
    );
    await until(() => engine.requests.length === 1 && engine.bodies.length > 0);
    await server.stop();
    const answer = await hanging;
    expect([answer.status, answer.body.status.error]).toEqual([503, 'Server is shutting down']);
    expect(received).toMatch(/^HTTP\/1\.1 503 /);
    expect([engine.gaveUp, engine.closed]).toEqual([true, true]);
    expect(engine.closeTimeMs).toBeGreaterThan(0);
    expect(engine.closeTimeMs).toBeLessThan(9000);
  });

  it('answers what became of a request that the engine gives up or still finishes', async () => {
    const engine = new FakeEngine();
    engine.gate = new Promise((resolve) => {
      engine.onGiveUp = resolve;
    });
    const server = await start(engine, { graceMs: 30 });
    await server.ready;
    const hanging = send(server, 'POST', SEARCH);
    await until(() => engine.requests.length === 1);
    await server.stop();
    expect((await hanging).status).toBe(200);
  });

  it('stops while it is still starting', async () => {
    const engine = new FakeEngine();
    let opened = (): void => undefined;
    engine.opening = new Promise((resolve) => {
      opened = resolve;
    });
    const printed: string[] = [];
    const server = await start(engine, { print: (line) => printed.push(line) });
    const stopping = server.stop();
    opened();
    await stopping;
    expect(engine.closed).toBe(true);
    expect(printed).toEqual([]);
  });

  it('opens no engine after it was asked to stop', async () => {
    const engine = new FakeEngine();
    const opening = jest.spyOn(engine, 'open');
    const server = await start(engine);
    await server.stop();
    await expect(server.ready).resolves.toBeUndefined();
    expect(opening).not.toHaveBeenCalled();
  });

  it('handles a signal that comes before it listens', async () => {
    const exited: unknown[] = [];
    const exit = jest.spyOn(process, 'exit').mockImplementation((code) => {
      exited.push(code);
      return undefined as never;
    });
    const before = EVENTS.map((event) => process.listeners(event as 'SIGTERM'));
    try {
      const starting = start(new FakeEngine(), { ownsProcess: true });
      process.emit('SIGTERM', 'SIGTERM');
      await starting;
      await until(() => exited.length > 0);
      expect(exited).toEqual([0]);
    } finally {
      exit.mockRestore();
      EVENTS.forEach((event, index) => {
        for (const listener of process.listeners(event as 'SIGTERM')) {
          if (!before[index]?.includes(listener)) {
            process.off(event, listener);
          }
        }
      });
    }
  });

  it('closes the engine when the control socket cannot be closed, and then fails, so that the process exits 1', async () => {
    const engine = new FakeEngine();
    const error = jest.fn();
    const log = pino({ level: 'error' }, { write: error });
    const server = await start(engine, { log: { log, flush: () => undefined } });
    await server.ready;
    const file = join(folders.at(-1) ?? '', CONTROL_FILE);
    rmSync(file);
    mkdirSync(file);
    await expect(server.stop()).rejects.toThrow(CONTROL_FILE);
    expect(engine.closed).toBe(true);
    expect(error).toHaveBeenCalledWith(expect.stringContaining('could not close cleanly'));
  });

  it('stops cleanly although the engine cannot be closed, which is logged', async () => {
    const engine = new FakeEngine();
    jest.spyOn(engine, 'close').mockRejectedValue(new Error('a sync failed'));
    const error = jest.fn();
    const log = pino({ level: 'error' }, { write: error });
    const server = await start(engine, { log: { log, flush: () => undefined } });
    await server.ready;
    await server.stop();
    expect(error).toHaveBeenCalledWith(expect.stringContaining('a sync failed'));
  });

  it('waits for an opening that takes longer than a stop may, and then exits 0 without it', async () => {
    const engine = new FakeEngine();
    let opened = (): void => undefined;
    engine.opening = new Promise((resolve) => {
      opened = resolve;
    });
    const exited: unknown[] = [];
    const exit = jest.spyOn(process, 'exit').mockImplementation((code) => {
      exited.push(code, engine.closed);
      return undefined as never;
    });
    const before = EVENTS.map((event) => process.listeners(event as 'SIGTERM'));
    // Only the timers of what is being tested: sockets go on by themselves.
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'performance', 'queueMicrotask', 'Date'] });
    try {
      const opening = jest.spyOn(engine, 'open');
      const server = await start(engine, { ownsProcess: true });
      while (opening.mock.calls.length === 0) {
        await new Promise((resolve) => setImmediate(resolve));
      }
      process.emit('SIGTERM', 'SIGTERM');
      for (let second = 1; second < 12; second += 1) {
        await jest.advanceTimersByTimeAsync(1000);
        await new Promise((resolve) => setImmediate(resolve));
        expect([second, exited]).toEqual([second, second < 10 ? [] : [0, false]]);
      }
      opened();
      await server.stop();
    } finally {
      jest.useRealTimers();
      exit.mockRestore();
      EVENTS.forEach((event, index) => {
        for (const listener of process.listeners(event as 'SIGTERM')) {
          if (!before[index]?.includes(listener)) {
            process.off(event, listener);
          }
        }
      });
    }
  });

  describe('by the process', () => {
    async function run(
      ...flags: string[]
    ): Promise<{ child: ChildProcess; port: number; output: () => string }> {
      const script = join(__dirname, 'server-process.cjs');
      const child = spawn(process.execPath, [script, '--port', '0', '--data-dir', dataDir(), ...flags], {
        env: { PATH: process.env['PATH'], KITHDB_TOKEN_STORE: 'memory' },
      });
      let text = '';
      const collect = (chunk: Buffer): void => {
        text += chunk.toString();
      };
      child.stdout.on('data', collect);
      child.stderr.on('data', collect);
      await until(() => text.includes('ready on') || child.exitCode !== null);
      const port = Number(/ready on http:\/\/[\d.]+:(\d+)/.exec(text)?.[1]);
      return { child, port, output: () => text };
    }

    it.each(['SIGTERM', 'SIGINT'] as const)('exits 0 after %s', async (signal) => {
      const { child, port, output } = await run();
      expect((await send({ port }, 'POST', SEARCH)).status).toBe(200);
      child.kill(signal);
      expect(await once(child, 'exit')).toEqual([0, null]);
      expect(output()).toContain('stopped');
    });

    it('exits at once after a second signal', async () => {
      const { child, port } = await run('--hang', '--patient');
      const hanging = send({ port }, 'POST', SEARCH).catch(() => undefined);
      const exited = once(child, 'exit');
      await sleep(50);
      child.kill('SIGTERM');
      // The child may be late for the first: what comes right behind it counts as a copy of it.
      const again = setInterval(() => child.kill('SIGTERM'), 150);
      expect(await exited).toEqual([1, null]);
      clearInterval(again);
      await hanging;
    });

    it('takes the copies of one Ctrl-C for one signal', async () => {
      // On a busy machine the copies may come too late to count as copies. Such an attempt is repeated.
      for (let betweenMs = Infinity; betweenMs > 60;) {
        const { child, port, output } = await run('--hang');
        const hanging = send({ port }, 'POST', SEARCH).catch(() => undefined);
        const exited = once(child, 'exit');
        await sleep(50);
        const first = performance.now();
        child.kill('SIGINT');
        await sleep(10);
        child.kill('SIGINT');
        betweenMs = performance.now() - first;
        const exit: unknown = await exited;
        await hanging;
        if (betweenMs > 60) continue;
        expect(exit).toEqual([0, null]);
        expect(output()).toContain('stopped');
      }
    });

    it('stops in order and exits 1 after an uncaught error', async () => {
      const { child, output } = await run('--throw');
      if (child.exitCode === null) {
        await once(child, 'exit');
      }
      expect(child.exitCode).toBe(1);
      expect(output()).toContain('nobody catches this');
      expect(output()).toContain('stopped');
    });
  });
});
