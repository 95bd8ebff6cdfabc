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
    const numbers = exported === undefined ? this.#numbersOf(children) : new Map<string, Column>();
    const readable = { ...metadata, schema: metadata.schema.map(withoutDecimal) };
    const parsers = metadata.schema.some(isDecimalOfBytes) ? PARSERS_OF_BYTES : PARSERS;
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
        metadata: readable,
        compressors,
        parsers,
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
        yield this.#row(columnsOf(names, values, numbers), start + at, exported);
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

  /** The columns with decimals, anywhere in them, and those with floats that are no vector and no id. */
  #numbersOf(columns: readonly Column[]): ReadonlyMap<string, Column> {
    const { id, vectors } = this.mapping;
    const taken = new Set([id, ...vectors.values()]);
    const written = columns.filter(
      (column) => has(column, isDecimal) || (has(column, isFloat) && !taken.has(column.element.name)),
    );
    return new Map(written.map((column) => [column.element.name, column]));
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
  readonly element: Element;
  readonly children: readonly Column[];
}

interface Element {
  readonly name: string;
  readonly type?: string;
  readonly converted_type?: string;
  readonly logical_type?: { readonly type: string };
  readonly scale?: number;
}

function has({ element, children }: Column, isSo: (element: Element) => boolean): boolean {
  return children.length > 0 ? children.some((child) => has(child, isSo)) : isSo(element);
}

function isFloat({ type, logical_type: logical }: Element): boolean {
  return type === 'FLOAT' || type === 'DOUBLE' || logical?.type === 'FLOAT16';
}

function isDecimal({ converted_type: converted, logical_type: logical }: Element): boolean {
  return converted === 'DECIMAL' || logical?.type === 'DECIMAL';
}

function isDecimalOfBytes(element: Element): boolean {
  return isDecimal(element) && element.type === 'BYTE_ARRAY';
}

/** What is read of a column of decimals: their digits, and no number that is near to them. */
function withoutDecimal<T extends Element>(element: T): T {
  if (!isDecimal(element)) return element;
  // Bytes of any length would be read as a text.
  const logical = element.type === 'BYTE_ARRAY' ? { type: 'GEOGRAPHY' } : undefined;
  return { ...element, converted_type: undefined, logical_type: logical };
}

/**
 * A value of a column with numbers as they are to be written: whole ones as floats where the schema says that they are (C7), and
 * decimals with all of their digits.
 */
function asWritten(value: unknown, column: Column): unknown {
  if (!has(column, isFloat) && !has(column, isDecimal)) return value;
  if (Array.isArray(value)) {
    const element = elementOf(column);
    return value.map((item) => asWritten(item, element));
  }
  if (column.children.length === 0) {
    return isDecimal(column.element) ? decimalOf(value, column.element) : floatOf(value);
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => {
      const part = partOf(column, name);
      return [name, part === undefined ? item : asWritten(item, part)];
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

/** JSON has no place for what is no number, which counts as no value, nor for what is infinite. */
function floatOf(value: unknown): unknown {
  if (typeof value !== 'number') return value;
  if (Number.isNaN(value)) return null;
  if (!Number.isFinite(value)) return new Unreadable('is infinite');
  return Number.isInteger(value) ? new JsonText(textOfWhole(value)) : value;
}

/** A decimal of its unscaled value. */
function decimalOf(value: unknown, { scale = 0 }: Element): unknown {
  if (value === null || value === undefined) return value;
  const unscaled = typeof value === 'number' ? BigInt(value) : unscaledOf(value);
  if (unscaled === undefined) return new Unreadable('is a DECIMAL of a length that is not read');
  if (scale <= 0) return unscaled * 10n ** BigInt(-scale);
  const digits = String(unscaled < 0n ? -unscaled : unscaled).padStart(scale + 1, '0');
  const sign = unscaled < 0n ? '-' : '';
  return new JsonText(`${sign}${digits.slice(0, -scale)}.${digits.slice(-scale)}`);
}

/** The integer of a value of 64 bits, or of bytes, of which the first is the highest (two's complement). */
function unscaledOf(value: unknown): bigint | undefined {
  if (typeof value === 'bigint') return value;
  if (!(value instanceof Uint8Array) || value.length === 0) return undefined;
  return BigInt.asIntN(8 * value.length, BigInt(`0x${Buffer.from(value).toString('hex')}`));
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
  numbers: ReadonlyMap<string, Column>,
): Columns {
  const given = names.flatMap((name, at) => {
    const read = values[at];
    const column = numbers.get(name);
    const value = column === undefined ? read : asWritten(read, column);
    if (value === undefined || value === null) return [];
    return [[name, value instanceof Unreadable ? value.in(name) : value] as const];
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

const MILLIS_PER_SECOND = 1000n;

/** A time of RFC 3339 with so many digits of a second, of the units of which a second has 10^digits. */
function timeOf(units: bigint, digits: number): string | Unreadable {
  const perSecond = 10n ** BigInt(digits);
  const rest = ((units % perSecond) + perSecond) % perSecond;
  const date = new Date(Number(((units - rest) / perSecond) * MILLIS_PER_SECOND));
  if (Number.isNaN(date.getTime())) return new Unreadable('is a time beyond those of RFC 3339');
  return date.toISOString().replace('.000Z', `.${String(rest).padStart(digits, '0')}Z`);
}

/** With milliseconds where the time has no finer digits. */
function shortTimeOf(units: bigint, digits: number): string | Unreadable {
  const perMilli = 10n ** BigInt(digits - 3);
  return units % perMilli === 0n ? timeOf(units / perMilli, 3) : timeOf(units, digits);
}

/** How texts and times are read. */
const PARSERS = {
  timestampFromMicroseconds: (micros: bigint) => shortTimeOf(micros, 6),
  timestampFromNanoseconds: (nanos: bigint) => shortTimeOf(nanos, 9),
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

/** The same where decimals are bytes of any length: these are given to the parser of geographies, which leaves them as they are. */
const PARSERS_OF_BYTES = { ...PARSERS, geographyFromBytes: (bytes: Uint8Array | undefined) => bytes };

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
