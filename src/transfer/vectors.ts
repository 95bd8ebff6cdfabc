import { isUtf8 } from 'node:buffer';
import { createReadStream, openSync, readSync, closeSync, statSync } from 'node:fs';
import { encodeJson } from '../client/json';
import { filledLinesOf, openFile } from './lines';
import { NOT_UTF8, SourceError, type Row, type Source } from './row';

/** How the vectors of a file lie in it: `stride` bytes each, of which the first `skip` are a header. */
interface Layout {
  readonly start: number;
  readonly rows: number;
  readonly stride: number;
  readonly skip: number;
  readonly read: (bytes: Buffer) => ArrayLike<number>;
  /** Checks the header of one row. */
  readonly check?: (bytes: Buffer) => void;
}

/** Vectors beyond this are no vectors. */
const MAX_DIMENSION = 65_536;

/**
 * A file of vectors alone: `.npy` (two dimensions, C order), `.fvecs`, `.bvecs` or `.ivecs`. The number of a row is its id.
 * A file of JSON objects, one a line, may have the payloads in the same order; its blank lines are passed over.
 */
export class VectorFile implements Source {
  readonly bytes: number;
  readonly #layout: Layout;
  #read = 0;

  /** @throws SourceError when it is no such file */
  constructor(
    private readonly path: string,
    format: string,
    private readonly payloads: string | undefined,
  ) {
    this.bytes = statSync(path).size;
    this.#layout = format === 'npy' ? npyLayout(path, this.bytes) : vecsLayout(path, format, this.bytes);
  }

  bytesRead(): number {
    return this.#read;
  }

  async *rows(from: number): AsyncGenerator<Row> {
    const { start, stride, rows } = this.#layout;
    const payloads = this.payloads === undefined ? undefined : filledLinesOf(openFile(this.payloads).pieces);
    for (let skipped = 0; payloads !== undefined && skipped < from; skipped += 1) {
      await payloads.next();
    }
    if (from >= rows) return;
    let rest: Buffer = Buffer.alloc(0);
    let ordinal = from;
    const stream = createReadStream(this.path, { start: start + from * stride, highWaterMark: 1 << 20 });
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      this.#read += chunk.length;
      rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      let at = 0;
      for (; at + stride <= rest.length && ordinal < rows; at += stride, ordinal += 1) {
        yield await this.#row(rest.subarray(at, at + stride), ordinal, payloads);
      }
      rest = rest.subarray(at);
    }
    if (ordinal < rows) {
      throw new SourceError(`The file ends in row ${ordinal} of ${rows}`);
    }
    if (payloads !== undefined && (await payloads.next()).done !== true) {
      throw new SourceError(`The payloads go on behind the last row, which is row ${rows - 1}`);
    }
  }

  async #row(bytes: Buffer, ordinal: number, payloads: AsyncGenerator<Buffer> | undefined): Promise<Row> {
    const place = `row ${ordinal}`;
    const { skip, read, check } = this.#layout;
    check?.(bytes);
    const vector = Array.from(read(bytes.subarray(skip)));
    if (payloads === undefined) {
      return { ordinal, place, json: encodeJson({ id: ordinal, vector }) };
    }
    const { value: line, done } = (await payloads.next()) as IteratorResult<Buffer, undefined>;
    if (done === true) {
      throw new SourceError(`The payloads end before row ${ordinal}`);
    }
    const text = line.toString();
    if (!isUtf8(line)) {
      return { ordinal, place, text, reason: `its payload: ${NOT_UTF8}` };
    }
    try {
      const payload = JSON.parse(text) as unknown;
      if (typeof payload !== 'object' || payload === null || Array.isArray(payload)) {
        throw new Error('no object');
      }
    } catch {
      return { ordinal, place, text, reason: 'its payload is not a JSON object' };
    }
    return { ordinal, place, json: `{"id":${ordinal},"vector":${JSON.stringify(vector)},"payload":${text}}` };
  }
}

const VECS: Readonly<Record<string, { readonly bytes: number; readonly read: Reader }>> = {
  fvecs: { bytes: 4, read: (bytes, at) => bytes.readFloatLE(at) },
  ivecs: { bytes: 4, read: (bytes, at) => bytes.readInt32LE(at) },
  bvecs: { bytes: 1, read: (bytes, at) => bytes.readUInt8(at) },
};

