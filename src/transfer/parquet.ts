import { isUtf8 } from 'node:buffer';
import { statSync } from 'node:fs';
import { JsonText } from '../client/json';
import { pointOf, withIdColumn, type Columns, type Mapping } from './mapping';
import { columnsOfFile, pointOfRow, type PointColumns } from './parquet-points';
import { SourceError, type Row, type Source } from './row';

/** Rows that are read at a time at most. A row group is unpacked as a whole each time that rows of it are read. */
const ROWS_AT_A_TIME = 20_000;

/**
 * A Parquet file: uncompressed, Snappy, or what Node's zlib unpacks (gzip, Brotli). One that an export has written has points
 * as they were, unless a mapping is given.
 */
export class ParquetFile implements Source {
  readonly bytes: number;
  #read = 0;

  constructor(
    private readonly path: string,
    private mapping: Mapping,
    private readonly isMappingGiven: boolean,
  ) {
    this.bytes = statSync(path).size;
  }

  bytesRead(): number {
    return this.#read;
  }

  async *rows(from: number): AsyncGenerator<Row> {
    const { asyncBufferFromFile, parquetMetadataAsync, parquetRead, parquetSchema } =
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
    const { children } = parquetSchema(metadata);
    const names = children.map(({ element }) => element.name);
    const exported = this.isMappingGiven ? undefined : this.#exported(metadata.key_value_metadata);
    if (exported === undefined) this.#requireColumns(names);
    const floats = exported === undefined ? this.#floatsOfPayload(children) : new Map<string, Column>();
    const rows = Number(metadata.num_rows);
    const groups = metadata.row_groups.map((group) => Number(group.num_rows));
    for (const [start, end] of rangesOf(groups, from)) {
      let read: readonly (readonly unknown[])[] = [];
      const onComplete = (all: readonly (readonly unknown[])[]): void => {
        read = all;
      };
      const range = { rowStart: start, rowEnd: end };
      await parquetRead({
        file,
        metadata,
        compressors,
        parsers: PARSERS,
        columns: names,
        ...range,
        onComplete,
      }).catch((error: unknown) => {
        throw new SourceError(
          `${this.path} cannot be read from row ${start} on: ${(error as Error).message}`,
        );
      });
      this.#read = Math.floor((this.bytes * end) / rows);
      for (const [at, values] of read.entries()) {
        yield this.#row(columnsOf(names, values, floats), start + at, exported);
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
    this.mapping = withIdColumn(this.mapping, names);
  }

  /** The columns with floats, anywhere in them, that are no vector and no id. */
  #floatsOfPayload(columns: readonly Column[]): ReadonlyMap<string, Column> {
    const { id, vectors } = this.mapping;
    const taken = new Set([id, ...vectors.values()]);
    const payload = columns.filter((column) => hasFloats(column) && !taken.has(column.element.name));
    return new Map(payload.map((column) => [column.element.name, column]));
  }

  /** @throws SourceError where a later release has written the file */
  #exported(metadata: Parameters<typeof columnsOfFile>[0]): PointColumns | undefined {
    try {
      return columnsOfFile(metadata);
    } catch (error) {
      throw new SourceError(`${this.path} cannot be imported: ${(error as Error).message}`);
    }
  }

  #row(columns: Columns, ordinal: number, exported: PointColumns | undefined): Row {
    const place = `row ${ordinal}`;
    try {
      if (exported !== undefined) requireReadable(columns);
      const json =
        exported === undefined ? pointOf(columns, ordinal, this.mapping) : pointOfRow(columns, exported);
      return { ordinal, place, json };
    } catch (error) {
      return { ordinal, place, reason: (error as Error).message };
    }
  }
}

/** A column in the schema of a file: its values, or what it is made of. */
interface Column {
  readonly element: {
    readonly name: string;
    readonly type?: string;
    readonly converted_type?: string;
    readonly logical_type?: { readonly type: string };
  };
  readonly children: readonly Column[];
}

function hasFloats({ element, children }: Column): boolean {
  if (children.length > 0) return children.some(hasFloats);
  return element.type === 'FLOAT' || element.type === 'DOUBLE' || element.logical_type?.type === 'FLOAT16';
}

