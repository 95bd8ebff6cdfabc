import { isUtf8 } from 'node:buffer';
import { statSync } from 'node:fs';
import { encodeJson, JsonText, parseJson } from '../client/json';
import { LineBlocks, type LineBlock } from './line-blocks';
import { isBlank, linesAtOnce, linesIn, openPieces, withoutMark, type OpenFile } from './lines';
import {
  ID_FIELD,
  idOf,
  pointOf,
  vectorField,
  vectorsOf,
  withIdColumn,
  type Columns,
  type Mapping,
  type StringIds,
} from './mapping';
import { endOfValue, fieldsOf } from './page';
import { NOT_UTF8, type Block, type Row, type Source } from './row';

/**
 * A file with one JSON object a line. Without a mapping each line is a point as an upsert takes it, whose vectors may also
 * be base64; with one the fields of the object are columns. Blank lines are passed over.
 */
export class JsonLines implements Source {
  readonly bytes: number;
  #file: OpenFile | undefined;
  #blocks: LineBlocks | undefined;

  constructor(
    private readonly path: string,
    private readonly mapping: Mapping | undefined,
    /** The kind of ids of a file without a mapping; a mapping says it itself. */
    private readonly ids?: StringIds,
  ) {
    this.bytes = statSync(path).size;
  }

  bytesRead(): number {
    return this.#blocks?.bytesRead ?? this.#file?.bytesRead() ?? 0;
  }

  async *rows(from: number): AsyncGenerator<Row> {
    for await (const rows of this.rowsAtOnce(from)) yield* rows;
  }

  async *rowsAtOnce(from: number): AsyncGenerator<Iterable<Row>> {
    const count = { line: 0, ordinal: -1 };
    this.#file = openPieces(this.path);
    const lines = linesAtOnce(withoutMark(this.#file.pieces));
    for await (const together of lines) yield this.#rowsOf(together, from, count);
  }

  blocks(from: number, mostRows: number): AsyncIterable<Block> | undefined {
    if (this.mapping !== undefined) return undefined;
    this.#blocks = new LineBlocks(this.path, mostRows);
    return this.#blocksOf(this.#blocks.blocks(from));
  }

  async *#blocksOf(blocks: AsyncIterable<LineBlock>): AsyncGenerator<Block> {
    for await (const block of blocks) yield this.#blockOf(block);
  }

  #blockOf(block: LineBlock): Block {
    const { bytes, rows, ordinal, linesBefore } = block;
    return {
      bytes,
      count: rows,
      next: ordinal + rows,
      rows: () => this.#rowsOf(linesIn(bytes), 0, { line: linesBefore, ordinal: ordinal - 1 }),
      release: () => {
        block.release();
      },
    };
  }

  /** The rows of some lines. `count` has how many lines and rows there were. */
  *#rowsOf(lines: Iterable<Buffer>, from: number, count: { line: number; ordinal: number }): Generator<Row> {
    for (const bytes of lines) {
      count.line += 1;
      if (isBlank(bytes)) continue;
      count.ordinal += 1;
      const { ordinal } = count;
      if (ordinal < from) continue;
      const place = `line ${count.line}`;
      if (!isUtf8(bytes)) {
        yield { ordinal, place, text: bytes.toString(), reason: NOT_UTF8 };
        continue;
      }
      if (this.mapping === undefined && isOneObject(bytes)) {
        yield { ordinal, place, json: bytes };
        continue;
      }
      try {
        yield { ordinal, place, json: this.#point(bytes, ordinal) };
      } catch (error) {
        yield { ordinal, place, text: bytes.toString(), reason: (error as Error).message };
      }
    }
  }

  #point(line: Buffer, ordinal: number): string {
    if (this.mapping === undefined) {
      return pointOfLine(line, objectOf(line, parseJson), ordinal, this.ids);
    }
    const columns = columnsOf(line);
    return pointOf(columns, ordinal, withIdColumn(this.mapping, Object.keys(columns)));
  }
}

