import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { ContractServer, type Json } from '../contract/contract-server';
import { runCommand, type Outcome } from './run-command';

/** `kithdb export --format parquet`, and what `kithdb import` makes of the file (C11.4). */
/** Payloads are packed by gzip. */
const compressors = { GZIP: (bytes: Uint8Array): Uint8Array => gunzipSync(bytes) };

describe('points in Parquet', () => {
  let server: ContractServer;
  let folder: string;
  /** The export of the collection `mixed`, which every test may read. */
  let written: Outcome;
  const mixedFile = (): string => join(folder, 'mixed.parquet');
  beforeAll(async () => {
    server = await ContractServer.start();
    folder = mkdtempSync(join(tmpdir(), 'kithdb-parquet-'));
    await server.ok('PUT', '/collections/mixed', MIXED);
    await server.ok('PUT', '/collections/mixed/points', `{"points":[${POINTS.join(',')}]}`);
    const flags = ['--collection', 'mixed', '--to', mixedFile()];
    written = await runCommand(['export', ...url(), ...flags]);
  });
  afterAll(async () => {
    await server.stop();
    rmSync(folder, { recursive: true });
  });

  const url = (): string[] => ['--url', `http://127.0.0.1:${server.port}`];

  /** A page of all points, as it came. */
  async function all(name: string): Promise<string> {
    const body = JSON.stringify({ limit: 100_000, with_vector: true });
    const { text } = await server.raw('POST', `/collections/${name}/points/scroll`, body);
    return text.slice(text.indexOf('"result"'));
  }

  const MIXED = {
    vectors: {
      title: { size: 2, distance: 'Dot' },
      'a.b ü': { size: 3, distance: 'Manhattan', datatype: 'float16' },
      rows: { size: 2, distance: 'Dot', multivector_config: { comparator: 'max_sim' } },
      bytes: { size: 2, distance: 'Euclid', datatype: 'uint8' },
    },
    sparse_vectors: { words: {} },
  };

  const POINTS = [
    '{"id":0,"vector":{"title":[1.5,-0.1],"a.b ü":[0.1,0.2,0.3],"rows":[[1,2],[3,4],[5,6]],"bytes":[0,255],"words":{"indices":[4294967295,7],"values":[0.5,-1]}},"payload":{"z":1,"a":{"deep":[1.50,null,true,"ä\\"}],\\n"]},"big":9007199254740993,"f":1e2}}',
    '{"id":18446744073709551615,"vector":{"title":[3.4028234663852886e38,1e-45]},"payload":{"a":[]}}',
    '{"id":"8f1f1a9c-1c5d-4a53-9f0e-0b6c9f0e1a2b","vector":{"rows":[[7,8]],"words":{"indices":[],"values":[]}}}',
    '{"id":"ffffffff-ffff-4fff-8fff-ffffffffffff","vector":{}}',
  ];

  it('C11.4 ids, vectors and payloads of every kind come back as they were', async () => {
    expect([written.code, written.out]).toEqual([0, expect.stringMatching(/^4 points of mixed in /)]);
    await server.ok('PUT', '/collections/again', MIXED);
    const read = await runCommand(['import', ...url(), '--collection', 'again', '--file', mixedFile()]);
    expect([read.code, read.err]).toEqual([0, '']);
    expect(await all('again')).toBe(await all('mixed'));
  });

  it('row groups are read one after the other, a new collection gets the dimensions, and an import goes on in the middle', async () => {
    await server.ok('PUT', '/collections/many', { vectors: { size: 1, distance: 'Dot' } });
    for (let first = 0; first < 20_500; first += 5000) {
      const ids = Array.from({ length: Math.min(5000, 20_500 - first) }, (_, at) => first + at);
      const points = ids.map((id) => ({ id, vector: [Math.fround(id / 3)], payload: { n: id } }));
      await server.ok('PUT', '/collections/many/points', { points });
    }
    const file = join(folder, 'many.parquet');
    const flags = ['--collection', 'many', '--to', file];
    expect(await runCommand(['export', ...url(), ...flags])).toMatchObject({ code: 0 });
    const { parquetMetadataAsync, asyncBufferFromFile } = await import('hyparquet');
    const metadata = await parquetMetadataAsync(await asyncBufferFromFile(file));
    expect(metadata.row_groups.map((group) => Number(group.num_rows))).toEqual([20_000, 500]);
    const into = ['import', ...url(), '--collection', 'many-again', '--file', file, '--distance', 'Dot'];
    expect(await runCommand(into)).toMatchObject({ code: 0, err: '' });
    expect(await all('many-again')).toBe(await all('many'));
    const { ParquetFile } = await import('../../src/transfer/parquet.js');
    const source = new ParquetFile(file, { id: undefined, vectors: new Map(), payload: undefined }, false);
    const ordinals = [];
    for await (const { ordinal, ...row } of source.rows(19_900)) {
      ordinals.push(ordinal);
      if (ordinal === 20_001)
        expect(JSON.parse((row as Json).json)).toMatchObject({ id: 20_001, payload: { n: 20_001 } });
    }
    expect(ordinals).toEqual(Array.from({ length: 600 }, (_, at) => 19_900 + at));
  });

  it('dense vectors are lists of floats in pages of their own, and absent ones are nulls', async () => {
    const size = 500;
    const vectors = { d: { size, distance: 'Dot' }, e: { size: 2, distance: 'Dot' } };
    await server.ok('PUT', '/collections/dense', { vectors });
    const component = (id: number, at: number): number => Math.fround(((id * 31 + at * 7) % 997) / 7 - 60);
    const points = Array.from({ length: 1500 }, (_, id) => ({
      id,
      vector: {
        ...(id % 5 !== 3 && { d: Array.from({ length: size }, (__, at) => component(id, at)) }),
        ...(id % 2 === 0 && { e: [id, -0.25] }),
      },
    }));
    for (const part of [points.slice(0, 750), points.slice(750)]) {
      await server.ok('PUT', '/collections/dense/points', { points: part });
    }
    const file = join(folder, 'dense.parquet');
    expect(await runCommand(['export', ...url(), '--collection', 'dense', '--to', file])).toMatchObject({
      code: 0,
    });
    const { parquetReadObjects, parquetSchema, parquetMetadataAsync, asyncBufferFromFile } =
      await import('hyparquet');
    const buffer = await asyncBufferFromFile(file);
    const rows = await parquetReadObjects({ file: buffer, compressors });
    const nulls = rows.map((row) => ({
      ...row,
      vector_d: row['vector_d'] ?? null,
      vector_e: row['vector_e'] ?? null,
    }));
    expect(nulls).toEqual(
      points.map(({ id, vector }) => ({
        ...{ id: String(id), payload: '{}' },
        ...{ vector_d: vector.d ?? null, vector_e: vector.e ?? null },
      })),
    );
    const { children } = parquetSchema(await parquetMetadataAsync(buffer));
    expect(children.map(({ element }) => element.name)).toEqual(['id', 'vector_d', 'vector_e', 'payload']);
    await server.ok('PUT', '/collections/dense-again', { vectors });
    const read = await runCommand(['import', ...url(), '--collection', 'dense-again', '--file', file]);
    expect([read.code, read.err]).toEqual([0, '']);
    expect(await all('dense-again')).toBe(await all('dense'));
  });

  it('without vectors there are no columns of them; --format beats the ending; other formats are an error', async () => {
    const file = join(folder, 'payloads');
    const flags = ['--collection', 'mixed', '--to', file, '--without-vectors', '--format', 'parquet'];
    expect(await runCommand(['export', ...url(), ...flags])).toMatchObject({ code: 0 });
    const { parquetReadObjects, asyncBufferFromFile } = await import('hyparquet');
    const rows = await parquetReadObjects({ file: await asyncBufferFromFile(file), compressors });
    expect(rows.map((row) => Object.keys(row))).toEqual(rows.map(() => ['id', 'payload']));
    await server.ok('PUT', '/collections/bare', MIXED);
    const into = ['import', ...url(), '--collection', 'bare', '--file', file, '--format', 'parquet'];
    expect(await runCommand(into)).toMatchObject({ code: 0 });
    expect(await all('bare')).toContain('{"id":0,"payload":{"z":1,');
    const wrong = ['export', ...url(), '--collection', 'mixed', '--format', 'csv'];
    expect(await runCommand(wrong)).toMatchObject({
      code: 2,
      err: 'kithdb: --format must be jsonl or parquet, not csv\n',
    });
  });

  it('a file of a later release is an error, and with a mapping its columns are columns', async () => {
    const file = join(folder, 'later.parquet');
    const bytes = readFileSync(mixedFile());
    const at = bytes.lastIndexOf('"version":1');
    bytes.write('"version":2', at);
    writeFileSync(file, bytes);
    const into = ['import', ...url(), '--collection', 'mixed', '--file', file];
    expect(await runCommand(into)).toMatchObject({
      code: 1,
      err: expect.stringContaining('it was written by a later release: its version is 2') as string,
    });
    const dry = ['--dry-run', '--vector', 'title=vector_title', '--id', 'id', '--json'];
    expect(JSON.parse((await runCommand([...into, ...dry])).out)).toMatchObject({ points: 4, rejected: 0 });
  });
});
