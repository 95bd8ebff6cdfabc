/** NumPy's array files (`.npy`, format 1 to 3): two-dimensional, little-endian, C order. */
import { ByteFile, DataError, readRows } from './elements.mjs';

const MAGIC = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59]; // \x93NUMPY

const DTYPES = {
  '|u1': 'u8',
  '|i1': 'i8',
  '<f2': 'f16',
  '<f4': 'f32',
  '<f8': 'f64',
  '<i4': 'i32',
  '<u4': 'u32',
  '<i8': 'i64',
  '<u8': 'u64',
};

/**
 * @template {Float32Array | Int32Array} T
 * @param {string} path
 * @param {new (length: number) => T} kind what the elements become
 * @returns {{rows: number, columns: number, values: T}}
 */
export function readNpy(path, kind) {
  const file = new ByteFile(path);
  try {
    const { dtype, rows, columns, start } = header(file);
    return { rows, columns, values: readRows(file, { dtype, columns, rows, start }, kind) };
  } finally {
    file.close();
  }
}

function header(file) {
  const refuse = (why) => {
    throw new DataError(`${file.path}: ${why}`);
  };
  const first = file.view(0, 12);
  if (MAGIC.some((byte, at) => first.getUint8(at) !== byte)) refuse('not an .npy file');
  const wide = first.getUint8(6) > 1;
  const textStart = wide ? 12 : 10;
  const start = textStart + (wide ? first.getUint32(8, true) : first.getUint16(8, true));
  const view = file.view(textStart, start);
  const text = Buffer.from(view.buffer, view.byteOffset, view.byteLength).toString('latin1');
  const field = (name, value) => new RegExp(`'${name}': *${value}`).exec(text)?.[1];
  const descr = field('descr', "'([^']*)'");
  const shape = field('shape', '\\(([^)]*)\\)');
  if (field('fortran_order', '(True|False)') !== 'False')
    refuse('columns come first (Fortran order); save it in C order');
  if (!(descr in DTYPES)) refuse(`elements of type ${descr}; known are ${Object.keys(DTYPES).join(', ')}`);
  const sizes = (shape ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map(Number);
  if (sizes.length !== 2) refuse(`shape (${shape}); rows and columns are needed`);
  return { dtype: DTYPES[descr], rows: sizes[0], columns: sizes[1], start };
}
