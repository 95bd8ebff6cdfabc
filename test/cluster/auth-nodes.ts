/** Servers of a cluster as their clients see them, of which only authentication is real: over a log in memory or another one. */
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pino from 'pino';
import type { AuthReplication } from '../../src/auth';
import { BOUNDS, type Bounds } from '../../src/cluster/auth/freshness';
import { LogReplication } from '../../src/cluster/auth/replication';
import {
  NoAcknowledgement,
  NotDelivered,
  type MessageSession,
  type MessageStream,
  type NewMessage,
  type StreamMessage,
} from '../../src/cluster/log/message-stream';
import type { StreamState } from '../../src/cluster/log/record-log';
import { StreamLog } from '../../src/cluster/log/stream-log';
import type { BroughtContent } from '../../src/cluster/membership/identity';
import { loadConfig, readFlags } from '../../src/config';
import { startServer, type RunningServer } from '../../src/server';
import { FakeEngine } from '../http/fake-engine';
import { call, PASSWORD, type Answer } from '../operations/guarded';
import type { MemoryStream } from './memory-log';

/** The way from one node to a stream that others reach too. */
export class Link implements MessageStream {
  /** Whether the node cannot reach the stream. */
  #isCut = false;
  /** How many acknowledgements are lost from now on. */
  lostAcknowledgements = 0;
  readonly #sessions = new Set<MessageSession>();

  constructor(readonly stream: MemoryStream) {}

  get name(): string {
    return this.stream.name;
  }

  get isCut(): boolean {
    return this.#isCut;
  }

  cut(): void {
    this.#isCut = true;
    for (const session of this.#sessions) session.close();
  }

  mend(): void {
    this.#isCut = false;
  }

  async send(message: NewMessage): Promise<{ sequence: number; isDuplicate: boolean }> {
    this.#need();
    const sent = await this.stream.send(message);
    if (this.lostAcknowledgements === 0) return sent;
    this.lostAcknowledgements -= 1;
    throw new NoAcknowledgement('the acknowledgement was lost');
  }

  async open(fromSequence: number, subjects: readonly string[]): Promise<MessageSession> {
    this.#need();
    const session = await this.stream.open(fromSequence, subjects);
    this.#sessions.add(session);
    return session;
  }

  async message(sequence: number): Promise<StreamMessage | undefined> {
    this.#need();
    return this.stream.message(sequence);
  }

  async lastOf(subject: string): Promise<StreamMessage | undefined> {
    this.#need();
    return this.stream.lastOf(subject);
  }

  async state(): Promise<StreamState> {
    this.#need();
    return this.stream.state();
  }

  async removeBelow(sequence: number): Promise<void> {
    this.#need();
    await this.stream.removeBelow(sequence);
  }

  #need(): void {
    if (this.#isCut) throw new NotDelivered('no server is there');
  }
}

/** A node that may be stopped and started again. */
export class AuthNode {
  /** Milliseconds that the clock of authentication is ahead. */
  aheadMs = 0;
  readonly logged: string[] = [];
  #server: RunningServer | undefined;

  constructor(
    readonly dataDir: string,
    private readonly replication: (node: AuthNode) => AuthReplication | undefined,
  ) {}

  get url(): string {
    if (this.#server === undefined) throw new Error('the node is stopped');
    return this.#server.url;
  }

  /** Starts the server, which is ready when this resolves. */
  async start(env: Readonly<Record<string, string>> = {}): Promise<void> {
    const commandLine = readFlags(['--port', '0', '--data-dir', this.dataDir, '--event-loops', '1']);
    const config = loadConfig({ commandLine, env, terminal: false });
    const log = pino({ level: 'info' }, { write: (line: string) => this.logged.push(line) });
    const server = await startServer(config, {
      openEngine: () => new FakeEngine(),
      replication: this.replication(this),
      log: { log, flush: () => undefined },
      print: () => undefined,
      ownsProcess: false,
    });
    this.#server = server;
    await server.ready.catch(async (error: unknown) => {
      await this.stop();
      throw error;
    });
  }

  async stop(): Promise<void> {
    const server = this.#server;
    this.#server = undefined;
    await server?.stop();
  }

  ask(method: string, path: string, body?: object, token?: string): Promise<Answer> {
    return call(this.url, method, path, body, token);
  }

  /** The status of a read with a credential. */
  async read(token?: string): Promise<number> {
    return (await this.ask('GET', '/collections', undefined, token)).status;
  }

  async login(password = PASSWORD): Promise<string> {
    const { status, body } = await this.ask('POST', '/auth/admin/login', { password });
    expect(status).toBe(200);
    return String(body.token);
  }

  /** Makes an access token as the admin. */
  async token(jwt: string, name = 'one'): Promise<{ readonly id: number; readonly token: string }> {
    const { status, body } = await this.ask('POST', '/auth/access_token', { name, permission: 'read' }, jwt);
    expect(status).toBe(200);
    return body;
  }
}

/** Nodes and their data directories, which end together. */
export class AuthNodes {
  readonly folder = mkdtempSync(join(tmpdir(), 'kithdb-auth-'));
  readonly #nodes: AuthNode[] = [];

  /** A node, not started yet, over a link of its own or what else is given. */
  node(over: MemoryStream | Link | AuthReplication | undefined, bounds: Partial<Bounds> = {}): AuthNode {
    const dataDir = join(this.folder, `node-${this.#nodes.length}`);
    const node = new AuthNode(dataDir, (self) => replicationOf(over, self, bounds));
    this.#nodes.push(node);
    return node;
  }

  /** Copies the data directory of a node that is stopped; the function puts the copy in its place. */
  copied({ dataDir }: AuthNode): () => void {
    const copy = `${dataDir}-copy`;
    rmSync(copy, { recursive: true, force: true });
    cpSync(dataDir, copy, { recursive: true });
    return () => {
      rmSync(dataDir, { recursive: true });
      cpSync(copy, dataDir, { recursive: true });
    };
  }

  async end(): Promise<void> {
    await Promise.all(this.#nodes.map((node) => node.stop()));
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function replicationOf(
  over: MemoryStream | Link | AuthReplication | undefined,
  node: AuthNode,
  bounds: Partial<Bounds>,
): AuthReplication | undefined {
  if (over === undefined || 'join' in over) return over;
  const now = (): number => performance.now() + node.aheadMs;
  return replicationOver(over, { now, lookMs: 100, ...bounds });
}

/** What is beside the stream. */
interface Surroundings {
  /** Whether the cluster has a shard map. */
  readonly hasBegun?: boolean;
  readonly brings?: BroughtContent;
  /** Ends a start. */
  readonly signal?: AbortSignal;
}

/** Replication over a stream in memory. */
export function replicationOver(
  stream: MessageStream,
  bounds: Partial<Bounds> = {},
  { hasBegun = false, brings, signal }: Surroundings = {},
): LogReplication {
  const disconnect = (): Promise<void> => Promise.resolve();
  const begun = (): Promise<boolean> => Promise.resolve(hasBegun);
  return new LogReplication({
    connect: () => Promise.resolve({ log: new StreamLog(stream), hasBegun: begun, disconnect }),
    brings: () => Promise.resolve(brings),
    bounds: { ...BOUNDS, ...bounds },
    signal,
  });
}
