import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { inModule } from './module.js';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kithdb-bench-data-'));
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

function put(name: string, bytes: Buffer): void {
  writeFileSync(join(folder, name), bytes);
}

/** What the benchmark reads from the folder, typed arrays as lists, or `{ error }`. */
function read(metric?: string, rows = 'Infinity'): Record<string, unknown> {
  const of = [folder, ...(metric === undefined ? [] : [metric])].map((arg) => JSON.stringify(arg)).join(', ');
  return inModule(
    'index/dataset.mjs',
    `const list = (values) => values && Array.from(values);
     const set = m.cut(m.readDataSet(${of}), ${rows}, Infinity);
     return { ...set, name: undefined, base: list(set.base), query: list(set.query), truth: list(set.truth) };`,
  ) as Record<string, unknown>;
}

function floats(...values: number[]): Buffer {
  return Buffer.from(Float32Array.from(values).buffer);
}

function integers(...values: number[]): Buffer {
  return Buffer.from(Int32Array.from(values).buffer);
}

/** Each row behind its length, as in the TexMex corpus. */
function texmex(rows: Buffer[], elementBytes: number): Buffer {
  return Buffer.concat(rows.flatMap((row) => [integers(row.length / elementBytes), row]));
}

function npy(descr: string, shape: number[], data: Buffer, fortran = false): Buffer {
  const text = `{'descr': '${descr}', 'fortran_order': ${fortran ? 'True' : 'False'}, 'shape': (${shape.join(', ')}), }`;
  const header = Buffer.from(`${text.padEnd(117)}\n`);
  const start = Buffer.from([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, header.length, 0]);
  return Buffer.concat([start, header, data]);
}

const EXPECTED = {
  dims: 2,
  rows: 3,
  base: [1, 2, 3, 4, 5, 6],
  queries: 1,
  query: [3, 5],
  truth: [1, 2],
  truthCount: 2,
};

test('a folder with meta.json, packed and unpacked, in half floats and bytes', () => {
  const meta = { dims: 2, rows: 3, queries: 1, groundtruth: 'truth.i32', groundtruth_k: 2, metric: 'cosine' };
  put('truth.i32', integers(1, 2));
  put('meta.json', Buffer.from(JSON.stringify({ ...meta, dtype: 'u8', base: 'base.gz', query: 'query.u8' })));
  put('base.gz', gzipSync(Buffer.from([1, 2, 3, 4, 5, 6])));
  put('query.u8', Buffer.from([3, 5]));
  expect(read()).toEqual({ ...EXPECTED, metric: 'cosine' });
  expect(read('dot')).toMatchObject({ metric: 'dot', truth: null });

  put(
    'meta.json',
    Buffer.from(JSON.stringify({ ...meta, dtype: 'f16', base: 'base.f16', query: 'query.f16' })),
  );
  const halves = (...bits: number[]): Buffer => Buffer.from(Uint16Array.from(bits).buffer);
  put('base.f16', halves(0x3c00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600));
  put('query.f16', halves(0x4200, 0x4500));
  expect(read()).toEqual({ ...EXPECTED, metric: 'cosine' });
});

test('the files of the TexMex corpus, floats and bytes', () => {
  put('siftsmall_base.fvecs', texmex([floats(1, 2), floats(3, 4), floats(5, 6)], 4));
  put('siftsmall_query.fvecs', texmex([floats(3, 5)], 4));
  put('siftsmall_learn.fvecs', texmex([floats(9, 9)], 4));
  put('siftsmall_groundtruth.ivecs', texmex([integers(1, 2)], 4));
  expect(read()).toEqual({ ...EXPECTED, metric: 'euclid' });
  expect(read('cosine')).toMatchObject({ metric: 'cosine', truth: null });

  rmSync(join(folder, 'siftsmall_base.fvecs'));
  put('siftsmall_base.bvecs', texmex([Buffer.from([1, 2]), Buffer.from([3, 4]), Buffer.from([5, 6])], 1));
  expect(read()).toEqual({ ...EXPECTED, metric: 'euclid' });
});

test('NumPy arrays under either family of names', () => {
  put('train.npy', npy('<f8', [3, 2], Buffer.from(Float64Array.from([1, 2, 3, 4, 5, 6]).buffer)));
  put('test.npy', npy('|u1', [1, 2], Buffer.from([3, 5])));
  put('neighbors.npy', npy('<i8', [1, 2], Buffer.from(BigInt64Array.from([1n, 2n]).buffer)));
  expect(read()).toEqual({ ...EXPECTED, metric: 'euclid' });
});

test('fewer rows have other neighbours', () => {
  put('base.npy', npy('<f4', [3, 2], floats(1, 2, 3, 4, 5, 6)));
  put('query.npy', npy('<f4', [1, 2], floats(3, 5)));
  put('groundtruth.npy', npy('<i4', [1, 2], integers(1, 2)));
  expect(read(undefined, '2')).toMatchObject({ rows: 2, base: [1, 2, 3, 4], truth: null });
});

test('an error says what is wrong with a folder', () => {
  const error = (): unknown => read()['error'];
  expect(error()).toMatch(/neither meta.json nor/);
  put('a_base.fvecs', texmex([floats(1, 2), floats(3)], 4));
  expect(error()).toMatch(/no query among a_base.fvecs/);
  put('a_query.fvecs', texmex([floats(1, 2, 3)], 4));
  expect(error()).toMatch(/no whole number of rows of 2/);
  put('a_base.fvecs', texmex([floats(1, 2), floats(3, 4)], 4));
  expect(error()).toMatch(/rows of 2 components, but queries of 3/);
  put('a_query.fvecs', texmex([floats(1, 2)], 4));
  put('a_groundtruth.ivecs', texmex([integers(2)], 4));
  expect(error()).toMatch(/names rows that the base does not have/);
  put('b_base.fvecs', texmex([floats(1, 2)], 4));
  expect(error()).toMatch(/which is the base/);
  put('meta.json', Buffer.from(JSON.stringify({ dims: 2, dtype: 'f32', base: 'x', query: 'y' })));
  expect(error()).toMatch(/x, which meta.json names, does not exist/);
  put('x', floats(1, 2, 3));
  expect(error()).toMatch(/12 bytes are not a whole number of rows of 2 × f32/);
});

test.each([
  ['columns first', npy('<f4', [3, 2], floats(1, 2, 3, 4, 5, 6), true), /Fortran/],
  ['big-endian', npy('>f4', [3, 2], floats(1, 2, 3, 4, 5, 6)), /type >f4/],
  ['one dimension', npy('<f4', [6], floats(1, 2, 3, 4, 5, 6)), /rows and columns/],
  ['too short', npy('<f4', [3, 2], floats(1, 2, 3)), /ends at byte/],
  ['no array', Buffer.from('something else altogether'), /not an .npy file/],
])('an array with %s is refused', (_, base, why) => {
  put('base.npy', base);
  put('query.npy', npy('<f4', [1, 2], floats(3, 5)));
  expect(read()['error']).toMatch(why);
});
