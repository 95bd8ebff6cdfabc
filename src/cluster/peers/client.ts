import { Agent as PlainAgent, request as plainRequest } from 'node:http';
import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http';
import { Agent as SecureAgent, request as secureRequest } from 'node:https';
import { isLoopbackHost } from '../../auth/loopback';
import { authority } from '../../http/listen';
import { readDigest, readFailure, readPositions } from './answers';
import { abortReason, PeerUnreachable } from './errors';
import type { DigestQuestion, ReplicaDigest, ReplicaPosition, ReplicaRead } from './handlers';
import { ConnectionClosed, type FramedPatience, type FramedPeer } from './frame-client';
import { FramedPeers } from './frame-pool';
import { MAX_FRAMED_BODY } from './frames';
import { MAX_JSON_BYTES } from './limits';
import { headersOfRead, number, POSITION } from './read-headers';
import { unlessAborted } from '../waiting';
import { clientSecurity, type PeerSecurity, type PeerTls } from './security';

/** Where a node listens for others. */
export interface PeerAddress {
  readonly host: string;
  readonly port: number;
}

/** What is read of another node. */
export interface PeerClientLimits {
  readonly connectMs: number;
  /** Time beyond that of a read after which the other node is given up. */
  readonly graceMs: number;
  readonly maxConnectionsPerPeer: number;
  /** A connection that is not used is closed after this: before the other node does so. */
  readonly idleMs: number;
  readonly maxAnswerBytes: number;
  /** A connection for frames whose other end reads nothing is cut after this. */
  readonly stalledMs: number;
  /** Reads under way on the connection for frames to one node; others wait. */
  readonly maxQuestionsPerPeer: number;
}

export const DEFAULT_PEER_CLIENT_LIMITS: PeerClientLimits = {
  connectMs: 1000,
  graceMs: 1000,
  maxConnectionsPerPeer: 256,
  idleMs: 30_000,
  maxAnswerBytes: 256 * 1024 * 1024,
  stalledMs: 30_000,
  maxQuestionsPerPeer: 256,
};

/** The answer of a replica. */
export interface ReplicaAnswer {
  /** The whole success envelope, as the engine has made it. */
  readonly answer: Buffer;
  /** The position of the replica, which it may have been beyond. */
  readonly position: number;
}

/** When a question is given up. */
export interface Patience {
  /** The question is aborted at the other node, too, and rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number;
}

const NO_BODY = Buffer.alloc(0);
const QUESTION_MS = 5000;

interface Call {
  readonly method: string;
  readonly path: string;
  readonly headers?: Record<string, string>;
  readonly body?: Buffer | undefined;
  readonly maxAnswerBytes: number;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
}

interface Received {
  readonly response: IncomingMessage;
  readonly bytes: Buffer;
}

/**
 * Asks other nodes. Rejects with a `PeerUnreachable`, a `MapDiffers`, the `EngineError` of the other node's engine, or the
 * reason of the signal.
 */
export class PeerClient {
  readonly #limits: PeerClientLimits;
  readonly #framed: FramedPeers;
  #agent: PlainAgent;
  /** Of certificates that were replaced: a few in the life of a node. */
  readonly #earlier = new Set<PlainAgent>();

  /** @throws Error for a certificate that cannot be used. */
  constructor(
    private readonly security: PeerSecurity,
    limits: Partial<PeerClientLimits> = {},
  ) {
    this.#limits = { ...DEFAULT_PEER_CLIENT_LIMITS, ...limits };
    this.#agent = this.#agentOf(security);
    this.#framed = new FramedPeers(security, this.#limits);
  }

