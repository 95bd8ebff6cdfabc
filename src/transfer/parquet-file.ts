import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import type { ColumnChunk, SchemaElement, SchemaTree } from 'hyparquet' with { 'resolution-mode': 'import' };
import type * as Columns from 'hyparquet-writer/src/column.js' with { 'resolution-mode': 'import' };
import type * as Dremel from 'hyparquet-writer/src/dremel.js' with { 'resolution-mode': 'import' };
import type * as Pages from 'hyparquet-writer/src/datapage.js' with { 'resolution-mode': 'import' };
import type * as Writers from 'hyparquet-writer' with { 'resolution-mode': 'import' };
import type { FloatLists } from './float-lists';

/** A column of a row group. */
export type GroupColumn = {
  readonly name: string;
  readonly isPacked: boolean;
  readonly hasStatistics: boolean;
} & ({ readonly values: readonly unknown[] } | { readonly lists: FloatLists });

/** Bytes of a page, about. */
const PAGE_BYTES = 1 << 20;
const FLOAT_BYTES = Float32Array.BYTES_PER_ELEMENT;
const BUFFER_BYTES = 1 << 20;
/** Levels of the definition of lists that may be absent, of components that cannot: absent, empty, a component. */
const OF_ABSENT = 0;
const OF_EMPTY = 1;
const OF_COMPONENT = 2;

/** What this uses of the library: its writer of files, and the parts that its writer is made of. */
interface Library {
  readonly writers: typeof Writers;
  readonly columns: typeof Columns;
  readonly dremel: typeof Dremel;
  readonly pages: typeof Pages;
  readonly resolve: (path: string[]) => SchemaTree[];
}

async function load(schema: SchemaElement[]): Promise<Library> {
  const { schemaPathResolver } = await import('hyparquet-writer/src/schema.js');
  return {
    writers: await import('hyparquet-writer'),
    columns: await import('hyparquet-writer/src/column.js'),
    dremel: await import('hyparquet-writer/src/dremel.js'),
    pages: await import('hyparquet-writer/src/datapage.js'),
    resolve: schemaPathResolver(schema),
  };
}

/**
 * Writes a Parquet file row group by row group. Lists of floats are written from the memory that has them: the library takes
 * them value by value, which takes ten times as long.
 */
export class ParquetFileWriter {
  readonly #bytes: Writers.ByteWriter;
  readonly #writer: Writers.ParquetWriter;

