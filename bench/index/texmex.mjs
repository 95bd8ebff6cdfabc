/**
 * The files of the TexMex corpus (SIFT1M, GIST1M) and its followers: each row is its length as an int32 and then its
 * elements, float32 in `.fvecs`, bytes in `.bvecs`, int32 in `.ivecs`.
 */
import { extname } from 'node:path';
import { ByteFile, DataError, ELEMENTS, readRows } from './elements.mjs';

const DTYPES = { '.fvecs': 'f32', '.bvecs': 'u8', '.ivecs': 'i32' };

/**
 * @template {Float32Array | Int32Array} T
 * @param {string} path ends in `.fvecs`, `.bvecs` or `.ivecs`, or one of these and `.gz`
 * @param {new (length: number) => T} kind what the elements become
 * @returns {{rows: number, columns: number, values: T}}
 */
export function readTexmex(path, kind) {
  const dtype = DTYPES[extname(path.replace(/\.gz$/, ''))];
  const file = new ByteFile(path);
  try {
    const columns = file.view(0, 4).getInt32(0, true);
    if (columns < 1) throw new DataError(`${path}: a first row of ${columns} elements`);
    const rowBytes = 4 + columns * ELEMENTS[dtype].bytes;
    if (file.size % rowBytes !== 0) {
      throw new DataError(`${path}: ${file.size} bytes are no whole number of rows of ${columns} elements`);
    }
    const check = (view, at, row) => {
      const length = view.getInt32(at, true);
      if (length !== columns) {
        throw new DataError(`${path}: row ${row} has ${length} elements, the first has ${columns}`);
      }
    };
    const rows = file.size / rowBytes;
    return { rows, columns, values: readRows(file, { dtype, columns, rows, before: 4, check }, kind) };
  } finally {
    file.close();
  }
}
