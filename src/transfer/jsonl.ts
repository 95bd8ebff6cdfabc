import { statSync } from 'node:fs';
import { parseJson } from '../client/json';
import { linesOf, openFile, type OpenFile } from './lines';
import { pointOf, type Columns, type Mapping } from './mapping';
import type { Row, Source } from './row';

/**
 * A file with one JSON object a line. Without a mapping each line is a point as an upsert takes it, whose vectors may also
 * be base64; with one the fields of the object are columns. Blank lines are passed over.
 */
export class JsonLines implements Source {
  readonly bytes: number;
  #file: OpenFile | undefined;

  constructor(
    private readonly path: string,
    private readonly mapping: Mapping | undefined,
  ) {
    this.bytes = statSync(path).size;
  }

  bytesRead(): number {
    return this.#file?.bytesRead() ?? 0;
  }

  async *rows(from: number): AsyncGenerator<Row> {
    let line = 0;
    let ordinal = -1;
    this.#file = openFile(this.path);
    for await (const text of linesOf(this.#file.content)) {
      line += 1;
      const trimmed = text.trim();
      if (trimmed === '') continue;
      ordinal += 1;
      if (ordinal < from) continue;
      const place = `line ${line}`;
      try {
        yield { ordinal, place, json: this.#point(trimmed, ordinal) };
      } catch (error) {
        yield { ordinal, place, text, reason: (error as Error).message };
      }
    }
  }

  #point(text: string, ordinal: number): string {
    if (this.mapping === undefined && isOneObject(text)) {
      return text;
    }
    let value: unknown;
    try {
      value = parseJson(text);
    } catch {
      throw new Error('it is not JSON');
    }
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new Error('it is not a JSON object');
    }
    return this.mapping === undefined
      ? pointOf(...columnsOfPoint(value as Columns, ordinal))
      : pointOf(value as Columns, ordinal, this.mapping);
  }
}

/** A vector in base64 has to be decoded; two objects in a line would be two points. */
const NEEDS_READING = /"vectors?"\s*:\s*"|\}\s*,\s*\{/;

/**
 * Whether a line can be sent as it is: JSON that is broken elsewhere breaks the request, which then says where. Lines are
 * joined by a comma and a line break, which no string of JSON contains, so no two broken lines make a whole.
 */
function isOneObject(text: string): boolean {
  return text.startsWith('{') && text.endsWith('}') && !NEEDS_READING.test(text);
}

/** The columns and the mapping of a line that is a point already. */
function columnsOfPoint(point: Columns, ordinal: number): [Columns, number, Mapping] {
  const { id, vector, vectors = vector, payload, ...rest } = point;
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined) {
    throw new Error(
      `it has the field ${unknown} beside id, vector and payload: name the columns with --vector`,
    );
  }
  const named = typeof vectors === 'object' && vectors !== null && !Array.isArray(vectors);
  const columns: Record<string, unknown> = { ...(payload as Columns | null | undefined) };
  const fields = new Map<string, string>();
  // No path of a payload has a NUL at its start, so these names are free.
  const add = (field: string, value: unknown): void => {
    columns[`\0${field}`] = value;
    fields.set(field, `\0${field}`);
  };
  if (named && !('indices' in vectors)) {
    for (const [field, value] of Object.entries(vectors)) add(field, value);
  } else {
    add('', vectors);
  }
  columns['\0id'] = id;
  const names = Object.keys((payload as Columns | null | undefined) ?? {});
  return [columns, ordinal, { id: '\0id', vectors: fields, payload: names }];
}