  private constructor(
    private readonly library: Library,
    private readonly output: Writable,
    schema: SchemaElement[],
    metadata: { key: string; value: string },
  ) {
    const { ByteWriter, ParquetWriter } = library.writers;
    this.#bytes = new ByteWriter(BUFFER_BYTES);
    this.#writer = new ParquetWriter({
      writer: this.#bytes,
      schema,
      kvMetadata: [metadata],
      createdBy: 'kithdb',
    });
  }

  static async begin(
    output: Writable,
    schema: SchemaElement[],
    metadata: { key: string; value: string },
  ): Promise<ParquetFileWriter> {
    return new ParquetFileWriter(await load(schema), output, schema, metadata);
  }

  /** Writes a row group; `columns` are those of the schema, in its order. */
  async writeGroup(rows: number, columns: readonly GroupColumn[]): Promise<void> {
    const start = this.#bytes.offset;
    const chunks = columns.flatMap((column) => this.#chunksOf(column));
    this.#writer.num_rows += BigInt(rows);
    this.#writer.row_groups.push({
      columns: chunks,
      total_byte_size: chunks.reduce(
        (sum, { meta_data: of }) => sum + (of?.total_uncompressed_size ?? 0n),
        0n,
      ),
      num_rows: BigInt(rows),
      total_compressed_size: BigInt(this.#bytes.offset - start),
    });
    await this.#flush();
  }

  async finish(): Promise<void> {
    await this.#writer.finish();
    await this.#flush();
  }

  async #flush(): Promise<void> {
    const written = Buffer.from(this.#bytes.getBytes());
    this.#bytes.index = 0;
    if (!this.output.write(written)) await once(this.output, 'drain');
  }

  #chunksOf(column: GroupColumn): ColumnChunk[] {
    const paths = leavesOf(this.library.resolve([column.name]));
    if ('lists' in column) return paths.map((path) => this.#chunkOfLists(path, column.lists));
    const { values, isPacked, hasStatistics } = column;
    return paths.map((path) => {
      const schemaPath = path.map(({ element }) => element);
      const pageData = this.library.dremel.encodeNestedValues(path, values as unknown[]);
      const written = this.library.columns.writeColumn({
        writer: this.#bytes,
        column: {
          columnName: schemaPath
            .slice(1)
            .map(({ name }) => name)
            .join('.'),
          element: schemaPath.at(-1) ?? { name: column.name },
          schemaPath,
          codec: isPacked ? 'GZIP' : 'UNCOMPRESSED',
          // Of the library, in JavaScript, Snappy takes twice the time and half as many bytes again.
          compressors: { GZIP: (bytes) => gzipSync(bytes, { level: 1 }) },
          stats: hasStatistics,
          pageSize: PAGE_BYTES,
          columnIndex: false,
          offsetIndex: true,
          encoding: 'PLAIN',
        },
        pageData,
      });
      this.#writer.pendingIndexes.push(written);
      return written.chunk;
    });
  }

  /** A column of lists of floats, as pages of whole lists. */
  #chunkOfLists(path: readonly SchemaTree[], { floats, lengths }: FloatLists): ColumnChunk {
    const start = this.#bytes.offset;
    let values = 0;
    let bytes = 0;
    for (let list = 0, float = 0; list < lengths.length;) {
      const page = pageFrom(lengths, list);
      const content = floats.subarray(float, float + page.floats);
      bytes += this.#writePage(lengths.slice(list, page.end), content, page);
      values += page.values;
      float += page.floats;
      list = page.end;
    }
    return {
      file_offset: BigInt(start),
      meta_data: {
        type: 'FLOAT',
        encodings: ['PLAIN'],
        path_in_schema: path.slice(1).map(({ element }) => element.name),
        codec: 'UNCOMPRESSED',
        num_values: BigInt(values),
        total_compressed_size: BigInt(bytes),
        total_uncompressed_size: BigInt(bytes),
        data_page_offset: BigInt(start),
      },
    };
  }

  /** Writes a page; its bytes, the header included. */
  #writePage(lengths: readonly number[], floats: Float32Array, { values }: ListPage): number {
    const start = this.#bytes.offset;
    const levels = new this.library.writers.ByteWriter();
    writeRepetitions(levels, lengths);
    const repetitions = levels.offset;
    writeDefinitions(levels, lengths);
    const content = new Uint8Array(floats.buffer, floats.byteOffset, floats.byteLength);
    const size = levels.offset + content.length;
    this.library.pages.writePageHeader(this.#bytes, {
      type: 'DATA_PAGE_V2',
      uncompressed_page_size: size,
      compressed_page_size: size,
      data_page_header_v2: {
        num_values: values,
        num_nulls: lengths.filter((length) => length <= 0).length,
        num_rows: lengths.length,
        encoding: 'PLAIN',
        definition_levels_byte_length: levels.offset - repetitions,
        repetition_levels_byte_length: repetitions,
        is_compressed: false,
      },
    });
    this.#bytes.appendBytes(levels.getBytes());
    this.#bytes.appendBytes(content);
    return this.#bytes.offset - start;
  }
}

interface ListPage {
  /** The place behind its last list. */
  readonly end: number;
  readonly floats: number;
  /** Components, and lists that have none. */
  readonly values: number;
}

function pageFrom(lengths: readonly number[], from: number): ListPage {
  let end = from;
  let [floats, values] = [0, 0];
  for (; end < lengths.length && floats * FLOAT_BYTES < PAGE_BYTES; end += 1) {
    const length = lengths[end] ?? 0;
    floats += Math.max(length, 0);
    values += Math.max(length, 1);
  }
  return { end, floats, values };
}

/** Levels as runs of the same value: 0 where a list begins, 1 for its other components. */
function writeRepetitions(levels: Writers.ByteWriter, lengths: readonly number[]): void {
  for (const length of lengths) {
    writeRun(levels, 0, 1);
    if (length > 1) writeRun(levels, 1, length - 1);
  }
}

function writeDefinitions(levels: Writers.ByteWriter, lengths: readonly number[]): void {
  let [level, count] = [OF_COMPONENT, 0];
  for (const length of lengths) {
    const own = length < 0 ? OF_ABSENT : length === 0 ? OF_EMPTY : OF_COMPONENT;
    if (own !== level && count > 0) {
      writeRun(levels, level, count);
      count = 0;
    }
    level = own;
    count += Math.max(length, 1);
  }
  if (count > 0) writeRun(levels, level, count);
}

/** A run of the hybrid encoding (RLE) of levels that fit a byte. */
function writeRun(levels: Writers.ByteWriter, level: number, count: number): void {
  levels.appendVarInt(count << 1);
  levels.appendUint8(level);
}

/** The paths to the columns below an element, or to itself. */
function leavesOf(path: SchemaTree[]): SchemaTree[][] {
  const children = path.at(-1)?.children ?? [];
  return children.length === 0 ? [path] : children.flatMap((child) => leavesOf([...path, child]));
}
