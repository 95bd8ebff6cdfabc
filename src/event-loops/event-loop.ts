/**
 * What a worker thread of the server runs: an event loop with an HTTP server of its own. It answers the requests of the points
 * endpoints; the main loop answers all others (docs/event-loops.md).
 */
import { readlinkSync } from 'node:fs';
import type { Server } from 'node:http';
import { Server as SecureServer } from 'node:https';
import { createRequire } from 'node:module';
import { parentPort, workerData, type MessagePort } from 'node:worker_threads';
import pino, { type Logger } from 'pino';
import { originGuard } from '../auth/origin-guard';
import { joinNativeEngine } from '../engine';
import type { Engine } from '../engine/types';
import { commonRoutes, groupRoutes } from '../engine-routes';
import type { Authenticator } from '../http/authorization';
import { LocalAdmission } from '../http/admission';
import { DEFAULT_PACE } from '../http/body';
import { secureOptions, type TlsMaterial } from '../http/certificate';
import { ClientAddresses } from '../http/client-address';
import { ConnectionLimit } from '../http/connection-limit';
import { Deferred } from '../http/deferred';
import { DIALECTS, type Dialect } from '../http/dialect';
import { drain } from '../http/drain';
import { createHttpServer, DEFAULT_SERVER_LIMITS } from '../http/http-server';
import { Lifecycle } from '../http/lifecycle';
import { listenOn } from '../http/listen';
import { logOptions } from '../http/log';
import { LocalRequestCounts } from '../http/request-counts';
import { requestListeners, type HttpServices } from '../http/request-listeners';
import type { Tracing } from '../http/request-trace';
import { isPointsRoute, type Route } from '../http/route-table';
import { admissionLimits } from '../process/budgets';
import { bytesInFlight } from '../process/memory';
import { unimplementedRoutes } from '../system/unimplemented';
import { productVersion } from '../system/version';
import { openTracing } from '../tracing/open';
import { countsOf } from './counts';
import { LinePoster } from './line-poster';
import type { FurtherLoop, LoopData, MainLoop } from './messages';
import { Peer, type Answers, type NoticeHandlers } from './peer';
import { relay } from './relay';
import { RemoteAuthenticator } from './remote-authenticator';
import { SharedMemory } from './shared-memory';

/** The routes that this event loop answers. */
function ownRoutes(dialect: Dialect): readonly Route[] {
  const groups = dialect.servesGroups ? groupRoutes : [];
  return [...commonRoutes, ...groups, ...unimplementedRoutes(groups)].filter(isPointsRoute);
}

/** The event loop of this thread. */
class EventLoop {
  readonly #memory: SharedMemory;
  readonly #main: Peer<FurtherLoop, MainLoop>;
  readonly #lines: LinePoster;
  readonly #log: Logger;
  readonly #lifecycle = new Lifecycle();
  readonly #requests: LocalRequestCounts;
  readonly #auth: Deferred<Authenticator>;
  #openAuth: (auth: Authenticator) => void = () => undefined;
  #connections: ConnectionLimit | undefined;
  #server: Server | undefined;
  #tracing: Tracing | undefined;
  /** The certificate that has taken the place of that of the configuration. */
  #certificate: TlsMaterial | undefined;

