import { createReadStream } from 'node:fs';
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

/** The lines of a stream without their ends, as text. @throws SourceError for one that is too long */
export async function* linesOf(stream: Readable): AsyncGenerator<string> {
  for await (const line of byteLinesOf(stream)) yield line.toString();
}

/** The lines of a stream without their ends. @throws SourceError for one that is too long */
export async function* byteLinesOf(stream: Readable): AsyncGenerator<Buffer> {
  let rest: Buffer[] = [];
  let restBytes = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    let from = 0;
    for (let end = chunk.indexOf(10, from); end >= 0; end = chunk.indexOf(10, from)) {
      const last = chunk.subarray(from, end);
      yield lineOf(restBytes === 0 ? last : Buffer.concat([...rest, last]));
      rest = [];
      restBytes = 0;
      from = end + 1;
    }
    if (from < chunk.length) {
      rest.push(chunk.subarray(from));
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