type Reader = (bytes: Buffer, at: number) => number;

function reader(itemBytes: number, read: Reader): (bytes: Buffer) => ArrayLike<number> {
  return (bytes) =>
    Float64Array.from({ length: bytes.length / itemBytes }, (_, at) => read(bytes, at * itemBytes));
}

/** Each row is its dimension (32 bits, little-endian) and its components. */
function vecsLayout(path: string, format: string, size: number): Layout {
  const kind = VECS[format];
  if (kind === undefined) throw new SourceError(`There is no format ${format}`);
  const dimension = size < 4 ? 0 : firstBytes(path, 4).readInt32LE();
  const stride = 4 + dimension * kind.bytes;
  if (dimension < 1 || dimension > MAX_DIMENSION || size % stride !== 0) {
    throw new SourceError(
      `${path} is not a file of .${format}: its size is no multiple of a row of ${dimension} components`,
    );
  }
  const check = (bytes: Buffer): void => {
    if (bytes.readInt32LE() !== dimension) {
      throw new SourceError(`A row has ${bytes.readInt32LE()} components, the first one has ${dimension}`);
    }
  };
  return { start: 0, rows: size / stride, stride, skip: 4, read: reader(kind.bytes, kind.read), check };
}

const NPY_MAGIC = '\x93NUMPY';
const NPY_TYPES: Readonly<Record<string, { readonly bytes: number; readonly read: Reader }>> = {
  '<f4': { bytes: 4, read: (bytes, at) => bytes.readFloatLE(at) },
  '<f8': { bytes: 8, read: (bytes, at) => bytes.readDoubleLE(at) },
  '<f2': { bytes: 2, read: (bytes, at) => halfOf(bytes.readUInt16LE(at)) },
  '|u1': { bytes: 1, read: (bytes, at) => bytes.readUInt8(at) },
  '|i1': { bytes: 1, read: (bytes, at) => bytes.readInt8(at) },
};

function npyLayout(path: string, size: number): Layout {
  const head = firstBytes(path, Math.min(size, 65_536));
  const isNpy = head.length >= 12 && head.toString('latin1', 0, 6) === NPY_MAGIC;
  const isLong = isNpy && (head[6] ?? 0) >= 2;
  const start = (isLong ? 12 : 10) + (isNpy ? (isLong ? head.readUInt32LE(8) : head.readUInt16LE(8)) : 0);
  const header = head.toString('latin1', 0, Math.min(start, head.length));
  const type = /'descr':\s*'([^']+)'/.exec(header)?.[1] ?? '';
  const shape = /'shape':\s*\((\d+),\s*(\d+)\)/.exec(header);
  const kind = Object.hasOwn(NPY_TYPES, type) ? NPY_TYPES[type] : undefined;
  if (!isNpy || shape === null || kind === undefined || !/'fortran_order':\s*False/.test(header)) {
    const types = Object.keys(NPY_TYPES).join(', ');
    throw new SourceError(
      `${path} is not a NumPy array of two dimensions in C order with one of the types ${types}`,
    );
  }
  const [rows, dimension] = [Number(shape[1]), Number(shape[2])];
  const stride = dimension * kind.bytes;
  if (dimension < 1 || dimension > MAX_DIMENSION || size - start !== rows * stride) {
    throw new SourceError(
      `${path} has ${size - start} bytes of data, its header says ${rows} × ${dimension} × ${kind.bytes}`,
    );
  }
  return { start, rows, stride, skip: 0, read: reader(kind.bytes, kind.read) };
}

/** The value of an IEEE 754 half. */
function halfOf(bits: number): number {
  const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
  const size =
    exponent === 0
      ? fraction * 2 ** -24
      : exponent === 31
        ? fraction === 0
          ? Infinity
          : NaN
        : (1 + fraction / 1024) * 2 ** (exponent - 15);
  return (bits & 0x8000) === 0 ? size : -size;
}

function firstBytes(path: string, count: number): Buffer {
  const file = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(count);
    return bytes.subarray(0, readSync(file, bytes, 0, count, 0));
  } finally {
    closeSync(file);
  }
}
