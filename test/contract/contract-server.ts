import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import { loadConfig, readFlags } from '../../src/config';
import { startServer, type RunningServer } from '../../src/server';
import { openNativeEngine } from '../../src/engine';
import type { Engine } from '../../src/engine/types';
import { send, type Answer } from '../http/harness';
import { LOOP_THREAD, TEST_EVENT_LOOPS } from '../loops';
import type { Searches } from '../searches';

/** A parsed answer, or a part of one; tests check its shape themselves. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- what it holds is what the tests are about
export type Json = any;

/** A whole server over the native engine and a folder of its own, in this process. */
export class ContractServer {
  readonly dataDir = mkdtempSync(join(tmpdir(), 'kithdb-contract-'));
  /** The lines that said that the server is ready (C11.3). */
  readonly printed: string[] = [];
  /** The lines of its log, from warnings on. */
  readonly logged: Json[] = [];
  private running: RunningServer | undefined;
  private engine: Engine | undefined;
  private made = 0;

  private constructor(
    private readonly flags: readonly string[],
    private readonly env: Readonly<Record<string, string>>,
  ) {}

  /** Starts one that is ready. `flags` as on the command line, `env` beside a token store in memory. */
  static async start(
    flags: readonly string[] = [],
    env: Record<string, string> = {},
  ): Promise<ContractServer> {
    const server = new ContractServer(flags, env);
    await server.restart();
    return server;
  }

  get port(): number {
    return this.server().port;
  }

  /** Starts again over the same folder, after a clean stop if it runs. */
  async restart(flags = this.flags): Promise<void> {
    await this.running?.stop();
    const commandLine = readFlags(['--port', '0', '--data-dir', this.dataDir, ...flags]);
    const usual = { KITHDB_TOKEN_STORE: 'memory', KITHDB_SEARCH_THREADS: '1', ...TEST_EVENT_LOOPS };
    const env = { ...usual, ...this.env };
    this.running = await startServer(loadConfig({ commandLine, env, terminal: false }), {
      log: {
        log: pino({ level: 'warn' }, { write: (line) => this.logged.push(JSON.parse(line)) }),
        flush: () => undefined,
      },
      print: (line) => this.printed.push(line),
      ownsProcess: false,
      loops: LOOP_THREAD,
      openEngine: (options) => (this.engine = openNativeEngine(options)),
    });
    await this.running.ready;
  }

  /** What searches did since the server was started. */
  readonly searches = async (): Promise<Searches> => {
    await this.engine?.refresh(0);
    const found = this.engine?.status().internals?.searches;
    if (found === undefined) throw new Error('the engine is not open');
    return { walks: found.wideWalks + found.twoHopWalks, scans: found.scans, hops: found.hops };
  };

  /** Stops it and leaves the folder. */
  async halt(): Promise<void> {
    await this.running?.stop();
    this.running = undefined;
  }

  /** Stops it and removes its folder. */
  async stop(): Promise<void> {
    await this.halt();
    rmSync(this.dataDir, { recursive: true, force: true });
  }

  /** Sends a request with `json`, or with no body. */
  call(method: string, path: string, json?: unknown): Promise<Answer> {
    return send(this.server(), method, path, json === undefined ? {} : { json });
  }

  /** Sends a body exactly as it is written. */
  raw(method: string, path: string, body: string | Buffer): Promise<Answer> {
    return send(this.server(), method, path, { body });
  }

  /** The `result` of a request that must succeed; `json` is an object, or the text of the body. */
  async ok(method: string, path: string, json?: unknown): Promise<Json> {
    const answer =
      typeof json === 'string' ? await this.raw(method, path, json) : await this.call(method, path, json);
    if (answer.status !== 200) {
      throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    }
    expect(answer.body).toEqual({
      time: expect.any(Number),
      status: 'ok',
      result: answer.body.result,
    });
    return answer.body.result;
  }

  /** Puts a body of any type; the status, and the result or the message. */
  async put(
    path: string,
    body: Buffer,
    headers: Readonly<Record<string, string>>,
  ): Promise<[status: number, answer: Json]> {
    const answer = await send({ port: this.port }, 'PUT', path, { body, headers });
    return [answer.status, answer.body.result ?? answer.body.status.error];
  }

  /** The status and the message of a request that must fail; `json` is an object, or the text of the body. */
  async refused(method: string, path: string, json?: unknown): Promise<[status: number, message: string]> {
    const answer =
      typeof json === 'string' ? await this.raw(method, path, json) : await this.call(method, path, json);
    const message: unknown = answer.body?.status?.error;
    if (typeof message !== 'string') {
      throw new Error(`${method} ${path} was not refused: ${answer.status} ${answer.text}`);
    }
    expect(answer.body).toEqual({ time: expect.any(Number), status: { error: message } });
    return [answer.status, message];
  }

  /** Makes a collection, by default of two-dimensional Dot vectors, and returns its path. */
  async collection(name: string, body: unknown = { vectors: { size: 2, distance: 'Dot' } }): Promise<string> {
    const path = `/collections/${name}`;
    await this.ok('PUT', path, body);
    return path;
  }

  /** A new collection of two-dimensional Dot vectors that holds these points; gives its path. */
  async holding(points: readonly object[], body?: unknown): Promise<string> {
    this.made += 1;
    const path = await this.collection(`holding-${this.made}`, body);
    if (points.length > 0) {
      await this.ok('PUT', `${path}/points`, { points });
    }
    return path;
  }

  /** Vector and payload of every point of a collection, by id. */
  async pointsOf(path: string): Promise<Record<string, { vector: unknown; payload: unknown }>> {
    const { points } = await this.ok('POST', `${path}/points/scroll`, { limit: 1000, with_vector: true });
    return Object.fromEntries(
      points.map(({ id, vector, payload }: { id: unknown; vector: unknown; payload: unknown }) => [
        String(id),
        { vector, payload },
      ]),
    );
  }

  /** Everything that a client can see of one collection, as the text that came back (so that numbers are exact). */
  async everything(path: string): Promise<string[]> {
    const body = { limit: 1000, with_vector: true, with_payload: true };
    const page = await this.call('POST', `${path}/points/scroll`, body);
    const info = await this.call('GET', path);
    const withoutTime = (text: string): string => text.replace(/"time":[^,]*/, '');
    // A start reads what memory had, so that this takes other room, and says how long that took.
    const withoutMemory = JSON.stringify({ ...info.body.result, size: undefined, residency: undefined });
    return [withoutTime(page.text), withoutMemory];
  }

  private server(): RunningServer {
    if (this.running === undefined) {
      throw new Error('the server is not running');
    }
    return this.running;
  }
}

/** The ids of points, hits or records. */
export function idsOf(records: readonly { id: unknown }[]): unknown[] {
  return records.map(({ id }) => id);
}

/** The two ways to name the points that an update is about. */
export const SELECTORS: [title: string, select: (ids: number[]) => object][] = [
  ['points', (ids) => ({ points: ids })],
  ['filter', (ids) => ({ filter: { must: { has_id: ids } } })],
];
