/** The disk alone, beside what the product does with it. */
import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';

const CHUNK_BYTES = 1 << 20;

/** Seconds to write a file of so many bytes and sync it. */
export function secondsToWrite(path, bytes) {
  const chunk = Buffer.alloc(CHUNK_BYTES, 'x');
  const file = openSync(path, 'w');
  const startedAt = performance.now();
  for (let left = bytes; left > 0; left -= CHUNK_BYTES)
    writeSync(file, chunk, 0, Math.min(left, CHUNK_BYTES));
  fsyncSync(file);
  closeSync(file);
  return (performance.now() - startedAt) / 1000;
}
