import { Agent, request as httpRequest } from 'node:http';
import { Agent as SecureAgent, request as secureRequest } from 'node:https';
import { mkdtempSync, rmSync } from 'node:fs';
import { TLSSocket } from 'node:tls';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { loadConfig, readFlags } from '../../src/config';
import { openNativeEngine } from '../../src/engine';
import { startServer, type RunningServer, type StartOptions } from '../../src/server';
import type { Json } from '../contract/contract-server';
import { LOOP_THREAD } from '../loops';

/** Connections that are opened at most until every event loop has one: the system chooses who accepts. */
const MAX_CONNECTIONS = 400;

export interface LoopsAnswer {
  readonly status: number;
  readonly headers: Record<string, unknown>;
  readonly bytes: Buffer;
  readonly body: Json;
  /** The name in the certificate of the server. */
  readonly peer: unknown;
}

/** A server with several event loops in this process, over a folder of its own. */
export class LoopsServer {
  readonly logged: Json[] = [];
  readonly #folder = mkdtempSync(join(tmpdir(), 'kithdb-loops-'));
  #running: RunningServer | undefined;

  constructor(
    readonly loops: number,
    private readonly env: Readonly<Record<string, string>> = {},
    private readonly flags: readonly string[] = [],
  ) {}

  get folder(): string {
    return this.#folder;
  }

  /** Listens; what `options` has is unusual. */
  async listen(options: StartOptions = {}): Promise<RunningServer> {
    const commandLine = readFlags(['--port', '0', '--data-dir', join(this.#folder, 'data'), ...this.flags]);
    const env = {
      KITHDB_TOKEN_STORE: 'memory',
      KITHDB_SEARCH_THREADS: '1',
      KITHDB_EVENT_LOOPS: String(this.loops),
      ...this.env,
    };
    this.#running = await startServer(loadConfig({ commandLine, env, terminal: false }), {
      log: {
        log: pino({ level: 'info' }, { write: (line) => this.logged.push(JSON.parse(line)) }),
        flush: () => undefined,
      },
      print: () => undefined,
      ownsProcess: false,
      openEngine: openNativeEngine,
      loops: LOOP_THREAD,
      ...options,
    });
    return this.#running;
  }

  /** Listens and is ready. */
  async start(): Promise<this> {
    const running = await this.listen();
    await running.ready;
    return this;
  }

  get running(): RunningServer {
    if (this.#running === undefined) throw new Error('the server does not listen');
    return this.#running;
  }

  /** A connection of its own for requests one after the other. */
  connect(): LoopConnection {
    return new LoopConnection(this.running.url);
  }

  /**
   * One connection to each event loop. Ids of requests begin otherwise on each, and of points endpoints they are made on the
   * loop of the connection.
   */
  async connectAll(headers: Record<string, string> = {}): Promise<LoopConnection[]> {
    const byLoop = new Map<string, LoopConnection>();
    for (let opened = 0; byLoop.size < this.loops; opened += 1) {
      if (opened === MAX_CONNECTIONS) throw new Error(`${byLoop.size} of ${this.loops} event loops accept`);
      const connection = this.connect();
      const answer = await connection.send('POST', '/collections/none/points/count', { json: {}, headers });
      const loop = String(answer.headers['x-request-id']).slice(0, 24);
      if (byLoop.has(loop)) connection.close();
      else byLoop.set(loop, connection);
    }
    return [...byLoop.values()];
  }

  async stop(): Promise<void> {
    await this.#running?.stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** One keep-alive connection. */
export class LoopConnection {
  readonly #url: URL;
  readonly #agent: Agent;

  constructor(url: string) {
    this.#url = new URL(url);
    const options = { keepAlive: true, maxSockets: 1 };
    this.#agent =
      this.#url.protocol === 'https:'
        ? new SecureAgent({ ...options, rejectUnauthorized: false })
        : new Agent(options);
  }

  send(
    method: string,
    path: string,
    {
      json,
      body = json === undefined ? undefined : JSON.stringify(json),
      headers = {},
    }: { json?: unknown; body?: string | Buffer; headers?: Record<string, string> } = {},
  ): Promise<LoopsAnswer> {
    const send = this.#url.protocol === 'https:' ? secureRequest : httpRequest;
    return new Promise((resolve, reject) => {
      const sent = send(
        new URL(path, this.#url),
        {
          method,
          agent: this.#agent,
          headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
        },
        (response) => {
          const pieces: Buffer[] = [];
          const { socket } = response;
          const peer = socket instanceof TLSSocket ? socket.getPeerCertificate().subject.CN : undefined;
          response.on('data', (piece: Buffer) => pieces.push(piece));
          response.on('error', reject);
          response.on('end', () => {
            const bytes = Buffer.concat(pieces);
            const isJson = String(response.headers['content-type']).includes('json') && bytes.length > 0;
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers,
              bytes,
              peer,
              body: isJson ? JSON.parse(bytes.toString()) : bytes.toString(),
            });
          });
        },
      );
      sent.on('error', reject);
      sent.end(body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** The value of a metric by its labels, as they are written. */
export function metric(text: string, name: string): Record<string, number> {
  const lines = [...text.matchAll(new RegExp(`^${name}(\\{[^}]*\\})? (\\S+)$`, 'gm'))];
  return Object.fromEntries(lines.map(([, labels = '', value]) => [labels, Number(value)]));
}
