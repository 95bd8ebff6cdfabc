import type { Duplex } from 'node:stream';
import type { Answer } from '../../engine/types';
import { answerFrame, MAX_PIECE, pieceFrame } from './frames';

/** Frames together are copied into one buffer up to here. */
const MAX_COPIED_BYTES = 256 * 1024;
/** Bytes that wait for the other end, from which on the rest of long answers waits here. */
const MAX_UNSENT_BYTES = 1024 * 1024;

/** An answer of which not all frames were written. */
interface LongAnswer {
  readonly number: number;
  readonly position: number;
  readonly bytes: Buffer;
  at: number;
}

/**
 * Writes frames: those of one turn of the event loop together. Long answers are written in turns, a piece each, so that a short
 * one waits for none of them.
 */
export class FrameWriter {
  #frames: Buffer[] = [];
  #bytes = 0;
  #isScheduled = false;
  #long: LongAnswer[] = [];
  #stalled: NodeJS.Timeout | undefined;
  #isEnding = false;

  constructor(
    private readonly connection: Duplex,
    /** A connection whose other end reads nothing is cut after this. */
    private readonly stalledMs: number,
  ) {
    connection.on('drain', () => {
      clearTimeout(this.#stalled);
      this.#stalled = undefined;
      this.#writeLong();
    });
    connection.once('close', () => {
      clearTimeout(this.#stalled);
      this.#frames = [];
      this.#long = [];
    });
  }

  /** Whether something was not given to the connection. */
  get isBusy(): boolean {
    return this.#frames.length > 0 || this.#long.length > 0;
  }

  /** Ends the connection when everything was given to it. */
  end(): void {
    this.#isEnding = true;
    if (!this.isBusy) this.connection.end();
  }

  send(frame: Buffer): void {
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
    const bytes = typeof answer === 'string' ? Buffer.from(answer, 'latin1') : answer;
    this.#long.push({ number, position, bytes, at: 0 });
    this.#writeLong();
  }

  /** What is left of an answer is not wanted. */
  drop(number: number): void {
    this.#long = this.#long.filter((long) => long.number !== number);
  }

  #writeLong(): void {
    while (this.#long.length > 0 && this.connection.writableLength + this.#bytes < MAX_UNSENT_BYTES) {
      const [first, ...others] = this.#long;
      if (first === undefined) return;
      const { number, position, bytes, at } = first;
      const end = Math.min(bytes.length, at + MAX_PIECE);
      const piece = bytes.subarray(at, end);
      const isLast = end === bytes.length;
      this.send(isLast ? answerFrame(number, position, piece) : pieceFrame(number, piece));
      first.at = end;
      this.#long = isLast ? others : [...others, first];
    }
  }

  #write(): void {
    const { connection } = this;
    if (connection.destroyed || !connection.writable) return;
    const [frames, bytes] = [this.#frames, this.#bytes];
    this.#frames = [];
    this.#bytes = 0;
    const [only] = frames;
    if (frames.length === 1 && only !== undefined) connection.write(only);
    else if (bytes <= MAX_COPIED_BYTES) connection.write(Buffer.concat(frames, bytes));
    else {
      connection.cork();
      for (const frame of frames) connection.write(frame);
      connection.uncork();
    }
    if (connection.writableNeedDrain) {
      this.#stalled ??= setTimeout(() => connection.destroy(), this.stalledMs);
    } else {
      this.#writeLong();
    }
    if (this.#isEnding) this.end();
  }
}
