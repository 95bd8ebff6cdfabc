import { request as plainRequest } from 'node:http';
import type { IncomingMessage, RequestOptions } from 'node:http';
import { request as secureRequest } from 'node:https';
import type { Socket } from 'node:net';
import { NumberedValues } from '../../engine/numbered-values';
import { authority } from '../../http/listen';
import { readFailure } from './answers';
import type { PeerAddress, PeerClientLimits } from './client';
import { abortReason, PeerUnreachable } from './errors';
import {
  askFrame,
  cancelFrame,
  FrameReader,
  FRAMES,
  FRAMES_PATH,
  KIND,
  MAX_PIECE,
  numberAfter,
  readAnswer,
  readFailureFrame,
  type Frame,
} from './frames';
import { FrameWriter } from './frame-writer';
import { MAX_JSON_BYTES } from './limits';
import { clientSecurity, type PeerSecurity } from './security';

/** Bytes of a frame with an answer: a piece, or a reason. */
const MAX_ANSWER_FRAME = MAX_JSON_BYTES + MAX_PIECE;

/** The answer to one question. */
export interface FramedAnswer {
  readonly answer: Buffer;
  readonly position: number;
}

/** When one question is given up. */
export interface FramedPatience {
  readonly timeoutMs: number;
  readonly maxAnswerBytes: number;
  readonly signal: AbortSignal | undefined;
}

/** How a connection is made and kept. */
export interface FramedOptions extends Pick<
  PeerClientLimits,
  'connectMs' | 'idleMs' | 'stalledMs' | 'maxQuestionsPerPeer'
> {
  readonly security: PeerSecurity;
}

/** A question that has no answer. */
interface Pending {
  readonly patience: FramedPatience;
  readonly begunAt: number;
  /** What is to be sent; undefined once it was. */
  unsent: { readonly head: string; readonly body: Buffer } | undefined;
  readonly pieces: Buffer[];
  bytes: number;
  readonly resolve: (answer: FramedAnswer) => void;
  readonly reject: (reason: Error) => void;
  /** Ends watching its time and its signal. */
  readonly over: () => void;
}

/**
 * Where a question is given up after at least this time, and nothing has arrived meanwhile, the connection may be dead: a machine
 * that loses its power closes none.
 */
const SILENT_MS = 1000;
const KEEP_ALIVE_MS = 10_000;

/** The connection was closed before the answer, or is used no more: the question may be asked on another one. */
export class ConnectionClosed extends PeerUnreachable {}

/** One connection to another node, on which any number of questions are under way at once. */
export class FramedPeer {
  readonly #pending = new NumberedValues<Pending>();
  readonly #writer: FrameWriter;
  /** Those of {@link Pending} that were not sent, the oldest first. */
  readonly #waiting = new Set<number>();
  #number = 0;
  #hasAnswered = false;
  /** When something came last. */
  #heardAt = performance.now();
  #idle: NodeJS.Timeout | undefined;
  #isRetired = false;
  /** Why it is closed. */
  #cause: unknown;

  private constructor(
    private readonly peer: string,
    private readonly connection: Socket,
    private readonly options: FramedOptions,
    /** What the other node sent together with its consent. */
    first: Buffer,
  ) {
    connection.setNoDelay(true);
    connection.setKeepAlive(true, KEEP_ALIVE_MS);
    this.#writer = new FrameWriter(connection, options);
    const reader = new FrameReader(MAX_ANSWER_FRAME, (frame) => {
      this.#take(frame);
    });
    const read = (chunk: Buffer): void => {
      this.#heardAt = performance.now();
      try {
        reader.add(chunk);
      } catch (error) {
        this.#cut(error);
      }
    };
    connection.on('data', read);
    connection.once('error', (error) => {
      this.#cause ??= error;
    });
    connection.once('end', () => connection.destroy());
    connection.once('close', () => {
      this.#closed();
    });
    if (first.length > 0) read(first);
    this.#watchIdle();
  }

  /**
   * Connects to another node; resolves with undefined where that is of a release that knows no frames.
   * @throws PeerUnreachable
   */
  static open(peer: PeerAddress, options: FramedOptions): Promise<FramedPeer | undefined> {
    const name = authority(peer.host, peer.port);
    return new Promise((resolve, reject) => {
      const { security, connectMs } = options;
      const asked: RequestOptions = {
        ...{ host: peer.host, port: peer.port, method: 'GET', path: FRAMES_PATH, agent: false },
        headers: { connection: 'Upgrade', upgrade: FRAMES },
      };
      const request =
        security === 'insecure'
          ? plainRequest(asked)
          : secureRequest({ ...asked, ...clientSecurity(security) });
      let isSettled = false;
      const settle = (): void => {
        clearTimeout(late);
        isSettled = true;
      };
      const fail = (reason: string, cause?: unknown): void => {
        if (isSettled) return;
        settle();
        reject(new PeerUnreachable(name, reason, { cause }));
        request.destroy();
      };
      const late = setTimeout(fail, connectMs, 'it cannot be reached in time');
      request.once('upgrade', (_: IncomingMessage, connection: Socket, first: Buffer) => {
        settle();
        resolve(new FramedPeer(name, connection, options, first));
      });
      request.once('response', (response) => {
        settle();
        response.destroy();
        resolve(undefined);
      });
      request.on('error', (error: NodeJS.ErrnoException) => {
        fail(error.code ?? error.message, error);
      });
      request.once('close', () => {
        fail('it closed the connection');
      });
      request.end();
    });
  }

  /** Whether questions may be asked. */
  get isOpen(): boolean {
    return !this.#isRetired && !this.connection.destroyed;
  }

  get isClosed(): boolean {
    return this.connection.destroyed;
  }