  /** Executes a read on a replica of another node. */
  async execute(
    peer: PeerAddress,
    read: ReplicaRead,
    body: Buffer = NO_BODY,
    signal?: AbortSignal,
  ): Promise<ReplicaAnswer> {
    this.#checkAddress(peer);
    signal?.throwIfAborted();
    const patience = {
      maxAnswerBytes: Math.min(read.answerBytes ?? Infinity, this.#limits.maxAnswerBytes),
      timeoutMs: read.timeoutMs + this.#limits.graceMs,
      signal,
    };
    const headers = headersOfRead(read);
    const head = JSON.stringify(headers);
    if (head.length + body.length <= MAX_FRAMED_BODY) {
      const answer = await this.#askFramed(peer, head, body, patience);
      if (answer !== undefined) return answer;
    }
    const { response, bytes } = await this.#ask(peer, {
      ...{ method: 'POST', path: '/execute', headers, body },
      ...patience,
    });
    return readingOf(peer, () => ({ answer: bytes, position: number(response.headers, POSITION) }));
  }

  /** Undefined where the other node knows no frames. Asks once more where its connection was closed meanwhile. */
  async #askFramed(
    peer: PeerAddress,
    head: string,
    body: Buffer,
    patience: FramedPatience,
  ): Promise<ReplicaAnswer | undefined> {
    const begunAt = performance.now();
    const { signal, timeoutMs } = patience;
    const leftMs = (): number => timeoutMs - (performance.now() - begunAt);
    const ask = (connection: FramedPeer): Promise<ReplicaAnswer> =>
      connection.ask(head, body, { ...patience, timeoutMs: Math.max(1, leftMs()) });
    const opened = this.#framed.opened(peer) ?? (await unlessAborted(this.#framed.open(peer), signal));
    if (opened === undefined) return undefined;
    try {
      return await ask(opened);
    } catch (error) {
      const wasClosed = error instanceof ConnectionClosed && opened.isClosed && opened.hasAnswered;
      if (!wasClosed || signal?.aborted === true || leftMs() <= 0) throw error;
    }
    const again = await unlessAborted(this.#framed.open(peer), signal);
    return again && ask(again);
  }

  /** The positions of all replicas of another node. */
  async positions(peer: PeerAddress, patience: Patience = {}): Promise<readonly ReplicaPosition[]> {
    const { bytes } = await this.#ask(peer, { method: 'GET', path: '/positions', ...question(patience) });
    return readingOf(peer, () => readPositions(bytes));
  }

  /** The digest of a replica of another node. */
  async digest(peer: PeerAddress, about: DigestQuestion, patience: Patience = {}): Promise<ReplicaDigest> {
    const body = Buffer.from(JSON.stringify(about));
    const asked = { method: 'POST', path: '/digest', body, ...question(patience) };
    const { bytes } = await this.#ask(peer, asked);
    return readingOf(peer, () => readDigest(bytes));
  }

  /** New connections have this certificate. @throws Error that says why it cannot be used; the one from before stays. */
  useCertificate(tls: PeerTls): void {
    if (this.security === 'insecure') throw new Error('this node speaks without TLS');
    // What is under way goes on, on connections that close when they are idle.
    this.#earlier.add(this.#agent);
    this.#agent = this.#agentOf(tls);
    this.#framed.useCertificate(tls);
  }

  /** Closes all connections; what is under way fails. */
  close(): void {
    this.#framed.close();
    for (const agent of [...this.#earlier, this.#agent]) agent.destroy();
  }

  #checkAddress(peer: PeerAddress): void {
    if (this.security === 'insecure' && !isLoopbackHost(peer.host)) {
      throw new PeerUnreachable(nameOf(peer), 'without TLS only loopback addresses are asked');
    }
  }

  #agentOf(security: PeerSecurity): PlainAgent {
    const { maxConnectionsPerPeer: maxSockets, idleMs } = this.#limits;
    const pool = { keepAlive: true, maxSockets, timeout: idleMs, scheduling: 'lifo' } as const;
    return security === 'insecure'
      ? new PlainAgent(pool)
      : new SecureAgent({ ...pool, ...clientSecurity(security) });
  }

  /** Asks once more where a connection that was kept was closed by the other node meanwhile. */
  async #ask(peer: PeerAddress, call: Call): Promise<Received> {
    this.#checkAddress(peer);
    call.signal?.throwIfAborted();
    const first = this.#send(peer, call);
    const received = await first.answer.catch((error: unknown) => {
      const { code } = ((error as Error).cause ?? {}) as { readonly code?: unknown };
      const wasClosed = first.request.reusedSocket && (code === 'ECONNRESET' || code === 'EPIPE');
      if (!wasClosed || call.signal?.aborted === true) throw error;
      return this.#send(peer, call).answer;
    });
    if (received.response.statusCode === 200) return received;
    throw readFailure(nameOf(peer), received.response.statusCode ?? 0, received.bytes);
  }

  #send(
    peer: PeerAddress,
    call: Call,
  ): { readonly request: ClientRequest; readonly answer: Promise<Received> } {
    const { method, path, body, headers = {} } = call;
    const options: RequestOptions = {
      ...{ host: peer.host, port: peer.port, method, path, agent: this.#agent },
      headers: { ...headers, 'content-length': body?.length ?? 0 },
    };
    const request = this.security === 'insecure' ? plainRequest(options) : secureRequest(options);
    const answer = new Promise<Received>((resolve, reject) => {
      const fail = (reason: string, cause?: unknown): void => {
        reject(new PeerUnreachable(nameOf(peer), reason, { cause }));
        request.destroy();
      };
      const over = this.#watch(request, call, { fail, reject });
      request.on('error', (error: NodeJS.ErrnoException) => {
        fail(error.code ?? error.message, error);
      });
      let hasResponse = false;
      request.on('response', (response) => {
        hasResponse = true;
        const most = response.statusCode === 200 ? call.maxAnswerBytes : MAX_JSON_BYTES;
        readWhole(response, most).then(
          (bytes) => {
            resolve({ response, bytes });
          },
          (error: unknown) => {
            fail('its answer broke off, or is too long', error);
          },
        );
      });
      request.once('close', () => {
        over();
        if (!hasResponse) fail('it closed the connection');
      });
    });
    request.end(body);
    return { request, answer };
  }

  /** Gives a request up for its time, the time to connect, or its signal; gives what ends the watch. */
  #watch(
    request: ClientRequest,
    { timeoutMs, signal }: Call,
    { fail, reject }: { fail: (reason: string) => void; reject: (reason: Error) => void },
  ): () => void {
    const late = setTimeout(fail, timeoutMs, 'it does not answer in time');
    let connecting: NodeJS.Timeout | undefined;
    request.once('socket', (socket) => {
      if (!socket.connecting) return;
      connecting = setTimeout(fail, this.#limits.connectMs, 'it cannot be reached in time');
      socket.once(this.security === 'insecure' ? 'connect' : 'secureConnect', () => {
        clearTimeout(connecting);
      });
    });
    const abort = (): void => {
      reject(abortReason(signal));
      request.destroy();
    };
    signal?.addEventListener('abort', abort, { once: true });
    return () => {
      clearTimeout(late);
      clearTimeout(connecting);
      signal?.removeEventListener('abort', abort);
    };
  }
}

