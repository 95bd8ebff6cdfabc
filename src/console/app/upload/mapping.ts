/** How a row becomes a point. */
import { compact, isRawNumber, numberOf, parseExact, valueAt } from '../service/exact-json';
import type { CollectionInfo } from '../service/types';
import { vectorFields, type VectorField } from '../service/types';
import type { Row } from './records';

/** A row as the text of a point, or why it is none. */
export type PointRow =
  { readonly line: number; readonly point: string } | { readonly line: number; readonly problem: string };

export interface Mapping {
  /** Whether a row is a point already. */
  readonly isPoint: boolean;
  readonly id: string;
  /** The column of each vector field, by the name of the field; empty for none. */
  readonly vectors: Readonly<Record<string, string>>;
  /** Fields whose column has a text, of which the server makes the vector. */
  readonly texts: Readonly<Record<string, boolean>>;
}

/** The model that is built in. */
export const TEXT_MODEL = 'qdrant/bm25';

/** Columns as the command line and its exports name them. */
export function defaultMapping(info: CollectionInfo, isPoint: boolean): Mapping {
  const fields = vectorFields(info);
  return {
    isPoint,
    id: 'id',
    vectors: Object.fromEntries(fields.map(({ name }) => [name, name === '' ? 'vector' : name])),
    texts: Object.fromEntries(fields.map(({ name, kind }) => [name, kind === 'sparse'])),
  };
}

export function toPoint(row: Row, mapping: Mapping, fields: readonly VectorField[]): PointRow {
  if ('problem' in row) return row;
  if ('text' in row && mapping.isPoint) return { line: row.line, point: row.text };
  try {
    const values = 'text' in row ? (parseExact(row.text) as Columns) : typedColumns(row.texts, mapping);
    return { line: row.line, point: compact(fromColumns(values, row.ordinal, mapping, fields)) };
  } catch (error) {
    return { line: row.line, problem: error instanceof Error ? error.message : String(error) };
  }
}

type Columns = Readonly<Record<string, unknown>>;

/**
 * The columns of a record of CSV. Values that JSON writes without quotes become those, as an import reads them; texts of
 * which vectors are made stay what they are.
 */
function typedColumns(texts: Readonly<Record<string, string>>, { id, vectors }: Mapping): Columns {
  const special = new Set(Object.values(vectors));
  return Object.fromEntries(
    Object.entries(texts).map(([name, text]) => {
      if (name === id) return [name, idOf(text)];
      return [name, special.has(name) ? text : valueOf(text)];
    }),
  );
}

/** Digits are an integer, unless they begin with a zero or stand in JSON quotes. */
function idOf(text: string): unknown {
  if (/^(?:0|[1-9]\d{0,19})$/.test(text)) return numberOf(text);
  if (!text.startsWith('"')) return text;
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('The id begins with a quote and is no string of JSON');
  }
}

function valueOf(text: string): unknown {
  if (text === 'true' || text === 'false') return text === 'true';
  return /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text) ? numberOf(text) : text;
}

function fromColumns(
  values: Columns,
  ordinal: number,
  { id, vectors, texts }: Mapping,
  fields: readonly VectorField[],
): object {
  const used = new Set([id]);
  const named = new Map<string, unknown>();
  for (const { name } of fields) {
    const column = vectors[name] ?? '';
    const value = column === '' ? undefined : valueAt(values, column);
    if (value === undefined) continue;
    // A text is searched and shown too, so it stays in the payload.
    if (texts[name] !== true) used.add(column);
    named.set(
      name,
      texts[name] === true ? { text: textOf(value, column), model: TEXT_MODEL } : vectorOf(value, column),
    );
  }
  const payload = Object.fromEntries(Object.entries(values).filter(([column]) => !used.has(column)));
  const isUnnamed = fields.length === 1 && fields[0]?.name === '';
  const vector = isUnnamed ? named.get('') : Object.fromEntries(named);
  if (vector === undefined) throw new Error(`There is no column “${vectors[''] ?? ''}” with the vector`);
  // As an import does: without a column of ids, the number of the row, from 0.
  return { id: id === '' ? ordinal : valueAt(values, id), vector, payload };
}

function textOf(value: unknown, column: string): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (isRawNumber(value)) return value.rawJSON;
  throw new Error(`The column “${column}” has no text`);
}

function vectorOf(value: unknown, column: string): unknown {
  if (typeof value !== 'string') return value;
  try {
    return JSON.parse(value);
  } catch {
    throw new Error(`The column “${column}” has no vector: a list of numbers as JSON writes it`);
  }
}
