import type { ServerResponse } from 'node:http';
import { createGzip, gzip, type ZlibOptions } from 'node:zlib';

/** Longer answers are compressed where the client asks for it (C1.12). */
export const COMPRESSED_ABOVE_BYTES = 8 * 1024;

/** A long answer is compressed in chunks of this size, each as a piece of work of its own for zlib's threads. */
const SLICE_BYTES = 256 * 1024;

/**
 * The fastest level. It takes JSON to about a third; the next ones save a tenth of that and take twice as long, and
 * processors are what searches need.
 */
const OPTIONS: ZlibOptions = { level: 1, chunkSize: 64 * 1024 };

/** Compresses a short answer on another thread, and hands it back; undefined where that fails. */
export function compress(body: Buffer, done: (compressed: Buffer | undefined) => void): void {
  gzip(body, OPTIONS, (error, compressed) => {
    done(error === null ? compressed : undefined);
  });
}

/** Whether an answer is compressed as one piece. */
export function isOnePiece(body: Buffer): boolean {
  return body.length <= SLICE_BYTES;
}

/**
 * Writes an answer whose head is written, compressed slice by slice on another thread, each when the system has taken what
 * came of the one before. `progressed` is called for each part that it has taken.
 */
export function writeCompressed(response: ServerResponse, body: Buffer, progressed?: () => void): void {
  const stream = createGzip(OPTIONS);
  const next = (from: number): void => {
    if (response.destroyed) {
      return;
    }
    if (from >= body.length) {
      stream.end();
    } else {
      stream.write(body.subarray(from, from + SLICE_BYTES), (error) => {
        if (!error) next(from + SLICE_BYTES);
      });
    }
  };
  stream.on('data', (part: Buffer) => {
    const hasRoom = response.write(part, (error) => {
      if (!error) progressed?.();
    });
    if (!hasRoom) {
      stream.pause();
      response.once('drain', () => stream.resume());
    }
  });
  stream.on('end', () => response.end());
  stream.on('error', () => response.destroy());
  response.on('close', () => stream.destroy());
  next(0);
}
