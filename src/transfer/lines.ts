import { createReadStream, type ReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { explained } from '../files/explained';
import { SourceError } from './row';

export const LINE_BREAK = 10;
/** A longer line is no row: no request may be as long (C2.7). */
const MAX_LINE_BYTES = 64 * 1024 * 1024;

/** @throws SourceError where so many bytes of one line have been read that it is no row */
export function refuseLongLine(bytes: number): void {
  if (bytes > MAX_LINE_BYTES) {
    throw new SourceError(`A line has more than ${MAX_LINE_BYTES} bytes: is it one point a line?`);
  }
}

/** Whether the name of a file says that it is packed by gzip. */
export function isPacked(path: string): boolean {
  return path.toLowerCase().endsWith('.gz');
}

/** The bytes of a file, unpacked when its name ends in `.gz`. It is open from the first piece that is asked for to the last. */
export interface OpenFile {
  /** @throws SourceError that names the file where it cannot be read or unpacked */
  readonly pieces: AsyncGenerator<Buffer, undefined>;
  /** Bytes of the file that have been read. */
  bytesRead(): number;
}

const PIECE_BYTES = 1 << 20;

/** Opens a file whose pieces may be kept. */
export function openFile(path: string): OpenFile {
  let file: ReadStream | undefined;
  async function* pieces(): AsyncGenerator<Buffer, undefined> {
    file = createReadStream(path, { highWaterMark: PIECE_BYTES });
    try {
      yield* (isPacked(path) ? unpacked(file) : file) as AsyncIterable<Buffer>;
    } catch (error) {
      throw unreadable(path, error);
    }
  }
  return { pieces: pieces(), bytesRead: () => file?.bytesRead ?? 0 };
}

function unpacked(file: Readable): Readable {
  // Who reads gets the error of either.
  return pipeline(file, createGunzip(), () => undefined);
}

/** Opens a file whose pieces are there until the next one is asked for. */
export function openPieces(path: string): OpenFile {
  if (isPacked(path)) return openFile(path);
  let read = 0;
  async function* pieces(): AsyncGenerator<Buffer, undefined> {
    const file = await readFrom(path, open(path));
    // One piece of memory for all: fresh memory for each has to be collected.
    const memory = Buffer.allocUnsafeSlow(PIECE_BYTES);
    try {
      for (;;) {
        const { bytesRead } = await readFrom(path, file.read(memory, 0, PIECE_BYTES));
        if (bytesRead === 0) return;
        read += bytesRead;
        yield memory.subarray(0, bytesRead);
      }
    } finally {
      await file.close();
    }
  }
  return { pieces: pieces(), bytesRead: () => read };
}

/** What an operation on a file gives. @throws SourceError that names the file where it fails */
export async function readFrom<T>(path: string, operation: Promise<T>): Promise<T> {
  try {
    return await operation;
  } catch (error) {
    throw unreadable(path, error);
  }
}

/** Why a file cannot be read, in a sentence that names it. */
function unreadable(path: string, error: unknown): SourceError {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'Z_BUF_ERROR') return new SourceError(`${path} is not whole: it ends within its gzip data`);
  if (code?.startsWith('Z_') === true) return new SourceError(`${path} is damaged or no gzip: ${message}`);
  return new SourceError(explained(Object.assign(error as Error, { path })));
}

/** The mark that programs put before a text in UTF-8. */
const BYTE_ORDER_MARK = Buffer.from('\ufeff');

/** How many bytes of the mark a file begins with: all, or none. */
export function markLength(start: Buffer): number {
  const { length } = BYTE_ORDER_MARK;
  return start.subarray(0, length).equals(BYTE_ORDER_MARK) ? length : 0;
}

/** The same bytes without a byte order mark. */
export async function* withoutMark(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let start: Buffer | undefined = Buffer.alloc(0);
  for await (const piece of pieces) {
    if (start === undefined) {
      yield piece;
      continue;
    }
    start = Buffer.concat([start, piece]);
    if (start.length < BYTE_ORDER_MARK.length) continue;
    yield start.subarray(markLength(start));
    start = undefined;
  }
  if (start !== undefined && start.length > 0) yield start;
}

/**
 * The lines of pieces that are not blank, without their ends, each there until the next one is asked for.
 * @throws SourceError for one that is too long
 */
export async function* filledLinesOf(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const lines of linesAtOnce(withoutMark(pieces))) {
    for (const line of lines) {
      if (!isBlank(line)) yield line;
    }
  }
}

const OPEN = 0x7b;
const WHITE_SPACE: ReadonlySet<number> = new Set([0x20, 0x09, 0x0a, 0x0d]);

/** Whether a line has nothing but white space, which is that of JSON: the server passes over no other line. */
export function isBlank(line: Buffer): boolean {
  return line[0] !== OPEN && line.every((byte) => WHITE_SPACE.has(byte));
}

/**
 * The lines of bytes that come in pieces, without their ends: for each piece those that end in it. They are there until the
 * next ones are asked for.
 * @throws SourceError for one that is too long
 */
export async function* linesAtOnce(pieces: AsyncIterable<Buffer>): AsyncGenerator<Iterable<Buffer>> {
  let rest: Buffer[] = [];
  let restBytes = 0;
  for await (const piece of pieces) {
    const last = piece.lastIndexOf(LINE_BREAK);
    if (last >= 0) {
      yield linesAfter(rest, piece.subarray(0, last + 1));
      rest = [];
      restBytes = 0;
    }
    if (last + 1 < piece.length) {
      rest.push(Buffer.from(piece.subarray(last + 1)));
      restBytes += piece.length - last - 1;
      refuseLongLine(restBytes);
    }
  }
  if (restBytes > 0) yield [lineOf(Buffer.concat(rest))];
}

/** The lines of whole lines of a piece; the first one begins with `rest`, which pieces before it had. */
function* linesAfter(rest: readonly Buffer[], lines: Buffer): Generator<Buffer> {
  const end = rest.length === 0 ? 0 : lines.indexOf(LINE_BREAK) + 1;
  if (end > 0) yield lineOf(Buffer.concat([...rest, lines.subarray(0, end - 1)]));
  yield* linesIn(lines.subarray(end));
}

/** The lines of bytes without their ends; the last one may have none. */
export function* linesIn(bytes: Buffer): Generator<Buffer> {
  for (let from = 0; from < bytes.length;) {
    const lineBreak = bytes.indexOf(LINE_BREAK, from);
    const end = lineBreak < 0 ? bytes.length : lineBreak;
    yield lineOf(bytes.subarray(from, end));
    from = end + 1;
  }
}

function lineOf(bytes: Buffer): Buffer {
  return bytes[bytes.length - 1] === 13 ? bytes.subarray(0, bytes.length - 1) : bytes;
}
