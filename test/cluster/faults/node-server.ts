/**
 * A node as a process, with the requests of the HTTP interface that the fault tests make, and one of their own: `GET /replicas`
 * says the state of each replica. Its settings are JSON in KITHDB_FAULTS_NODE.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import pino from 'pino';
import type { ClusterEngine } from '../../../src/cluster/cluster-engine';
import { openClusterEngine } from '../../../src/cluster/open';
import { readState } from '../../../src/cluster/replica/shard-replica';
import { engineRoutes } from '../../../src/engine-routes';
import { openNativeEngine } from '../../../src/engine';
import { EngineError, type Engine } from '../../../src/engine/types';
import { engineFailure } from '../../../src/http/errors';
import type { EngineRoute } from '../../../src/http/route-table';
import { collectionNames } from '../../../src/snapshots/files-of-collections';

/** What a node is started with. */
export interface NodeSettings {
  readonly dataDir: string;
  /** Where it answers clients. */
  readonly port: number;
  /** Where it answers other nodes, and what they are told to reach it by. */
  readonly peerPort: number;
  readonly advertisedPort: number;
  /** `host:port` of the log servers. */
  readonly logServers: readonly string[];
  /** The folder of checkpoints. */
  readonly store: string;
}

/** A checkpoint after few records, and streams that are cut behind seconds: new replicas need checkpoints. */
const CHECKPOINTS = { everyRecords: 100, everyMs: 5000, minAgeMs: 5000, lookMs: 500 };
/** Requests that run when the process is to end have so long. */
const GRACE_MS = 20_000;
const LOOK_MS = 10;

class NodeServer {
  #underWay = 0;
  #isStopping = false;

  constructor(
    readonly engine: ClusterEngine,
    /** The engine of the replicas. */
    readonly own: Engine,
  ) {}

  listen(port: number): Promise<Server> {
    const server = createServer((request, response) => {
      this.#underWay += 1;
      void this.#answer(request, response).finally(() => {
        this.#underWay -= 1;
      });
    });
    return new Promise((resolve) => {
      server.listen(port, '127.0.0.1', () => {
        resolve(server);
      });
    });
  }

  /** Lets what runs come to its end, and refuses the rest. */
  async stop(server: Server): Promise<void> {
    this.#isStopping = true;
    server.close();
    const endMs = performance.now() + GRACE_MS;
    while (this.#underWay > 0 && performance.now() < endMs) {
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
    this.engine.giveUpRequests();
    await this.engine.close(5000);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.#isStopping) response.setHeader('connection', 'close');
    try {
      const body = await bytesOf(request);
      if (this.#isStopping) throw new EngineError('shutting_down');
      const url = new URL(request.url ?? '', 'http://node');
      if (url.pathname === '/replicas') {
        response.end(JSON.stringify(await this.#replicas()));
        return;
      }
      const [route, params] = routeOf(request.method ?? '', url.pathname);
      try {
        response.end(await this.#execute(route, params, url, request, response, body));
      } catch (error) {
        const { code, details } = error instanceof EngineError ? error : new EngineError('internal');
        if (!(error instanceof EngineError)) log.error({ err: error }, 'a request failed');
        const { status, message } = engineFailure(code, details, route.failed);
        response.writeHead(status).end(JSON.stringify({ status: { error: message } }));
      }
    } catch (error) {
      response.writeHead(503).end(String(error));
    }
  }

  async #execute(
    route: EngineRoute,
    params: Readonly<Record<string, string>>,
    url: URL,
    { headers }: IncomingMessage,
    response: ServerResponse,
    bytes: Buffer,
  ): Promise<Buffer | string> {
    const body = route.body ? this.engine.receive() : undefined;
    body?.append(bytes, bytes.length);
    return this.engine.execute({
      operation: route.operation,
      arrivedAt: performance.now(),
      collection: params['collection_name'],
      target: route.target === undefined ? undefined : params[route.target],
      timeoutSeconds: Number(url.searchParams.get('timeout') ?? 60),
      operationId: headers['idempotency-key'] as string | undefined,
      readAfter: headers['kithdb-position'] as string | undefined,
      written: (position) => {
        response.setHeader('kithdb-position', position);
      },
      body,
      whenAbandoned: (callback) => {
        response.once('close', callback);
      },
    });
  }

  async #replicas(): Promise<object> {
    const names = await collectionNames(this.own);
    const states = names.map(async (name) => {
      const state = await readState(this.own, name, true).catch(() => undefined);
      return state === undefined ? [] : [{ name, ...state }];
    });
    return (await Promise.all(states)).flat();
  }
}

/** The route of a request, and the parameters of its path. */
function routeOf(method: string, path: string): readonly [EngineRoute, Readonly<Record<string, string>>] {
  const parts = path.split('/');
  for (const route of engineRoutes) {
    const wanted = route.path.split('/');
    if (route.method !== method || wanted.length !== parts.length) continue;
    const pairs = wanted.map((part, at) => [part, decodeURIComponent(parts[at] ?? '')] as const);
    if (!pairs.every(([part, value]) => part.startsWith(':') || part === value)) continue;
    const params = pairs
      .filter(([part]) => part.startsWith(':'))
      .map(([part, value]) => [part.slice(1), value]);
    return [route, Object.fromEntries(params) as Record<string, string>];
  }
  throw new Error(`there is no route ${method} ${path}`);
}

async function bytesOf(request: IncomingMessage): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  return Buffer.concat(pieces);
}

const log = pino({ level: 'info' });

async function main(): Promise<void> {
  const settings = JSON.parse(process.env['KITHDB_FAULTS_NODE'] ?? '') as NodeSettings;
  let own: Engine | undefined;
  const engine = await openClusterEngine(
    { dataDir: settings.dataDir, searchThreads: 1 },
    {
      ...{ cluster: 'faults', dataDir: settings.dataDir, groups: 2, logReplicas: 3 },
      nats: { servers: settings.logServers },
      listen: { host: '127.0.0.1', port: settings.peerPort },
      advertise: { host: '127.0.0.1', port: settings.advertisedPort },
      security: 'insecure',
      store: settings.store,
      checkpoints: CHECKPOINTS,
    },
    log,
    (options) => (own = openNativeEngine(options)),
  );
  await engine.open();
  const node = new NodeServer(engine, own!);
  const server = await node.listen(settings.port);
  log.info('ready');
  process.once('SIGTERM', () => {
    void node.stop(server).then(() => process.exit(0));
  });
}

main().catch((error: unknown) => {
  log.fatal({ err: error }, 'the node cannot start');
  process.exit(1);
});
