import type { Duplex } from 'node:stream';
import type { Answer } from '../../engine/types';
import { answerFrame, MAX_PIECE, pieceFrame } from './frames';

/** Frames together are copied into one buffer up to here. */
const MAX_COPIED_BYTES = 256 * 1024;
/** Bytes that wait for the other end, from which on the rest of long answers waits here. */
const MAX_WRITTEN_BYTES = 1024 * 1024;

/** An answer of which not all frames were written. */
interface LongAnswer {
  readonly number: number;
  readonly position: number;
  readonly bytes: Buffer;
  at: number;
}

/** How frames are written. */
export interface FrameWriterOptions {
  /** A connection whose other end takes nothing is cut after this. */
  readonly stalledMs: number;
  /** Called when the other end has taken something. */
  readonly progressed?: () => void;
}

/**
 * Writes frames: those of one turn of the event loop together. Long answers are written in turns, a piece each, so that a short
 * one does not wait for the whole of them.
 */
export class FrameWriter {
  #frames: Buffer[] = [];
  #bytes = 0;
  #isScheduled = false;
  #long: LongAnswer[] = [];
  /** Bytes of long answers that were not made into frames. */
  #longBytes = 0;
  #stalled: NodeJS.Timeout | undefined;
  #isEnding = false;

  constructor(
    private readonly connection: Duplex,
    private readonly options: FrameWriterOptions,
  ) {
    connection.once('close', () => {
      clearTimeout(this.#stalled);
      this.#frames = [];
      this.#long = [];
      this.#bytes = 0;
      this.#longBytes = 0;
    });
  }

  /** Whether something was not given to the connection. */
  get isBusy(): boolean {
    return this.#frames.length > 0 || this.#long.length > 0;
  }

  /** Bytes that the other end has not taken. */
  get unsentBytes(): number {
    return this.#bytes + this.#longBytes + this.connection.writableLength;
  }

  /** Ends the connection when everything was given to it. */
  end(): void {
    this.#isEnding = true;
    if (!this.isBusy) this.connection.end();
  }

  send(frame: Buffer): void {
    if (this.connection.destroyed) return;
    this.#frames.push(frame);
    this.#bytes += frame.length;
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    // After what the event loop has read in this turn: its answers, or the questions that it leads to, go together.
    setImmediate(() => {
      this.#isScheduled = false;
      this.#write();
    });
  }

  sendAnswer(number: number, position: number, answer: Answer): void {
    if (answer.length <= MAX_PIECE) {
      this.send(answerFrame(number, position, answer));
      return;
    }
    if (this.connection.destroyed) return;
    const bytes = typeof answer === 'string' ? Buffer.from(answer, 'latin1') : answer;
    this.#long.push({ number, position, bytes, at: 0 });
    this.#longBytes += bytes.length;
    this.#writeLong();
  }

  /** What is left of an answer is not wanted. */
  drop(number: number): void {
    this.#long = this.#long.filter((long) => {
      if (long.number === number) this.#longBytes -= long.bytes.length - long.at;
      return long.number !== number;
    });
    if (this.#isEnding) this.end();
  }

  #writeLong(): void {
    while (this.#long.length > 0 && this.connection.writableLength + this.#bytes < MAX_WRITTEN_BYTES) {
      const [first, ...others] = this.#long;
      if (first === undefined) return;
      const { number, position, bytes, at } = first;
      const end = Math.min(bytes.length, at + MAX_PIECE);
      const piece = bytes.subarray(at, end);
      const isLast = end === bytes.length;
      this.send(isLast ? answerFrame(number, position, piece) : pieceFrame(number, piece));
      first.at = end;
      this.#longBytes -= piece.length;
      this.#long = isLast ? others : [...others, first];
    }
  }

  #write(): void {
    const { connection } = this;
    if (connection.destroyed || !connection.writable) return;
    const [frames, bytes] = [this.#frames, this.#bytes];
    this.#frames = [];
    this.#bytes = 0;
    const written = (error?: Error | null): void => {
      if (!error) this.#progressed();
    };
    const [only] = frames;
    if (frames.length === 1 && only !== undefined) connection.write(only, written);
    else if (bytes <= MAX_COPIED_BYTES) connection.write(Buffer.concat(frames, bytes), written);
    else {
      connection.cork();
      for (const frame of frames) connection.write(frame, written);
      connection.uncork();
    }
    if (connection.writableNeedDrain) {
      this.#stalled ??= setTimeout(() => connection.destroy(), this.options.stalledMs);
    }
    if (this.#isEnding) this.end();
  }

  /** The other end has taken what one write had. */
  #progressed(): void {
    if (this.connection.destroyed) return;
    if (this.connection.writableNeedDrain) this.#stalled?.refresh();
    else {
      clearTimeout(this.#stalled);
      this.#stalled = undefined;
    }
    this.#writeLong();
    this.options.progressed?.();
  }
}
