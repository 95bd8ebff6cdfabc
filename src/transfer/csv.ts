import { isUtf8 } from 'node:buffer';
import { statSync } from 'node:fs';
import { Readable } from 'node:stream';
import { JsonText } from '../client/json';
import { LINE_BREAK, linesIn, openFile, type OpenFile } from './lines';
import { pointOf, withIdColumn, type Columns, type Mapping } from './mapping';
import { SourceError, type Row, type Source } from './row';

/** A longer record is none. */
const MAX_RECORD_BYTES = 64 * 1024 * 1024;

/**
 * A file of comma-separated values (RFC 4180) whose first line names the columns. Numbers, `true` and `false` become JSON
 * values, in the same form, when they are written as JSON writes them; an empty value is left out.
 */
export class CsvFile implements Source {
  readonly bytes: number;
  #file: OpenFile | undefined;

  constructor(
    private readonly path: string,
    private mapping: Mapping,
  ) {
    this.bytes = statSync(path).size;
  }

  bytesRead(): number {
    return this.#file?.bytesRead() ?? 0;
  }

  async *rows(from: number): AsyncGenerator<Row> {
    const { parse } = await import('csv-parse');
    const parser = parse({
      bom: true,
      // Each of them, since a file may have been put together of several.
      record_delimiter: ['\r\n', '\n', '\r'],
      skip_empty_lines: true,
      relax_column_count: true,
      max_record_size: MAX_RECORD_BYTES,
      info: true,
    });
    this.#file = openFile(this.path);
    const file = Readable.from(textOf(this.#file.pieces));
    file.on('error', (error) => parser.destroy(error));
    let names: readonly string[] | undefined;
    let ordinal = -1;
    try {
      for await (const { record, info } of file.pipe(parser) as AsyncIterable<CsvRecord>) {
        if (names === undefined) {
          names = this.#header(record);
          continue;
        }
        ordinal += 1;
        if (ordinal < from) continue;
        yield this.#row(names, record, ordinal, `line ${info.lines}`);
      }
    } catch (error) {
      if ((error as { code?: string }).code?.startsWith('CSV_') === true) {
        throw new SourceError(`The file is not CSV: ${(error as Error).message}`);
      }
      throw error;
    } finally {
      file.destroy();
    }
  }

  #header(names: readonly string[]): readonly string[] {
    const wanted = [...this.mapping.vectors.values(), ...(this.mapping.payload ?? [])];
    const missing = [...wanted, ...(this.mapping.id === undefined ? [] : [this.mapping.id])].find(
      (name) => !names.includes(name),
    );
    if (missing !== undefined) {
      throw new SourceError(`The first line has no column ${missing}: it has ${names.join(', ')}`);
    }
    const twice = names.find((name, at) => name !== '' && names.indexOf(name) < at);
    if (twice !== undefined) {
      throw new SourceError(`The first line has the column ${twice} twice`);
    }
    this.mapping = withIdColumn(this.mapping, names);
    return names;
  }

  #row(names: readonly string[], record: readonly string[], ordinal: number, place: string): Row {
    try {
      if (record.length !== names.length) {
        throw new Error(`it has ${record.length} values for ${names.length} columns`);
      }
      const special = new Set([...this.mapping.vectors.values(), this.mapping.id]);
      const values = names.flatMap((name, at) => {
        const text = record[at] ?? '';
        return text === '' ? [] : [[name, special.has(name) ? text : valueOf(text)] as const];
      });
      const columns: Columns = Object.fromEntries(values);
      if (Object.keys(columns).length < values.length) {
        throw new Error('it has values in two columns without a name');
      }
      return { ordinal, place, json: pointOf(columns, ordinal, this.mapping) };
    } catch (error) {
      return { ordinal, place, text: record.join(','), reason: (error as Error).message };
    }
  }
}

interface CsvRecord {
  readonly record: readonly string[];
  readonly info: { readonly lines: number };
}

const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

function valueOf(text: string): unknown {
  if (text === 'true' || text === 'false') {
    return text === 'true';
  }
  if (!JSON_NUMBER.test(text)) {
    return text;
  }
  // JSON has no infinity.
  return Number.isFinite(Number(text)) ? new JsonText(text) : text;
}

/** The mark before a text in UTF-16, which the reader of CSV knows. */
const UTF16_MARK = Buffer.from([0xff, 0xfe]);

/** The same bytes. @throws SourceError where they are no text */
async function* textOf(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let decoder: InstanceType<typeof TextDecoder> | undefined;
  let lines = 1;
  for await (const piece of pieces) {
    decoder ??= new TextDecoder(beginsAsUtf16(piece) ? 'utf-16le' : 'utf-8', { fatal: true });
    try {
      decoder.decode(piece, { stream: true });
    } catch {
      throw new SourceError(`Line ${lines + linesBeforeError(piece)} of the file is not UTF-8`);
    }
    lines += lineBreaksIn(piece);
    yield piece;
  }
  try {
    decoder?.decode();
  } catch {
    throw new SourceError(`Line ${lines} of the file is not UTF-8`);
  }
}

function beginsAsUtf16(piece: Buffer): boolean {
  return piece.subarray(0, UTF16_MARK.length).equals(UTF16_MARK);
}

/** How many lines end before the one that is no text. A character that began in an earlier piece is in the first one. */
function linesBeforeError(piece: Buffer): number {
  let lines = 0;
  const begins = piece.findIndex((byte) => !isContinuation(byte));
  for (const line of linesIn(piece.subarray(Math.max(begins, 0)))) {
    if (!isUtf8(line)) return lines;
    lines += 1;
  }
  return 0;
}

/** Whether a byte goes on with a character of UTF-8 that began before it. */
function isContinuation(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}

function lineBreaksIn(piece: Buffer): number {
  let lines = 0;
  for (let at = piece.indexOf(LINE_BREAK); at >= 0; at = piece.indexOf(LINE_BREAK, at + 1)) lines += 1;
  return lines;
}