  /** Whether something was answered on this connection: where it is closed then, the other node may have closed it as idle. */
  get hasAnswered(): boolean {
    return this.#hasAnswered;
  }

  /**
   * Asks. The head is JSON.
   * @throws PeerUnreachable, MapDiffers, the EngineError of the other node, or the reason of the signal
   */
  ask(head: string, body: Buffer, patience: FramedPatience): Promise<FramedAnswer> {
    const { signal, timeoutMs } = patience;
    if (signal?.aborted === true) return Promise.reject(abortReason(signal));
    // The event of its end has passed: nothing would end this question but its time.
    if (this.connection.destroyed) return Promise.reject(this.#unreachable());
    this.#number = numberAfter(this.#number);
    const number = this.#number;
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => {
        this.#giveUp(number, new PeerUnreachable(this.peer, 'it does not answer in time'));
      }, timeoutMs);
      const abort = (): void => {
        this.#giveUp(number, abortReason(signal));
      };
      signal?.addEventListener('abort', abort, { once: true });
      const over = (): void => {
        clearTimeout(late);
        signal?.removeEventListener('abort', abort);
      };
      const [begunAt, unsent] = [performance.now(), { head, body }];
      this.#pending.add(number, {
        ...{ patience, begunAt, unsent, pieces: [], bytes: 0, resolve, reject, over },
      });
      this.#waiting.add(number);
      clearTimeout(this.#idle);
      this.#sendWaiting();
    });
  }

  /** Sends questions as far as there is room for them. */
  #sendWaiting(): void {
    for (const number of this.#waiting) {
      if (this.#pending.size - this.#waiting.size >= this.options.maxQuestionsPerPeer) return;
      this.#waiting.delete(number);
      const pending = this.#pending.get(number);
      if (pending?.unsent === undefined) continue;
      const { head, body } = pending.unsent;
      pending.unsent = undefined;
      this.#writer.send(askFrame(number, head, body));
    }
  }

  /** Calls back when it is closed. */
  whenClosed(callback: () => void): void {
    if (this.connection.destroyed) callback();
    else this.connection.once('close', callback);
  }

  /** Closes when what is under way was answered; nothing more is asked. */
  retire(): void {
    this.#isRetired = true;
    if (this.#pending.size === 0) this.connection.destroy();
  }

  /** Closes; what is under way fails. */
  destroy(): void {
    this.connection.destroy();
  }

  #take(frame: Frame): void {
    const pending = this.#pending.get(frame.number);
    // The rest of what was given up may be on its way.
    if (pending === undefined) return;
    if (frame.kind === KIND.piece) {
      // A view would hold the whole chunk that it was read with.
      this.#add(frame.number, pending, Buffer.from(frame.content));
    } else if (frame.kind === KIND.answer) {
      const { position, bytes } = readAnswer(frame);
      this.#add(frame.number, pending, bytes);
      if (!this.#pending.has(frame.number)) return;
      this.#hasAnswered = true;
      const { pieces } = pending;
      const answer = pieces.length === 1 ? bytes : Buffer.concat(pieces, pending.bytes);
      this.#done(frame.number, pending);
      pending.resolve({ answer, position });
    } else if (frame.kind === KIND.failure) {
      const { status, json } = readFailureFrame(frame);
      this.#hasAnswered = true;
      this.#done(frame.number, pending);
      pending.reject(readFailure(this.peer, status, json));
    } else this.#cut(new Error(`a frame of kind ${frame.kind}`));
  }

  #add(number: number, pending: Pending, bytes: Buffer): void {
    pending.bytes += bytes.length;
    pending.pieces.push(bytes);
    if (pending.bytes > pending.patience.maxAnswerBytes) {
      this.#giveUp(number, new PeerUnreachable(this.peer, 'its answer is too long'));
    }
  }

  #giveUp(number: number, reason: Error): void {
    const pending = this.#pending.get(number);
    if (pending === undefined) return;
    if (pending.unsent === undefined) {
      this.#writer.send(cancelFrame(number));
      const isSilent = this.#heardAt < pending.begunAt && performance.now() - pending.begunAt >= SILENT_MS;
      if (isSilent) this.#retireSilent();
    }
    this.#done(number, pending);
    pending.reject(reason);
  }

  /** Sends nothing more. Questions that were not sent fail, and may be asked on another connection. */
  #retireSilent(): void {
    this.#isRetired = true;
    this.#cause ??= Object.assign(new Error('nothing was heard on the connection'), { code: 'it is silent' });
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const number of waiting) {
      const pending = this.#pending.get(number);
      if (pending === undefined) continue;
      this.#done(number, pending);
      pending.reject(this.#unreachable());
    }
  }

  #done(number: number, pending: Pending): void {
    pending.over();
    this.#pending.take(number);
    this.#waiting.delete(number);
    if (this.#pending.size > 0) {
      this.#sendWaiting();
      return;
    }
    if (this.#isRetired) this.connection.destroy();
    else this.#watchIdle();
  }

  #watchIdle(): void {
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => {
      this.retire();
    }, this.options.idleMs);
  }

  #cut(cause: unknown): void {
    this.#cause ??= cause;
    this.connection.destroy();
  }

  #closed(): void {
    clearTimeout(this.#idle);
    for (const pending of this.#pending.takeAll()) {
      pending.over();
      pending.reject(this.#unreachable());
    }
    this.#waiting.clear();
  }

  #unreachable(): ConnectionClosed {
    const code = (this.#cause as NodeJS.ErrnoException | undefined)?.code;
    return new ConnectionClosed(this.peer, code ?? 'it closed the connection', { cause: this.#cause });
  }
}
