/** How points lie in a Parquet file that `kithdb export` has written, and `kithdb import` reads back as they were. */
import { encodeJson } from '../client/json';
import { INTEGER_ID } from './mapping';

/** The key of the file's metadata that says so. */
export const METADATA_KEY = 'kithdb.points';
/** The column of the ids as text: a whole number, a UUID, or a string, which is in JSON quotes where it could be taken for another. */
export const ID_COLUMN = 'id';
/** The column of the payloads, as JSON text: so its numbers and the order of its keys stay what they are. */
export const PAYLOAD_COLUMN = 'payload';

/** What the vectors of a field are. */
export type VectorKind = 'dense' | 'multi' | 'sparse';

/** The column of each vector field. */
export interface PointColumns {
  readonly version: 1;
  readonly vectors: readonly {
    /** The name of the field; empty for the unnamed one. */
    readonly field: string;
    readonly column: string;
    readonly kind: VectorKind;
  }[];
}

/** The columns of the vector fields of a collection, from its configuration (C4.2). */
export function columnsOf(params: {
  readonly vectors?: Readonly<Record<string, unknown>> | undefined;
  readonly sparse_vectors?: Readonly<Record<string, unknown>> | null | undefined;
}): PointColumns {
  const { vectors = {}, sparse_vectors: sparse } = params;
  const isUnnamed = typeof vectors['size'] === 'number';
  const dense = Object.entries(isUnnamed ? { '': vectors } : vectors).map(([field, settings]) => ({
    field,
    column: columnOf(field),
    kind: isMulti(settings) ? ('multi' as const) : ('dense' as const),
  }));
  const others = Object.keys(sparse ?? {}).map((field) => ({
    field,
    column: columnOf(field),
    kind: 'sparse' as const,
  }));
  return { version: 1, vectors: [...dense, ...others] };
}

function columnOf(field: string): string {
  return field === '' ? 'vector' : `vector_${field}`;
}

function isMulti(settings: unknown): boolean {
  const { multivector_config: config } = (settings ?? {}) as { readonly multivector_config?: unknown };
  return config !== undefined && config !== null;
}

/** The columns that the metadata of a file name; undefined where it has none of an export. */
export function columnsOfFile(
  metadata: readonly { readonly key: string; readonly value?: string | undefined }[] | undefined,
): PointColumns | undefined {
  const text = metadata?.find(({ key }) => key === METADATA_KEY)?.value;
  if (text === undefined) return undefined;
  const columns = JSON.parse(text) as { readonly version: unknown };
  if (columns.version !== 1) {
    throw new Error(`it was written by a later release: its version is ${String(columns.version)}`);
  }
  return columns as PointColumns;
}

const DIGITS = /^\d{1,20}$/;

/** The text of an id in JSON. */
export function textOfId(json: string): string {
  if (!json.startsWith('"')) return json;
  const id = JSON.parse(json) as string;
  return DIGITS.test(id) || id.startsWith('"') ? json : id;
}

/** The id of a text, in JSON. */
function idOfText(text: string): string {
  return INTEGER_ID.test(text) || text.startsWith('"') ? text : JSON.stringify(text);
}

/** The point of a row, in JSON. @throws Error that says what is wrong with the row */
export function pointOfRow(row: Readonly<Record<string, unknown>>, { vectors }: PointColumns): string {
  const { [ID_COLUMN]: id, [PAYLOAD_COLUMN]: payload } = row;
  if (typeof id !== 'string') throw new Error(`it has no id in the column ${ID_COLUMN}`);
  const found = new Map<string, unknown>();
  for (const { field, column } of vectors) {
    const value = row[column];
    if (value !== undefined && value !== null) found.set(field, value);
  }
  const only = found.size === 1 ? found.get('') : undefined;
  const vector = encodeJson(only ?? Object.fromEntries(found));
  return `{"id":${idOfText(id)},"vector":${vector},"payload":${typeof payload === 'string' ? payload : '{}'}}`;
}
