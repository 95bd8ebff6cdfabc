import type { Duplex } from 'node:stream';
import type { CallingThread } from '../../engine/calling-thread';
import { NumberedValues } from '../../engine/numbered-values';
import type { Answer } from '../../engine/types';
import { bodyOf } from '../engine-body';
import { objectIn } from '../json';
import { PeerRefusal } from './errors';
import { failureFrame, FrameReader, KIND, MAX_FRAMED_BODY, readAsk, type Ask, type Frame } from './frames';
import { FrameWriter } from './frame-writer';
import type { HeldShare, PeerLoad } from './load';
import { MAX_HEAD_BYTES } from './limits';
import { BadPeerRequest, readOfHeaders, type ReadHeaders } from './read-headers';
import { executeNow, failureOf, type PeerServices } from './routes';

/** Bytes of a frame of a node that asks. */
const MAX_ASK_BYTES = MAX_HEAD_BYTES + MAX_FRAMED_BODY;

/** Bytes of answers that the other node has not taken, above which no further question is read. */
const MAX_UNSENT_BYTES = 16 * 1024 * 1024;

const GONE = new Error('the other node does not wait for the answer');

/** What a connection of another node needs. */
export interface FramedServices extends PeerServices {
  readonly load: PeerLoad;
  /** Of the event loop: the first short reads of a turn run on it. */
  readonly thread: CallingThread;
  /** Whether this node stops. */
  readonly isClosing: () => boolean;
}

/** Answers the reads of another node that come as frames over one connection. */
export class FramedConnection {
  readonly #writer: FrameWriter;
  readonly #reader: FrameReader;
  /** What is under way, by the number of its question. */
  readonly #running = new NumberedValues<AbortController>();
  /** Until the rest of a frame has to be here. */
  #unfinished: NodeJS.Timeout | undefined;
  #idle: NodeJS.Timeout | undefined;
  /** Whether a frame has ended since the watch of an unfinished one began. */
  #hasTaken = false;
  #isPaused = false;
  #isEnding = false;

  constructor(
    private readonly connection: Duplex,
    private readonly from: string,
    private readonly services: FramedServices,
  ) {
    const { stalledAnswerMs: stalledMs } = services.limits;
    this.#writer = new FrameWriter(connection, {
      stalledMs,
      progressed: () => {
        this.#resume();
      },
    });
    this.#reader = new FrameReader(MAX_ASK_BYTES, (frame) => {
      this.#take(frame);
    });
    connection.on('error', () => undefined);
    connection.on('data', (chunk: Buffer) => {
      this.read(chunk);
    });
    connection.once('end', () => connection.destroy());
    connection.once('close', () => {
      clearTimeout(this.#unfinished);
      clearTimeout(this.#idle);
      for (const over of this.#running.takeAll()) over.abort(GONE);
    });
    this.#watchIdle();
  }

  /** Takes bytes of the connection. One that sends what no node of this release sends is cut. */
  read(chunk: Buffer): void {
    this.#hasTaken = false;
    try {
      this.#reader.add(chunk);
    } catch (error) {
      const { log } = this.services;
      log.warn({ err: error, from: this.from }, 'a connection of another node is cut: it sent no frame');
      this.connection.destroy();
      return;
    }
    this.#watchUnfinished();
  }

  /** Ends when what is under way was answered. */
  end(): void {
    this.#isEnding = true;
    this.#endWhenDone();
  }

  destroy(): void {
    this.connection.destroy();
  }

  /** A frame has to be here as a whole in time, however its bytes arrive. */
  #watchUnfinished(): void {
    if (this.#reader.isWithin && !this.#hasTaken && this.#unfinished !== undefined) return;
    clearTimeout(this.#unfinished);
    this.#unfinished =
      this.#reader.isWithin && !this.#isPaused && !this.connection.destroyed
        ? setTimeout(() => this.connection.destroy(), this.services.limits.requestTimeoutMs)
        : undefined;
  }

  /** Reads no further question while the other node does not take the answers. */
  #pauseWhenFull(): void {
    if (this.#isPaused || this.#writer.unsentBytes <= MAX_UNSENT_BYTES) return;
    this.#isPaused = true;
    this.connection.pause();
    clearTimeout(this.#unfinished);
    this.#unfinished = undefined;
  }

  #resume(): void {
    if (!this.#isPaused || this.#writer.unsentBytes > MAX_UNSENT_BYTES / 2) return;
    this.#isPaused = false;
    this.#watchUnfinished();
    this.connection.resume();
  }

  #take(frame: Frame): void {
    this.#hasTaken = true;
    if (frame.kind === KIND.ask) void this.#answer(frame.number, readAsk(frame));
    else if (frame.kind === KIND.cancel) {
      this.#running.get(frame.number)?.abort(GONE);
      this.#writer.drop(frame.number);
    } else this.connection.destroy();
  }

  async #answer(number: number, ask: Ask): Promise<void> {
    if (this.#running.has(number)) {
      this.connection.destroy();
      return;
    }
    const over = new AbortController();
    this.#running.add(number, over);
    clearTimeout(this.#idle);
    const share = this.services.load.begin(this.from);
    try {
      const { answer, position } = await this.#execute(ask, over.signal, share);
      if (!over.signal.aborted) this.#writer.sendAnswer(number, position, answer);
      this.#pauseWhenFull();
    } catch (error) {
      if (!over.signal.aborted) {
        const { status, reason } = failureOf(error, 'frames', this.services.log);
        this.#writer.send(failureFrame(number, status, reason));
      }
    } finally {
      share?.end();
      this.#running.take(number);
      if (this.#running.size === 0) this.#watchIdle();
      this.#endWhenDone();
    }
  }

  async #execute(
    { head, body }: Ask,
    signal: AbortSignal,
    share: HeldShare | undefined,
  ): Promise<{ readonly answer: Answer; readonly position: number }> {
    const { handlers, operations, limits, thread, isClosing } = this.services;
    if (isClosing()) throw new PeerRefusal('closing');
    if (share === undefined) throw new PeerRefusal('busy');
    const arrivedAt = performance.now();
    const read = readOfHeaders(headersIn(head), operations);
    if (body.length > limits.maxBodyBytes) {
      throw new BadPeerRequest(413, `the body has more than ${limits.maxBodyBytes} bytes`);
    }
    if (!share.hold(body.length)) throw new PeerRefusal('busy');
    const position = await handlers.admit(read, signal);
    signal.throwIfAborted();
    const given = body.length === 0 ? undefined : bodyOf(handlers.engine, body);
    const mayRunHere = thread.hasTime();
    return { answer: await executeNow({ read, arrivedAt, signal, mayRunHere }, handlers, given), position };
  }

  /** A connection without a question is closed after a while. */
  #watchIdle(): void {
    clearTimeout(this.#idle);
    if (this.connection.destroyed) return;
    this.#idle = setTimeout(() => {
      if (this.#writer.isBusy) this.#watchIdle();
      else this.connection.destroy();
    }, this.services.limits.idleMs);
  }

  #endWhenDone(): void {
    if (this.#isEnding && this.#running.size === 0) this.#writer.end();
  }
}

/** The head of a question: texts by name, as the headers of a request. @throws BadPeerRequest */
function headersIn(json: Buffer): ReadHeaders {
  const head = objectIn(json);
  if (head !== undefined && Object.values(head).every((value) => typeof value === 'string')) {
    return head as ReadHeaders;
  }
  throw new BadPeerRequest(400, 'the head of a question is no object of texts');
}
