/**
 * Frames: what two nodes send one another over one connection, so that many questions are under way at once. A frame is its
 * length without these 4 bytes, its kind (1 byte), the number of its question (4 bytes) and what follows; numbers are unsigned,
 * the lowest byte first. docs/cluster.md has the table of kinds.
 */

/** What a connection is upgraded to, and the version of the frames. */
export const FRAMES = 'kithdb-frames/1';
/** The route that is upgraded. */
export const FRAMES_PATH = '/frames';

/** Bytes of a body that a frame may have: longer ones go in a request of their own, behind which no other question waits. */
export const MAX_FRAMED_BODY = 256 * 1024;
/** Bytes of an answer that one frame has; longer answers are several. */
export const MAX_PIECE = 64 * 1024;

/** Before what follows. */
const HEADER_BYTES = 9;
const LENGTH_BYTES = 4;
const POSITION_BYTES = 8;
const MAX_NUMBER = 0xffffffff;

/** The kinds of frames. */
export const KIND = {
  /** A question: the length of its head (4 bytes), its head as JSON, its body. */
  ask: 1,
  /** Nobody waits for the answer any more. */
  cancel: 2,
  /** Bytes of an answer, of which more follow. */
  piece: 3,
  /** The position of the replica (8 bytes), and the last bytes of its answer. */
  answer: 4,
  /** The status (2 bytes) and the reason, as JSON, of a question that is not answered. */
  failure: 5,
} as const;

/** A frame that was received. What it has may be a view of a larger chunk. */
export interface Frame {
  readonly kind: number;
  readonly number: number;
  readonly content: Buffer;
}

/** What no node of this release sends. */
export class BadFrame extends Error {
  override readonly name = 'BadFrame';
}

/** The number of the question after one. */
export function numberAfter(number: number): number {
  return number === MAX_NUMBER ? 0 : number + 1;
}

/** A question. The head is JSON. */
export function askFrame(number: number, head: string, body: Buffer): Buffer {
  const headBytes = Buffer.byteLength(head);
  const frame = begun(KIND.ask, number, 4 + headBytes + body.length);
  frame.writeUInt32LE(headBytes, HEADER_BYTES);
  frame.write(head, HEADER_BYTES + 4, 'utf8');
  body.copy(frame, HEADER_BYTES + 4 + headBytes);
  return frame;
}

export function cancelFrame(number: number): Buffer {
  return begun(KIND.cancel, number, 0);
}

export function pieceFrame(number: number, bytes: Buffer): Buffer {
  const frame = begun(KIND.piece, number, bytes.length);
  bytes.copy(frame, HEADER_BYTES);
  return frame;
}

/** The end of an answer. A string has the bytes that its characters are. */
export function answerFrame(number: number, position: number, bytes: Buffer | string): Buffer {
  const frame = begun(KIND.answer, number, POSITION_BYTES + bytes.length);
  frame.writeBigUInt64LE(BigInt(position), HEADER_BYTES);
  const at = HEADER_BYTES + POSITION_BYTES;
  if (typeof bytes === 'string') frame.write(bytes, at, 'latin1');
  else bytes.copy(frame, at);
  return frame;
}

export function failureFrame(number: number, status: number, reason: object): Buffer {
  const json = Buffer.from(JSON.stringify(reason));
  const frame = begun(KIND.failure, number, 2 + json.length);
  frame.writeUInt16LE(status, HEADER_BYTES);
  json.copy(frame, HEADER_BYTES + 2);
  return frame;
}

function begun(kind: number, number: number, contentBytes: number): Buffer {
  const frame = Buffer.allocUnsafe(HEADER_BYTES + contentBytes);
  frame.writeUInt32LE(HEADER_BYTES - LENGTH_BYTES + contentBytes, 0);
  frame.writeUInt8(kind, LENGTH_BYTES);
  frame.writeUInt32LE(number, LENGTH_BYTES + 1);
  return frame;
}

/** A question: its head, which should be JSON, and its body. */
export interface Ask {
  readonly head: Buffer;
  readonly body: Buffer;
}

/** @throws BadFrame */
export function readAsk({ content }: Frame): Ask {
  const headBytes = content.length < 4 ? -1 : content.readUInt32LE(0);
  if (headBytes < 0 || headBytes > content.length - 4) throw new BadFrame('a question that is cut off');
  return { head: content.subarray(4, 4 + headBytes), body: content.subarray(4 + headBytes) };
}

/** The position and the last bytes of an answer. @throws BadFrame */
export function readAnswer({ content }: Frame): { readonly position: number; readonly bytes: Buffer } {
  const position = content.length < POSITION_BYTES ? NaN : Number(content.readBigUInt64LE(0));
  if (!Number.isSafeInteger(position)) throw new BadFrame('an answer without a position');
  return { position, bytes: content.subarray(POSITION_BYTES) };
}

/** @throws BadFrame */
export function readFailureFrame({ content }: Frame): { readonly status: number; readonly json: Buffer } {
  if (content.length < 2) throw new BadFrame('a failure without a status');
  return { status: content.readUInt16LE(0), json: content.subarray(2) };
}

/** Makes frames of the bytes of a connection. */
export class FrameReader {
  #held: Buffer[] = [];
  #heldBytes = 0;

  constructor(
    /** Of the content of a frame. */
    private readonly mostBytes: number,
    private readonly take: (frame: Frame) => void,
  ) {}

  /** Whether the end of a frame is missing. */
  get isWithin(): boolean {
    return this.#heldBytes > 0;
  }

  /** @throws BadFrame for a frame that is too long, or shorter than its header. */
  add(chunk: Buffer): void {
    this.#held.push(chunk);
    this.#heldBytes += chunk.length;
    if (this.#heldBytes < this.#wantedBytes()) return;
    let bytes = this.#takeHeld();
    for (;;) {
      const wanted = bytes.length < LENGTH_BYTES ? LENGTH_BYTES : this.#lengthOf(bytes);
      if (bytes.length < wanted) break;
      const [kind, number] = [bytes.readUInt8(LENGTH_BYTES), bytes.readUInt32LE(LENGTH_BYTES + 1)];
      this.take({ kind, number, content: bytes.subarray(HEADER_BYTES, wanted) });
      bytes = bytes.subarray(wanted);
    }
    if (bytes.length === 0) return;
    this.#held = [bytes];
    this.#heldBytes = bytes.length;
  }

  /** Bytes of the first frame; where its length is not here, those up to it. */
  #wantedBytes(): number {
    const [first] = this.#held;
    if (this.#heldBytes < LENGTH_BYTES || first === undefined) return LENGTH_BYTES;
    if (first.length >= LENGTH_BYTES) return this.#lengthOf(first);
    const whole = this.#takeHeld();
    this.#held = [whole];
    this.#heldBytes = whole.length;
    return this.#lengthOf(whole);
  }

  #lengthOf(bytes: Buffer): number {
    const length = LENGTH_BYTES + bytes.readUInt32LE(0);
    if (length < HEADER_BYTES || length > HEADER_BYTES + this.mostBytes) {
      throw new BadFrame(`a frame of ${length} bytes`);
    }
    return length;
  }

  #takeHeld(): Buffer {
    const [only] = this.#held;
    const whole = this.#held.length === 1 && only !== undefined ? only : Buffer.concat(this.#held);
    this.#held = [];
    this.#heldBytes = 0;
    return whole;
  }
}
