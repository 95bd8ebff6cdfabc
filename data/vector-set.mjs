/**
 * Reads a folder of vectors: `meta.json` names the files, the shape, the element type and the metric (see
 * `data/debian-small/README.md`). Files are row-major, little-endian, without a header; `.gz` is unpacked.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';

const ELEMENT_BYTES = { u8: 1, f16: 2, f32: 4 };

/**
 * @typedef {object} VectorSet
 * @property {string} name
 * @property {number} rows
 * @property {number} queries
 * @property {number} dims
 * @property {'Cosine' | 'Euclid' | 'Dot'} distance as the service calls the metric
 * @property {(row: number) => Float32Array} base
 * @property {(row: number) => Float32Array} query
 * @property {(row: number) => string} baseJson the row as a JSON array whose numbers parse to the same f32 values
 * @property {(row: number) => string} queryJson
 * @property {number} nearestCount how many rows {@link VectorSet.nearest} gives
 * @property {(row: number) => Int32Array} nearest rows of the base nearest to a query, best first
 * @property {object[] | null} payloads in row order
 * @property {{id: number, text: string}[] | null} queryTexts
 */

/**
 * @param {string} folder
 * @returns {VectorSet}
 */
export function readVectorSet(folder) {
  const meta = JSON.parse(readFileSync(join(folder, 'meta.json'), 'utf8'));
  if (!(meta.dtype in ELEMENT_BYTES)) throw new Error(`${folder}: unknown element type ${meta.dtype}`);
  const base = vectors(folder, meta.base, meta);
  const query = vectors(folder, meta.query, meta);
  const nearest = integers(read(folder, meta.groundtruth));
  return {
    name: meta.name,
    rows: meta.rows,
    queries: meta.queries,
    dims: meta.dims,
    distance: { cosine: 'Cosine', euclid: 'Euclid', dot: 'Dot' }[meta.metric],
    base: base.row,
    baseJson: base.json,
    query: query.row,
    queryJson: query.json,
    nearestCount: meta.groundtruth_k,
    nearest: (row) => nearest.subarray(row * meta.groundtruth_k, (row + 1) * meta.groundtruth_k),
    payloads: meta.payload ? lines(read(folder, meta.payload)) : null,
    queryTexts: meta.query_texts ? lines(read(folder, meta.query_texts)) : null,
  };
}

function read(folder, name) {
  const bytes = readFileSync(join(folder, name));
  return name.endsWith('.gz') ? gunzipSync(bytes) : bytes;
}

function lines(bytes) {
  return bytes
    .toString('utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
}

/** A copy, because a typed array needs an aligned start and a file's buffer may have any. */
function integers(bytes) {
  return new Int32Array(Uint8Array.from(bytes).buffer);
}

function vectors(folder, name, { dtype, dims }) {
  const bytes = read(folder, name);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const width = ELEMENT_BYTES[dtype] * dims;
  const offset = (row, column) => row * width + column * ELEMENT_BYTES[dtype];
  const { number, text } = {
    u8: () => ({ number: (at) => view.getUint8(at), text: (at) => String(view.getUint8(at)) }),
    f16: () => ({
      number: (at) => halfValues()[view.getUint16(at, true)],
      text: (at) => halfTexts()[view.getUint16(at, true)],
    }),
    f32: () => ({
      number: (at) => view.getFloat32(at, true),
      text: (at) => shortest(view.getFloat32(at, true)),
    }),
  }[dtype]();
  return {
    row: (row) => Float32Array.from({ length: dims }, (_, column) => number(offset(row, column))),
    json: (row) => {
      const parts = new Array(dims);
      for (let column = 0; column < dims; column++) parts[column] = text(offset(row, column));
      return `[${parts.join(',')}]`;
    },
  };
}

/** The shortest decimal that parses to the same f32: a quarter of the digits of the same number as a double. */
function shortest(value) {
  for (let digits = 1; digits <= 9; digits++) {
    const text = Number(value.toPrecision(digits));
    if (Math.fround(text) === value) return String(text);
  }
  return String(value);
}

/** All 65,536 half floats as numbers. */
export const halfValues = once(() =>
  Float32Array.from({ length: 65536 }, (_, bits) => {
    const sign = bits & 0x8000 ? -1 : 1;
    const exponent = (bits >> 10) & 0x1f;
    const fraction = bits & 0x3ff;
    if (exponent === 0) return sign * fraction * 2 ** -24;
    if (exponent === 31) return fraction === 0 ? sign * Infinity : NaN;
    return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
  }),
);

/** All half floats as JSON numbers. */
const halfTexts = once(() => Array.from(halfValues(), shortest));

function once(make) {
  let made;
  return () => (made ??= make());
}
