import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { SourceError } from './row';

/** A longer line is no row: no request may be as long (C2.7). */
const MAX_LINE_BYTES = 64 * 1024 * 1024;

/** A file that is read. */
export interface OpenFile {
  /** Its bytes, unpacked when its name ends in `.gz`. */
  readonly content: Readable;
  /** Bytes of the file that have been read. */
  bytesRead(): number;
}

/** Opens a file. An error comes when its content is read. */
export function openFile(path: string): OpenFile {
  const file = createReadStream(path, { highWaterMark: 1 << 20 });
  const bytesRead = (): number => file.bytesRead;
  if (!path.endsWith('.gz')) {
    return { content: file, bytesRead };
  }
  const unpacked = createGunzip();
  file.on('error', (error) => unpacked.destroy(error));
  return { content: file.pipe(unpacked), bytesRead };
}

/** The bytes of a file, unpacked when its name ends in `.gz`, in pieces that are there until the next one is asked for. */
export interface OpenPieces {
  readonly pieces: AsyncIterable<Buffer>;
  /** Bytes of the file that have been read. */
  bytesRead(): number;
}

const PIECE_BYTES = 1 << 20;

/** Opens a file. An error comes when it is read. */
export function openPieces(path: string): OpenPieces {
  if (path.endsWith('.gz')) {
    const file = openFile(path);
    return { pieces: file.content as AsyncIterable<Buffer>, bytesRead: () => file.bytesRead() };
  }
  let read = 0;
  async function* pieces(): AsyncGenerator<Buffer> {
    const file = await open(path);
    // One piece of memory for all: fresh memory for each has to be collected.
    const memory = Buffer.allocUnsafeSlow(PIECE_BYTES);
    try {
      for (;;) {
        const { bytesRead } = await file.read(memory, 0, PIECE_BYTES);
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

/** The lines of a stream without their ends, as text. @throws SourceError for one that is too long */
export async function* linesOf(stream: Readable): AsyncGenerator<string> {
  for await (const line of byteLinesOf(stream as AsyncIterable<Buffer>)) yield line.toString();
}

/**
 * The lines of bytes that come in pieces, without their ends. A line is there until the next one is asked for.
 * @throws SourceError for one that is too long
 */
export async function* byteLinesOf(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let rest: Buffer[] = [];
  let restBytes = 0;
  for await (const chunk of pieces) {
    let from = 0;
    for (let end = chunk.indexOf(10, from); end >= 0; end = chunk.indexOf(10, from)) {
      const last = chunk.subarray(from, end);
      yield lineOf(restBytes === 0 ? last : Buffer.concat([...rest, last]));
      rest = [];
      restBytes = 0;
      from = end + 1;
    }
    if (from < chunk.length) {
      rest.push(Buffer.from(chunk.subarray(from)));
      restBytes += chunk.length - from;
      if (restBytes > MAX_LINE_BYTES) {
        throw new SourceError(`A line has more than ${MAX_LINE_BYTES} bytes: is it one point a line?`);
      }
    }
  }
  if (restBytes > 0) {
    yield lineOf(Buffer.concat(rest));
  }
}

function lineOf(bytes: Buffer): Buffer {
  return bytes[bytes.length - 1] === 13 ? bytes.subarray(0, bytes.length - 1) : bytes;
}
