/** One row of a source: a point in JSON, or why there is none. */
export type Row = Point | Rejected;

/** A point as an upsert takes it. */
export interface Point {
  /** Counts the rows of the source from 0, the rejected ones too. */
  readonly ordinal: number;
  /** How a message names the row, such as `line 7`. */
  readonly place: string;
  readonly json: PointJson;
}

/**
 * The text of a point; bytes where it was read as UTF-8 and nobody has looked at it, which are there until the next row is
 * asked for.
 */
export type PointJson = string | Buffer;

/** A row that is no point. */
export interface Rejected {
  readonly ordinal: number;
  readonly place: string;
  readonly reason: string;
  /** The row as it was read, as far as it is text. */
  readonly text?: string;
}

/** Why a row is none whose bytes are no text. */
export const NOT_UTF8 = 'it is not UTF-8';

/** Whether a row is none. */
export function isRejected(row: Row): row is Rejected {
  return 'reason' in row;
}

/** A failure that is of the input and not of a row: the import cannot go on. */
export class SourceError extends Error {
  override readonly name = 'SourceError';
}

/** Rows whose bytes are the body of a request of JSON lines (C5.14). Nobody has looked at them. */
export interface Block {
  readonly bytes: Buffer;
  /** How many rows they are. */
  readonly count: number;
  /** The ordinal behind the last one. */
  readonly next: number;
  /** The rows, looked at. A row that has to be sent in another form is a text. */
  rows(): Iterable<Row>;
  /** Says that nobody reads the bytes any more: their memory is used again. */
  release(): void;
}

/** Where the rows of an import come from. */
export interface Source {
  /** Bytes of all files of it, for the progress. */
  readonly bytes: number;
  /** Bytes that have been read. */
  bytesRead(): number;
  /** The rows in their order, from the one with this ordinal on. @throws SourceError */
  rows(from: number): AsyncIterable<Row>;
  /** The same rows, those that are there together without a wait between them. Absent where each has to be waited for. */
  rowsAtOnce?(from: number): AsyncIterable<Iterable<Row>>;
  /** The same rows in blocks, as the file has them. Absent or undefined where each row is made of its columns. */
  blocks?(from: number, mostRows: number): AsyncIterable<Block> | undefined;
}

/** The rows of a source, those that are there together in one. */
export function rowsAtOnce(source: Source, from: number): AsyncIterable<Iterable<Row>> {
  return source.rowsAtOnce?.(from) ?? eachAlone(source.rows(from));
}

async function* eachAlone(rows: AsyncIterable<Row>): AsyncGenerator<Iterable<Row>> {
  for await (const row of rows) yield [row];
}
