import { statSync } from 'node:fs';
import { pointOf, type Columns, type Mapping } from './mapping';
import { SourceError, type Row, type Source } from './row';

/** Rows that are read at a time. */
const ROWS_AT_A_TIME = 1000;

/** A Parquet file: uncompressed, Snappy, or what Node's zlib unpacks (gzip, Brotli). */
export class ParquetFile implements Source {
  readonly bytes: number;
  #read = 0;

  constructor(
    private readonly path: string,
    private readonly mapping: Mapping,
  ) {
    this.bytes = statSync(path).size;
  }

  bytesRead(): number {
    return this.#read;
  }

  async *rows(from: number): AsyncGenerator<Row> {
    const { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects, parquetSchema } =
      await import('hyparquet');
    const { brotliDecompressSync, gunzipSync } = await import('node:zlib');
    const compressors = {
      GZIP: (bytes: Uint8Array) => gunzipSync(bytes),
      BROTLI: (bytes: Uint8Array) => brotliDecompressSync(bytes),
    };
    const file = await asyncBufferFromFile(this.path);
    const metadata = await parquetMetadataAsync(file).catch((error: unknown) => {
      throw new SourceError(`${this.path} is not a Parquet file: ${(error as Error).message}`);
    });
    const names = parquetSchema(metadata).children.map(({ element }) => element.name);
    this.#requireColumns(names);
    const rows = Number(metadata.num_rows);
    for (let start = from; start < rows; start += ROWS_AT_A_TIME) {
      const end = Math.min(rows, start + ROWS_AT_A_TIME);
      const read = await parquetReadObjects({ file, metadata, compressors, rowStart: start, rowEnd: end });
      this.#read = Math.floor((this.bytes * end) / rows);
      for (const [at, columns] of read.entries()) {
        yield this.#row(columns, start + at);
      }
    }
  }

  #requireColumns(names: readonly string[]): void {
    const { id, vectors, payload } = this.mapping;
    const wanted = [...vectors.values(), ...(payload ?? []), ...(id === undefined ? [] : [id])];
    const missing = wanted.find((name) => !names.includes(name));
    if (missing !== undefined) {
      throw new SourceError(`The file has no column ${missing}: it has ${names.join(', ')}`);
    }
  }

  #row(columns: Columns, ordinal: number): Row {
    const place = `row ${ordinal}`;
    try {
      return { ordinal, place, json: pointOf(withoutNulls(columns), ordinal, this.mapping) };
    } catch (error) {
      return { ordinal, place, reason: (error as Error).message };
    }
  }
}

/** A column without a value is no field of the payload. Dates become texts of RFC 3339 in JSON. */
function withoutNulls(columns: Columns): Columns {
  return Object.fromEntries(Object.entries(columns).filter(([, value]) => value !== null));
}
