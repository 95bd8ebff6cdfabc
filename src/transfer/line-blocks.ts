import { open } from 'node:fs/promises';
import { isBlank, isPacked, LINE_BREAK, markLength, openFile, readFrom, refuseLongLine } from './lines';

const OPEN = 0x7b;
/** Bytes of the memory that a part of the file is read into, and so about the length of a request. */
const CHUNK_BYTES = 5 << 19;

/** Whole lines of a file, as they are: the body of a request (C5.14). */
export interface LineBlock {
  readonly bytes: Buffer;
  /** Lines that are not blank. */
  readonly rows: number;
  /** The ordinal of the first of them. */
  readonly ordinal: number;
  /** Lines of the file before the first one here. */
  readonly linesBefore: number;
  /** Says that nobody reads the bytes any more: their memory is used again. */
  release(): void;
}

/** Bytes that are read into memory of the caller. */
interface Input {
  /** Reads into `memory` from a place on. Resolves with the number of bytes; 0 at the end. */
  fill(memory: Buffer, from: number): Promise<number>;
  close(): Promise<void>;
}

/** The blocks of a file of lines, unpacked when its name ends in `.gz`. */
export class LineBlocks {
  readonly #spare: Buffer[] = [];
  #read = 0;
  #lines = 0;
  #ordinal = 0;

  constructor(
    private readonly path: string,
    /** Rows of a block. */
    private readonly mostRows: number,
  ) {}

  /** Bytes of the file that have been read. */
  get bytesRead(): number {
    return this.#read;
  }

  /** The blocks of the rows from the one with that ordinal on. @throws SourceError for a line that is too long */
  async *blocks(from: number): AsyncGenerator<LineBlock> {
    const input = await this.#open();
    let memory: Buffer = this.#take(CHUNK_BYTES);
    let filled = 0;
    let isStart = true;
    try {
      for (;;) {
        const bytes = await fillWhole(input, memory, filled);
        const isEnd = bytes < memory.length;
        const end = isEnd ? bytes : memory.lastIndexOf(LINE_BREAK) + 1;
        if (end === 0 && !isEnd) {
          memory = longer(memory);
          filled = bytes;
          continue;
        }
        const chunk = new Chunk(memory, this.#spare);
        yield* this.#cut(chunk, isStart ? markLength(memory.subarray(0, end)) : 0, end, from);
        isStart = false;
        const rest = memory.subarray(end, bytes);
        memory = this.#take(2 * rest.length);
        filled = rest.copy(memory);
        chunk.release();
        if (isEnd) return;
      }
    } finally {
      await input.close();
    }
  }

  /** Cuts the lines between two places, which end there, into blocks. */
  *#cut(chunk: Chunk, begin: number, end: number, from: number): Generator<LineBlock> {
    const lines = chunk.memory.subarray(0, end);
    let [start, rows, linesBefore] = [begin, 0, this.#lines];
    for (let at = begin; at < end;) {
      const lineBreak = lines.indexOf(LINE_BREAK, at);
      const next = lineBreak < 0 ? end : lineBreak + 1;
      this.#lines += 1;
      if (lines[at] === OPEN || !isBlank(lines.subarray(at, next))) {
        this.#ordinal += 1;
        if (this.#ordinal > from) rows += 1;
      }
      if (rows === 0 || rows === this.mostRows) {
        if (rows > 0) yield chunk.block(start, next, { rows, ordinal: this.#ordinal - rows, linesBefore });
        [start, rows, linesBefore] = [next, 0, this.#lines];
      }
      at = next;
    }
    if (rows > 0) yield chunk.block(start, end, { rows, ordinal: this.#ordinal - rows, linesBefore });
  }

  #take(bytes: number): Buffer {
    const spare = this.#spare.pop();
    return spare !== undefined && spare.length >= bytes
      ? spare
      : Buffer.allocUnsafeSlow(Math.max(CHUNK_BYTES, bytes));
  }

  async #open(): Promise<Input> {
    if (!isPacked(this.path)) {
      const file = await readFrom(this.path, open(this.path));
      return {
        fill: async (memory, from) => {
          const read = file.read(memory, from, memory.length - from);
          const { bytesRead } = await readFrom(this.path, read);
          this.#read += bytesRead;
          return bytesRead;
        },
        close: () => file.close(),
      };
    }
    const file = openFile(this.path);
    let piece: Buffer = Buffer.alloc(0);
    return {
      fill: async (memory, from) => {
        if (piece.length === 0) piece = (await file.pieces.next()).value ?? piece;
        this.#read = file.bytesRead();
        const bytes = piece.copy(memory, from);
        piece = piece.subarray(bytes);
        return bytes;
      },
      close: async () => {
        await file.pieces.return(undefined);
      },
    };
  }
}

/** Memory with blocks, and who reads it: its reader and each block. */
class Chunk {
  #readers = 1;

  constructor(
    readonly memory: Buffer,
    private readonly spare: Buffer[],
  ) {}

  block(from: number, to: number, of: Omit<LineBlock, 'bytes' | 'release'>): LineBlock {
    this.#readers += 1;
    const release = (): void => {
      this.release();
    };
    return { ...of, bytes: this.memory.subarray(from, to), release };
  }

  release(): void {
    this.#readers -= 1;
    if (this.#readers === 0) this.spare.push(this.memory);
  }
}

/** Reads until the memory is full or the input ends. Resolves with the place behind what was read. */
async function fillWhole(input: Input, memory: Buffer, from: number): Promise<number> {
  let filled = from;
  while (filled < memory.length) {
    const bytes = await input.fill(memory, filled);
    if (bytes === 0) break;
    filled += bytes;
  }
  return filled;
}

/** Memory with the same bytes, which are the beginning of a line, and room for more. */
function longer(memory: Buffer): Buffer {
  refuseLongLine(memory.length + 1);
  const larger = Buffer.allocUnsafeSlow(2 * memory.length);
  memory.copy(larger);
  return larger;
}
