/** Numbers in files: element types, and rows of them read block by block, so that a file may be larger than a buffer. */
import { closeSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { halfValues } from '../../data/vector-set.mjs';

/** Bytes read from the disk at a time; a longer row is read whole. */
const BLOCK_BYTES = 8 << 20;

/**
 * Width of an element in bytes, and how to read one, by the name that meta.json has for it.
 *
 * @type {Record<string, {bytes: number, read: (view: DataView, at: number) => number}>}
 */
export const ELEMENTS = {
  u8: { bytes: 1, read: (view, at) => view.getUint8(at) },
  i8: { bytes: 1, read: (view, at) => view.getInt8(at) },
  f16: { bytes: 2, read: (view, at) => halfValues()[view.getUint16(at, true)] },
  f32: { bytes: 4, read: (view, at) => view.getFloat32(at, true) },
  f64: { bytes: 8, read: (view, at) => view.getFloat64(at, true) },
  i32: { bytes: 4, read: (view, at) => view.getInt32(at, true) },
  u32: { bytes: 4, read: (view, at) => view.getUint32(at, true) },
  i64: { bytes: 8, read: (view, at) => Number(view.getBigInt64(at, true)) },
  u64: { bytes: 8, read: (view, at) => Number(view.getBigUint64(at, true)) },
};

/** What is wrong with the data that a user named; needs no stack trace. */
export class DataError extends Error {}

/** A file of bytes, unpacked when its name ends in `.gz`. */
export class ByteFile {
  #file;
  #unpacked = null;

  /** @param {string} path */
  constructor(path) {
    this.path = path;
    if (path.endsWith('.gz')) {
      this.#unpacked = gunzipSync(readFileSync(path));
      this.size = this.#unpacked.length;
    } else {
      this.#file = openSync(path);
      this.size = fstatSync(this.#file).size;
    }
  }

  /** A view of the bytes from `start` to `end`, which must exist. */
  view(start, end) {
    if (end > this.size) throw new DataError(`${this.path}: ends at byte ${this.size}, ${end} are needed`);
    if (this.#unpacked) {
      return new DataView(this.#unpacked.buffer, this.#unpacked.byteOffset + start, end - start);
    }
    const bytes = new Uint8Array(end - start);
    for (let got = 0; got < bytes.length;) {
      const count = readSync(this.#file, bytes, got, bytes.length - got, start + got);
      if (count === 0) throw new DataError(`${this.path}: became shorter while it was read`);
      got += count;
    }
    return new DataView(bytes.buffer);
  }

  close() {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
    this.#unpacked = null;
  }
}

/**
 * Reads rows of equal length.
 *
 * @template {Float32Array | Int32Array} T
 * @param {ByteFile} file
 * @param {object} layout
 * @param {string} layout.dtype key of {@link ELEMENTS}
 * @param {number} layout.columns
 * @param {number} layout.rows
 * @param {number} [layout.start] byte at which the first row starts
 * @param {number} [layout.before] bytes before the elements of each row
 * @param {(view: DataView, at: number, row: number) => void} [layout.check] checks the bytes before a row
 * @param {new (length: number) => T} kind of the array of all elements
 * @returns {T}
 */
export function readRows(
  file,
  { dtype, columns, rows, start = 0, before = 0, check = () => undefined },
  kind,
) {
  const { bytes, read } = ELEMENTS[dtype];
  const rowBytes = before + columns * bytes;
  const blockRows = Math.max(1, Math.floor(BLOCK_BYTES / rowBytes));
  const all = new kind(rows * columns);
  let place = 0;
  for (let first = 0; first < rows; first += blockRows) {
    const count = Math.min(blockRows, rows - first);
    const view = file.view(start + first * rowBytes, start + (first + count) * rowBytes);
    for (let row = 0; row < count; row++) {
      let at = row * rowBytes;
      check(view, at, first + row);
      at += before;
      for (let column = 0; column < columns; column++, at += bytes) all[place++] = read(view, at);
    }
  }
  return all;
}
