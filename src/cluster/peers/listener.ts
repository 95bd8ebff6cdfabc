import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer, Server as SecureServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { Logger } from 'pino';
import { isLoopbackAddress, isLoopbackHost, unmapped } from '../../auth/loopback';
import { CallingThread } from '../../engine/calling-thread';
import type { Operation } from '../../engine/types';
import { listen, StartError } from '../../http/listen';
import { PeerExchange } from './exchange';
import { FramedConnection } from './frame-server';
import { FRAMES, FRAMES_PATH } from './frames';
import type { PeerHandlers } from './handlers';
import { DEFAULT_PEER_LIMITS, MAX_HEAD_BYTES, MAX_HEADERS, type PeerLimits } from './limits';
import { PeerLoad } from './load';
import { READS } from './read-headers';
import { answer, type PeerServices } from './routes';
import { isOfCluster, serverSecurity, type PeerSecurity, type PeerTls } from './security';

/** Milliseconds of a turn of the event loop that reads may take: mostly one or two of them. */
const HERE_MS = 0.3;

/** Where and how a node listens for others. */
export interface PeerListenerOptions {
  readonly host: string;
  /** 0 for any that is free. */
  readonly port: number;
  readonly security: PeerSecurity;
  readonly handlers: PeerHandlers;
  readonly log: Pick<Logger, 'error' | 'warn'>;
  readonly limits?: Partial<PeerLimits>;
  /** The operations that are executed for others; those that read when absent. */
  readonly operations?: ReadonlySet<Operation>;
}

/** A node that listens for others. */
export interface PeerListener {
  readonly port: number;
  /** New connections get this certificate. @throws Error that says why it cannot be used; the one from before stays. */
  useCertificate(tls: PeerTls): void;
  /** Refuses what comes, waits a while for what is under way, and closes all connections. */
  close(): Promise<void>;
}

/** Listens for other nodes. @throws StartError, or Error for a certificate that cannot be used. */
export async function listenForPeers(options: PeerListenerOptions): Promise<PeerListener> {
  const { host, security } = options;
  if (security === 'insecure' && !isLoopbackHost(host)) {
    throw new StartError(`Nodes speak without TLS on loopback addresses only, and ${host} is none`);
  }
  const listening = new Listening(options);
  return listening.start();
}

class Listening implements PeerListener {
  port = 0;
  readonly #limits: PeerLimits;
  readonly #server: Server;
  #tls: PeerTls | undefined;
  readonly #load: PeerLoad;
  readonly #thread = new CallingThread(HERE_MS);
  /** Connections that have frames. */
  readonly #framed = new Set<FramedConnection>();
  /** Connections whose certificate is one of the cluster. */
  readonly #known = new WeakSet<Socket>();

  constructor(private readonly options: PeerListenerOptions) {
    const { security } = options;
    this.#limits = { ...DEFAULT_PEER_LIMITS, ...options.limits };
    this.#load = new PeerLoad(this.#limits);
    this.#tls = security === 'insecure' ? undefined : security;
    this.#server = this.#createServer();
  }

  async start(): Promise<this> {
    this.port = await listen(this.#server, this.options.port, this.options.host);
    const { address } = this.#server.address() as AddressInfo;
    if (this.#tls === undefined && !isLoopbackAddress(address)) {
      await this.close();
      throw new StartError(`Nodes speak without TLS on loopback addresses only, and ${address} is none`);
    }
    return this;
  }

  useCertificate(tls: PeerTls): void {
    if (!(this.#server instanceof SecureServer)) throw new Error('this node speaks without TLS');
    this.#server.setSecureContext(serverSecurity(tls));
    this.#tls = tls;
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeIdleConnections();
    for (const framed of this.#framed) framed.end();
    const cut = setTimeout(() => {
      for (const framed of this.#framed) framed.destroy();
      this.#server.closeAllConnections();
    }, this.#limits.drainMs);
    await closed;
    clearTimeout(cut);
  }

  #createServer(): Server {
    const limits = this.#limits;
    const options = {
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.requestTimeoutMs,
      connectionsCheckingInterval: Math.min(1000, limits.headersTimeoutMs),
      keepAliveTimeout: limits.idleMs,
      maxHeaderSize: MAX_HEAD_BYTES,
      insecureHTTPParser: false,
      noDelay: true,
    };
    const tls = this.#tls;
    const server =
      tls === undefined ? createServer(options) : createSecureServer({ ...options, ...serverSecurity(tls) });
    server.maxConnections = limits.maxConnections;
    server.maxHeadersCount = MAX_HEADERS;
    // A connection that begins no request is closed, too.
    server.timeout = limits.idleMs;
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      void this.#answer(request, response);
    });
    server.on('upgrade', (request: IncomingMessage, socket: Socket, first: Buffer) => {
      this.#upgrade(request, socket, first);
    });
    server.on('clientError', (_error, socket) => socket.destroy());
    server.prependListener('secureConnection', (socket: TLSSocket) => {
      this.#admit(socket);
    });
    return server;
  }

  /** Closes a connection whose certificate is of the authority, but not of the cluster. */
  #admit(socket: TLSSocket): void {
    const certificate = socket.getPeerX509Certificate();
    if (certificate !== undefined && this.#tls !== undefined && isOfCluster(certificate, this.#tls.name)) {
      this.#known.add(socket);
      return;
    }
    const from = socket.remoteAddress;
    this.options.log.warn({ from }, 'a connection to the address for nodes is refused: its certificate');
    socket.destroy();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { socket } = request;
    if (!this.#isAdmitted(socket)) {
      socket.destroy();
      return;
    }
    const exchange = new PeerExchange(request, response, this.#limits.stalledAnswerMs);
    const isClosing = !this.#server.listening;
    const share = isClosing ? undefined : this.#load.begin(addressOf(socket));
    if (share === undefined) {
      exchange.sendJson(503, { kind: 'refusal', code: isClosing ? 'closing' : 'busy' });
      return;
    }
    try {
      await answer(exchange, { ...this.#services(), hold: (bytes) => share.hold(bytes) });
    } finally {
      share.end();
    }
  }

  /** A connection that is to have frames from now on. */
  #upgrade(request: IncomingMessage, socket: Socket, first: Buffer): void {
    const { url, method, headers } = request;
    // Node removes its own listeners, that of errors too, before it hands the socket over.
    socket.on('error', () => undefined);
    if (!this.#isAdmitted(socket) || !this.#server.listening) {
      socket.destroy();
      return;
    }
    if (method !== 'GET' || url !== FRAMES_PATH || headers.upgrade !== FRAMES) {
      socket.setTimeout(this.#limits.headersTimeoutMs, () => socket.destroy());
      socket.end('HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n', () => {
        socket.destroy();
      });
      return;
    }
    socket.setTimeout(0);
    socket.setNoDelay(true);
    socket.write(`HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: ${FRAMES}\r\n\r\n`);
    const framed = new FramedConnection(socket, addressOf(socket), {
      ...this.#services(),
      load: this.#load,
      thread: this.#thread,
      isClosing: () => !this.#server.listening,
    });
    this.#framed.add(framed);
    socket.once('close', () => this.#framed.delete(framed));
    if (first.length > 0) framed.read(first);
  }

  #isAdmitted(socket: Socket): boolean {
    return this.#tls === undefined || this.#known.has(socket);
  }

  #services(): PeerServices {
    const { handlers, log, operations = READS } = this.options;
    return { handlers, operations, limits: this.#limits, log };
  }
}

/** The address that a connection comes from. */
function addressOf(socket: Socket): string {
  return unmapped(socket.remoteAddress ?? '');
}