  constructor(
    private readonly data: LoopData,
    port: MessagePort,
  ) {
    this.#memory = SharedMemory.of(data.memory);
    this.#requests = new LocalRequestCounts(this.#memory.gauges(data.loop));
    this.#auth = new Deferred(
      new Promise((resolve) => {
        this.#openAuth = resolve;
      }),
    );
    this.#main = new Peer<FurtherLoop, MainLoop>(port, this.#answers(), this.#noticeHandlers(), this.#fault);
    this.#lines = new LinePoster((lines) => {
      this.#main.notify('lines', lines);
    });
    this.#log = pino(logOptions(data.config.logLevel), this.#lines);
  }

  /** Has the main loop report an error that nothing caught, and stop the server; this one goes on meanwhile. */
  readonly #fault = (error: unknown): void => {
    this.#lines.flush();
    this.#main.notify('fault', error);
  };

  async listen(): Promise<void> {
    this.#tracing = this.data.isTraced ? await openTracing(productVersion()) : undefined;
    this.#server = this.#createServer();
    this.#useCertificate();
    await listenOn(this.#server, this.data.descriptors);
    // Until here an error ends the thread, and with it the start.
    process.on('uncaughtException', this.#fault);
    this.#main.notify('listening', { thread: threadNumber(), isTraced: this.#tracing !== undefined });
  }

  #useCertificate(): void {
    if (this.#certificate !== undefined && this.#server instanceof SecureServer) {
      this.#server.setSecureContext(secureOptions(this.#certificate));
    }
  }

  #createServer(): Server {
    const { config } = this.data;
    const dialect = DIALECTS[config.dialect];
    const listeners = requestListeners(this.#services(dialect), ({ matcher }) => ({
      isElsewhere: ({ method, path }) =>
        this.data.relaysAll ||
        (this.data.isTraced && this.#tracing === undefined) ||
        matcher.match(method, path) === undefined,
      answer: (exchange) => {
        relay(exchange, (port, from) => {
          this.#main.notify('relay', { port, from }, [port]);
        });
      },
    }));
    this.#connections = new ConnectionLimit(config.maxConnections, listeners.cut, {
      open: this.#memory.connections,
      cutOne: () => this.#main.ask('cutOne', undefined),
    });
    const limits = { ...DEFAULT_SERVER_LIMITS, maxConnections: config.maxConnections };
    return createHttpServer(listeners, limits, config.tls, this.#connections);
  }

  #services(dialect: Dialect): HttpServices {
    const { config, loops } = this.data;
    return {
      routes: ownRoutes(dialect),
      dialect,
      requests: this.#requests,
      admission: new LocalAdmission(admissionLimits(config, loops), this.#memory.admission),
      addresses: new ClientAddresses(config.trustedProxies),
      auth: this.#auth,
      guard: originGuard(config),
      lifecycle: this.#lifecycle,
      log: this.#log,
      tracing: this.#tracing,
      limits: {
        bodyBytes: Math.min(config.maxBodyBytes, bytesInFlight(config)),
        // Those endpoints are the main loop's.
        authBodyBytes: 0,
      },
      bodyPace: DEFAULT_PACE,
      validateQuery: (kind, queryString) => this.#main.ask('validateQuery', { kind, queryString }),
      corsOrigins: config.corsOrigins,
      requestLog: { slowMs: config.slowRequestMs },
    };
  }

  #answers(): Answers<FurtherLoop['asks']> {
    return {
      join: async (number) => {
        this.#lifecycle.becomeReady(await this.#join(number));
        return undefined;
      },
      counts: () => countsOf(this.data.loop, this.#requests),
      cutOne: () => this.#connections?.cutOne() ?? false,
      useCertificate: (material) => {
        this.#certificate = material;
        this.#useCertificate();
        return undefined;
      },
      drain: async ({ graceMs, answerMs }) => {
        const finished = this.#server === undefined || (await this.#drain(this.#server, graceMs, answerMs));
        await this.#tracing?.flush();
        this.#lines.flush();
        return finished;
      },
    };
  }

  #noticeHandlers(): NoticeHandlers<FurtherLoop['notices']> {
    return {
      authenticationIsOpen: () => {
        this.#openAuth(
          new RemoteAuthenticator(this.#memory, (credential) => this.#main.ask('identify', credential)),
        );
      },
      stop: () => {
        this.#lifecycle.beginStop();
      },
    };
  }

  #drain(server: Server, graceMs: number, answerMs: number): Promise<boolean> {
    const giveUp = (): void => {
      this.#lifecycle.engine?.giveUpRequests();
    };
    return drain(server, { graceMs, answerMs, giveUp });
  }

  async #join(number: number): Promise<Engine> {
    const { engineModule, config } = this.data;
    if (engineModule === undefined) {
      return joinNativeEngine(number, { dataDir: config.dataDir });
    }
    const module = createRequire(__filename)(engineModule) as {
      readonly joinEngine: (number: number) => Engine | Promise<Engine>;
    };
    return module.joinEngine(number);
  }
}

/** The number of this thread in the system, by which its tools name it. */
function threadNumber(): string | undefined {
  try {
    return readlinkSync('/proc/thread-self').split('/').at(-1);
  } catch {
    return undefined;
  }
}

if (parentPort !== null) {
  void new EventLoop(workerData as LoopData, parentPort).listen();
}
