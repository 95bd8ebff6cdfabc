import type { Server } from 'node:http';
import { join } from 'node:path';
import { Worker, type WorkerOptions } from 'node:worker_threads';
import type { Logger } from 'pino';
import type { AuthService } from '../auth';
import type { Config } from '../config';
import type { Engine } from '../engine/types';
import type { TlsMaterial } from '../http/certificate';
import type { ConnectionLimit, OtherConnections } from '../http/connection-limit';
import type { Deferred } from '../http/deferred';
import { connectionsOf } from '../http/drain';
import { createHttpServer, DEFAULT_SERVER_LIMITS } from '../http/http-server';
import { StartError } from '../http/listen';
import { validateQuery } from '../http/query-validation';
import type { HttpListeners } from '../http/request-listeners';
import type { LoopCounts, OtherLoops } from './counts';
import type { FurtherLoop, LoopConfig, LoopData, MainLoop } from './messages';
import { Peer, type Answers, type NoticeHandlers } from './peer';
import { SharedMemory } from './shared-memory';
import { Tunnel } from './tunnel';

/** What further event loops are started with. */
export interface EventLoopsOptions {
  /** All, the main loop included. */
  readonly count: number;
  readonly config: Config;
  readonly log: Logger;
  /** Writes whole lines of JSON to the log as they are. */
  readonly writeLines: (lines: string) => void;
  readonly isTraced: boolean;
  /** Path of a module whose `joinEngine` gives further event loops their engine in place of the native one. */
  readonly engineModule?: string | undefined;
  /** What a thread runs, where that is not the file beside this one. */
  readonly thread?: { readonly file: string; readonly execArgv: readonly string[] } | undefined;
}

/** What the main loop answers other event loops from. */
export interface MainServices {
  readonly auth: Deferred<AuthService>;
  /** Answer the requests that are relayed. */
  readonly listeners: HttpListeners;
  /** The connections of the main loop. */
  readonly connections: ConnectionLimit;
}

/** One further event loop. */
interface Loop {
  readonly number: number;
  readonly worker: Worker;
  readonly peer: Peer<MainLoop, FurtherLoop>;
  readonly listens: Promise<void>;
}

/**
 * The event loops of the process beside the main one: worker threads, each with an HTTP server that accepts connections of the
 * same address. The main loop, which this belongs to, has everything that there is once: the store of authentication, the life
 * of the engine, the certificate, the log, the metrics. docs/event-loops.md.
 */
export class EventLoops implements OtherLoops {
  readonly memory = SharedMemory.create();
  #loops: readonly Loop[] = [];
  #services: MainServices | undefined;
  /** Answers what is relayed; it listens nowhere. */
  #relayed: Server | undefined;
  #isEnding = false;

  constructor(private readonly options: EventLoopsOptions) {}

  get count(): number {
    return this.options.count;
  }

  /** The connections of the other event loops, as the main loop asks for them. */
  get otherConnections(): OtherConnections {
    return { open: this.memory.connections, cutOne: () => this.#cutOne() };
  }

  /** Starts a thread for each list of descriptors. They answer when the main loop is ready: see {@link join}. */
  start(services: MainServices, descriptors: readonly (readonly number[])[]): void {
    this.#services = services;
    this.#relayed = relayedServer(services.listeners);
    this.#loops = descriptors.map((own, at) => this.#startLoop(at + 1, own));
    services.auth.ready.then(
      () => {
        this.publish();
        this.#notifyAll('authenticationIsOpen');
      },
      // The start reports it.
      () => undefined,
    );
  }

  #startLoop(number: number, descriptors: readonly number[]): Loop {
    const { count, isTraced, engineModule, thread, config } = this.options;
    const { buffer, seed } = this.memory;
    const workerData: LoopData = {
      loop: number,
      loops: count,
      memory: { buffer, seed },
      descriptors,
      config: loopConfig(config),
      relaysAll: config.models.length > 0,
      isTraced,
      engineModule,
    };
    const options: WorkerOptions = { workerData, name: `kithdb-loop-${number}` };
    const worker =
      thread === undefined
        ? new Worker(join(__dirname, 'event-loop.js'), options)
        : new Worker(thread.file, { ...options, execArgv: [...thread.execArgv] });
    let listens: () => void;
    const listening = new Promise<void>((resolve) => {
      listens = resolve;
    });
    const handlers: NoticeHandlers<MainLoop['notices']> = {
      listening: ({ thread: name, isTraced: traces }) => {
        this.#reportStart(number, name, traces);
        listens();
      },
      relay: ({ port, from }) => {
        this.#relayed?.emit('connection', new Tunnel(port, from));
      },
      lines: this.options.writeLines,
      fault: throwUncaught,
    };
    const peer = new Peer<MainLoop, FurtherLoop>(worker, this.#answers(number), handlers, throwUncaught);
    return { number, worker, peer, listens: this.#unlessItEnds(number, worker, peer, listening) };
  }

  /** What ends a thread that is to run ends the server, as it does in the main loop. */
  #unlessItEnds(
    number: number,
    worker: Worker,
    peer: Peer<MainLoop, FurtherLoop>,
    listening: Promise<void>,
  ): Promise<void> {
    let isListening = false;
    let hasEnded = false;
    const ended = new Promise<never>((_, reject) => {
      const end = (error: Error): void => {
        if (hasEnded) return;
        hasEnded = true;
        peer.end(error);
        reject(
          new StartError(`Event loop ${number} could not be started: ${error.message}`, { cause: error }),
        );
        if (isListening && !this.#isEnding) throwUncaught(error);
      };
      worker.on('error', end);
      worker.on('exit', () => {
        end(new Error(`event loop ${number} has ended`));
      });
    });
    ended.catch(() => undefined);
    const listens = Promise.race([listening, ended]).then(() => {
      isListening = true;
    });
    // It is waited for when the engine is open, which is later than it may fail.
    listens.catch(() => undefined);
    return listens;
  }

  #reportStart(loop: number, thread: string | undefined, traces: boolean): void {
    const { log, isTraced } = this.options;
    log.info({ loop, thread }, 'event loop listens');
    if (isTraced && !traces) {
      log.warn(
        { loop },
        'the SDK of OpenTelemetry is not registered in worker threads: the main event loop answers the requests of this one too; register it with --import or --require',
      );
    }
  }

  #answers(asking: number): Answers<MainLoop['asks']> {
    return {
      identify: async (credential) => (await this.#services?.auth.ready)?.known(credential) ?? null,
      validateQuery: ({ kind, queryString }) => validateQuery(kind, queryString),
      cutOne: async () => this.#services?.connections.cutOne() === true || this.#cutOne(asking),
    };
  }

  /** Has one of the other event loops cut a connection without a request. */
  async #cutOne(except?: number): Promise<boolean> {
    for (const { number, peer } of this.#loops) {
      if (number !== except && (await peer.ask('cutOne', undefined).catch(() => false))) return true;
    }
    return false;
  }

