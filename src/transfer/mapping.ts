import { encodeJson, JsonText } from '../client/json';

/** Which columns of a row become what. */
export interface Mapping {
  /** The column of the point id; when absent `id`, and the number of the row where there is none of that name. */
  readonly id: string | undefined;
  /** For each vector field its column; `''` is the unnamed field. */
  readonly vectors: ReadonlyMap<string, string>;
  /** The columns of the payload; all others when absent. */
  readonly payload: readonly string[] | undefined;
  /** How ids are read for a collection whose ids are strings (C21). */
  readonly ids?: StringIds | undefined;
}

/**
 * Ids for a collection of string ids: `typed` ones are what they are in JSON; those of `text` are integers where they are
 * written as JSON writes them, and may be in JSON quotes, as in a path.
 */
export type StringIds = 'typed' | 'text';

/** The columns of one row by name. A number whose form counts is a `JsonText`: `1.0` is not 1 (C7). */
export type Columns = Readonly<Record<string, unknown>>;

/** The column of a vector that is named by no flag. */
export const VECTOR_COLUMN = 'vector';

/** The column of the id that is named by no flag, where there is one. */
const ID_COLUMN = 'id';

/** A mapping with the column of the id, for a file or a row with these columns. */
export function withIdColumn(mapping: Mapping, columns: readonly string[]): Mapping {
  const isThere = columns.includes(ID_COLUMN) && ![...mapping.vectors.values()].includes(ID_COLUMN);
  return mapping.id === undefined && isThere ? { ...mapping, id: ID_COLUMN } : mapping;
}

/**
 * Reads `--vector`: `COLUMN` for the unnamed vector, or `FIELD=COLUMN` for each named one, separated by commas.
 * Undefined for anything else.
 */
export function parseVectorColumns(text: string): ReadonlyMap<string, string> | undefined {
  const vectors = new Map<string, string>();
  for (const part of text.split(',')) {
    const equals = part.indexOf('=');
    const [field, column] = equals < 0 ? ['', part] : [part.slice(0, equals), part.slice(equals + 1)];
    if (column === '' || vectors.has(field)) {
      return undefined;
    }
    vectors.set(field, column);
  }
  return vectors;
}

/**
 * The column that stands for a field of a point where a row is a whole point: `''` is the unnamed vector, and no path of a
 * payload begins with NUL.
 */
export function vectorField(name: string): string {
  return `\0${name}`;
}

/** The field of the id: no name of a vector has a NUL. */
export const ID_FIELD = '\0\0id';

function isField(column: string): boolean {
  return column.startsWith('\0');
}

/** How a message names a vector. */
function vectorAt(column: string): string {
  if (!isField(column)) return `vector in the column ${column}`;
  const name = column.slice(1);
  return name === '' ? 'vector' : `vector ${name}`;
}

/** The point of a row, in JSON. @throws Error that says what is wrong with the row */
export function pointOf(columns: Columns, ordinal: number, mapping: Mapping): string {
  const id = idOf(columns, ordinal, mapping);
  const taken = new Set([...mapping.vectors.values(), ...(mapping.id === undefined ? [] : [mapping.id])]);
  const names = mapping.payload ?? Object.keys(columns).filter((name) => !taken.has(name));
  // Undefined values are left out of the JSON.
  const payload = Object.fromEntries(names.map((name) => [name, valueIn(columns, name)]));
  return encodeJson({ id, vector: vectorsOf(columns, mapping.vectors), payload });
}

/** The value of a column; a column may be called as a member of every object is. */
function valueIn(columns: Columns, name: string): unknown {
  return Object.hasOwn(columns, name) ? columns[name] : undefined;
}

/** An integer as JSON writes it. Other digits, such as `007`, are a text. */
export const INTEGER_ID = /^(?:0|[1-9]\d{0,19})$/;

/** The id of a row. @throws Error that says what is wrong with it */
export function idOf(columns: Columns, ordinal: number, { id: column, ids }: Mapping): unknown {
  if (column === undefined) {
    return ordinal;
  }
  const value = valueIn(columns, column);
  if (value === undefined || value === null || value === '') {
    throw new Error(isField(column) ? 'it has no id' : `it has no id in the column ${column}`);
  }
  if (typeof value !== 'string' || ids === 'typed') return value;
  if (INTEGER_ID.test(value)) return BigInt(value);
  return ids === 'text' && value.startsWith('"') ? unquoted(value, column) : value;
}

function unquoted(text: string, column: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new Error(`the id in the column ${column} begins with a quote and is no string of JSON`);
  }
}

/** The vectors of a row as they are sent. @throws Error that says what is wrong with one */
export function vectorsOf(columns: Columns, vectors: ReadonlyMap<string, string>): unknown {
  const unnamed = vectors.get('');
  if (unnamed !== undefined && vectors.size === 1) {
    return vectorOf(valueIn(columns, unnamed), unnamed);
  }
  const named = [...vectors].flatMap(([field, column]) => {
    const value = valueIn(columns, column);
    // A point may lack any of its named vectors.
    const isAbsent = value === undefined || value === null || value === '';
    return isAbsent ? [] : [[field, vectorOf(value, column)] as const];
  });
  return Object.fromEntries(named);
}

/** A vector as it is sent, from a list of numbers, its text in JSON, or base64 of little-endian 32-bit floats. */
export function vectorOf(value: unknown, column: string): unknown {
  if (value === undefined || value === null || value === '') {
    throw new Error(`it has no ${vectorAt(column)}`);
  }
  if (typeof value !== 'string') {
    return value;
  }
  const text = value.trim();
  if (text.startsWith('[') || text.startsWith('{')) {
    try {
      JSON.parse(text);
    } catch {
      throw new Error(`the ${vectorAt(column)} is not JSON`);
    }
    return new JsonText(text);
  }
  return floatsOf(text, column);
}

const FLOAT_BYTES = 4;

function floatsOf(base64: string, column: string): Float32Array {
  const bytes = Buffer.from(base64, 'base64');
  const isBase64 = /^[A-Za-z0-9+/]+={0,2}$/.test(base64) && bytes.length % FLOAT_BYTES === 0;
  if (!isBase64 || bytes.length === 0) {
    throw new Error(
      `the ${vectorAt(column)} is neither a list of numbers nor base64 of 32-bit floats (little-endian)`,
    );
  }
  return Float32Array.from({ length: bytes.length / FLOAT_BYTES }, (_, at) =>
    bytes.readFloatLE(at * FLOAT_BYTES),
  );
}