/** A value of a column. Whole numbers in it are written as floats where the schema says that they are (C7). */
function asFloats(value: unknown, column: Column): unknown {
  if (!hasFloats(column)) return value;
  if (Array.isArray(value)) {
    const element = elementOf(column);
    return value.map((item) => asFloats(item, element));
  }
  if (column.children.length === 0) {
    return Number.isInteger(value) ? new JsonText(textOfWhole(value as number)) : value;
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => {
      const part = partOf(column, name);
      return [name, part === undefined ? item : asFloats(item, part)];
    }),
  );
}

/** What a member of an object is: of a map, whose keys are the names, always the same; of a struct the part of that name. */
function partOf(column: Column, name: string): Column | undefined {
  return kindOf(column) === 'MAP'
    ? column.children[0]?.children[1]
    : column.children.find(({ element }) => element.name === name);
}

/** What the elements of a list are: of a column that is merely repeated, the column itself. */
function elementOf(column: Column): Column {
  const [group] = column.children;
  if (kindOf(column) !== 'LIST' || group === undefined) return column;
  const [only, ...others] = group.children;
  return only !== undefined && others.length === 0 ? only : group;
}

function kindOf({ element }: Column): 'LIST' | 'MAP' | undefined {
  const kind = element.logical_type?.type ?? element.converted_type;
  if (kind === 'LIST') return kind;
  return kind === 'MAP' || kind === 'MAP_KEY_VALUE' ? 'MAP' : undefined;
}

function textOfWhole(value: number): string {
  if (Object.is(value, -0)) return '-0.0';
  const text = String(value);
  return text.includes('e') ? text : `${text}.0`;
}

/**
 * The columns of a row by their names, which may be those of members of every object. A column without a value is no field
 * of the payload. Dates become texts of RFC 3339 in JSON.
 */
function columnsOf(
  names: readonly string[],
  values: readonly unknown[],
  floats: ReadonlyMap<string, Column>,
): Columns {
  const given = names.flatMap((name, at) => {
    const value = values[at];
    if (value === undefined || value === null) return [];
    if (value instanceof Unreadable) return [[name, value.in(name)] as const];
    const column = floats.get(name);
    return [[name, column === undefined ? value : asFloats(value, column)] as const];
  });
  return Object.fromEntries(given);
}

/** @throws Error for a value that cannot be read */
function requireReadable(columns: Columns): void {
  for (const value of Object.values(columns)) {
    if (value instanceof Unreadable) value.toJSON();
  }
}

/** A value that cannot be read: a row that needs it is none. */
class Unreadable {
  constructor(
    private readonly problem: string,
    private readonly what = 'it has a value that',
  ) {}

  /** The same as the value of a column. */
  in(column: string): Unreadable {
    return new Unreadable(this.problem, `the column ${column}`);
  }

  toJSON(): never {
    throw new Error(`${this.what} ${this.problem}`);
  }
}

const DECODER = new TextDecoder('utf-8', { ignoreBOM: true });

/** A text with all its characters, of which a byte order mark at the start is one. */
function textOf(bytes: Uint8Array): string | Unreadable {
  return isUtf8(bytes) ? DECODER.decode(bytes) : new Unreadable('is not UTF-8');
}

/** How texts are read. */
const PARSERS = {
  stringFromBytes: (bytes: Uint8Array | undefined) => bytes && textOf(bytes),
  jsonFromBytes: (bytes: Uint8Array | undefined) => {
    const text = bytes && textOf(bytes);
    if (typeof text !== 'string') return text;
    try {
      const value = JSON.parse(text) as unknown;
      return typeof value === 'string' || value === null ? value : new JsonText(text);
    } catch {
      return new Unreadable('is not JSON');
    }
  },
};

/** The rows from one on, group by group, as start and end of what is read at a time. */
function* rangesOf(groups: readonly number[], from: number): Generator<[start: number, end: number]> {
  let first = 0;
  for (const rows of groups) {
    const end = first + rows;
    for (let start = Math.max(first, from); start < end; start += ROWS_AT_A_TIME) {
      yield [start, Math.min(end, start + ROWS_AT_A_TIME)];
    }
    first = end;
  }
}