/** The object of a line. @throws Error that says what the line is instead */
function objectOf(line: Buffer, parse: (text: string) => unknown): Columns {
  let value: unknown;
  try {
    value = parse(line.toString());
  } catch {
    throw new Error('it is not JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Error('it is not a JSON object');
  }
  return value as Columns;
}

/** The fields of the object of a line: what is no text is sent as it is written. */
function columnsOf(line: Buffer): Columns {
  const columns = objectOf(line, JSON.parse);
  const written = writtenFields(line);
  return Object.fromEntries(
    Object.entries(columns).map(([name, value]) => {
      const isWritten = typeof value === 'number' || (typeof value === 'object' && value !== null);
      return [name, isWritten ? new JsonText(String(written.get(name))) : value];
    }),
  );
}

/** The bytes of each field of the object of a line, by its name. */
function writtenFields(line: Buffer): ReadonlyMap<string, Buffer> {
  return new Map([...fieldsOf(line)].map(([name, json]) => [JSON.parse(`"${name}"`) as string, json]));
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN = 0x7b;
const CLOSE = 0x7d;
const VECTOR = Buffer.from('"vector');

/**
 * Whether a line can be sent as it is. JSON that is broken elsewhere breaks the request, which then says where. Lines are
 * joined by a comma and a line break, which no string of JSON contains, so no two broken lines make a whole. Two objects in a
 * line would be two points, and a vector in base64 has to be decoded: such lines, and some that only look like them, are read.
 */
function isOneObject(line: Buffer): boolean {
  return (
    line[0] === OPEN && line[line.length - 1] === CLOSE && !mayBeTwo(line) && !mayHaveTextForVector(line)
  );
}

function mayBeTwo(line: Buffer): boolean {
  for (let end = line.indexOf(CLOSE); end >= 0; end = line.indexOf(CLOSE, end + 1)) {
    const next = afterSpace(line, end + 1);
    if (line[next] === COMMA && line[afterSpace(line, next + 1)] === OPEN) return true;
  }
  return false;
}

function mayHaveTextForVector(line: Buffer): boolean {
  for (let at = line.indexOf(VECTOR); at >= 0; at = line.indexOf(VECTOR, at + 1)) {
    const colon = afterSpace(line, line.indexOf(QUOTE, at + 1) + 1);
    const value = afterSpace(line, colon + 1);
    if (line[value] === QUOTE || (line[value] === OPEN && mayHaveTextForField(line, value))) return true;
  }
  return false;
}

/** Whether an object of named vectors may have a text for one of them. A text for a model (C16) is none. */
function mayHaveTextForField(line: Buffer, from: number): boolean {
  const vectors = fieldsOf(line.subarray(from, endOfValue(line, from)));
  const isText = (value: Buffer | undefined): boolean => value?.[afterSpace(value, 0)] === QUOTE;
  return [...vectors.values()].some(isText) && !MODEL_KEYS.every((key) => isText(vectors.get(key)));
}

/** The fields of a text for a model. An object with only one of them has named vectors. */
const MODEL_KEYS = ['text', 'model'] as const;

function isTextOfModel(value: object): boolean {
  return MODEL_KEYS.every((key) => typeof (value as Columns)[key] === 'string');
}

/** The place of the first byte from `at` on that is no white space. */
function afterSpace(line: Buffer, at: number): number {
  let next = at;
  while (line[next] === 0x20 || line[next] === 0x09) next += 1;
  return next;
}

/** The point of a line that is one already: its vectors are decoded, and all else stays as it is written. */
function pointOfLine(line: Buffer, point: Columns, ordinal: number, ids: StringIds | undefined): string {
  const { id, vector, vectors = vector, payload, ...rest } = point;
  const [unknown] = Object.keys(rest);
  if (unknown !== undefined) {
    throw new Error(
      `it has the field ${unknown} beside id, vector and payload: name the columns with --vector`,
    );
  }
  const [columns, fields] = columnsOfVectors(vectors);
  columns[ID_FIELD] = id;
  const read = idOf(columns, ordinal, { id: ID_FIELD, vectors: fields, payload: [], ids });
  const decoded = encodeJson(vectorsOf(columns, fields));
  const written = writtenFields(line);
  const ownId = read === id ? String(written.get('id')) : encodeJson(read);
  const ownPayload = payload === undefined || payload === null ? '{}' : String(written.get('payload'));
  return `{"id":${ownId},"vector":${decoded},"payload":${ownPayload}}`;
}

/** The vectors of a point as columns, and the column of each field. */
function columnsOfVectors(vectors: unknown): [Record<string, unknown>, ReadonlyMap<string, string>] {
  const columns: Record<string, unknown> = {};
  const fields = new Map<string, string>();
  const add = (field: string, value: unknown): void => {
    const column = vectorField(field);
    columns[column] = value;
    fields.set(field, column);
  };
  const named = typeof vectors === 'object' && vectors !== null && !Array.isArray(vectors);
  if (named && !('indices' in vectors) && !isTextOfModel(vectors)) {
    for (const [field, value] of Object.entries(vectors)) add(field, value);
  } else {
    add('', vectors);
  }
  return [columns, fields];
}