function question({ signal, timeoutMs = QUESTION_MS }: Patience): Omit<Call, 'method' | 'path'> {
  return { maxAnswerBytes: MAX_JSON_BYTES, timeoutMs, signal };
}

/** Host and port of a node. */
function nameOf({ host, port }: PeerAddress): string {
  return authority(host, port);
}

/** Reads an answer. @throws PeerUnreachable where it is not what this release understands. */
function readingOf<T extends object>(peer: PeerAddress, read: () => T): Defined<T> {
  try {
    const value = read();
    if (Object.values(value).every((part) => part !== undefined)) return value as Defined<T>;
  } catch {
    // It is reported below.
  }
  throw new PeerUnreachable(nameOf(peer), 'its answer cannot be read');
}
type Defined<T> = { readonly [K in keyof T]: Exclude<T[K], undefined> };

async function readWhole(response: IncomingMessage, most: number): Promise<Buffer> {
  const announced = Number(response.headers['content-length'] ?? 0);
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of response) {
    bytes += (piece as Buffer).length;
    if (Math.max(bytes, announced) > most) throw new Error('the answer is too long');
    pieces.push(piece as Buffer);
  }
  if (!response.complete) throw new Error('the answer broke off');
  const [only] = pieces;
  return pieces.length === 1 && only !== undefined ? only : Buffer.concat(pieces, bytes);
}