  /** Makes the state of authentication that of all event loops. */
  publish(): void {
    const auth = this.#services?.auth.current;
    if (auth !== undefined) {
      this.memory.publish(auth.isClosed ? 'closed' : auth.enabled ? 'enabled' : 'disabled');
    }
  }

  /**
   * Gives all the open engine; when it resolves they serve data.
   * @throws StartError where one could not be started.
   */
  async join(engine: Engine): Promise<void> {
    const joining = this.#loops.map(async ({ listens, peer }) => {
      await listens;
      await peer.ask('join', engine.share?.() ?? 0);
    });
    await Promise.all(joining).catch((error: unknown) => {
      // A stop during the start ends them.
      if (!this.#isEnding) throw error;
    });
  }

  get inProgress(): number {
    return this.#gauge(0);
  }

  get connections(): number {
    return this.#gauge(1);
  }

  #gauge(place: number): number {
    return this.#loops.reduce((sum, { number }) => sum + (this.memory.gauges(number)[place] ?? 0), 0);
  }

  async counts(): Promise<readonly LoopCounts[]> {
    const asked = this.#loops.map(({ peer }) => peer.ask('counts', undefined).catch(() => undefined));
    return (await Promise.all(asked)).filter((counts) => counts !== undefined);
  }

  /** Makes new connections of all get a certificate. */
  async useCertificate({ cert, key }: TlsMaterial): Promise<void> {
    const taken = this.#loops.map(({ peer }) => peer.ask('useCertificate', { cert, key }));
    // One that has gone needs none.
    await Promise.allSettled(taken);
  }

  /** New requests get a 503 from now on. */
  beginStop(): void {
    this.#isEnding = true;
    this.#notifyAll('stop');
  }

  /** Lets the requests of all finish, as `drain` of one server does. */
  async drain(times: { readonly graceMs: number; readonly answerMs: number }): Promise<boolean> {
    const drained = await Promise.all(
      this.#loops.map(async ({ listens, peer }) => {
        await listens;
        return peer.ask('drain', times);
      }),
    ).catch(() => [false]);
    return drained.every(Boolean);
  }

  /** Ends all threads. Requests that they still have are cut. */
  async end(): Promise<void> {
    this.#isEnding = true;
    await Promise.all(this.#loops.map(({ worker }) => worker.terminate()));
    this.#loops = [];
    if (this.#relayed !== undefined) {
      for (const tunnel of connectionsOf(this.#relayed)) tunnel.destroy();
      this.#relayed.close();
    }
  }

  #notifyAll(what: keyof FurtherLoop['notices']): void {
    for (const { peer } of this.#loops) peer.notify(what, undefined);
  }
}

/** An error that nothing caught: the owner of the process decides what becomes of it. */
function throwUncaught(error: unknown): void {
  process.nextTick(() => {
    throw error;
  });
}

function loopConfig(config: Config): LoopConfig {
  const { host, dataDir, corsOrigins, trustedProxies, dialect, logLevel, slowRequestMs, tls } = config;
  const { maxBodyBytes, maxConnections, memoryLimit } = config;
  return {
    ...{ host, dataDir, corsOrigins, trustedProxies, dialect, logLevel, slowRequestMs },
    ...{ maxBodyBytes, maxConnections, memoryLimit },
    tls: tls && { cert: tls.cert, key: tls.key },
  };
}

/** A server for tunnels in place of sockets: limits on connections are those of the event loop that accepted them. */
function relayedServer(listeners: HttpListeners): Server {
  const asSent =
    (listener: HttpListeners['request']): HttpListeners['request'] =>
    (request, response) => {
      const { from } = request.socket as unknown as Tunnel;
      request.httpVersion = from?.httpVersion ?? request.httpVersion;
      listener(request, response);
    };
  return createHttpServer(
    {
      request: asSent(listeners.request),
      checkContinue: asSent(listeners.checkContinue),
      checkExpectation: asSent(listeners.checkExpectation),
      connected: () => undefined,
      cut: () => undefined,
      messages: listeners.messages,
    },
    { ...DEFAULT_SERVER_LIMITS, stalledAnswerMs: 0, maxConnections: Infinity },
  );
}
